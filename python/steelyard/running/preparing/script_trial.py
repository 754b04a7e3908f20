"""Tries scripts before they are weighed, and leaves out those that fail, or refuses the weighing.

What a captured transaction wrote in the log may need what others wrote before it, or be there
already: each is tried several times on a copy of the control, which is put back to its template
before anything else is done with it. Then every script of the user's is executed once on every arm.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

from steelyard.driver.trial import (
    LONGEST_TRY_NS,
    TRIES,
    Tries,
    execute,
    has_ended,
    longest_try_ns,
    try_each,
)
from steelyard.engines.engine import Instance
from steelyard.model.errors import StudyError, WeighingError
from steelyard.model.reasoned import Reasoned
from steelyard.model.units import NS_PER_S, format_digits
from steelyard.record.plan import LeftOutScript
from steelyard.record.slice import SliceLine
from steelyard.running.measuring.load import Load, SlicePlace, Visit
from steelyard.running.preparing.recording import OpenRecord
from steelyard.running.preparing.setup import Setup
from steelyard.running.stopwatch import Progress
from steelyard.study.study import LEAVE_OUT, REFUSE
from steelyard.workloads.reading.scripts import Script

LEAST_TRIES = 3
LONG_ENOUGH_NS = 60 * NS_PER_S
"""Each script is tried so often, less often after this time."""
_EPOCH = -4
_FREE = "free"
_FOREGROUND = Reasoned("foreground", "scripts are only tried")


def try_scripts(setup: Setup, opened: OpenRecord, progress: Progress) -> Setup:
    """The weighing without the scripts that fail on a copy, each named with its share; as it is
    where nothing of the workload is to be tried. A resumed one leaves out what its plan does.

    StudyError: nothing is left, or the study refuses what fails. WeighingError: the server died of
    a try.
    """
    if opened.plan is not None:
        return _without(setup, opened.plan.left_out)
    if not setup.data.tried_first or not setup.writes or setup.study.is_external:
        return setup
    progress.stage("try the work on a copy")
    control = setup.study.control.name
    failing = {name: (control, tries) for name, tries in _tried(setup).items() if tries.fails}
    return _decided(setup, failing, progress)


def execute_scripts(setup: Setup, arms: Mapping[str, Instance], progress: Progress) -> Setup:
    """The weighing without the scripts that fail when each is executed once on every started arm;
    as it is where they are Steelyard's own. On servers that are not ours those that write are not
    executed.

    StudyError: nothing is left, or the study refuses what fails. WeighingError: a server died.
    """
    names = [script.name for script in setup.scripts if _is_executed(setup, script)]
    if setup.data.failing is None or not names:
        return setup
    progress.stage("execute each script once")
    failing = dict[str, tuple[str, Tries]]()
    for arm in (arm.name for arm in setup.study.every_arm if arm.name in arms):
        rest = [name for name in names if name not in failing]
        for name, tries in _executed(setup, {arm: arms[arm]}, rest).items():
            if tries.never_works:
                failing[name] = (arm, tries)
    return _decided(setup, failing, progress)


def _is_executed(setup: Setup, script: Script) -> bool:
    return not (setup.study.is_external and script.writes)


def _executed(setup: Setup, arms: Mapping[str, Instance], names: Sequence[str]) -> dict[str, Tries]:
    """Script → its tries on one arm."""
    [(arm, instance)] = arms.items()
    length_ns = longest_try_ns(len(names))

    def client(pending: Sequence[str], number: int) -> list[SliceLine]:
        lines = []
        with _client(setup, arms, pending, number) as load, setup.phase("inspect"):
            for name in pending:
                lines.append(execute(lambda: _run_once(load, arm, length_ns)))
                if not instance.running:
                    raise _died(f'arm "{arm}"', name, lines[-1])
        return lines

    return try_each(names, client)


def _decided(setup: Setup, failing: Mapping[str, tuple[str, Tries]], progress: Progress) -> Setup:
    """The weighing without what fails, or its refusal. `failing`: script → arm and tries."""
    whole = sum(script.weight for script in setup.scripts)
    kept_share = 1 - sum(earlier.share for earlier in setup.left_out)
    out = tuple(
        LeftOutScript(
            script=script.name,
            share=kept_share * script.weight / whole,
            tries=failing[script.name][1].tries,
            failed=failing[script.name][1].failed,
            error=failing[script.name][1].error,
        )
        for script in setup.scripts
        if script.name in failing
    )
    in_streams = {name for stream in setup.study.workload.streams for name in stream}
    if out and (setup.data.failing == REFUSE or in_streams & {*failing}):
        _refuse_failing(out, failing, may_be_left_out=not in_streams & {*failing})
    for script in out:
        progress.note(
            f'left out script "{script.script}", {format_digits(100 * script.share, 2)} % of the '
            f"transactions: {script.failed} of {script.tries} tries failed: {script.error}"
        )
    if len(out) == len(setup.scripts):
        _refuse(setup, out)
    return _without(setup, out)


def _refuse_failing(
    out: Sequence[LeftOutScript],
    failing: Mapping[str, tuple[str, Tries]],
    *,
    may_be_left_out: bool,
) -> None:
    first, others = out[0], out[1:]
    leave_out = f", or leave out what fails: --set workload.failing={LEAVE_OUT}"
    if failing[first.script][1].would_write:
        mend = "Agree with --yes if that server's data may be changed"
    else:
        mend = "Mend it"
    raise StudyError(
        f'script "{first.script}" cannot work on arm "{failing[first.script][0]}": {first.error}',
        detail=_excerpt(others) if others else None,
        hint=f"{mend}{leave_out if may_be_left_out else ''}.",
    )


def _excerpt(out: Sequence[LeftOutScript]) -> str:
    text = "; ".join(f"{script.script}: {script.error}" for script in out[:3])
    return text + ("; ..." if len(out) > 3 else "")


def _refuse(setup: Setup, out: Sequence[LeftOutScript]) -> None:
    raise StudyError(
        f'nothing is left of workload "{setup.study.workload.name}": each of its {len(out)} '
        "scripts failed when it was tried",
        detail=_excerpt(out),
        hint="Copy the data as they were when the log began, and name their database.",
    )


def _without(setup: Setup, out: tuple[LeftOutScript, ...]) -> Setup:
    if not out:
        return setup
    names = {script.script for script in out}
    left_out = (*setup.left_out, *out)
    return replace(setup, data=setup.data.without(names), left_out=left_out)


def _tried(setup: Setup) -> dict[str, Tries]:
    """Script → what came of it on the control's copy, by one client that takes all of them in
    turn."""
    control = setup.study.control.name
    tried = {script.name: Tries() for script in setup.scripts}
    with setup.started_arms(0, "restore") as started:
        only = {control: started[control]}
        with _client(setup, only, list(tried)) as load:
            clock, begun = setup.laboratory.clock, 0
            until_ns = clock.now_ns() + LONG_ENOUGH_NS
            for _ in range(TRIES * len(tried)):
                script = setup.scripts[begun % len(tried)]
                line = _run_once(load, control, LONGEST_TRY_NS)
                if has_ended(line):
                    begun += 1
                    tried[script.name].note(line)
                if not started[control].running:
                    raise _died("the copy", script.name, line)
                if begun >= LEAST_TRIES * len(tried) and clock.now_ns() > until_ns:
                    break
    return tried


def _client(
    setup: Setup, arms: Mapping[str, Instance], names: Sequence[str], number: int = 0
) -> AbstractContextManager[Load]:
    """One client of each machine that takes the scripts in turn; nothing is frozen, and no debt is
    paid. It draws other values at each `number` of a try."""
    clients = setup.laboratory.drivers.machines
    work = setup.study.workload.model_copy(
        update={"clients": clients, "threads": 0, "streams": (tuple(names),), "timed": False}
    )
    alone = replace(
        setup, study=setup.study.model_copy(update={"workload": work}), cost=_FOREGROUND
    )
    return alone.connect(arms, _FREE, setup.design.script_seed(_EPOCH - number), {})


def _run_once(load: Load, arm: str, length_ns: int) -> SliceLine:
    visit = Visit(arm, length_ns, "pilot", 0, 0, each=1)
    [line] = load.run([visit], SlicePlace(_EPOCH))
    return line


def _died(where: str, script: str, line: SliceLine) -> WeighingError:
    message = "; ".join(line.error_messages.values())
    return WeighingError(
        f'the server of {where} died when script "{script}" was tried', detail=message or None
    )
