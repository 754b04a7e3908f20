"""Unpaired arms: Welch and studentised permutations against scipy and slow textbook versions."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from steelyard.analysis.decision.sign_flip import Floats
from steelyard.analysis.decision.t_interval import welch
from steelyard.analysis.two_samples import unpaired
from steelyard.analysis.two_samples.unpaired import permutation_set, unpaired_set
from steelyard.model.estimate import UNBOUNDED

SAMPLES = st.lists(st.floats(-5, 5).map(lambda x: round(x, 3)), min_size=2, max_size=9)


@given(SAMPLES, SAMPLES, st.sampled_from([0.8, 0.95, 0.99]))
def test_welch_agrees_with_scipy(one: list[float], other: list[float], confidence: float) -> None:
    control, arm = np.array(one), np.array(other)
    if np.ptp(control) == 0 and np.ptp(arm) == 0:
        return
    theirs = stats.ttest_ind(arm, control, equal_var=False)
    seen = welch(control, arm)
    assert seen.freedom == pytest.approx(float(theirs.df))
    ends = theirs.confidence_interval(confidence)
    ours = seen.interval(confidence)
    assert (ours.low, ours.high) == (pytest.approx(ends.low), pytest.approx(ends.high))


def test_without_spread_the_interval_is_the_difference_and_with_one_value_there_is_none() -> None:
    equal = welch(np.array([1.0, 1.0]), np.array([3.0, 3.0]))
    assert (equal.interval().low, equal.interval().high) == (2, 2)
    assert permutation_set(np.array([1.0, 1.0]), np.array([3.0, 3.0]), 0.05).interval.width == 0
    assert welch(np.array([1.0]), np.array([3.0, 4.0])).interval() == UNBOUNDED
    assert permutation_set(np.array([1.0]), np.array([3.0, 4.0]), 0.05).interval == UNBOUNDED


def p_value(control: Floats, arm: Floats, theta: float = 0.0) -> float:
    """Two-sided p-value of "the shift is θ": twice the smaller side, at most 1."""
    sides = unpaired._Pool(control, arm).as_extreme(theta)
    return min(1.0, 2 * min(sides) / (unpaired.SPLITS + 1))


def textbook_p_values(control: Floats, arm: Floats, theta: float) -> tuple[float, float]:
    """One-sided p-values over every split there is, by Welch's statistic."""

    def statistic(below: Floats, above: Floats) -> float:
        error = math.sqrt(below.var(ddof=1) / len(below) + above.var(ddof=1) / len(above))
        return float(above.mean() - below.mean()) / max(error, 1e-150)

    pooled = np.concatenate([control, arm - theta])
    seen = statistic(control, arm - theta)
    found = []
    for chosen in itertools.combinations(range(len(pooled)), len(arm)):
        mask = np.zeros(len(pooled), dtype=bool)
        mask[list(chosen)] = True
        found.append(statistic(pooled[~mask], pooled[mask]))
    values = np.array(found)
    return float(np.mean(values >= seen - 1e-9)), float(np.mean(values <= seen + 1e-9))


@given(st.integers(0, 1000), st.floats(-1, 1))
@settings(max_examples=15)
def test_sampled_splits_agree_with_all_splits(seed: int, theta: float) -> None:
    rng = np.random.default_rng(seed)
    control, arm = rng.normal(size=5), rng.normal(size=6) * 2
    exact = min(1.0, 2 * min(textbook_p_values(control, arm, theta)))
    assert p_value(control, arm, theta) == pytest.approx(exact, abs=0.07)  # 5 sd


def test_p_values_agree_with_those_of_scipy() -> None:
    rng = np.random.default_rng(5)
    control, arm = rng.normal(size=9), rng.normal(0.8, 1, size=9)

    def statistic(one: Floats, other: Floats, axis: int) -> Floats:
        found: Floats = stats.ttest_ind(other, one, axis=axis, equal_var=False).statistic
        return found

    theirs = stats.permutation_test(
        (control, arm), statistic, vectorized=True, n_resamples=9_999, rng=1
    )
    assert p_value(control, arm) == pytest.approx(theirs.pvalue, abs=0.012)


@given(st.integers(0, 1000), st.sampled_from([0.01, 0.05, 0.1]))
@settings(max_examples=25)
def test_the_set_holds_what_is_not_rejected_and_nothing_else(seed: int, alpha: float) -> None:
    rng = np.random.default_rng(seed)
    control, arm = rng.exponential(size=9), rng.normal(size=8)
    found = permutation_set(control, arm, alpha).interval
    width = found.width
    for inside in (
        found.low + 0.01 * width,
        found.high - 0.01 * width,
        float(arm.mean() - control.mean()),
    ):
        assert p_value(control, arm, inside) > alpha
    for outside in (found.low - 0.01 * width, found.high + 0.01 * width):
        assert p_value(control, arm, outside) <= alpha


@given(st.integers(0, 200), st.floats(-3, 3), st.floats(0.1, 10))
@settings(max_examples=20)
def test_the_set_moves_and_stretches_with_the_numbers(
    seed: int, shift: float, scale: float
) -> None:
    rng = np.random.default_rng(seed)
    control, arm = rng.normal(size=8), rng.normal(size=10)
    plain = unpaired_set(control, arm, 0.05).interval
    moved = unpaired_set(control * scale, arm * scale + shift, 0.05).interval
    assert moved.low == pytest.approx(plain.low * scale + shift, abs=1e-6)
    assert moved.high == pytest.approx(plain.high * scale + shift, abs=1e-6)


def test_the_unpaired_set_is_the_wider_of_both_at_either_end() -> None:
    rng = np.random.default_rng(11)
    for _ in range(10):
        control, arm = rng.normal(size=10) * 4, rng.normal(size=30)
        both = unpaired_set(control, arm, 0.05).interval
        split = permutation_set(control, arm, 0.05).interval
        by_t = welch(control, arm).interval(0.95)
        assert both.low == min(split.low, by_t.low)
        assert both.high == max(split.high, by_t.high)


def test_false_alarms_of_unequal_spreads_are_those_of_welch() -> None:
    """Where the smaller arm scatters more, permutations alone give 12 %."""
    rng = np.random.default_rng(3)
    alone = both = 0
    for _ in range(200):
        control, arm = rng.normal(size=30), 4 * rng.normal(size=10)
        split = p_value(control, arm) <= 0.05
        alone += split
        both += split and 0.0 not in welch(control, arm).interval(0.95)
    assert alone > 14
    assert both <= 19  # 5 % of 200 is 10; a binomial exceeds 19 once in 300


def test_splits_are_drawn_once_and_the_seen_one_leads() -> None:
    rows = unpaired._splits(3, 2)
    assert rows[0].tolist() == [0, 0, 0, 1, 1]
    assert (rows.sum(axis=1) == 2).all()
    assert unpaired._splits(3, 2) is rows
