"""Tests whether one arm dropped more slices, or failed more transactions, than the other.

Given the sum, the count of one arm is binomial with its share of the chances (the exact conditional
test of two rates: Przyborowski & Wilenski, Biometrika 31 (1940) 313), at α = .01.
"""

from __future__ import annotations

ALPHA = 0.01


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
