"""Cuts the measured seconds of a turn at its checkpoints, and says how far from one each piece is.

The time counts from where the last checkpoint began, its redo point, not from where it was
complete: from the redo point on the first change of a page writes its whole image to the log
(XLogRecordAssemble in xloginsert.c compares a page's LSN with RedoRecPtr), and the writing of the
checkpoint itself is part of what follows. A checkpoint that never completed has a redo point too.
Measuring begins where a checkpoint completed, so its first seconds lie late in a cycle.

A second that straddles the begin of a checkpoint is split: the part before goes on at the rate of
the second before, and the rest of its work came after. Split in proportion to time, a sixth of a
second of a burst would count as before the checkpoint that causes it: 8 % of a burst in a bin of
two seconds. Assigned whole by its middle, it would leave bins empty just where a stall makes a
second long, and drop those epochs: a selection by outcome. At the edges of bins, where nothing
happens, seconds are split in proportion to time. What lies before any known checkpoint has no
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
    """Of the piece; so are all sums."""
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
    begins = np.sort(
        np.array([checkpoint.began_ns for checkpoint in turn.checkpoints], dtype=np.float64)
    )
    pieces = _cut(starts, ends, begins)
    cycle = np.searchsorted(begins, pieces.lows, side="right") - 1
    after = cycle >= 0
    lows, highs, cycle = pieces.lows[after], pieces.highs[after], cycle[after]
    busy_ns = _numbers(turn, "busy_ns")

    def amounts(name: str) -> Floats:
        return pieces.amounts(_numbers(turn, name), busy_ns)[after]

    origin = begins[cycle] if len(cycle) else lows
    spans = list(_spans(lows - origin, highs - origin, cycle))
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
        transactions=amounts("transactions"),
        busy_ns=(pieces.parts * busy_ns[pieces.owner])[after],
        images=amounts("images"),
        wal_bytes=amounts("wal_bytes"),
        reach_ns=_reach(spans, 2 * typical_ns),
        typical_ns=typical_ns,
    )


def _numbers(turn: Turn, name: str) -> Floats:
    return np.array([getattr(second, name) for second in turn.seconds], dtype=np.float64)


@dataclass(frozen=True, slots=True)
class _Pieces:
    """Seconds cut where checkpoints began."""

    owner: np.ndarray
    """Which second a piece is of."""
    lows: Floats
    highs: Floats
    parts: Floats
    """Share of its second's time."""
    head: np.ndarray
    """Whether it is what comes before the first checkpoint of its second."""

    def amounts(self, whole: Floats, busy_ns: Floats) -> Floats:
        """What of the seconds' sums falls to each piece; a head has the rate of the second before
        it, at most all there is, and by time where that is not known."""
        shares = self.parts.copy()
        [heads] = np.nonzero(self.head & (self.owner > 0))
        for head in heads:
            owner = self.owner[head]
            rate = whole[owner - 1] / busy_ns[owner - 1] if busy_ns[owner - 1] else np.nan
            expected = rate * self.parts[head] * busy_ns[owner]
            if not (np.isfinite(expected) and whole[owner] > 0):
                continue
            share = min(expected / whole[owner], 1.0)
            others = self.owner == owner
            shares[others] *= (1 - share) / (1 - self.parts[head])
            shares[head] = share
        amounts: Floats = shares * whole[self.owner]
        return amounts


def _cut(starts: Floats, ends: Floats, begins: Floats) -> _Pieces:
    owner, lows, highs = np.arange(len(starts)), starts.copy(), ends.copy()
    for begin in begins:
        [hit] = np.nonzero((lows < begin) & (begin < highs))
        owner = np.concatenate([owner, owner[hit]])
        lows = np.concatenate([lows, np.full(len(hit), begin)])
        highs = np.concatenate([highs, highs[hit]])
        highs[hit] = begin
    parts = (highs - lows) / np.maximum(ends - starts, 1.0)[owner]
    head = (lows == starts[owner]) & (highs < ends[owner])
    return _Pieces(owner, lows, highs, parts, head)


def _spans(lows: Floats, highs: Floats, place: np.ndarray) -> Iterator[Span]:
    """What was measured after each checkpoint, from its first piece to its last."""
    for index in np.unique(place):
        inside = place == index
        yield float(lows[inside].min()), float(highs[inside].max())


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
    begins = sorted(
        checkpoint.began_ns
        for checkpoint in turn.checkpoints
        if first <= checkpoint.began_ns <= last
    )
    return [later - earlier for earlier, later in pairwise(begins)]


def pauses_ns(turn: Turn) -> list[int]:
    """Time from the end of each checkpoint to the begin of the next, where the latter lies in the
    measured part."""
    if not turn.seconds:
        return []
    first, last = turn.seconds[0].start_ns, turn.seconds[-1].end_ns
    ordered = sorted(turn.checkpoints, key=lambda checkpoint: checkpoint.began_ns)
    return [
        later.began_ns - earlier.ended_ns
        for earlier, later in pairwise(ordered)
        if earlier.ended_ns is not None and first <= later.began_ns <= last
    ]
