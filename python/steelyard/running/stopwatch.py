"""Splits the wall time of a weighing into phases, and keeps them in its record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from steelyard.record.record import Record
from steelyard.record.recorded import TELEMETRY
from steelyard.record.spent import PHASES, Phase, SpentLine


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
        taken, self._taken_ns = self._taken_ns, Counter()
        return {phase: taken[phase] for phase in PHASES if taken[phase]}

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
