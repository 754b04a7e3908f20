"""Tests whether shares of failures differ between two arms.

Out of how many transactions a share is, a row does not say, so that no count can be tested
(drops.py): rows of shares are compared as they scatter (Welch, Biometrika 34 (1947) 28), at
α = .01 as there.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steelyard.analysis.checks.drops import ALPHA

FEWEST_ROWS = 2
"""Of an arm, for its scatter to be known."""
_ROUNDING = 1e-6
"""Of a mean: shares are printed with some digits, and rows of them may well be equal."""
_ALIKE = 0.1
"""Of the larger of two single shares: nothing says how they scatter."""


def unequal_shares(shares: Sequence[float], others: Sequence[float]) -> bool:
    """Whether the means differ at α = .01; of an arm with one row, by more than a tenth.

    Shares of failed transactions, 0 to 1, one a row of an arm, shapes (n,) and (m,), neither empty.
    Means that are alike but for rounding never differ, and rows without any scatter always do.
    """
    mine, theirs = np.array(shares), np.array(others)
    gap = abs(float(mine.mean() - theirs.mean()))
    if min(len(mine), len(theirs)) < FEWEST_ROWS:
        return gap > _ALIKE * max(float(mine.mean()), float(theirs.mean()))
    parts = mine.var(ddof=1) / len(mine), theirs.var(ddof=1) / len(theirs)
    if gap <= _ROUNDING * abs(float(mine.mean())):
        return False
    if sum(parts) <= (_ROUNDING * gap) ** 2:
        return True
    from scipy.stats import ttest_ind

    return bool(ttest_ind(mine, theirs, equal_var=False).pvalue < ALPHA)
