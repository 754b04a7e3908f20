"""Tells steps of a parameter from measurements: they come again, apart from each other or equally
often, and explain how what was measured scatters."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from steelyard.foreign.number import amounts_of
from steelyard.foreign.series import Floats

_APART = 1.5
"""Sizes of a load grow by so much and more."""
_FEWEST_SWEPT = 6
"""Rows of all arms: a measurement is no number that comes as often."""
_MOST_DECIMALS = 2
"""Of a parameter."""
_MOST_ROUND = 2
"""Digits of a rate that was asked for, before its noughts."""
_APART_RATES = 1.1
_ROUNDS = 30
"""Of taking out the means of arms and of steps in turn, until none is left."""


def by_arm(cells: Sequence[str], arms: Sequence[str] | None) -> list[list[str]]:
    """The cells of the rows of each arm."""
    groups: dict[str, list[str]] = {}
    for cell, arm in zip(cells, arms or [""] * len(cells), strict=True):
        groups.setdefault(arm.strip(), []).append(cell)
    return list(groups.values())


def come_again(groups: Sequence[Sequence[str]]) -> bool:
    """Whether cells, by arm, come twice and more on the average."""
    return all(2 * len(set(group)) <= len(group) for group in groups)


def are_steps(groups: Sequence[Sequence[str]]) -> bool:
    """Whether numbers, by arm, come again as those of a parameter do, and not as what rounding
    leaves of a measurement: neighbours, the middle ones most often."""
    if not come_again(groups) or sum(map(len, groups)) < _FEWEST_SWEPT:
        return False
    steps = _last_digits([*{cell for group in groups for cell in group}])
    if not steps:
        return False
    spaced = all(b > _APART * a or b - a > 1 for a, b in itertools.pairwise(steps))
    if spaced and (steps[-1] - steps[0] >= len(steps) or steps == [0, 1]):
        return True
    counts = [Counter(group).values() for group in groups]
    return all(max(some) - min(some) <= max(1, min(some) / 4) for some in counts)


def are_sizes(groups: Sequence[Sequence[str]]) -> bool:
    """Whether numbers, by arm, come again and grow by a factor, as the sizes of a load do, and not
    as what is counted."""
    steps = _last_digits([*{cell for group in groups for cell in group}])
    apart = all(b >= _APART * max(a, 1) for a, b in itertools.pairwise(steps))
    return come_again(groups) and apart and len(steps) > 1 and steps[-1] - steps[0] >= len(steps)


def are_requested(groups: Sequence[Sequence[str]]) -> bool:
    """Whether numbers, by arm, are several round ones, the same ones in every arm, and each about
    as often: rates that were asked for, as measured ones are not."""
    levels = {frozenset(group) for group in groups}
    steps = _last_digits([*{cell for group in groups for cell in group}])
    if len(levels) != 1 or len(steps) < 2 or not are_steps(groups):
        return False
    if any(len(str(step).rstrip("0")) > _MOST_ROUND for step in steps) or steps[0] <= 0:
        return False
    counts = [count for group in groups for count in Counter(group).values()]
    apart = all(b >= _APART_RATES * a for a, b in itertools.pairwise(steps))
    return apart and max(counts) - min(counts) <= max(1, min(counts) / 4)


def _last_digits(cells: Sequence[str]) -> list[int]:
    """Numbers in units of the last digit that any of them has, in their order; none where a cell is
    no number as parameters are written."""
    amounts = amounts_of(cells)
    if amounts is None:
        return []
    last = min(int(amount.as_tuple().exponent) for amount in amounts)
    if last < -_MOST_DECIMALS:
        return []
    return sorted({int(amount.scaleb(-last)) for amount in amounts})


def explained(logs: Floats, groups: Sequence[object], steps: Sequence[str]) -> float:
    """The part of the variance of logs, shape (n,), within groups of rows that steps explain: in
    each group by themselves, or in all alike."""
    cells = list(zip(groups, steps, strict=True))
    return max(_explained(logs, groups, cells), _explained_alike(logs, groups, steps))


def _explained(logs: Floats, arms: Sequence[object], cells: Sequence[object]) -> float:
    (total, of_arms), (rest, of_cells) = (_scatter(logs, groups) for groups in (arms, cells))
    if total <= 0 or len(logs) <= of_cells:
        return 0.0
    return 1 - (rest / (len(logs) - of_cells)) / (total / (len(logs) - of_arms))


def _explained_alike(logs: Floats, arms: Sequence[object], steps: Sequence[str]) -> float:
    """The same of steps whose effect is one in all arms, and so needs no rows that are alike."""
    total, of_arms = _scatter(logs, arms)
    freedom = len(logs) - of_arms - len(set(steps)) + 1
    if total <= 0 or freedom <= 0:
        return 0.0
    coded = [_coded(groups) for groups in (arms, steps)]
    rest: Floats = logs
    for codes in coded * _ROUNDS:
        means = np.bincount(codes, weights=rest) / np.bincount(codes)
        rest = np.asarray(rest - means[codes])
    return 1 - (float((rest**2).sum()) / freedom) / (total / (len(logs) - of_arms))


def _coded(groups: Sequence[object]) -> NDArray[np.int64]:
    codes = {group: code for code, group in enumerate(dict.fromkeys(groups))}
    return np.array([codes[group] for group in groups])


def _scatter(logs: Floats, groups: Sequence[object]) -> tuple[float, int]:
    """The sum of squares about the means of groups, and how many groups there are."""
    coded = _coded(groups)
    means = np.bincount(coded, weights=logs) / np.bincount(coded)
    return float(((logs - means[coded]) ** 2).sum()), len(means)
