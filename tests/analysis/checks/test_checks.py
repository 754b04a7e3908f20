"""The checks of every weighing alarm at their level on sound epochs and see broken balances."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binomtest, permutation_test, ttest_ind

from steelyard.analysis.checks.autocorrelation import lag_one, mean_lag_one
from steelyard.analysis.checks.drops import balance_p_value, unequal
from steelyard.analysis.checks.failure_shares import unequal_shares
from steelyard.analysis.checks.littles_law import impossible, is_driver_bound
from steelyard.analysis.checks.outliers import skewed_side
from steelyard.analysis.checks.slots import (
    ALPHA,
    UNKNOWN,
    carry_over,
    carry_over_check,
    place_check,
    slot_effect,
)
from steelyard.model.readings import ArmTotals, EpochTotals, SliceTotals

PLACES = [(0, 1), (1, 0)] * 6


def test_the_slot_check_agrees_with_scipys_exact_permutation_test() -> None:
    d = np.random.default_rng(5).normal(0, 1, 12) + np.tile([0.9, -0.9], 6)
    oracle = permutation_test(
        (d[::2], d[1::2]),
        lambda a, b, axis: abs(a.mean(axis) - b.mean(axis)),
        vectorized=True,
        alternative="greater",
        n_resamples=np.inf,
    )
    assert place_check(d, PLACES).p_value == pytest.approx(oracle.pvalue, abs=1e-12)


def test_a_slower_slot_is_seen_and_sized() -> None:
    d = np.random.default_rng(5).normal(0, 0.005, 12) + np.tile([0.02, -0.02], 6)
    assert place_check(d, PLACES).alarms
    assert slot_effect(d, [True, False] * 6) == pytest.approx(0.02, abs=0.004)
    theirs = ttest_ind(d[::2], d[1::2], equal_var=False).confidence_interval(0.99)
    assert place_check(d, PLACES).interval.low == pytest.approx(theirs.low)
    assert place_check(-d, PLACES).interval.high == pytest.approx(theirs.high)


def test_more_than_two_places_have_no_interval_of_their_distance() -> None:
    d = np.random.default_rng(5).normal(0, 0.005, 12) + np.tile([0.02, 0.0, -0.02], 4)
    found = place_check(d, ["a", "b", "c"] * 4)
    assert found.alarms
    assert math.isinf(found.interval.width)


def test_places_wholly_apart_are_seen_from_ten_epochs_on_and_not_before() -> None:
    apart = np.tile([1.0, -1.0], 5) + np.arange(10) / 100
    assert place_check(apart, PLACES[:10]).p_value == pytest.approx(2 / math.comb(10, 5))
    assert place_check(apart[:8], PLACES[:8]).p_value == pytest.approx(2 / math.comb(8, 4))


def test_equal_slots_alarm_in_about_one_percent() -> None:
    rng = np.random.default_rng(6)
    alarms = sum(place_check(rng.normal(0, 1, 12), PLACES).alarms for _ in range(300))
    assert binomtest(alarms, 300).proportion_ci(0.999, "exact").low <= 0.01


def test_places_that_never_changed_tell_nothing() -> None:
    assert place_check(np.arange(12.0), [(0, 1)] * 12) == UNKNOWN
    assert place_check(np.arange(6.0), PLACES[:6]) == UNKNOWN
    assert math.isnan(slot_effect(np.arange(4.0), [True] * 4))


def test_an_infinite_epoch_does_not_stop_the_slot_check() -> None:
    d = np.random.default_rng(5).normal(0, 0.005, 12)
    d[3] = -math.inf
    assert 0 < place_check(d, PLACES).p_value <= 1


def test_carry_over_is_seen_where_it_is_and_not_where_epochs_cannot_tell() -> None:
    rng = np.random.default_rng(7)
    found = carry_over_check(list(rng.normal(0.05, 0.01, 12)))
    assert found.alarms
    assert 0 < found.interval.low < found.effect < found.interval.high
    assert not carry_over_check(list(rng.normal(0.0, 0.01, 12))).alarms
    assert carry_over_check([math.nan] * 12) == UNKNOWN


def _log_ratios_of_epochs(rng: np.random.Generator, epochs: int, left_behind: float) -> list[float]:
    """Carry-over of epochs of 20 blocks, in which b leaves the next slice less of the machine."""
    found = []
    for _ in range(epochs):
        arms: dict[str, list[SliceTotals]] = {"a": [], "b": []}
        before = ""
        for block in range(20):
            for position, name in enumerate(rng.permutation(["a", "b"]).tolist()):
                slowed = left_behind if before == "b" else 0.0
                rate = 1000 * math.exp(rng.normal(0, 0.05) - slowed - 1.5 * (rng.random() < 0.03))
                arms[name].append(SliceTotals(block, position, int(rate), 10**6, 10**6))
                before = name
        totals = {name: _totals(name, some) for name, some in arms.items()}
        found.append(carry_over(EpochTotals(0, {}, ("a", "b"), totals), "b", "a"))
    return found


def _totals(name: str, slices: list[SliceTotals]) -> ArmTotals:
    return ArmTotals(name, 0, 8, 1, 1, 1, slices=tuple(slices))


@pytest.mark.long
def test_carry_over_of_a_short_weighing_alarms_at_its_level_and_sees_what_is_there() -> None:
    rng = np.random.default_rng(8)
    alarms = sum(carry_over_check(_log_ratios_of_epochs(rng, 10, 0.0)).alarms for _ in range(300))
    assert binomtest(alarms, 300).proportion_ci(0.999, "exact").low <= 0.01
    seen = [carry_over_check(_log_ratios_of_epochs(rng, 10, 0.4)) for _ in range(20)]
    assert sum(one.alarms for one in seen) >= 18
    assert np.mean([one.effect for one in seen]) == pytest.approx(0.8, abs=0.1)


def test_drops_are_compared_by_the_exact_conditional_binomial_test() -> None:
    assert balance_p_value(9, 0, 100, 100) == pytest.approx(2 * 0.5**9)
    assert unequal(9, 0, 100, 100)
    assert not unequal(5, 1, 100, 100)
    assert not unequal(90, 10, 900, 100)  # the same rate
    assert not unequal(0, 0, 100, 100)
    with pytest.raises(ValueError, match="more than it had"):
        balance_p_value(3, 0, 2, 2)


def test_two_far_epochs_on_one_side_are_skew_and_one_is_an_accident() -> None:
    base = [0.0, 0.1, -0.1, 0.05, -0.05, 0.02, -0.02, 0.08, -0.08, 0.01]
    assert skewed_side(np.array([*base, -2.0, -1.5])) == -1
    assert skewed_side(np.array([*base, 2.0, 1.5])) == +1
    assert skewed_side(np.array([*base, -2.0])) == 0
    assert skewed_side(np.array([*base, -2.0, -2.0, 2.0, 2.0])) == 0
    assert skewed_side(np.zeros(12)) == 0


def test_an_arm_with_slow_restarts_is_seen_more_often_the_more_epochs_there_are() -> None:
    rng = np.random.default_rng(8)

    def share(n: int) -> float:
        worlds = rng.standard_normal((600, n)) - 4 * (rng.random((600, n)) < 0.15)
        return float(np.mean([skewed_side(world) == -1 for world in worlds]))

    assert share(8) < 0.2
    assert share(30) > 0.55


def test_latencies_must_fill_the_time_under_load_and_cannot_overfill_it() -> None:
    assert not impossible(0.99)
    assert not is_driver_bound(0.99)
    assert is_driver_bound(0.5)
    assert impossible(1.2)


def test_autocorrelation_of_blocks_is_that_of_numpys_correlation() -> None:
    rng = np.random.default_rng(9)
    series = [0.0]
    for step in rng.standard_normal(4_000):
        series.append(0.5 * series[-1] + step)
    values = np.array(series)
    assert lag_one(series) == pytest.approx(np.corrcoef(values[1:], values[:-1])[0, 1], abs=0.001)
    assert math.isnan(lag_one([1.0] * 20))
    assert math.isnan(lag_one([1.0, 2.0]))
    assert mean_lag_one([0.2, math.nan, 0.4]) == pytest.approx(0.3)
    assert math.isnan(mean_lag_one([]))


@pytest.mark.parametrize("places", [2, 5, 12])
def test_drawing_ends_early_only_where_a_place_does_not_matter(places: int) -> None:
    """Against all orders, drawn at once from the same seed."""
    rng, alarms = np.random.default_rng(places), 0
    for effect in [0.0, 0.3, 0.6, 0.8, 1.0, 1.5, 3.0]:
        held = rng.permutation(np.arange(40) % places)
        d = rng.normal(0, 1, 40) + effect * (held == 0) * math.sqrt(places)
        shuffled = np.random.default_rng([0x510715, 40]).permuted(np.tile(d, (9_999, 1)), axis=1)
        rows = np.vstack([d, shuffled])
        means = np.stack([rows[:, held == place].mean(axis=1) for place in range(places)])
        spreads = np.ptp(means, axis=0)
        whole = int((spreads >= spreads[0] * (1 - 1e-9)).sum()) / 10_000
        found = place_check(d, held.tolist())
        assert found.alarms == (whole <= ALPHA)
        assert found.p_value == whole if found.alarms else ALPHA < found.p_value <= whole
        alarms += found.alarms
    assert 0 < alarms < 7


@pytest.mark.parametrize(
    ("shares", "others", "expected"),
    [
        ([0.1] * 5, [0.1] * 5, False),
        ([0.1] * 5, [0.2] * 5, True),
        ([0.1, 0.2, 0.3], [0.15, 0.25, 0.3], False),
        ([0.1, 0.11, 0.12], [0.4, 0.41, 0.45], True),
        ([0.0], [0.0], False),
        ([0.0], [0.3], True),
        ([0.30], [0.31], False),
    ],
)
def test_shares_differ_beyond_their_scatter(
    shares: list[float], others: list[float], expected: bool
) -> None:
    assert unequal_shares(shares, others) is expected
    assert unequal_shares(others, shares) is expected
