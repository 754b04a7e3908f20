"""Drives one arm in slices of about a second, and reads server and machine at their borders."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from steelyard.analysis.pilot.pool_level import FEW_BLOCKS, level_after
from steelyard.analysis.pilot.steady_state import mser5
from steelyard.engines.capabilities.checkpoints import CheckpointWatch, WalCounters
from steelyard.engines.engine import Instance
from steelyard.evaluation.threats.pool_warmth import BLOCK_BYTES
from steelyard.record.slice import SliceLine
from steelyard.record.turns.seconds import DebtLine, DeviceSecondsLine, SecondsLine
from steelyard.running.laboratory import Host
from steelyard.running.measuring.driving import drive
from steelyard.running.measuring.load import Load, SlicePlace, Visit
from steelyard.running.measuring.observation import use_while_running
from steelyard.running.measuring.wait_samples import WaitSamples
from steelyard.running.preparing.setup import Setup
from steelyard.telemetry.devices import DeviceCounts

FEWEST_SECONDS = 20
"""Of a warm-up: MSER-5 needs four batches of five."""


@dataclass(frozen=True)
class Border:
    """What was read at the border of two slices."""

    pulse: WalCounters | None
    requested_bytes: int | None
    waiting_bytes: int
    dirtied_bytes: int | None

    @property
    def debt(self) -> DebtLine:
        """What the arm owes then."""
        return DebtLine(
            wal_bytes=None if self.pulse is None else self.pulse.owed_bytes,
            waiting_bytes=float(self.waiting_bytes),
        )


def read_border(instance: Instance, watch: CheckpointWatch, host: Host) -> Border:
    """What server and machine have now."""
    use = use_while_running(instance)
    transfers = (use.requested_bytes, use.written_bytes) if use.transfers_known else (None, None)
    return Border(watch.pulse(), transfers[0], host.waiting_bytes(), transfers[1])


@dataclass
class SecondSeries:
    """Seconds of a turn as they end: the lines, and what was read at each border."""

    lines: list[SliceLine] = field(default_factory=list)
    wal_bytes: list[float | None] = field(default_factory=list)
    images: list[float | None] = field(default_factory=list)
    read_bytes: list[float | None] = field(default_factory=list)
    waiting_bytes: list[float | None] = field(default_factory=list)
    dirtied_bytes: list[float | None] = field(default_factory=list)
    devices: list[DeviceCounts | None] = field(default_factory=list)

    @property
    def level(self) -> bool:
        """Whether throughput (MSER-5) and reads per transaction have come to their level."""
        lines = self.lines[: len(self.read_bytes)]
        indices = [index for index, line in enumerate(lines) if not line.dropped]
        if len(indices) < FEWEST_SECONDS:
            return False
        rates = [self.lines[k].transactions / max(1, self.lines[k].busy_ns) for k in indices]
        if mser5(rates) is None:
            return False
        reads = [
            (self.read_bytes[k] or 0.0) / BLOCK_BYTES / max(1, self.lines[k].transactions)
            for k in indices
        ]
        return max(reads[-5:]) < FEW_BLOCKS or level_after(reads) is not None

    def ends_ns(self, since_ns: int) -> tuple[int, int]:
        """When the first second began that counts, and when the last one ended; twice `since_ns`
        where none counts yet."""
        lines = [line for line in self.lines if not line.dropped]
        return (lines[0].start_ns, lines[-1].end_ns) if lines else (since_ns, since_ns)

    def add_border(self, before: Border, after: Border) -> None:
        """What was read at both ends of the last slice."""
        self.wal_bytes.append(_change(before.pulse, after.pulse, "wal_bytes"))
        self.images.append(_change(before.pulse, after.pulse, "images"))
        self.read_bytes.append(_grown(before.requested_bytes, after.requested_bytes))
        self.waiting_bytes.append(float(after.waiting_bytes))
        self.dirtied_bytes.append(_grown(before.dirtied_bytes, after.dirtied_bytes))

    def columns(self) -> SecondsLine:
        """What was read, as the record has it."""
        line = SecondsLine(
            wal_bytes=tuple(self.wal_bytes),
            images=tuple(self.images),
            read_bytes=tuple(self.read_bytes),
            waiting_bytes=tuple(self.waiting_bytes),
            dirtied_bytes=tuple(self.dirtied_bytes),
        )
        if not any(self.devices):
            return line
        return line.model_copy(update={"devices": _device_columns(self.devices)})


def _device_columns(devices: Sequence[DeviceCounts | None]) -> DeviceSecondsLine:
    return DeviceSecondsLine.model_validate(
        {
            name: [None if counts is None else getattr(counts, name) for counts in devices]
            for name in DeviceSecondsLine.model_fields
        }
    )


class SecondBySecond:
    """Drives an arm in slices of about a second, and reads server and machine at their borders.

    Reading is done beside the next slice: done between two, it would leave the server idle for some
    milliseconds of every second.
    """

    def __init__(
        self,
        setup: Setup,
        load: Load,
        instance: Instance,
        watch: CheckpointWatch,
        waits: WaitSamples,
        arm: str,
        place: SlicePlace,
        lines: list[SliceLine],
    ) -> None:
        self._setup = setup
        self._load = load
        self._instance = instance
        self._watch = watch
        self._waits = waits
        self._arm = arm
        self._place = place
        self._kept = lines
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="turn reader")
        self._last = self._read()
        self._due: tuple[SecondSeries, Future[Border]] | None = None

    def run(self, series: SecondSeries, kind: str, length_ns: int) -> SliceLine:
        """One more slice of a series; what is read at its end joins the series with the next."""
        visit = Visit(self._arm, length_ns, kind, block=len(series.lines), position=0)
        driven = drive(self._setup, self._load, [visit], self._place)
        self._kept.extend(self._waits.during([visit], driven) if kind == "measured" else driven)
        self._settle()
        line = self._kept[-1]
        series.lines.append(line)
        series.devices.append(self._load.device_use())
        self._due = series, self._reader.submit(self._read)
        return line

    def debt(self) -> DebtLine:
        """What the arm owes at the last border."""
        self._settle()
        return self._last.debt

    def close(self) -> None:
        """Wait for the reader."""
        self._reader.shutdown()

    def _settle(self) -> None:
        """Have what was read at the last border join its series."""
        if self._due is None:
            return
        series, reading = self._due
        before, self._last, self._due = self._last, reading.result(), None
        series.add_border(before, self._last)

    def _read(self) -> Border:
        return read_border(self._instance, self._watch, self._setup.laboratory.host)


def _grown(before: int | None, after: int | None) -> float | None:
    """None where the kernel did not show it."""
    return None if before is None or after is None else float(after - before)


def _change(before: WalCounters | None, after: WalCounters | None, name: str) -> float | None:
    """None where the server did not report it, or its statistics were reset meanwhile."""
    if before is None or after is None:
        return None
    change = float(getattr(after, name) - getattr(before, name))
    return change if change >= 0 else None
