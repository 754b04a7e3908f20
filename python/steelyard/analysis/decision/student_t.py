"""Gives quantiles and tails of Student's t and of chi-square by scipy.special alone.

scipy.stats gives the same numbers to the last digit, from the same functions; importing it takes
most of a second and 60 MB, which judging a small record has no other use for.
"""

from __future__ import annotations


def t_quantile(probability: float, freedom: float) -> float:
    """The t that is not exceeded with `probability`, 0 < p < 1, at `freedom` > 0."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, probability))


def two_sided_p_value(t: float, freedom: float) -> float:
    """The probability of a |t| at least as large; NaN for NaN."""
    from scipy.special import stdtr

    return 2 * float(stdtr(freedom, -abs(t)))


def chi_square_quantile(probability: float, freedom: float) -> float:
    """The sum of so many squared normals that is not exceeded with `probability`, 0 < p < 1."""
    from scipy.special import gammaincinv

    return 2 * float(gammaincinv(freedom / 2, probability))
