"""Resolves the workload that a study names: scale, options and scripts that it leaves open."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from steelyard.model.errors import StudyError, UsageError, nearest_hint
from steelyard.model.script_text import VARIABLE
from steelyard.model.units import counted
from steelyard.study.study import LEAVE_OUT, REFUSE, Failing, Study, WorkloadChoice
from steelyard.workloads.reading.dialects import GENERIC
from steelyard.workloads.reading.folder import find_workload, known_workloads
from steelyard.workloads.reading.scripts import Script, resolve_scripts, script_texts
from steelyard.workloads.reading.workload import Workload

_VARIABLE = re.compile(r":([A-Za-z_][A-Za-z0-9_]*)")
_SCALE = "scale"


@dataclass(frozen=True)
class ResolvedWorkload:
    """The workload of a study with everything that was chosen about it, read once."""

    workload: Workload
    scale: int
    scripts: tuple[Script, ...]
    """Each compiled and evaluated once."""
    variables: Mapping[str, str | int | float]
    """What every script sees, `scale` and the number of `clients` among them."""
    failing: Failing | None
    """What becomes of a script that fails when it is executed once before any load; None: they
    come with Steelyard, and are not executed."""
    timed: bool
    """Whether every statement is timed by itself."""

    @property
    def writes(self) -> bool:
        """Whether a script of it does, as far as its text says."""
        return any(script.writes for script in self.scripts)

    @property
    def begins_read_only(self) -> bool:
        """Whether its sessions begin read-only on a server that is no copy: its scripts are to read
        what others loaded, and what functions of their queries do, no text says."""
        theirs = self.workload.tried_first or not self.workload.loaded
        return theirs and not self.writes


def resolve(choice: WorkloadChoice, kind: str = GENERIC) -> ResolvedWorkload:
    """The workload of a study for a kind of engine; UsageError or StudyError: there is none such,
    or it is wrong."""
    workload = find_workload(choice.name, choice.options, kind)
    _refuse_mode(choice, workload)
    full = _complete(choice, workload)
    scale = full.scale or workload.default_scale
    variables = workload.variables(scale)
    scripts = resolve_scripts(
        workload,
        full.scripts,
        scale,
        {"clients": choice.clients, **full.variables},
        full.texts,
        full.mode,
    )
    failing = _failing(choice.name, workload, full)
    timed = failing is not None and any(script.several for script in scripts)
    return ResolvedWorkload(
        workload=workload,
        scale=scale,
        scripts=tuple(scripts),
        variables={"clients": choice.clients, **variables, **choice.variables},
        failing=choice.failing or failing,
        timed=timed if choice.timed is None else choice.timed,
    )


def _refuse_mode(choice: WorkloadChoice, workload: Workload) -> None:
    """UsageError: rows that are written as SQL would be sent as parameters, or the reverse."""
    workload_mode, mode = workload.mode, choice.mode
    if mode is not None and (mode == "simple") != (workload_mode == "simple") and workload.draws:
        raise UsageError(
            f'cannot drive workload "{workload.name}" as {mode}: its values are written to be '
            f"sent as {workload_mode}",
            hint="Leave the mode (-M, workload.mode) out.",
        )


def _failing(name: str, workload: Workload, choice: WorkloadChoice) -> Failing | None:
    is_built_in = name in known_workloads()
    if is_built_in and all(s in workload.scripts and s not in choice.texts for s in choice.scripts):
        return None
    return LEAVE_OUT if workload.tried_first else REFUSE


def resolve_workload(study: Study) -> Study:
    """A study that says everything about its workload, as its record keeps it.

    UsageError: an option was chosen that changes nothing of what is driven, or the scale of data
    that Steelyard did not load is not said.
    """
    choice = study.workload
    workload = find_workload(choice.name, choice.options, study.engine)
    completed = _complete(choice, workload)
    if choice.scale is None and (study.source is not None or study.is_external):
        _require_known_scale(study, workload, completed.scripts)
    return study.model_copy(update={"workload": completed})


def _require_known_scale(study: Study, workload: Workload, scripts: Iterable[str]) -> None:
    """UsageError where statements follow the scale of data that Steelyard did not load: that of the
    workload, or 1, would be a guess, by which they meet a part of the rows. What it loaded at an
    address says its scale."""
    choice = study.workload
    every = script_texts(workload, scripts, choice.texts)
    if workload.loaded and study.source is not None:
        checks = workload.files.get("checks.sql")
        texts = [*every.values(), checks.text() if checks else ""]
    elif not workload.loaded and _SCALE not in choice.variables:
        texts = [text for name, text in every.items() if name not in workload.scripts]
    else:
        return
    if any(_SCALE in VARIABLE.findall(text) for text in texts):
        counts = f": {workload.scale_is}" if workload.loaded else ""
        raise UsageError(
            "the scale of the data is not known, and what is driven follows it (:scale)",
            detail=f'Steelyard did not load them for workload "{workload.name}".',
            hint=f"Say it{counts}: --set workload.scale=N",
        )


def data_bytes(study: Study) -> int | None:
    """About how large the data of each arm are, by the workload's own figure; None: they are
    external, or the workload says nothing of it."""
    workload = find_workload(study.workload.name, study.workload.options, study.engine)
    unsaid = not (workload.bytes_per_scale or workload.bytes_fixed)
    if unsaid or not workload.loaded or study.source is not None or study.is_external:
        return None
    return workload.bytes_at(study.workload.scale or workload.default_scale)


def _complete(choice: WorkloadChoice, workload: Workload) -> WorkloadChoice:
    """The choice with the workload's own scale, options and mix where a study says nothing."""
    scripts = choice.scripts or dict.fromkeys(choice.texts, 1)
    if stray := [name for name in choice.texts if name not in scripts]:
        raise StudyError(
            f'workload.texts: script "{stray[0]}" is not driven',
            hint=f'Give it a weight: workload.scripts = {{ "{stray[0]}" = 1 }}',
        )
    for key, names in (("streams", chain(*choice.streams)), ("excluded", choice.excluded)):
        if stray := [name for name in names if name not in (scripts or workload.scripts)]:
            raise StudyError(
                f'workload.{key}: script "{stray[0]}" is not driven',
                hint=nearest_hint(stray[0], scripts or workload.scripts),
            )
    uses_mix = not scripts
    if uses_mix and not workload.mix():
        raise UsageError(
            f'nothing is to be driven: workload "{workload.name}" has no scripts',
            hint="Give one with -f SCRIPT, or a folder of scripts with --workload DIR.",
        )
    every = workload.streams_of(len(workload.streams)) if uses_mix else ()
    _require_clients(workload.name, choice.streams or every, choice.clients)
    if uses_mix:
        refuse_unused_options(workload, choice.clients)
    elif scripts != workload.mix():  # as a record has it, the mix is written out
        _refuse_unused_options_of_scripts(workload, scripts, choice.texts)
    return choice.model_copy(
        update={
            "scale": choice.scale or workload.default_scale,
            "options": dict(workload.chosen),
            "scripts": scripts or workload.mix(),
            "streams": choice.streams or (workload.streams_of(choice.clients) if uses_mix else ()),
            "excluded": choice.excluded or (workload.excluded if uses_mix else ()),
            "mode": choice.mode or workload.mode,
        }
    )


def _require_clients(name: str, streams: Sequence[Sequence[str]], clients: int) -> None:
    """UsageError: scripts stand in streams that so few clients do not come to, so that this part of
    the work would not be done at all."""
    scripts = {*chain(*streams)}
    needed = next(n for n in range(len(streams) + 1) if scripts <= {*chain(*streams[:n])})
    if needed > clients:
        done = {*chain(*streams[:clients])}
        missed = next(script for script in chain(*streams) if script not in done)
        raise UsageError(
            f'cannot drive workload "{name}" by {counted(clients, "clients")}: none comes to '
            f'script "{missed}"',
            hint=f"Have {needed} at least: --set workload.clients={needed} (drive: -c {needed}).",
        )


Driven = tuple[dict[str, int], tuple[tuple[str, ...], ...], dict[str, str | int]]


def driven(workload: Workload, clients: int) -> Driven:
    """What so many clients drive: scripts with their weights, streams, and the values of the
    variables that these scripts name, or a probe after them."""
    mix = workload.mix()
    texts = [workload.script(name).text() for name in mix] + _probe_texts(workload)
    names = {word for text in texts for word in _VARIABLE.findall(text)}
    values = {name: value for name, value in workload.variables(1).items() if name in names}
    return mix, workload.streams_of(clients), values


def variables_read(choice: WorkloadChoice, kind: str = GENERIC) -> set[str]:
    """The variables that the scripts of a study read, or a probe after them. UsageError or
    StudyError: as of `resolve`."""
    workload = find_workload(choice.name, choice.options, kind)
    scripts = _complete(choice, workload).scripts
    texts = [*script_texts(workload, scripts, choice.texts).values(), *_probe_texts(workload)]
    return {word for text in texts for word in VARIABLE.findall(text)}


def _probe_texts(workload: Workload) -> list[str]:
    probes = workload.probes.values()
    parts = ([probe] if isinstance(probe, str) else [probe.each, probe.query] for probe in probes)
    return [text for part in parts for text in part]


def refuse_unused_options(workload: Workload, clients: int) -> None:
    """UsageError names the first option that differs from its default and changes nothing, given
    the others that were chosen; one that decides what is loaded does change something."""
    baseline = driven(workload, clients)
    for name, option in workload.options.items():
        if option.loads or workload.chosen[name] == option.default:
            continue
        chosen = {**workload.chosen, name: option.default}
        if driven(workload.model_copy(update={"chosen": chosen}), clients) == baseline:
            raise _changes_nothing(workload, name, baseline[0])


def _refuse_unused_options_of_scripts(
    workload: Workload, scripts: Iterable[str], texts: Mapping[str, str]
) -> None:
    """The same where a study names the scripts itself: then an option matters by its variables
    alone. What a file of the user's names is not known here."""
    if any(name not in texts and name not in workload.scripts for name in scripts):
        return
    bodies = [texts[name] if name in texts else workload.script(name).text() for name in scripts]
    bodies += _probe_texts(workload)
    words = {word for body in bodies for word in _VARIABLE.findall(body)}
    for name, option in workload.options.items():
        chosen = workload.chosen[name]
        if option.loads or chosen == option.default or words & {*option.variables(name, chosen)}:
            continue
        raise _changes_nothing(workload, name, scripts)


def _changes_nothing(workload: Workload, option: str, scripts: Iterable[str]) -> UsageError:
    return UsageError(
        f'option "{option}" of workload "{workload.name}" changes nothing here',
        detail=f"Driven: {', '.join(scripts)}. No value of it matters there.",
        hint="Leave it out, or choose other options beside it.",
    )
