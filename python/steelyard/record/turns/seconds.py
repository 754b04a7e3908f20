"""What is read at the borders of the slices of an arm: checkpoints, debt, one number a slice."""

from __future__ import annotations

import math
from collections.abc import Sequence

from steelyard.model.turn import Debt, Second
from steelyard.record.frozen import Frozen
from steelyard.record.slice import SliceLine


class CheckpointLine(Frozen):
    """One checkpoint, on the driver's monotonic clock."""

    began_ns: int
    """At its redo point."""
    ended_ns: int | None = None
    """None: it was under way when the turn ended."""
    cause: str = ""
    """As the server says it."""


class DebtLine(Frozen):
    """What an arm owed at one moment; None: it was not had."""

    wal_bytes: float | None = None
    """Log since the redo point of the last completed checkpoint."""
    waiting_bytes: float | None = None
    """Dirty and under write-back on the whole machine."""

    @property
    def debt(self) -> Debt:
        """With NaN for what was not had."""
        return Debt(_number(self.wal_bytes), _number(self.waiting_bytes))


class DeviceSecondsLine(Frozen):
    """What the devices beneath the data did in each measured slice of the turn, added up over the
    devices, as the kernel counts it (iostats.rst): a request counts when it ends; None: it was not
    had."""

    reads: tuple[int | None, ...] = ()
    read_bytes: tuple[int | None, ...] = ()
    read_ms: tuple[int | None, ...] = ()
    """Summed over the reads that ended; so is `write_ms` over the writes."""
    writes: tuple[int | None, ...] = ()
    written_bytes: tuple[int | None, ...] = ()
    write_ms: tuple[int | None, ...] = ()
    queued_ms: tuple[int | None, ...] = ()
    """Time of requests of every kind, from when each was issued to its end."""


class SecondsLine(Frozen):
    """One number for each measured slice of the turn, in their order; None: it was not had."""

    wal_bytes: tuple[float | None, ...] = ()
    images: tuple[float | None, ...] = ()
    read_bytes: tuple[float | None, ...] = ()
    waiting_bytes: tuple[float | None, ...] = ()
    dirtied_bytes: tuple[float | None, ...] = ()
    """Bytes that the server's processes caused to be written to storage, now or later."""
    devices: DeviceSecondsLine | None = None
    """None: no device is to be seen beneath the data, or the record is older."""


def seconds_of(line: SecondsLine, slices: Sequence[SliceLine]) -> tuple[Second, ...]:
    """What was read in measured slices, in order; dropped ones are left out."""
    devices = line.devices or DeviceSecondsLine()
    columns = (
        line.wal_bytes,
        line.images,
        line.read_bytes,
        line.waiting_bytes,
        devices.reads,
        devices.writes,
    )
    return tuple(
        Second(
            slice_line.start_ns,
            slice_line.end_ns,
            slice_line.transactions,
            slice_line.busy_with_debt_ns,
            *(_number(column[index]) if index < len(column) else math.nan for column in columns),
        )
        for index, slice_line in enumerate(slices)
        if not slice_line.dropped
    )


def _number(value: float | None) -> float:
    return math.nan if value is None else value
