"""Tests whether one arm dropped more slices, or failed more transactions, than the other.

Given the sum, the count of one arm is binomial with its share of the chances (the exact conditional
test of two rates: Przyborowski & Wilenski, Biometrika 31 (1940) 313), at α = .01. Out of how many
transactions a share is, a row does not say: rows of shares are compared as they scatter (Welch,
Biometrika 34 (1947) 28).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

ALPHA = 0.01
_ROUNDING = 1e-6
_ALIKE = 0.1
"""Of the larger of two single shares: nothing says how they scatter."""


def balance_p_value(count: int, other_count: int, chances: int, other_chances: int) -> float:
    """Two-sided exact p-value of "both arms have the same rate"; 1.0 where nothing happened.

    `chances`: how many slices (transactions) an arm had in all, at least its count (ValueError).
    """
    if not (0 <= count <= chances and 0 <= other_count <= other_chances):
        raise ValueError("an arm cannot drop more than it had")
    if count + other_count == 0 or chances + other_chances == 0:
        return 1.0
    from scipy.stats import binomtest

    share = chances / (chances + other_chances)
    return float(binomtest(count, count + other_count, share).pvalue)


def unequal(count: int, other_count: int, chances: int, other_chances: int) -> bool:
    """Whether the rates differ at α = .01."""
    return balance_p_value(count, other_count, chances, other_chances) < ALPHA


def unequal_shares(shares: Sequence[float], others: Sequence[float]) -> bool:
    """Whether the means differ at α = .01; of an arm with one row, by more than a tenth."""
    mine, theirs = np.array(shares), np.array(others)
    gap = abs(float(mine.mean() - theirs.mean()))
    if min(len(mine), len(theirs)) < 2:
        return gap > _ALIKE * max(float(mine.mean()), float(theirs.mean()))
    parts = mine.var(ddof=1) / len(mine), theirs.var(ddof=1) / len(theirs)
    if gap <= _ROUNDING * abs(float(mine.mean())):
        return False
    if sum(parts) <= (_ROUNDING * gap) ** 2:
        return True
    from scipy.stats import ttest_ind

    return bool(ttest_ind(mine, theirs, equal_var=False).pvalue < ALPHA)
