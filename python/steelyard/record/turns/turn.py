"""One turn as a line of telemetry.jsonl: what was prepared, what was seen second by second."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

from steelyard.model.turn import Checkpoint, Turn, TurnEnd
from steelyard.record.epoch import ArmLine, ReadingLine
from steelyard.record.frozen import Frozen
from steelyard.record.slice import SliceLine
from steelyard.record.turns.seconds import CheckpointLine, DebtLine, SecondsLine, seconds_of

LOADED_PHASES = ("warm up", "wait for a checkpoint")
"""Phases of a turn under load before it is measured."""


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
    unknown = line.resident_bytes is None or not line.evicted_bytes
    return Turn(
        arm=line.arm,
        position=line.position,
        clients=max((slice_line.clients for slice_line in slices), default=0),
        end=line.end,
        level=line.level,
        resident_share=math.nan if unknown else (line.resident_bytes or 0) / line.evicted_bytes,
        quiet=line.quiet,
        waiting_bytes=line.waiting_bytes,
        seconds=seconds_of(line.seconds, slices),
        checkpoints=tuple(
            Checkpoint(checkpoint.began_ns, checkpoint.ended_ns, checkpoint.cause)
            for checkpoint in line.checkpoints
        ),
        at_start=line.at_start.debt,
        at_end=line.at_end.debt,
        at_checkpoint=line.at_checkpoint,
        files_bytes=line.evicted_bytes or math.nan,
        age_ns=math.fsum(line.phases_ns.get(phase, math.nan) for phase in LOADED_PHASES),
    )
