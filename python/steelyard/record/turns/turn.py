"""One turn as a line of telemetry.jsonl: what was prepared, what was seen second by second."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

from steelyard.model.turn import Checkpoint, Debt, Second, Turn, TurnEnd
from steelyard.record.epoch import ArmLine, ReadingLine
from steelyard.record.frozen import Frozen
from steelyard.record.slice import SliceLine

LOADED_PHASES = ("warm up", "wait for a checkpoint")
"""Phases of a turn under load before it is measured."""


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
    devices: DeviceSecondsLine | None = None
    """None: no device is to be seen beneath the data, or the record is older."""


class TurnLine(Frozen):
    """One arm alone on the machine for some checkpoint cycles."""

    type: Literal["turn"] = "turn"
    epoch: int
    attempt: int = 1
    arm: str
    slot: int
    position: int
    """0: first of its epoch."""
    end: TurnEnd
    level: bool
    """Whether throughput and reads were level when measuring began."""
    at_checkpoint: bool = True
    """Whether measuring began at the end of a checkpoint; False: none ended while it was waited
    for. An older record does not say: True."""
    evicted_bytes: int = 0
    """Size of the files of all arms."""
    resident_bytes: int | None = None
    """Of them, still in the page cache after eviction; None: the kernel does not tell."""
    quiet: bool
    """Whether the device was quiet when the server was started."""
    waiting_bytes: int
    """Dirty and under write-back then."""
    phases_ns: Mapping[str, int]
    """Phase → the time it took, in order."""
    checkpoints: tuple[CheckpointLine, ...] = ()
    at_start: DebtLine = DebtLine()
    at_end: DebtLine = DebtLine()
    seconds: SecondsLine = SecondsLine()
    read: ArmLine
    """What telemetry read of the arm."""
    violations: tuple[str, ...] = ()
    machine: tuple[ReadingLine, ...] = ()


class LostTurnLine(Frozen):
    """A turn that an arm did not survive, or that failed: written at once, so that a weighing that
    is interrupted before its epoch ends does not forget it."""

    type: Literal["lost turn"] = "lost turn"
    epoch: int
    attempt: int = 1
    arm: str
    how: str = ""
    """`crashed`, `could not start`, `out of memory`; empty: the turn failed, and not by its arm."""
    outcome: str
    """As the epoch's line has it where nothing else was lost."""
    error: tuple[str, ...] = ()


def turn_of(line: TurnLine, slices: Sequence[SliceLine]) -> Turn:
    """A turn from its line and its measured slices, in order; dropped ones are left out."""
    devices = line.seconds.devices or DeviceSecondsLine()
    columns = (
        line.seconds.wal_bytes,
        line.seconds.images,
        line.seconds.read_bytes,
        line.seconds.waiting_bytes,
        devices.reads,
        devices.writes,
    )
    seconds = tuple(
        Second(
            one.start_ns,
            one.end_ns,
            one.transactions,
            one.busy_with_debt_ns,
            *(_number(column[place]) if place < len(column) else math.nan for column in columns),
        )
        for place, one in enumerate(slices)
        if not one.dropped
    )
    unknown = line.resident_bytes is None or not line.evicted_bytes
    return Turn(
        arm=line.arm,
        position=line.position,
        clients=max((one.clients for one in slices), default=0),
        end=line.end,
        level=line.level,
        resident_share=math.nan if unknown else (line.resident_bytes or 0) / line.evicted_bytes,
        quiet=line.quiet,
        waiting_bytes=line.waiting_bytes,
        seconds=seconds,
        checkpoints=tuple(
            Checkpoint(one.began_ns, one.ended_ns, one.cause) for one in line.checkpoints
        ),
        at_start=_debt(line.at_start),
        at_end=_debt(line.at_end),
        at_checkpoint=line.at_checkpoint,
        files_bytes=line.evicted_bytes or math.nan,
        age_ns=math.fsum(line.phases_ns.get(phase, math.nan) for phase in LOADED_PHASES),
    )


def _debt(line: DebtLine) -> Debt:
    return Debt(_number(line.wal_bytes), _number(line.waiting_bytes))


def _number(value: float | None) -> float:
    return math.nan if value is None else value
