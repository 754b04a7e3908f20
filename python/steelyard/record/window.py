"""One arm's measured window of an epoch in cycles: whole checkpoint cycles in its own time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from steelyard.model.turn import Checkpoint, Turn, TurnEnd
from steelyard.record.frozen import Frozen
from steelyard.record.slice import SliceLine
from steelyard.record.turns.seconds import CheckpointLine, DebtLine, SecondsLine, seconds_of


class WindowLine(Frozen):
    """What was seen of an arm in an epoch in cycles; times are own time of the arm, in ns from its
    first slice of the epoch."""

    end: TurnEnd
    level: bool
    """Whether throughput and reads were level when measuring began."""
    at_checkpoint: bool
    """Whether measuring began at the begin of a checkpoint; False: none began while it was waited
    for."""
    warmup_ns: int
    """Own time before the window."""
    checkpoints: tuple[CheckpointLine, ...] = ()
    """Of the epoch, in order."""
    at_start: DebtLine = DebtLine()
    at_end: DebtLine = DebtLine()
    starts_ns: tuple[int, ...] = ()
    """Own time at which each measured slice began."""
    seconds: SecondsLine = SecondsLine()
    """One number for each measured slice."""
    suspended_use_ns: int = 0
    """Processor time that its processes used while they were to stand still."""
    suspensions: int = 0
    """How often it stood still."""


def window_turn(arm: str, position: int, line: WindowLine, slices: Sequence[SliceLine]) -> Turn:
    """A window as analysis has it: seconds and checkpoints in own time. `slices`: its measured
    ones, in order; `position`: of its start among the arms'."""
    seconds = tuple(
        replace(
            second,
            start_ns=start_ns,
            end_ns=start_ns + second.end_ns - second.start_ns,
            wall_ns=float(second.start_ns),
        )
        for second, start_ns in zip(
            seconds_of(line.seconds, slices),
            [
                start_ns
                for start_ns, each in zip(line.starts_ns, slices, strict=False)
                if not each.dropped
            ],
            strict=False,
        )
    )
    return Turn(
        arm=arm,
        position=position,
        clients=max((each.clients for each in slices), default=0),
        end=line.end,
        level=line.level,
        resident_share=math.nan,
        quiet=True,
        waiting_bytes=0.0,
        seconds=seconds,
        checkpoints=tuple(
            Checkpoint(each.began_ns, each.ended_ns, each.cause) for each in line.checkpoints
        ),
        at_start=line.at_start.debt,
        at_end=line.at_end.debt,
        at_checkpoint=line.at_checkpoint,
        age_ns=float(line.warmup_ns),
    )
