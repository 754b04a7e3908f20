"""Cuts the measured seconds of a turn at its checkpoints, and computes curves over the time since a
checkpoint began, and effects at a checkpoint distance.

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

Turns run at the distance that the arms' own settings and the time scale give. What a treatment
costs through full-page images is paid near a checkpoint, so its effect at another distance can be
computed from the curve: up to a distance T, every time since the checkpoint counting alike. That
is what turns at T would show if nothing but the images depended on T. It is labelled as computed,
since the writing of a checkpoint is spread over T too.

An epoch is a replicate as everywhere: one log ratio an epoch and bin, joint intervals over the
bins, and apart from them over the distances, by sign flips and max-T (Westfall & Young 1993;
Romano & Wolf, JASA 100 (2005) 94). Servers count images up to a second late, so some of a bin's
images may be counted in the next one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from steelyard.analysis.decision.looks import FEWEST_FOR_VERDICT
from steelyard.analysis.decision.max_t import ALPHA, JointResult, joint_flips
from steelyard.analysis.decision.sign_flip import Floats
from steelyard.model.estimate import LOG_RATIO, Estimate
from steelyard.model.turn import Turn
from steelyard.model.units import NS_PER_S

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


Pair = tuple[Turn, Turn]
"""The turns of the control and of the arm in one epoch."""

MOST_BINS = 8
MOST_DISTANCES = 8
EDGES_NS = tuple(
    NS_PER_S * s for s in (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200)
)
"""Where bins may end, finer near the checkpoint, where images fall fast; the last ends where the
measured part of the curve does."""
DISTANCES_NS = tuple(NS_PER_S * s for s in (5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600))
FINEST = 1.5
"""Slices in the first bin, at least: it is blurred by the slice that straddles the checkpoint."""
LAST_BIN = 1.25
"""The last bin ends at least so many times as far out as it begins: no sliver at the end."""
NEARLY = 0.98
"""A distance counts as reached at this share of it: timers wake up to a second off."""
REACHED_BY = 0.9
"""Share of the epochs that must reach what is shown: one short cycle does not end the curve."""


@dataclass(frozen=True, slots=True)
class PerTransaction:
    """What an arm wrote in a bin, per transaction, over all epochs; NaN: not counted."""

    images: float
    wal_bytes: float


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """The contrast of the arms in one bin of the time since a checkpoint began."""

    from_ns: int
    to_ns: int
    estimate: Estimate
    """Log ratio of throughput, arm to control; its interval holds jointly with all other bins."""
    p_value: float
    control: PerTransaction
    arm: PerTransaction


@dataclass(frozen=True, slots=True)
class DistanceEffect:
    """The effect as it would be with a checkpoint every `distance_ns`: computed, not measured."""

    distance_ns: int
    estimate: Estimate
    """Log ratio of throughput; its interval holds jointly with all other distances."""
    p_value: float


@dataclass(frozen=True, slots=True)
class _Reached:
    """The epochs in which both arms were measured far enough, and how far that is."""

    pairs: tuple[tuple[Series, Series], ...]
    reach_ns: float

    @property
    def typical_ns(self) -> float:
        """The longest median length of a turn's seconds."""
        return max(side.typical_ns for pair in self.pairs for side in pair)


def curve(pairs: Sequence[Pair]) -> tuple[CurvePoint, ...]:
    """The contrast by bins of the time since a checkpoint began, in order.

    Bins reach as far as both arms do in nine of ten epochs, at least 8 (in all, where there are
    no more); other epochs are left out, so that all bins have the same ones: their number is the
    estimate's count. Empty where no epoch has a checkpoint in both arms.
    """
    reached = _reached(pairs)
    if not reached.pairs:
        return ()
    bins = list(pairwise(bin_edges(reached.reach_ns, reached.typical_ns)))
    table = np.array([[_log_ratio(pair, *ends) for ends in bins] for pair in reached.pairs])
    whole = ~np.isnan(table).any(axis=1)
    complete = [pair for pair, keep in zip(reached.pairs, whole, strict=True) if keep]
    return tuple(
        CurvePoint(
            from_ns=round(low),
            to_ns=round(high),
            estimate=_estimate(result, len(complete)),
            p_value=result.p_value,
            control=_written([pair[0] for pair in complete], low, high),
            arm=_written([pair[1] for pair in complete], low, high),
        )
        for (low, high), result in zip(bins, joint_flips(table[whole]), strict=True)
    )


def effects_at(pairs: Sequence[Pair]) -> tuple[DistanceEffect, ...]:
    """The effect at each of `DISTANCES_NS` that was reached (as for `curve`), the longest eight.

    By epoch ln of the ratio of work per time of the seconds nearer to a checkpoint than T. Where
    whole cycles were measured that is their plain total; else a distance that was passed more
    often than others weighs no more.
    """
    reached = _reached(pairs)
    if not reached.pairs:
        return ()
    distances = [distance for distance in DISTANCES_NS if NEARLY * distance <= reached.reach_ns][
        -MOST_DISTANCES:
    ]
    if not distances:
        return ()
    table = np.array(
        [[_log_ratio(pair, 0, distance) for distance in distances] for pair in reached.pairs]
    )
    whole: Floats = table[~np.isnan(table).any(axis=1)]
    if not len(whole):
        return ()
    return tuple(
        DistanceEffect(distance, _estimate(result, len(whole)), result.p_value)
        for distance, result in zip(distances, joint_flips(whole), strict=True)
    )


def bin_edges(reach_ns: float, second_ns: float) -> list[float]:
    """Edges of at most 8 bins from 0 to the reach, none much finer than the slices that fill them
    (`second_ns`: their median length)."""
    finest = FINEST * second_ns
    inner = [edge for edge in EDGES_NS if finest <= edge and LAST_BIN * edge <= reach_ns]
    return [0.0, *(float(edge) for edge in inner[-(MOST_BINS - 1) :]), reach_ns]


def _reached(pairs: Sequence[Pair]) -> _Reached:
    both = [(series_of(control), series_of(arm)) for control, arm in pairs]
    reached = [(min(c.reach_ns, a.reach_ns), (c, a)) for c, a in both if c.reach_ns and a.reach_ns]
    if not reached:
        return _Reached((), 0.0)
    needed = min(len(reached), max(FEWEST_FOR_VERDICT, math.ceil(REACHED_BY * len(reached))))
    reach_ns = sorted((reach for reach, _ in reached), reverse=True)[needed - 1]
    return _Reached(
        tuple(pair for reach, pair in reached if reach >= NEARLY * reach_ns), float(reach_ns)
    )


def _log_ratio(pair: tuple[Series, Series], low_ns: float, high_ns: float) -> float:
    """±∞ where one arm did no work there, NaN where neither did or one was not measured there."""
    control, arm = (side.work_per_second(low_ns, high_ns) for side in pair)
    if math.isnan(control) or math.isnan(arm) or control == arm == 0:
        return math.nan
    if control == 0 or arm == 0:
        return math.inf if control == 0 else -math.inf
    return math.log(arm) - math.log(control)


def _estimate(result: JointResult, count: int) -> Estimate:
    low, high = result.interval.low, result.interval.high
    return Estimate(result.value, low, high, count, LOG_RATIO, 1 - ALPHA)


def _written(sides: Sequence[Series], low_ns: float, high_ns: float) -> PerTransaction:
    """Totals over the seconds whose number was had."""
    inside = [side.inside(low_ns, high_ns) for side in sides]

    def per_transaction(name: str) -> float:
        total = done = 0.0
        for side, weights in zip(sides, inside, strict=True):
            amounts: Floats = getattr(side, name)
            had = np.isfinite(amounts)
            total += float(weights[had] @ amounts[had])
            done += float(weights[had] @ side.transactions[had])
        return total / done if done else math.nan

    return PerTransaction(per_transaction("images"), per_transaction("wal_bytes"))
