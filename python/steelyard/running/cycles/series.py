"""Drives the arms of an epoch in cycles, slice by slice, reads each at its own borders, decides
when its measured window begins and ends, and makes its line of the record.

An arm answers only while it is awake. What is read at the border of two of its slices is therefore
read beside the first milliseconds of the later one: nothing moved meanwhile, since it stood still.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from steelyard.engines.capabilities.checkpoints import CheckpointWatch
from steelyard.engines.engine import Instance
from steelyard.model.turn import Checkpoint, TurnEnd
from steelyard.record.epoch import WindowLine
from steelyard.record.plan import TurnChoices
from steelyard.record.slice import SliceLine
from steelyard.record.turns.seconds import CheckpointLine, DebtLine
from steelyard.running.cycles.suspension import OwnTime
from steelyard.running.laboratory import Host
from steelyard.running.turns.seconds import Border, SecondSeries, read_border
from steelyard.telemetry.devices import DeviceCounts

WARM_UP, MEASURED, BEYOND = "warmup", "measured", "beyond"
"""Kinds of slices: before the window of their arm, in it, after it."""


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
        """Read the border of the last slice now; only while the arm is awake."""
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
            for each in self._watch.checkpoints
        ]

    def close(self) -> None:
        """Wait for the reader; the arm must be awake."""
        self._reader.shutdown()

    def _read(self) -> Border:
        return read_border(self._instance, self._watch, self._host)


class ArmWindow:
    """The window of one arm in one epoch; all times are its own."""

    def __init__(self, arm: str, series: ArmSeries, choices: TurnChoices) -> None:
        self.arm = arm
        self.series = series
        self._choices = choices
        self._limits = choices.limits_of(arm)
        self._kind = WARM_UP
        self._end: TurnEnd = "longest"
        self._level = False
        self._at_checkpoint = False
        self._began_ns = 0
        self._slices = 0
        self._checkpoints = 0  # begun by the end of the last slice
        self._checkpoints_before = 0  # begun before the window
        self._at_start = self._at_end = DebtLine()

    @property
    def over(self) -> bool:
        """Whether the window has ended."""
        return self._kind == BEYOND

    @property
    def phase(self) -> str:
        """What the arm does, as progress names it."""
        return "warm up" if self._kind == WARM_UP else "measure"

    def next_kind(self) -> str:
        """The kind of the arm's next slice."""
        return self._kind

    def add(self, line: SliceLine, devices: DeviceCounts | None) -> None:
        """A slice of the arm that has ended, and what follows from it for the next."""
        series = self.series
        self._slices += 1
        columns = {WARM_UP: series.warm, MEASURED: series.measured}.get(line.kind, SecondSeries())
        series.add(line, columns)
        columns.devices.append(devices)
        # What began after the last slice, or was seen only then, counts in this one: compared by
        # its time it would fall on the border of two, and in neither.
        begun = len(series.checkpoints)
        new, self._checkpoints = begun > self._checkpoints, begun
        if self._kind == WARM_UP:
            self._maybe_begin(new)
        elif self._kind == MEASURED:
            self._maybe_end(new)

    def _maybe_begin(self, begun: bool) -> None:
        own_ns, limits = self.series.time.now_ns, self._limits
        self._level = self._level or self.series.warm.level
        waited = own_ns >= limits.begin_ns + limits.wait_ns
        if own_ns < limits.begin_ns or not (self._level or waited or self._capped(own_ns)):
            return
        if begun or waited:
            self._kind, self._at_checkpoint = MEASURED, begun
            self._checkpoints_before = self._checkpoints
            self._began_ns, self._at_start = own_ns, self.series.debt()

    def _capped(self, own_ns: int) -> bool:
        return own_ns >= self._choices.warmup_cap_ns

    def _maybe_end(self, begun: bool) -> None:
        took_ns = self.series.time.now_ns - self._began_ns
        if self._choices.stated_ns is not None:
            self._finish("stated", took_ns >= self._choices.stated_ns)
            return
        cycles = self._checkpoints - self._checkpoints_before
        whole = self._at_checkpoint and begun
        enough = cycles >= self._choices.cycles and took_ns >= self._limits.least_ns
        self._finish("cycles", whole and enough)
        self._finish("longest", took_ns >= self._limits.longest_ns)

    def _finish(self, end: TurnEnd, reached: bool) -> None:
        if reached and self._kind == MEASURED:
            self._kind, self._end, self._at_end = BEYOND, end, self.series.debt()

    def line(self, suspended_use_ns: int) -> WindowLine:
        """The window as the record has it."""
        series = self.series
        return WindowLine(
            end=self._end,
            level=self._level,
            at_checkpoint=self._at_checkpoint,
            warmup_ns=self._began_ns,
            checkpoints=tuple(
                CheckpointLine(began_ns=each.began_ns, ended_ns=each.ended_ns, cause=each.cause)
                for each in series.checkpoints
            ),
            at_start=self._at_start,
            at_end=self._at_end,
            starts_ns=tuple(series.starts_ns),
            seconds=series.measured.columns(),
            own_borders=True,
            suspended_use_ns=suspended_use_ns,
            suspensions=self._slices,
        )
