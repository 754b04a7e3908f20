"""Rows in their order: dependence, batches, steps, drift, lone rows, pairs and centres."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from steelyard.analysis.checks.outliers import outlying
from steelyard.analysis.decision.sign_flip import Floats, confidence_set
from steelyard.analysis.decision.t_interval import t_interval
from steelyard.analysis.two_samples.centres import centres_of
from steelyard.analysis.two_samples.change_points import MOST_POINTS, segments_of, thinned
from steelyard.analysis.two_samples.pairing import is_sorted, rank_correlation
from steelyard.analysis.two_samples.profile import profile_of
from steelyard.analysis.two_samples.replicates import (
    BATCHES,
    FEWEST_EFFECTIVE,
    MOST_ROWS,
    batch_means,
    correlation_limit,
    likely_correlation,
    replicates_of,
    stretched,
)
from steelyard.analysis.two_samples.trend import trend_of


def autoregressive(rng: np.random.Generator, n: int, phi: float) -> Floats:
    rows = [rng.normal()]
    for _ in range(n - 1):
        rows.append(phi * rows[-1] + math.sqrt(1 - phi**2) * rng.normal())
    return np.array(rows)


@given(st.integers(1, 500))
def test_batches_hold_every_row_once_and_are_even(n: int) -> None:
    means = batch_means(np.arange(n, dtype=float))
    assert len(means) == (n if n <= MOST_ROWS else BATCHES)
    assert (np.diff(means) > 0).all()
    if n > MOST_ROWS:
        assert np.ptp(np.diff(means)) <= 2


def test_independent_rows_are_seen_to_be_so_and_cost_some_of_their_number() -> None:
    rng = np.random.default_rng(1)
    found = [replicates_of(rng.normal(size=30)) for _ in range(300)]
    assert 0.7 < np.mean([not one.dependent for one in found]) < 0.9  # four of five by design
    assert 1.1 < np.median([one.stretch for one in found]) < 1.35
    assert 18 < np.median([one.effective for one in found]) < 25
    assert all(one.enough for one in found)


def test_rows_that_lean_against_their_neighbours_are_left_as_they_are() -> None:
    one = replicates_of(np.tile([1.0, -1.0], 10))
    assert (one.stretch, one.effective, one.dependent, one.lag_one_limit) == (1.0, 20.0, False, 0.0)


def test_few_rows_cannot_rule_dependence_out_and_many_can() -> None:
    rng = np.random.default_rng(3)
    few, many = (
        [replicates_of(rng.normal(size=n)).effective >= FEWEST_EFFECTIVE for _ in range(300)]
        for n in (8, 30)
    )
    assert np.mean(few) < 0.5
    assert np.mean(many) > 0.95


def test_dependent_rows_are_stretched_about_their_mean_and_worth_fewer() -> None:
    rows = autoregressive(np.random.default_rng(2), 40, 0.7)
    found = replicates_of(rows)
    assert found.dependent
    assert found.stretch > 1.3
    assert found.effective < 20
    assert found.values.mean() == pytest.approx(rows.mean())
    np.testing.assert_allclose(found.values - rows.mean(), found.stretch * (rows - rows.mean()))


def test_the_t_interval_of_stretched_rows_is_that_of_their_effective_number() -> None:
    rows = autoregressive(np.random.default_rng(5), 20, 0.4)
    for alpha in (0.05, 0.01):
        found = replicates_of(rows, alpha=alpha)
        n, worth = 20, found.effective
        assert 3 < worth < 15
        seen = 1 - (n / worth - 1) / (n - 1)  # of the spread, dependence hides the rest
        error = math.sqrt(rows.var(ddof=1) / seen / worth)
        half = stats.t.ppf(1 - alpha / 2, worth - 1) * error
        assert t_interval(found.values, 1 - alpha).width / 2 == pytest.approx(half)


def test_the_limit_of_the_correlation_is_above_the_truth_in_four_of_five_series() -> None:
    rng = np.random.default_rng(14)
    for phi, n in ((0.0, 20), (0.5, 40)):
        above = [correlation_limit([autoregressive(rng, n, phi)]) >= phi for _ in range(400)]
        assert 0.72 < np.mean(above) <= 1 if phi else np.mean(above) == 1


def test_arms_of_one_machine_lend_each_other_their_rows() -> None:
    rng = np.random.default_rng(15)
    alone, together = [], []
    for _ in range(200):
        one, other = rng.normal(size=(2, 15))
        alone.append(correlation_limit([one]))
        together.append(correlation_limit([one, other]))
    assert np.mean(together) < np.mean(alone) - 0.04
    slow = autoregressive(rng, 30, 0.9)
    common = correlation_limit([slow, rng.normal(size=30), rng.normal(size=30)])
    found = stretched(slow, 30, limit=common)
    assert found.lag_one_limit == likely_correlation(slow) > common  # what it shows itself counts


def test_rows_whose_order_chance_drew_are_never_stretched() -> None:
    rows = autoregressive(np.random.default_rng(2), 40, 0.7)
    found = replicates_of(rows, randomised=True)
    assert (found.stretch, found.effective, found.dependent) == (1.0, 40.0, False)


def test_rows_that_hang_together_too_much_leave_no_interval() -> None:
    assert not replicates_of(np.arange(12.0)).enough


def test_rows_that_may_but_need_not_hang_together_keep_an_interval() -> None:
    rng = np.random.default_rng(16)
    found = [replicates_of(rng.normal(size=8)) for _ in range(200)]
    assert all(one.enough or one.dependent for one in found)
    assert min(one.effective for one in found if one.enough) == pytest.approx(3)


@pytest.mark.parametrize(("phi", "rows"), [(0.5, 10), (0.7, 10), (0.5, 30), (0.7, 30)])
def test_false_alarms_of_dependent_rows_fall_below_the_nominal_rate(phi: float, rows: int) -> None:
    rng = np.random.default_rng(4)
    naive = judged = 0
    for _ in range(400):
        series = autoregressive(rng, rows, phi)
        naive += 0.0 not in confidence_set(series, 0.05).interval
        found = replicates_of(series)
        if found.enough and found.effective >= FEWEST_EFFECTIVE:
            judged += 0.0 not in confidence_set(found.values, 0.05).interval
    assert naive / 400 > 0.17
    assert judged / 400 < 0.05


def test_a_storm_is_found_where_it_is() -> None:
    rng = np.random.default_rng(6)
    rows = rng.normal(size=60)
    rows[20:32] += 6
    found = segments_of(rows)
    assert [(one.first, one.last) for one in found] == [(0, 19), (20, 31), (32, 59)]
    assert found[1].level == pytest.approx(rows[20:32].mean())
    assert found[1].rows == 12


def test_independent_and_spiky_rows_seldom_show_a_step() -> None:
    rng = np.random.default_rng(7)
    plain = sum(len(segments_of(rng.normal(size=30))) > 1 for _ in range(300))
    spiky = 0
    for _ in range(300):
        rows = rng.normal(size=30)
        struck = rng.random(30) < 0.1
        rows[struck] += rng.exponential(5, int(struck.sum()))
        spiky += len(segments_of(rows)) > 1
    assert plain <= 15
    assert spiky <= 21


def test_short_and_flat_series_have_one_segment() -> None:
    for rows in (np.arange(11.0), np.ones(50), np.array([3.0])):
        (whole,) = segments_of(rows)
        assert (whole.first, whole.last) == (0, len(rows) - 1)


def test_a_million_rows_are_thinned_and_their_step_is_found() -> None:
    rng = np.random.default_rng(8)
    rows = rng.normal(size=1_000_000)
    rows[400_000:] += 0.5
    assert len(thinned(rows)) == MOST_POINTS
    before, after = segments_of(rows)
    assert abs(after.first - 400_000) <= 1_000
    assert after.level - before.level == pytest.approx(0.5, abs=0.01)


def test_a_drift_is_found_with_its_interval_whatever_a_storm_does() -> None:
    rng = np.random.default_rng(9)
    rows = np.linspace(0, 1, 40) + 0.05 * rng.normal(size=40)
    rows[10:13] += 5
    trend = trend_of(rows)
    assert trend.low < trend.change < trend.high
    assert trend.change == pytest.approx(1, abs=0.15)
    assert trend.beyond(0.5)
    assert not trend.beyond(2)
    assert not trend_of(rng.normal(size=40)).beyond(0.5)
    assert math.isnan(trend_of(np.arange(7.0)).change)


def test_lone_rows_are_named_and_none_in_flat_or_short_series() -> None:
    rows = np.array([1.0, 1.1, 0.9, 1.05, 0.95, 9.0, 1.0, 1.02, 0.98, -7.0])
    assert outlying(rows).tolist() == [5, 9]
    assert outlying(np.ones(20)).tolist() == []
    assert outlying(np.array([1.0, 1, 1, 50])).tolist() == []


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=5, max_size=30))
def test_the_rank_correlation_is_that_of_scipy(pairs: list[tuple[int, int]]) -> None:
    one, other = (np.array(side, dtype=float) for side in zip(*pairs, strict=True))
    found = rank_correlation(one, other)
    if np.ptp(one) == 0 or np.ptp(other) == 0:
        assert not found.known
        assert not found.clear
        return
    assert found.value == pytest.approx(float(stats.spearmanr(one, other).statistic))
    assert found.low <= found.value <= found.high or abs(found.value) > 0.999
    assert -1 <= found.low <= found.high <= 1


def test_the_interval_of_the_rank_correlation_holds_the_truth() -> None:
    rng = np.random.default_rng(10)
    truth = 6 / math.pi * math.asin(0.6 / 2)  # of Gaussian pairs that correlate by .6
    held = 0
    for _ in range(400):
        shared = rng.normal(size=30)
        one = shared * math.sqrt(0.6) + rng.normal(size=30) * math.sqrt(0.4)
        other = shared * math.sqrt(0.6) + rng.normal(size=30) * math.sqrt(0.4)
        found = rank_correlation(one, other)
        held += found.low <= truth <= found.high
    assert 0.92 < held / 400 < 0.985


def test_sorted_rows_are_noticed_in_either_direction() -> None:
    assert is_sorted(np.array([1.0, 2, 2, 3, 9]))
    assert is_sorted(np.array([9.0, 5, 4, 3, 1]))
    assert not is_sorted(np.array([1.0, 3, 2, 4, 5]))
    assert not is_sorted(np.array([1.0, 2, 3, 4]))


@pytest.mark.parametrize("paired", [True, False])
def test_centres_are_those_of_the_textbook_and_their_intervals_hold_them(paired: bool) -> None:
    rng = np.random.default_rng(12)
    control, arm = np.exp(rng.normal(size=40)), np.exp(rng.normal(0.5, 1, size=40))
    mean, median, geometric = centres_of(control, arm, paired)
    assert mean.value == pytest.approx(math.log(arm.mean() / control.mean()))
    assert median.value == pytest.approx(math.log(np.median(arm) / np.median(control)))
    assert geometric.value == pytest.approx(np.log(arm).mean() - np.log(control).mean())
    for one in (mean, median, geometric):
        assert one.low < one.value < one.high
    theirs = stats.bootstrap(
        (np.log(control), np.log(arm)),
        lambda below, above, axis: above.mean(axis) - below.mean(axis),
        method="percentile",
        paired=paired,
        rng=1,
    ).confidence_interval
    assert geometric.low == pytest.approx(theirs.low, abs=0.05)
    assert geometric.high == pytest.approx(theirs.high, abs=0.05)


def test_centres_of_many_rows_rest_on_batches_and_of_too_few_there_are_none() -> None:
    rng = np.random.default_rng(13)
    control, arm = np.exp(rng.normal(size=(2, 30_000)))
    mean, median, _ = centres_of(control, arm, paired=False)
    assert mean.high - mean.low == pytest.approx(4 * 1.31 / math.sqrt(15_000), rel=0.25)
    assert median.low < 0 < median.high
    assert centres_of(control[:2], arm, paired=False) == ()


def test_a_profile_looks_for_nothing_in_time_where_rows_are_in_none() -> None:
    rows = np.arange(40.0)
    assert profile_of(rows).trend.beyond(1)
    untimed = profile_of(rows, in_time=False)
    assert not untimed.steps
    assert not untimed.trend.beyond(0)
    assert profile_of(np.array([5.0])).sd != 0
