"""Computes carry-over, and tests whether it, slots or start order matter more than by chance.

Slots and start orders are drawn with a fixed share each way, in uniformly random order, so under
"places do not matter" the log ratios go with any order of the drawn places alike: a permutation
test, exact whatever the epochs look like (Fisher). All orders are counted where they are few, else
9,999 of them and the identity (Phipson & Smyth, SAGMB 9 (2010) 39). Carry-over has no fixed share:
sign flips. Each check runs at α = .01. Two places that are wholly apart have p = .029 at 8 epochs
and .008 at 10: with fewer than 10 the checks of places cannot reject.

Of carry-over only the first slice of a block is used: whether it follows its own arm or another is
then a coin flip of the block order, and position inside the block plays no part. A change that both
arms share cancels; only a difference between the arms can move a contrast, so that is what is
measured. Carry-over and burn-in in switchback designs: Hu & Wager, arXiv 2209.00197; diagnostics by
conditional randomisation: Liu & Zhong, arXiv 2602.23257.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from steelyard.analysis.decision.looks import FEWEST_FOR_VERDICT
from steelyard.analysis.decision.sign_flip import Bools, Floats, confidence_set, p_value
from steelyard.analysis.decision.t_interval import welch
from steelyard.model.estimate import UNBOUNDED, Interval
from steelyard.model.memoize import memoize_by_identity
from steelyard.model.readings import EpochTotals, SliceTotals

ALPHA = 0.01
PERMUTATIONS = 9_999
_DRAWN_AT_ONCE = 500
_SEED = 0x510715


@dataclass(frozen=True, slots=True)
class PlaceCheck:
    """How much a place matters, and how surprising that is."""

    effect: float
    """Log: the largest difference between the mean log ratios of two places."""
    p_value: float
    """Exact up to ALPHA; above, where orders are drawn and not counted, it is at least this."""
    interval: Interval = UNBOUNDED
    """Of the effect, at 1 − ALPHA; by Welch's t for two places, not bounded for more. Of carry-over
    it is bounded only where it alarms."""

    @property
    def alarms(self) -> bool:
        """Whether the check rejects at its level."""
        return self.p_value <= ALPHA


UNKNOWN = PlaceCheck(math.nan, 1.0)


def place_check(d: Floats, places: Sequence[Hashable]) -> PlaceCheck:
    """Whether the log ratios d, shape (n,), differ between the places the arms held.

    `places[i]`: any label of epoch i ("arm in slot 0, control in slot 1"). UNKNOWN below 8 finite
    epochs, or where every epoch has the same place or one of its own.
    """
    finite = np.isfinite(d)
    ratios = d[finite]
    labels = [place for place, keep in zip(places, finite, strict=True) if keep]
    names = sorted(set(labels), key=repr)
    if len(ratios) < FEWEST_FOR_VERDICT or not 1 < len(names) < len(ratios):
        return UNKNOWN
    codes = np.array([names.index(label) for label in labels])
    observed = float(_spread(ratios[None, :], codes)[0])
    if len(names) == 2 and math.comb(len(ratios), int(codes.sum())) <= PERMUTATIONS:
        others = _spread_of_orders(ratios, _every_order(len(ratios), int(codes.sum())))
        p = int((others >= observed * (1 - 1e-9)).sum()) / len(others)  # the identity among them
    else:
        p = _drawn_p_value(ratios, codes, observed)
    between = _between(ratios, codes) if len(names) == 2 else UNBOUNDED
    return PlaceCheck(observed, p, between)


def _drawn_p_value(kept: Floats, codes: np.ndarray, observed: float) -> float:
    """The share of drawn orders, the identity counted, that spread as much; orders are drawn until
    it is sure to be above ALPHA, which takes a few hundred where places do not matter."""
    as_large = 1
    for orders in _shuffles(len(kept)).drawn():
        as_large += int((_spread(kept[orders], codes) >= observed * (1 - 1e-9)).sum())
        if as_large > ALPHA * (PERMUTATIONS + 1):
            break
    return as_large / (PERMUTATIONS + 1)


class _Shuffles:
    """Orders of n epochs from a fixed seed; batches are cached as they are drawn."""

    def __init__(self, n: int) -> None:
        self._rng = np.random.default_rng([_SEED, n])
        self._in_order = np.arange(n, dtype=np.uint16)
        self._kept: list[NDArray[np.uint16]] = []

    def drawn(self) -> Iterator[NDArray[np.uint16]]:
        """All PERMUTATIONS of them in batches, shape (orders, n)."""
        for batch, start in enumerate(range(0, PERMUTATIONS, _DRAWN_AT_ONCE)):
            if batch == len(self._kept):
                rows = min(_DRAWN_AT_ONCE, PERMUTATIONS - start)
                self._kept.append(self._rng.permuted(np.tile(self._in_order, (rows, 1)), axis=1))
            yield self._kept[batch]


@lru_cache(maxsize=64)
def _shuffles(n: int) -> _Shuffles:
    return _Shuffles(n)


def _between(kept: Floats, codes: np.ndarray) -> Interval:
    """The higher of two places less the lower."""
    lower, higher = sorted((kept[codes == code] for code in (0, 1)), key=lambda side: side.mean())
    return welch(lower, higher).interval(1 - ALPHA)


@lru_cache(maxsize=32)
def _every_order(n: int, taken: int) -> Bools:
    """Every way to have `taken` of n epochs in one of two places, as rows."""
    count = math.comb(n, taken)
    every = chain.from_iterable(combinations(range(n), taken))
    epochs = np.fromiter(every, dtype=np.intp, count=count * taken).reshape(count, taken)
    rows = np.zeros((count, n), dtype=np.bool_)
    np.put_along_axis(rows, epochs, True, axis=1)
    rows.setflags(write=False)
    return rows


def _spread_of_orders(kept: Floats, orders: Bools) -> Floats:
    """Distance of the mean log ratios of two places, for every order of the places."""
    count = int(orders[0].sum())
    sums = orders @ kept
    spread: Floats = np.abs(sums / count - (kept.sum() - sums) / (len(kept) - count))
    return spread


def _spread(rows: Floats, codes: np.ndarray) -> Floats:
    """Largest minus smallest mean over the places, for every row of log ratios. `codes`: the places
    of the columns, from 0, none left out."""
    sizes = np.bincount(codes)
    by_place = rows.T[np.argsort(codes, kind="stable")]
    first = np.cumsum(sizes) - sizes
    means = np.add.reduceat(by_place, first, axis=0) / sizes[:, None]
    spread: Floats = means.max(axis=0) - means.min(axis=0)
    return spread


def slot_effect(d: Floats, arm_in_first_slot: Sequence[bool]) -> float:
    """With two slots: log throughput of the first slot over the second, apart from the arms.

    Half the difference of the mean log ratios; NaN where either assignment is missing."""
    first = np.array(arm_in_first_slot, dtype=bool)
    finite = np.isfinite(d)
    if not (first & finite).any() or not (~first & finite).any():
        return math.nan
    return float(d[first & finite].mean() - d[~first & finite].mean()) / 2


def carry_over_check(changes: Sequence[float]) -> PlaceCheck:
    """Whether the epochs' carry-over (log, see `carry_over`) is centred at 0; NaN are left out."""
    finite = np.array([value for value in changes if math.isfinite(value)])
    if len(finite) < FEWEST_FOR_VERDICT:
        return UNKNOWN
    p = p_value(finite)
    between = confidence_set(finite, ALPHA).interval if p <= ALPHA else UNBOUNDED
    return PlaceCheck(float(finite.mean()), p, between)


def carry_over(totals: EpochTotals, arm: str, control: str) -> float:
    """(arm after another − arm after itself) − (the same of the control), of mean log throughput.

    NaN where the arm or the control has no slice of either kind. One of a kind is enough: it makes
    an epoch's change wider, not its centre another; with two required, three of four weighings of 8
    epochs and 20 blocks could not be tested.
    """
    changes = _changes_after_others(totals)
    return changes[arm] - changes[control]


@memoize_by_identity
def _changes_after_others(totals: EpochTotals) -> dict[str, float]:
    """Arm → mean log throughput after another arm, which may be a third one, less that after
    itself; NaN where it has not both."""
    arms = totals.arms
    run = sorted(
        (
            (part.block, part.position, name, part)
            for name, all_of in arms.items()
            for part in all_of.slices
        ),
        key=lambda row: row[:2],
    )
    after: dict[tuple[str, bool], list[float]] = {}
    for (earlier, last, before, _), (block, position, name, part) in pairwise(run):
        neighbours = (earlier, last) == (block - 1, len(arms) - 1)  # none was dropped between them
        if position == 0 and neighbours and part.transactions > 0:
            after.setdefault((name, before == name), []).append(_log_rate(part))
    return {name: _change(after, name) for name in arms}


def _change(after: Mapping[tuple[str, bool], list[float]], name: str) -> float:
    same, other = after.get((name, True), []), after.get((name, False), [])
    if not same or not other:
        return math.nan
    return float(np.mean(other)) - float(np.mean(same))


def _log_rate(one: SliceTotals) -> float:
    return math.log(one.transactions / max(one.busy_ns, 1))
