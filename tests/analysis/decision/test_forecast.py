"""A forecast says how many epochs would settle a question, as a range, and when none will."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t

from steelyard.analysis.decision.forecast import MOST_EPOCHS, epochs_needed, forecast
from steelyard.analysis.decision.looks import BALANCED

MARGINS = (math.log(0.99), math.log(1.01))


@given(st.floats(0.001, 0.1), st.floats(0.001, 0.1))
@settings(max_examples=40)
def test_the_count_is_the_smallest_even_one_that_the_formula_allows(sd: float, gap: float) -> None:
    def seen(n: int) -> bool:
        seen_sd = t.ppf(0.98, n - 1) + t.ppf(0.8, n - 1)
        return n >= (seen_sd * BALANCED.get(n, 1.0) * sd / gap) ** 2

    n = epochs_needed(sd, gap)
    assert n >= 8
    assert n % 2 == 0
    if n < MOST_EPOCHS:
        assert seen(n)
    assert n == 8 or not seen(n - 2)


def test_an_effect_of_one_standard_deviation_needs_about_a_dozen_epochs() -> None:
    assert epochs_needed(1.0, 1.0) == 12


def test_the_range_holds_the_likely_count_and_the_gap_is_to_the_nearest_margin() -> None:
    d = np.random.default_rng(2).normal(0.0, 0.012, 12)
    d += 0.004 - d.mean()
    found = forecast(d, MARGINS)
    assert found is not None
    assert found.margin is not None
    assert found.margin.fewest <= found.margin.likely <= found.margin.most
    assert found.margin.likely == epochs_needed(d.std(ddof=1), MARGINS[1] - 0.004)
    assert found.sign is not None
    assert found.sign.likely == epochs_needed(d.std(ddof=1), 0.004)
    assert found.more(found.margin).likely == max(2, found.margin.likely - 12)


def test_near_the_margin_no_time_settles_it() -> None:
    d = np.random.default_rng(2).normal(0.0, 0.012, 12)
    found = forecast(d - d.mean() + MARGINS[0] * 0.97, MARGINS)
    assert found is not None
    assert found.margin is None
    assert found.sign is not None


def test_nothing_is_forecast_from_two_epochs_or_from_lost_ones() -> None:
    assert forecast(np.array([0.1, 0.2]), MARGINS) is None
    assert forecast(np.array([0.1, 0.2, -math.inf]), MARGINS) is None


def test_a_hopeless_spread_is_capped() -> None:
    assert epochs_needed(1.0, 1e-6) == MOST_EPOCHS
    assert epochs_needed(1.0, 0.0) == MOST_EPOCHS


def test_the_count_does_reach_its_power() -> None:
    rng = np.random.default_rng(3)
    n = epochs_needed(1.0, 0.7)
    d = rng.normal(0.7, 1.0, (4_000, n))
    bound = d.mean(axis=1) - t.ppf(0.98, n - 1) * d.std(axis=1, ddof=1) / math.sqrt(n)
    assert np.mean(bound > 0) == pytest.approx(0.8, abs=0.04)
