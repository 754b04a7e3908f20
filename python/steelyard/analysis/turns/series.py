"""Cuts the measured seconds of a turn at its checkpoints, and says how far from one each piece is.

The time counts from where the last checkpoint began, its redo point, not from where it was
complete: from the redo point on the first change of a page writes its whole image to the log
(XLogRecordAssemble in xloginsert.c compares a page's LSN with RedoRecPtr), and the writing of the
checkpoint itself is part of what follows. A checkpoint that never completed has a redo point too.
Measuring begins where a checkpoint completed, so its first seconds lie late in a cycle.

A second that straddles the begin of a checkpoint, or the edge of a bin, is split: its work belongs
to either side in proportion to time. To assign it whole by its middle would leave bins empty just
where a stall makes a second long, and drop those epochs: a selection by outcome. Splitting moves a
sixth of a second of a burst to before its checkpoint. What lies before any known checkpoint has no
distance and is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from steelyard.analysis.decision.sign_flip import Floats
from steelyard.model.turn import Turn

Span = tuple[float, float]
"""First and last time since a checkpoint began, ns, that was measured after one checkpoint."""


@dataclass(frozen=True, slots=True)
class Series:
    """The pieces of a turn's measured seconds that have a distance, arrays of shape (pieces,)."""

    clients: int
    low_ns: Floats
    """Since the begin of the last checkpoint; so is the end."""
    high_ns: Floats
    share: Floats
    """1 ÷ how many cycles of the turn were measured at this distance, so that every distance
    weighs the same however often the turn came by."""
    transactions: Floats
    """Of the piece: its part of the second's; so with all sums."""
    busy_ns: Floats
    images: Floats
    wal_bytes: Floats
    reach_ns: float
    """How far from a checkpoint the turn was measured without a gap; 0: not near one at all."""
    typical_ns: float
    """Median length of a second."""

    def inside(self, low_ns: float, high_ns: float) -> Floats:
        """Which part of each piece lies between two distances."""
        length = np.maximum(self.high_ns - self.low_ns, 1.0)
        common = np.minimum(self.high_ns, high_ns) - np.maximum(self.low_ns, low_ns)
        part: Floats = np.maximum(common, 0.0) / length
        return part

    def work_per_second(self, low_ns: float, high_ns: float) -> float:
        """Transactions per second of loaded time between two distances, each distance alike; NaN
        where nothing was measured there."""
        weight = self.share * self.inside(low_ns, high_ns)
        busy_ns = float(weight @ self.busy_ns)
        done = float(weight @ self.transactions)
        return self.clients * done / (busy_ns / 1e9) if busy_ns else float("nan")


def series_of(turn: Turn) -> Series:
    """The pieces of a turn's measured seconds."""
    starts, ends = _numbers(turn, "start_ns"), _numbers(turn, "end_ns")
    begins = np.sort(np.array([one.began_ns for one in turn.checkpoints], dtype=np.float64))
    owner, lows, highs = _cut(starts, ends, begins)
    place = np.searchsorted(begins, lows, side="right") - 1
    after = place >= 0
    owner, lows, highs, place = owner[after], lows[after], highs[after], place[after]
    part = (highs - lows) / np.maximum(ends - starts, 1.0)[owner]
    origin = begins[place] if len(place) else lows
    spans = list(_spans(lows - origin, highs - origin, place))
    middles = (lows + highs) / 2 - origin
    covered = np.zeros(len(middles))
    for low, high in spans:
        covered += (middles >= low) & (middles < high)
    typical_ns = float(np.median(ends - starts)) if len(starts) else 0.0
    return Series(
        clients=turn.clients,
        low_ns=lows - origin,
        high_ns=highs - origin,
        share=1 / np.maximum(covered, 1.0),
        transactions=part * _numbers(turn, "transactions")[owner],
        busy_ns=part * _numbers(turn, "busy_ns")[owner],
        images=part * _numbers(turn, "images")[owner],
        wal_bytes=part * _numbers(turn, "wal_bytes")[owner],
        reach_ns=_reach(spans, 2 * typical_ns),
        typical_ns=typical_ns,
    )


def _numbers(turn: Turn, name: str) -> Floats:
    return np.array([getattr(one, name) for one in turn.seconds], dtype=np.float64)


def _cut(starts: Floats, ends: Floats, begins: Floats) -> tuple[np.ndarray, Floats, Floats]:
    """Which second each piece is of, and its ends: seconds cut where checkpoints began."""
    owner, lows, highs = np.arange(len(starts)), starts.copy(), ends.copy()
    for begin in begins:
        [hit] = np.nonzero((lows < begin) & (begin < highs))
        owner = np.concatenate([owner, owner[hit]])
        lows = np.concatenate([lows, np.full(len(hit), begin)])
        highs = np.concatenate([highs, highs[hit]])
        highs[hit] = begin
    return owner, lows, highs


def _spans(lows: Floats, highs: Floats, place: np.ndarray) -> Iterator[Span]:
    """What was measured after each checkpoint, from its first piece to its last."""
    for one in np.unique(place):
        own = place == one
        yield float(lows[own].min()), float(highs[own].max())


def _reach(spans: list[Span], gap_ns: float) -> float:
    """The end of what is covered from 0 on without a hole longer than `gap_ns`."""
    reach = 0.0
    for low, high in sorted(spans):
        if low > reach + gap_ns:
            break
        reach = max(reach, high)
    return reach


def cycles_ns(turn: Turn) -> list[int]:
    """Lengths of the checkpoint cycles that lie wholly in the measured part, begin to begin."""
    if not turn.seconds:
        return []
    first, last = turn.seconds[0].start_ns, turn.seconds[-1].end_ns
    begins = sorted(one.began_ns for one in turn.checkpoints if first <= one.began_ns <= last)
    return [later - earlier for earlier, later in pairwise(begins)]


def pauses_ns(turn: Turn) -> list[int]:
    """Time from the end of each checkpoint to the begin of the next, where the latter lies in the
    measured part."""
    if not turn.seconds:
        return []
    first, last = turn.seconds[0].start_ns, turn.seconds[-1].end_ns
    ordered = sorted(turn.checkpoints, key=lambda one: one.began_ns)
    return [
        later.began_ns - earlier.ended_ns
        for earlier, later in pairwise(ordered)
        if earlier.ended_ns is not None and first <= later.began_ns <= last
    ]
