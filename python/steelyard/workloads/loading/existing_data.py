"""Makes sure that a server holds what a workload works on before it is driven there."""

from __future__ import annotations

import json
import shlex

from steelyard.engines.loading import DATABASE, LoadedData, WorkloadDatabase
from steelyard.model.errors import ServerError, UsageError
from steelyard.model.script_text import VARIABLE
from steelyard.workloads.reading.option import OptionValue
from steelyard.workloads.reading.workload import LOADING_FILES, Workload


def loaded_workload(database: WorkloadDatabase) -> LoadedData | None:
    """What a server says that it was loaded with; None where it has no database of ours."""
    try:
        with database.checker() as checker:
            return checker.loaded()
    except ServerError as failure:
        if f'database "{DATABASE}" does not exist' in (failure.detail or ""):
            return None
        raise


def require_workload(workload: Workload, scale: int, mark: LoadedData | None, host: str) -> None:
    """UsageError where a server does not hold the data of a workload at its scale: `mark` is what
    its database says that it was loaded with, None that Steelyard did not load it."""
    where = f'database "{DATABASE}" of the server at "{host}"'
    load = f"steelyard workloads load {workload.name} TARGET --replace"
    if mark is None:
        raise UsageError(
            f'cannot drive workload "{workload.name}": {where} was not loaded by Steelyard',
            hint=f"Load it first: {load.removesuffix(' --replace')}",
        )
    if mark.workload != workload.loaded_name:
        raise UsageError(
            f'cannot drive workload "{workload.name}" with these options: {where} holds '
            f'"{mark.workload}", not "{workload.loaded_name}"',
            hint=f"Give the options that it was loaded with by --set, or load anew: {load}",
        )
    if mark.scale != scale:
        raise UsageError(
            f"{where} was loaded at scale {mark.scale}, not {scale}", hint="Leave --set out."
        )
    read = _variables_read(workload)
    for name, chosen in workload.loading.items():
        option, loaded = workload.options[name], json.loads(mark.options or "{}").get(name, chosen)
        # A number of partitions, which nothing reads afterwards, changes how rows are kept; a word,
        # and a number of devices that scripts read, what they are.
        matters = option.values or read & {*option.variables(name, chosen)}
        if matters and loaded != chosen:
            other = f"Say --set {shlex.quote(f'{name}={_word(loaded)}')}, or load anew: {load}"
            raise UsageError(
                f'cannot drive workload "{workload.name}" with {name} = {_word(chosen)}: {where} '
                f"was loaded with {name} = {_word(loaded)}",
                hint=f"Load anew: {load}" if option.read(loaded) is None else other,
            )


def _variables_read(workload: Workload) -> set[str]:
    """Variables that are read once the rows are there: by scripts, checks, counts and probes."""
    texts = [
        file.text()
        for name, file in workload.files.items()
        if name.endswith(".sql") and name not in LOADING_FILES
    ]
    texts += workload.counts.values()
    for probe in workload.probes.values():
        texts += [probe] if isinstance(probe, str) else [probe.each, probe.query]
    return {name for text in texts for name in VARIABLE.findall(text)}


def _word(value: OptionValue) -> str:
    """As `--set` has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
