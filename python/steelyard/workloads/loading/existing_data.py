"""Makes sure that a server holds what a workload works on before it is driven there."""

from __future__ import annotations

import json

from steelyard.engines.loading import DATABASE, LoadedData, WorkloadDatabase
from steelyard.model.errors import ServerError, UsageError
from steelyard.workloads.reading.workload import Workload


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
    for name, chosen in workload.loading.items():
        loaded = json.loads(mark.options or "{}").get(name, chosen)
        # A number, such as one of partitions, changes how rows are kept; a word, what they are.
        if workload.options[name].values and loaded != chosen:
            other = f"Say --set {name}={loaded}, or load anew: {load}"
            raise UsageError(
                f'cannot drive workload "{workload.name}" with {name} = {chosen}: {where} was '
                f"loaded with {name} = {loaded}",
                hint=other if loaded in workload.options[name].values else f"Load anew: {load}",
            )
