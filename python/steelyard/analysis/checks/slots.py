"""Computes carry-over, and tests whether it, slots or start order matter more than by chance.

Slots and start orders are drawn with a fixed share each way, in uniformly random order, so under
"places do not matter" the log ratios go with any order of the drawn places alike: a permutation
test, exact whatever the epochs look like (Fisher). All orders are counted where they are few, else
9,999 of them and the identity (Phipson & Smyth, SAGMB 9 (2010) 39). Carry-over has no fixed share:
sign flips. Each check runs at α = .01. Two places that are wholly apart have p = .029 at 8 epochs
and .008 at 10: with fewer than 10 the checks of places cannot speak.

Of carry-over only the first slice of a block is used: whether it follows its own arm or another is
then a coin flip of the block order, and position inside the block plays no part. A change that both
arms share cancels; only a difference between the arms can move a contrast, so that is what is
measured. Carry-over and burn-in in switchback designs: Hu & Wager, arXiv 2209.00197; diagnostics by
conditional randomisation: Liu & Zhong, arXiv 2602.23257.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, pairwise

import numpy as np

from steelyard.analysis.decision.looks import FEWEST_FOR_VERDICT
from steelyard.analysis.decision.sign_flip import Bools, Floats, confidence_set, p_value
from steelyard.analysis.decision.t_interval import welch
from steelyard.model.estimate import UNBOUNDED, Interval
from steelyard.model.readings import ArmTotals, SliceTotals

ALPHA = 0.01
PERMUTATIONS = 9_999
_SEED = 0x510715


@dataclass(frozen=True, slots=True)
class PlaceCheck:
    """How much a place matters, and how surprising that is."""

    effect: float
    """Log: the largest difference between the mean log ratios of two places."""
    p_value: float
    interval: Interval = UNBOUNDED
    """Of the effect, at 1 − ALPHA; by Welch's t for two places, not bounded for more."""

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
    kept = d[finite]
    labels = [place for place, keep in zip(places, finite, strict=True) if keep]
    names = sorted(set(labels), key=repr)
    if len(kept) < FEWEST_FOR_VERDICT or not 1 < len(names) < len(kept):
        return UNKNOWN
    codes = np.array([names.index(label) for label in labels])
    observed = float(_spread(kept[None, :], codes, len(names))[0])
    if len(names) == 2 and math.comb(len(kept), int(codes.sum())) <= PERMUTATIONS:
        others = _spread_of_orders(kept, _every_order(len(kept), int(codes.sum())))
        identity = 0  # it is among them
    else:
        rng = np.random.default_rng([_SEED, len(kept)])
        shuffled = rng.permuted(np.tile(kept, (PERMUTATIONS, 1)), axis=1)
        others = _spread(shuffled, codes, len(names))
        identity = 1
    as_large = identity + int((others >= observed * (1 - 1e-9)).sum())
    between = _between(kept, codes) if len(names) == 2 else UNBOUNDED
    return PlaceCheck(observed, as_large / (identity + len(others)), between)


def _between(kept: Floats, codes: np.ndarray) -> Interval:
    """The higher of two places less the lower."""
    one, other = sorted((kept[codes == code] for code in (0, 1)), key=lambda side: side.mean())
    return welch(one, other).interval(1 - ALPHA)


@lru_cache(maxsize=32)
def _every_order(n: int, taken: int) -> Bools:
    """Every way to have `taken` of n epochs in one of two places, as rows."""
    rows = np.zeros((math.comb(n, taken), n), dtype=np.bool_)
    for row, epochs in zip(rows, combinations(range(n), taken), strict=True):
        row[list(epochs)] = True
    rows.setflags(write=False)
    return rows


def _spread_of_orders(kept: Floats, orders: Bools) -> Floats:
    """Distance of the mean log ratios of two places, for every order of the places."""
    taken = int(orders[0].sum())
    sums = orders @ kept
    spread: Floats = np.abs(sums / taken - (kept.sum() - sums) / (len(kept) - taken))
    return spread


def _spread(rows: Floats, codes: np.ndarray, count: int) -> Floats:
    """Largest minus smallest mean over the places, for every row of log ratios."""
    means = np.stack([rows[:, codes == code].mean(axis=1) for code in range(count)])
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
    known = np.array([value for value in changes if math.isfinite(value)])
    if len(known) < FEWEST_FOR_VERDICT:
        return UNKNOWN
    return PlaceCheck(float(known.mean()), p_value(known), confidence_set(known, ALPHA).interval)


def carry_over(arms: Mapping[str, ArmTotals], arm: str, control: str) -> float:
    """(arm after another − arm after itself) − (the same of the control), of mean log throughput.

    `arms`: every arm of the epoch, since what came before may be a third one. NaN where the arm or
    the control has no slice of either kind. One of a kind is enough: it makes an epoch's change
    wider, not its centre another; with two asked for, three of four weighings of 8 epochs and 20
    blocks could not speak.
    """
    run = sorted(
        (
            (one.block, one.position, name, one)
            for name, all_of in arms.items()
            for one in all_of.slices
        ),
        key=lambda place: place[:2],
    )
    after: dict[tuple[str, bool], list[float]] = {}
    for (earlier, last, before, _), (block, position, name, one) in pairwise(run):
        neighbours = (earlier, last) == (block - 1, len(arms) - 1)  # none was dropped between them
        if position == 0 and neighbours and one.transactions > 0:
            after.setdefault((name, before == name), []).append(_log_rate(one))
    changes = [_change(after, name) for name in (arm, control)]
    return changes[0] - changes[1]


def _change(after: Mapping[tuple[str, bool], list[float]], name: str) -> float:
    own, other = after.get((name, True), []), after.get((name, False), [])
    if not own or not other:
        return math.nan
    return float(np.mean(other)) - float(np.mean(own))


def _log_rate(one: SliceTotals) -> float:
    return math.log(one.transactions / max(one.busy_ns, 1))
