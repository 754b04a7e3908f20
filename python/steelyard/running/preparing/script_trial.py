"""Tries each script of a captured workload that writes on a copy, and leaves out those that fail.

What a transaction wrote in the log may need what others wrote before it, or be there already. The
copy that it is tried on is put back to its template before anything else is done with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from steelyard.model.endpoint import error_words
from steelyard.model.errors import StudyError, WeighingError
from steelyard.model.units import NS_PER_S
from steelyard.record.plan import LeftOutScript
from steelyard.record.slice import SliceLine
from steelyard.running.measuring.load import Load, Place, Visit
from steelyard.running.preparing.recording import Kept
from steelyard.running.preparing.setup import Setup
from steelyard.running.progress import Progress
from steelyard.workloads.reading.scripts import Script

TRIES = 5
LEAST_TRIES = 3
LONG_ENOUGH_NS = 60 * NS_PER_S
"""Each script is tried so often, less often after this time."""
LONGEST_TRY_NS = 10 * NS_PER_S
"""A transaction that takes longer than this and the cap of a border is cancelled: no failure."""
_EPOCH = -4
_FREE = "free"


@dataclass
class _Tried:
    """What came of the tries of one script."""

    tries: int = 0
    failed: int = 0
    errors: Counter[str] = field(default_factory=Counter)

    def note(self, line: SliceLine) -> None:
        """One more try; one that was cancelled says nothing."""
        if line.capped:
            return
        self.tries += 1
        if line.transactions:
            return
        self.failed += 1
        for state in line.errors:
            self.errors[
                f"{line.error_messages.get(state, 'no message')} ({error_words(state)})"
            ] += 1

    @property
    def fails(self) -> bool:
        """Whether more than half of the tries failed."""
        return 2 * self.failed > self.tries

    @property
    def error(self) -> str:
        """The most frequent one."""
        return self.errors.most_common(1)[0][0] if self.errors else "the connection was lost"


def try_scripts(setup: Setup, kept: Kept, progress: Progress) -> Setup:
    """The weighing without the scripts that fail on a copy, each named with its share; as it is
    where nothing of the workload is to be tried. A resumed one leaves out what its plan does.

    StudyError: nothing is left. WeighingError: the server died of a try.
    """
    if kept.plan is not None:
        return _without(setup, kept.plan.left_out)
    if not setup.data.tried_first or not setup.writes or setup.study.reaches:
        return setup
    progress.stage("try the work on a copy")
    tried = _tried(setup)
    whole = sum(script.weight for script in setup.scripts)
    out = tuple(
        LeftOutScript(
            script=script.name,
            share=script.weight / whole,
            tries=tried[script.name].tries,
            failed=tried[script.name].failed,
            error=tried[script.name].error,
        )
        for script in setup.scripts
        if tried[script.name].fails
    )
    for one in out:
        progress.note(
            f'left out script "{one.script}", {100 * one.share:.2g} % of the transactions: '
            f"{one.failed} of {one.tries} tries failed: {one.error}"
        )
    if len(out) == len(setup.scripts):
        _refuse(setup, out)
    return _without(setup, out)


def _refuse(setup: Setup, out: Sequence[LeftOutScript]) -> None:
    first = "; ".join(f"{one.script}: {one.error}" for one in out[:3])
    raise StudyError(
        f'nothing is left of workload "{setup.study.workload.name}": each of its {len(out)} '
        "scripts failed when it was tried on a copy",
        detail=first + ("; ..." if len(out) > 3 else ""),
        hint="Copy the data as they were when the log began, and name their database.",
    )


def _without(setup: Setup, out: tuple[LeftOutScript, ...]) -> Setup:
    if not out:
        return setup
    names = {one.script for one in out}
    return replace(setup, data=setup.data.without(names), left_out=out)


def _tried(setup: Setup) -> dict[str, _Tried]:
    """Script → what came of it on the control's copy, by one client that takes all of them in
    turn."""
    control = setup.study.control.name
    tried = {script.name: _Tried() for script in setup.scripts}
    with setup.started_arms(0, "restore") as standing:
        only = {control: standing[control]}
        with _alone(setup).connect(only, _FREE, setup.design.script_seed(_EPOCH), {}) as load:
            clock, begun = setup.laboratory.clock, 0
            until_ns = clock.now_ns() + LONG_ENOUGH_NS
            for _ in range(TRIES * len(tried)):
                script = setup.scripts[begun % len(tried)]
                line = _one(load, control)
                if line.transactions or line.failed or line.capped:  # else it had no connection
                    begun += 1
                    tried[script.name].note(line)
                if not standing[control].running:
                    raise _died(script, line)
                if begun >= LEAST_TRIES * len(tried) and clock.now_ns() > until_ns:
                    break
    return tried


def _alone(setup: Setup) -> Setup:
    """One client that takes the scripts in turn; nothing is frozen, and no debt is paid."""
    scripts = tuple(script.name for script in setup.scripts)
    work = setup.study.workload.model_copy(update={"clients": 1, "streams": (scripts,)})
    return replace(
        setup, study=setup.study.model_copy(update={"workload": work}), cost="foreground"
    )


def _one(load: Load, arm: str) -> SliceLine:
    visit = Visit(arm, LONGEST_TRY_NS, "pilot", 0, 0, each=1)
    [line] = load.run([visit], Place(_EPOCH))
    return line


def _died(script: Script, line: SliceLine) -> WeighingError:
    said = "; ".join(line.error_messages.values())
    return WeighingError(
        f'the server of the copy died when script "{script.name}" was tried', detail=said or None
    )
