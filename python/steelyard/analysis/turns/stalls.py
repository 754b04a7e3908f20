"""Finds the stalls of a turn: seconds far below its own level, with their time and likely cause.

A second counts as stalled below half of the turn's median throughput: there clients of a closed
loop wait longer than they work. What images alone took after a checkpoint in trials by hand was a
third of the throughput (pglz, tproc-c). The median, since a stall must not move what it is compared
with.

Causes are inferred from coincidence in time, and worded so. A checkpoint goes before write-back,
since its sync makes the kernel write. Its parts: it writes for most of its time, spread by
checkpoint_completion_target, and syncs all files at its end (ProcessSyncRequests in sync.c); the
first changes of pages after its begin log images.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby

import numpy as np

from steelyard.analysis.turns.evenness import throughputs
from steelyard.model.turn import Checkpoint, Second, Turn
from steelyard.model.units import NS_PER_S

STALLED_BELOW = 0.5
"""Share of the turn's median throughput."""
STORM_NS = 5 * NS_PER_S
"""A stall this long counts as a storm: it is a state of the server, not a single wait."""
BORDER_SHARE = 0.1
"""Of a checkpoint: its begin and its end, at least a second each."""
FELL_BY = 0.25
"""Share of what waited to be written that was written within a stall: the kernel wrote."""
HIGH = 0.9
"""Share of the most that waited in the turn, from which the kernel may hold writers up
(balance_dirty_pages in mm/page-writeback.c); the limit itself is not known here."""
FEW_BYTES = 16 << 20
"""Less than this waiting is a quiet device (METHODOLOGY.md, turns)."""


class StallCause(StrEnum):
    """What went on during a stall."""

    CHECKPOINT_BEGIN = "begin of a checkpoint"
    CHECKPOINT_WRITE = "checkpoint under way"
    CHECKPOINT_SYNC = "end of a checkpoint: sync"
    WRITE_BACK = "kernel write-back"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ThroughputStall:
    """A run of seconds below half of the turn's median throughput."""

    from_ns: int
    """Since the measured part began."""
    length_ns: int
    depth: float
    """Throughput of its slowest second as a share of the turn's median."""
    cause: StallCause

    @property
    def storm(self) -> bool:
        """Whether it lasted long enough to be called one."""
        return self.length_ns >= STORM_NS


def stalls(turn: Turn) -> tuple[ThroughputStall, ...]:
    """The stalls of a turn, in order; none where half of its seconds did nothing."""
    speeds = throughputs(turn)
    level = float(np.median(speeds)) if len(speeds) else 0.0
    if level <= 0:
        return ()
    return tuple(
        ThroughputStall(
            from_ns=turn.seconds[first].start_ns - turn.seconds[0].start_ns,
            length_ns=turn.seconds[last].end_ns - turn.seconds[first].start_ns,
            depth=float(speeds[first : last + 1].min()) / level,
            cause=_cause(turn, first, last),
        )
        for first, last in _runs((speeds < STALLED_BELOW * level).tolist())
    )


def _runs(low: list[bool]) -> Iterator[tuple[int, int]]:
    """First and last place of every run of True."""
    for is_low, run in groupby(enumerate(low), key=lambda pair: pair[1]):
        indices = [index for index, _ in run]
        if is_low:
            yield indices[0], indices[-1]


def _cause(turn: Turn, first: int, last: int) -> StallCause:
    start_ns, end_ns = turn.seconds[first].start_ns, turn.seconds[last].end_ns
    parts = [
        part
        for checkpoint in turn.checkpoints
        if (part := _part(checkpoint, start_ns, end_ns, turn.seconds[-1].end_ns)) is not None
    ]
    for part in (
        StallCause.CHECKPOINT_SYNC,
        StallCause.CHECKPOINT_BEGIN,
        StallCause.CHECKPOINT_WRITE,
    ):
        if part in parts:
            return part
    if _written_back(turn.seconds, first, last):
        return StallCause.WRITE_BACK
    return StallCause.UNKNOWN


def _part(checkpoint: Checkpoint, start_ns: int, end_ns: int, last_ns: int) -> StallCause | None:
    """The part of a checkpoint that a stall overlaps, its end before its begin; None for none."""
    ended_ns = last_ns if checkpoint.ended_ns is None else checkpoint.ended_ns
    if end_ns <= checkpoint.began_ns or start_ns > ended_ns:
        return None
    border_ns = max(BORDER_SHARE * (ended_ns - checkpoint.began_ns), NS_PER_S)
    if checkpoint.ended_ns is not None and end_ns >= checkpoint.ended_ns - border_ns:
        return StallCause.CHECKPOINT_SYNC
    if start_ns <= checkpoint.began_ns + border_ns:
        return StallCause.CHECKPOINT_BEGIN
    return StallCause.CHECKPOINT_WRITE


def _written_back(seconds: tuple[Second, ...], first: int, last: int) -> bool:
    """Whether much was written within the stall, or so much waited that writers are held up."""
    waiting = np.array([second.waiting_bytes for second in seconds])
    before = waiting[max(first - 1, 0)]
    during = waiting[first : last + 1]
    if not np.isfinite(during).any():
        return False
    fell = before - np.nanmin(during)
    high = np.nanmax(during)
    return bool(
        fell >= max(FELL_BY * before, FEW_BYTES)
        or high >= max(HIGH * np.nanmax(waiting), 4 * FEW_BYTES)
    )
