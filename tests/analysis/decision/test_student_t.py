"""Quantiles and tails by scipy.special are those of scipy.stats, to the last digit."""

from __future__ import annotations

import math

import pytest
from scipy.stats import chi2, t

from steelyard.analysis.decision.student_t import (
    chi_square_quantile,
    t_quantile,
    two_sided_p_value,
)

FREEDOMS = [1, 2, 3, 7, 7.3, 11, 29.99, 39, 400, 1e6]


@pytest.mark.parametrize("freedom", FREEDOMS)
@pytest.mark.parametrize("probability", [0.005, 0.02, 0.5, 0.8, 0.975, 0.98, 0.9999])
def test_quantiles_are_those_of_scipy_stats(probability: float, freedom: float) -> None:
    assert t_quantile(probability, freedom) == float(t.ppf(probability, freedom))
    assert chi_square_quantile(probability, freedom) == float(chi2.ppf(probability, freedom))


@pytest.mark.parametrize("freedom", FREEDOMS)
@pytest.mark.parametrize("value", [-40.0, -2.5, 0.0, 1e-9, 0.7, 3.1, 40.0])
def test_a_p_value_is_twice_the_tail_of_scipy_stats(value: float, freedom: float) -> None:
    assert two_sided_p_value(value, freedom) == 2 * float(t.sf(abs(value), freedom))


def test_what_is_not_known_has_no_p_value() -> None:
    assert math.isnan(two_sided_p_value(math.nan, 8))
