"""Drives the arms of an epoch in cycles, slice by slice, and reads each at its own borders.

An arm answers only while it is awake. What is read at the border of two of its slices is therefore
read beside the first milliseconds of the later one: nothing moved meanwhile, since it stood still.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from steelyard.engines.capabilities.checkpoints import CheckpointWatch
from steelyard.engines.engine import Instance
from steelyard.model.turn import Checkpoint
from steelyard.record.slice import SliceLine
from steelyard.record.turns.seconds import DebtLine
from steelyard.running.cycles.suspension import OwnTime
from steelyard.running.laboratory import Host
from steelyard.running.turns.seconds import Border, SecondSeries, read_border


@dataclass
class _Due:
    """A slice that has ended, whose later border is not read yet."""

    series: SecondSeries


class ArmSeries:
    """The slices of one arm: what was read at their borders, and its own time."""

    def __init__(self, instance: Instance, watch: CheckpointWatch, host: Host) -> None:
        self._instance = instance
        self._watch = watch
        self._host = host
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="cycle reader")
        self._last = self._read()
        self._due: _Due | None = None
        self._reading: Future[Border] | None = None
        self.time = OwnTime()
        self.warm = SecondSeries()
        self.measured = SecondSeries()
        self.starts_ns: list[int] = []
        """Own time at which each measured slice began."""

    def begin(self) -> None:
        """A slice is about to begin: read what the border before it has."""
        self._reading = self._reader.submit(self._read)

    def add(self, line: SliceLine, series: SecondSeries) -> None:
        """A slice that has ended, of one of the two series."""
        self.settle()
        began_ns = self.time.add(line.start_ns, line.end_ns)
        if series is self.measured:
            self.starts_ns.append(began_ns)
        series.lines.append(line)
        self._due = _Due(series)

    def settle(self) -> None:
        """Have what was read at the last border join the series of the slice before it."""
        if self._reading is None:
            return
        before, self._last, self._reading = self._last, self._reading.result(), None
        if self._due is not None:
            self._due.series.add_border(before, self._last)
            self._due = None

    def finish(self) -> None:
        """Read the last border; only while the arm is awake."""
        self.begin()
        self.settle()

    def debt(self) -> DebtLine:
        """What the arm owes at the last border that was read."""
        return self._last.debt

    @property
    def checkpoints(self) -> list[Checkpoint]:
        """Those seen so far, in own time."""
        return [
            Checkpoint(
                self.time.at(each.began_ns),
                None if each.ended_ns is None else self.time.at(each.ended_ns),
                each.cause,
            )
            for each in self._watch.seen
        ]

    def close(self) -> None:
        """Wait for the reader; the arm must be awake."""
        self._reader.shutdown()

    def _read(self) -> Border:
        return read_border(self._instance, self._watch, self._host)
