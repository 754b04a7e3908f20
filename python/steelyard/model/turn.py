"""Holds a turn: one arm alone on the machine, second by second over whole checkpoint cycles.

Times are nanoseconds on CLOCK_MONOTONIC of the machine that drives, so that a wall clock that is
set back moves nothing. Sums of a second belong to its slice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

TurnEnd = Literal["cycles", "longest", "stated"]
"""Why a turn ended: the cycles asked for were complete; the longest turn was over before they were;
the study states how long a turn is."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One checkpoint of a server, seen from outside."""

    began_ns: int  # at its redo point: from here on the first change of a page logs its image
    ended_ns: int | None  # None: it was under way when the turn ended
    cause: str  # as the server says it: "time", "wal", "immediate force wait", ...


@dataclass(frozen=True, slots=True)
class Second:
    """One measured slice of a turn, about a second long; NaN: the number was not had."""

    start_ns: int
    end_ns: int  # its last client was back
    transactions: int
    busy_ns: int  # summed over clients
    wal_bytes: float = math.nan
    images: float = math.nan  # full-page images; servers count them up to a second late
    read_bytes: float = math.nan  # asked of the kernel by the server's processes
    waiting_bytes: float = math.nan  # dirty and under write-back on the whole machine, at its end
    device_reads: float = math.nan  # requests that the devices beneath the data ended in it
    device_writes: float = math.nan
    wall_ns: float = math.nan  # where times are own time of the arm: when it began for the machine


@dataclass(frozen=True, slots=True)
class Debt:
    """What an arm owed at one moment."""

    wal_bytes: float  # log since the last completed checkpoint's redo point
    waiting_bytes: float  # dirty and under write-back on the whole machine


@dataclass(frozen=True, slots=True)
class Turn:
    """One arm's turn in an epoch."""

    arm: str
    position: int  # 0: first of its epoch
    clients: int
    end: TurnEnd
    level: bool  # whether throughput and reads were level before it was measured
    resident_share: float  # of the arms' files in the page cache after eviction; NaN: not known
    quiet: bool  # whether the device was quiet at the start
    waiting_bytes: float  # dirty and under write-back when the server was started
    seconds: tuple[Second, ...]  # measured ones, in order
    checkpoints: tuple[Checkpoint, ...]  # of the server's whole life in this turn, in order
    at_start: Debt  # of the measured part
    at_end: Debt
    at_checkpoint: bool = True  # whether it was measured from the end of a checkpoint on
    age_ns: float = math.nan  # load before the measured part
    files_bytes: float = math.nan  # of all arms, before it was started

    @property
    def measured_ns(self) -> int:
        """From the first measured second to the end of the last."""
        return self.seconds[-1].end_ns - self.seconds[0].start_ns if self.seconds else 0

    @property
    def loaded_ns(self) -> int:
        """Time of the measured slices, added up."""
        return sum(second.end_ns - second.start_ns for second in self.seconds)

    @property
    def cycles(self) -> int:
        """Checkpoints completed after the first measured second began."""
        if not self.seconds:
            return 0
        first, last = self.seconds[0].start_ns, self.seconds[-1].end_ns
        ends = [
            checkpoint.ended_ns
            for checkpoint in self.checkpoints
            if checkpoint.ended_ns is not None
        ]
        return sum(first < end <= last for end in ends)

    @property
    def whole_cycles(self) -> int:
        """Checkpoint cycles that were measured from their begin to their end."""
        return self.cycles if self.at_checkpoint else max(0, self.cycles - 1)
