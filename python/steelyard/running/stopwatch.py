"""Splits the wall time of a weighing into phases, and keeps them in its record.

Defines what a weighing reports while it runs: stages, the plan, epochs, threats, the verdict.

The weighing calls a `Progress`; how it is shown, if it is shown, is decided by the command line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from steelyard.model.threat import Threat
from steelyard.record.contrast import ContrastLine
from steelyard.record.plan import Plan
from steelyard.record.reader import TELEMETRY
from steelyard.record.record import Record
from steelyard.record.spent import PHASES, Phase, SpentLine
from steelyard.record.verdict import TimeParts, Verdict


class Stopwatch:
    """Gives every nanosecond to one phase: the innermost that is under way, else "other"."""

    def __init__(self, now_ns: Callable[[], int]) -> None:
        """It runs from now on; `now_ns`: a monotonic clock."""
        self._now_ns = now_ns
        self.began_ns = self._since_ns = now_ns()
        self._under_way: list[Phase] = []
        self._taken_ns: Counter[Phase] = Counter()

    @contextmanager
    def __call__(self, phase: Phase) -> Iterator[None]:
        """A stretch of a phase; a phase inside it interrupts it. Of one thread only."""
        self._book()
        self._under_way.append(phase)
        try:
            yield
        finally:
            self._book()
            self._under_way.pop()

    def lap(self) -> dict[Phase, int]:
        """Phase → ns since the lap before, or since it runs, in the order of PHASES; they add up
        to the time between, and those of no time are left out."""
        self._book()
        spent_ns, self._taken_ns = self._taken_ns, Counter()
        return {phase: spent_ns[phase] for phase in PHASES if spent_ns[phase]}

    def _book(self) -> None:
        before_ns, self._since_ns = self._since_ns, self._now_ns()
        self._taken_ns[self._under_way[-1] if self._under_way else "other"] += (
            self._since_ns - before_ns
        )


class SpentTime:
    """Where the time of a weighing went so far: its stopwatch, and the lines in its record."""

    def __init__(
        self, record: Record, stopwatch: Stopwatch, earlier: Sequence[SpentLine] = ()
    ) -> None:
        """`earlier`: the lines of the sittings before this one."""
        self.stopwatch = stopwatch
        self._record = record
        self._lines = list(earlier)

    @property
    def lines(self) -> tuple[SpentLine, ...]:
        """Those of all sittings."""
        return tuple(self._lines)

    def keep(self, epoch: int) -> None:
        """Write what each phase took since the last line; `epoch`: epochs there are now."""
        line = SpentLine(type="spent", epoch=epoch, phases_ns=self.stopwatch.lap())
        self._record.append(TELEMETRY, line.to_json())
        self._lines.append(line)


class Progress(Protocol):
    """Receives what a weighing reports; every call returns at once and raises nothing."""

    def stage(self, text: str) -> None:
        """A stage began: `"clone 2 arms"`, lower case, no full stop."""

    def plan(self, plan: Plan) -> None:
        """The plan is fixed; called before the first epoch."""

    def epoch(
        self, n: int, total: int, contrasts: Sequence[ContrastLine], seconds_left: float | None
    ) -> None:
        """Epoch `n` (from 1) of `total` ended; the contrasts as they stand after it.

        The last of `details.d` is the log ratio of this epoch, None when the epoch was lost.
        """

    def why(self, times: Sequence[TimeParts]) -> None:
        """Where the time of a transaction goes so far, after an epoch; empty where no arm has
        it."""

    def recalled(self, total: int, contrasts: Sequence[ContrastLine]) -> None:
        """A weighing is resumed: the contrasts after the last epoch that its record holds."""

    def turn(self, epoch: int, arm: str, phase: str, seconds_left: float | None) -> None:
        """A turn of an epoch (from 1) goes on to a phase: `"warm up"`, `"measure"`; with no arm an
        epoch in which all arms are loaded.

        `seconds_left`: of the whole weighing; None beyond the planned epochs.
        """

    def threat(self, threat: Threat) -> None:
        """A reason to doubt was seen."""

    def note(self, text: str) -> None:
        """Something worth a line that is neither a stage nor a threat."""

    def verdict(self, verdict: Verdict) -> None:
        """The weighing ended with this verdict."""
