"""The closed-form set is the inversion of the exact test, and keeps its level."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, permutation_test

from steelyard.analysis.decision.sign_flip import (
    LARGEST_ENUMERATED,
    SAMPLED_SUBSETS,
    balanced_subsets,
    confidence_set,
    one_sided_set,
    p_value,
    plain_subsets,
    rank,
)

log_ratios = st.lists(
    st.floats(-0.5, 0.5, allow_nan=False, width=32), min_size=6, max_size=11, unique=True
)


def textbook_p_values(d: np.ndarray, theta: float, flips: list[set[int]]) -> tuple[float, float]:
    """One-sided p-values by flipping signs of d − θ one set at a time, slowly."""
    centred = d - theta
    observed = centred.sum()
    sums = [sum(-x if i in flip else x for i, x in enumerate(centred)) for flip in flips]
    tolerance = 1e-12
    return (
        sum(total >= observed - tolerance for total in sums) / len(sums),
        sum(total <= observed + tolerance for total in sums) / len(sums),
    )


def every_flip(n: int) -> list[set[int]]:
    return [set(one) for size in range(n + 1) for one in combinations(range(n), size)]


@given(log_ratios, st.floats(-0.6, 0.6), st.sampled_from([0.01, 0.04, 0.05, 0.2]))
@settings(max_examples=40)
def test_a_centre_lies_in_the_set_exactly_when_the_textbook_test_does_not_reject_it(
    values: list[float], theta: float, alpha: float
) -> None:
    d = np.array(values)
    found = confidence_set(d, alpha)
    ends = [end for end in (found.interval.low, found.interval.high) if np.isfinite(end)]
    assume(all(abs(theta - end) > 1e-9 for end in ends))
    too_low, too_high = textbook_p_values(d, theta, every_flip(len(d)))
    # A p-value is j/G: the test rejects at j ≤ k.
    rejected = min(too_low, too_high) * found.group <= found.k + 1e-6
    assert (theta in found.interval) is not rejected


assignments = st.integers(8, 10).flatmap(
    lambda n: st.integers(3, n - 3).flatmap(
        lambda m: st.permutations([True] * m + [False] * (n - m))
    )
)


@given(assignments, st.integers(0, 10_000), st.floats(-0.4, 0.4))
@settings(max_examples=40)
def test_balanced_sets_invert_the_test_over_the_assignments_the_plan_could_have_drawn(
    assignment: list[bool], seed: int, theta: float
) -> None:
    n, m = len(assignment), sum(assignment)
    d = np.random.default_rng(seed).normal(0.0, 0.2, n)
    found = confidence_set(d, 0.04, tuple(assignment))
    assert (found.group, found.k, found.balanced) == (comb(n, m), int(0.02 * comb(n, m)), True)
    firsts = [i for i, first in enumerate(assignment) if first]
    flips = [flip for flip in every_flip(n) if 2 * len(flip & set(firsts)) == len(flip)]
    assert len(flips) == found.group
    assume(min(abs(theta - found.interval.low), abs(theta - found.interval.high)) > 1e-9)
    rejected = min(textbook_p_values(d, theta, flips)) * found.group <= found.k + 1e-6
    assert (theta in found.interval) is not rejected


def test_the_p_value_agrees_with_scipy() -> None:
    d = np.random.default_rng(1).normal(0.3, 0.5, 10)
    oracle = permutation_test(
        (d,), np.mean, permutation_type="samples", n_resamples=np.inf, alternative="two-sided"
    )
    assert p_value(d) == pytest.approx(oracle.pvalue, abs=1e-12)


@pytest.mark.parametrize(("n", "k"), [(5, 0), (6, 1), (7, 2), (8, 5), (10, 20), (12, 81)])
def test_the_rank_is_that_of_the_exact_table_at_04(n: int, k: int) -> None:
    assert rank(0.02, 2**n) == k


@pytest.mark.parametrize(("n", "group", "k"), [(10, 252, 5), (12, 924, 18)])
def test_the_rank_of_balanced_slots_is_that_of_the_exact_table(n: int, group: int, k: int) -> None:
    assignment = tuple(i % 2 == 0 for i in range(n))
    assert len(balanced_subsets(assignment)) + 1 == group
    assert rank(0.02, group) == k


def test_too_few_epochs_bound_nothing() -> None:
    found = confidence_set(np.full(5, 0.1), 0.04)
    assert (found.k, found.interval.low, found.interval.high) == (0, -np.inf, np.inf)


@pytest.mark.parametrize(("firsts", "group", "k"), [(4, 70, 1), (5, 56, 1), (3, 56, 1)])
def test_eight_epochs_with_an_assignment_are_judged_by_the_assignments_that_could_have_been(
    firsts: int, group: int, k: int
) -> None:
    assignment = tuple(i < firsts for i in range(8))
    found = confidence_set(np.linspace(-1, 1, 8), 0.04, assignment)
    assert (found.balanced, found.group, found.k) == (True, group, k)


def test_an_assignment_that_leaves_too_few_sign_changes_is_judged_by_plain_ones() -> None:
    assignment = (True, True) + (False,) * 6  # C(8, 2) = 28
    assert not confidence_set(np.linspace(-1, 1, 8), 0.04, assignment).balanced


@pytest.mark.parametrize("epochs", [8, 9, 10, 11])
def test_a_drift_of_the_slots_is_no_effect_however_few_the_epochs(epochs: int) -> None:
    drift = np.linspace(-1.0, 1.0, epochs)
    rejected = plain = 0
    draws = list(combinations(range(epochs), epochs // 2))
    for draw in draws:
        assignment = tuple(i in draw for i in range(epochs))
        d = np.where(assignment, drift, -drift)
        rejected += 0.0 not in confidence_set(d, 0.04, assignment).interval
        plain += 0.0 not in confidence_set(d, 0.04).interval
    assert rejected <= 0.04 * len(draws)
    if epochs == 8:
        assert plain > 0.05 * len(draws)  # what plain sign changes would do


def test_above_sixteen_epochs_the_subsets_are_sampled_and_always_the_same() -> None:
    n = LARGEST_ENUMERATED + 4
    d = np.random.default_rng(5).normal(0, 1, n)
    found = confidence_set(d, 0.04)
    assert (found.group, found.k) == (SAMPLED_SUBSETS + 1, 200)
    plain_subsets.cache_clear()
    assert confidence_set(d, 0.04) == found
    balanced = confidence_set(d, 0.04, (True, False) * (n // 2))
    rows = balanced_subsets((True, False) * (n // 2))
    assert balanced.balanced
    assert (rows[:, ::2].sum(axis=1) == rows[:, 1::2].sum(axis=1)).all()


def test_the_sampled_set_is_close_to_the_t_interval_for_gaussian_epochs() -> None:
    from scipy.stats import t

    d = np.random.default_rng(11).normal(0.0, 1.0, 30)
    half = t.ppf(0.98, 29) * d.std(ddof=1) / np.sqrt(30)
    found = confidence_set(d, 0.04).interval
    assert found.low == pytest.approx(d.mean() - half, abs=0.1 * half)
    assert found.high == pytest.approx(d.mean() + half, abs=0.1 * half)


def test_the_one_sided_set_for_equivalence_is_the_two_sided_set_at_twice_the_level() -> None:
    d = np.random.default_rng(2).normal(0, 1, 12)
    assert one_sided_set(d, 0.04).interval == confidence_set(d, 0.08).interval


def test_an_arm_that_did_no_work_in_one_epoch_unbounds_its_side_only() -> None:
    d = np.random.default_rng(3).normal(0.0, 0.01, 12)
    d[4] = -np.inf
    found = confidence_set(d, 0.04).interval
    assert found.low == -np.inf
    assert np.isfinite(found.high)


def test_arms_that_both_failed_once_leave_no_bound_and_no_crash() -> None:
    d = np.random.default_rng(3).normal(0.0, 0.01, 12)
    d[4], d[7] = -np.inf, np.inf
    found = confidence_set(d, 0.04).interval
    assert (found.low, found.high) == (-np.inf, np.inf)


def test_a_missing_epoch_is_refused() -> None:
    with pytest.raises(ValueError, match="no missing one"):
        confidence_set(np.array([0.1, np.nan]), 0.04)


@pytest.mark.parametrize("spread", ["gaussian", "spikes", "regimes", "slot effect"])
def test_the_set_misses_the_truth_no_more_often_than_its_level(spread: str) -> None:
    worlds, n = 4_000, 12
    rng = np.random.default_rng(20)
    d = rng.standard_normal((worlds, n))
    slots = np.tile([1.0, -1.0], n // 2)
    if spread == "spikes":
        d *= np.where(rng.random((worlds, n)) < 0.12, 4.0, 1.0)
    elif spread == "regimes":
        d *= np.where(np.arange(n) < n // 2, 1.0, 5.0)
    elif spread == "slot effect":
        d += 2.0 * slots  # any order of the epochs is alike to the set
    rows = balanced_subsets(tuple(slots > 0))
    means = d @ rows.T / rows.sum(axis=1)
    k = rank(0.02, len(rows) + 1)
    means.partition([k - 1, means.shape[1] - k], axis=1)
    missed = (means[:, k - 1] > 0) | (means[:, -k] < 0)
    interval = binomtest(int(missed.sum()), worlds).proportion_ci(0.999, "exact")
    assert interval.low <= 0.04
    assert interval.high >= 0.03  # not so wide that it would never speak either
