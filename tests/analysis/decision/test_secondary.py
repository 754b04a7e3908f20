"""Secondary metrics share one error rate, and quantiles need observations beyond them."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy.stats import binomtest, t, ttest_1samp

from steelyard.analysis.decision.max_t import joint_flips
from steelyard.analysis.decision.secondary import quantile_contrasts, secondary_contrasts
from steelyard.analysis.decision.t_interval import t_interval
from thinned import thinned


@thinned(("epochs", "worlds"), [(8, 400), (12, 300), (14, 60)], 1)
def test_all_columns_hold_together_in_at_least_95_percent(epochs: int, worlds: int) -> None:
    rng = np.random.default_rng(epochs)
    broken = alarms = 0
    for _ in range(worlds):
        common = rng.standard_normal((epochs, 1))
        d = 1.0 + 0.7 * common + 0.7 * rng.standard_normal((epochs, 5))
        broken += any(1.0 not in one.interval for one in joint_flips(d))
        alarms += min(one.p_value for one in joint_flips(d - 1.0)) <= 0.05
    assert binomtest(broken, worlds).proportion_ci(0.999, "exact").low <= 0.05
    assert binomtest(alarms, worlds).proportion_ci(0.999, "exact").low <= 0.05


def slowly(d: np.ndarray, alpha: float) -> tuple[float, list[float]]:
    """The critical value of the largest |t| and the adjusted p-values, one flip at a time."""

    def largest(rows: np.ndarray) -> float:
        return max(abs(ttest_1samp(rows[:, j], 0).statistic) for j in range(rows.shape[1]))

    centred, spreads, adjusted = d - d.mean(axis=0), [], []
    for signs in product([1.0, -1.0], repeat=len(d)):
        if min(signs) < 0:  # the identity is counted apart
            spreads.append(largest(centred * np.array(signs)[:, None]))
            adjusted.append(largest(d * np.array(signs)[:, None]))
    rank = math.ceil((1 - alpha) * (len(spreads) + 1))
    observed = [abs(ttest_1samp(d[:, j], 0).statistic) for j in range(d.shape[1])]
    p = [(1 + sum(one >= t for one in adjusted)) / (1 + len(adjusted)) for t in observed]
    return sorted(spreads)[rank - 1], p


def test_joint_sign_flips_are_those_of_a_slow_textbook_version() -> None:
    d = np.random.default_rng(8).normal([0.6, 1.0], 1.0, (8, 2))
    critical, p_values = slowly(d, 0.05)
    for j, one in enumerate(joint_flips(d, 0.05)):
        half = critical * d[:, j].std(ddof=1) / math.sqrt(8)
        assert one.interval.low == pytest.approx(d[:, j].mean() - half)
        assert one.p_value == pytest.approx(p_values[j], abs=1e-12)


def test_one_column_alone_has_nearly_the_t_interval() -> None:
    d = np.random.default_rng(1).normal(0.1, 1.0, (14, 1))
    found = joint_flips(d)[0].interval
    oracle = ttest_1samp(d[:, 0], 0).confidence_interval(0.95)
    assert found.low == pytest.approx(oracle.low, abs=0.15 * (oracle.high - oracle.low))
    assert found.high == pytest.approx(oracle.high, abs=0.15 * (oracle.high - oracle.low))


def test_below_eight_epochs_columns_share_alpha_equally_by_t() -> None:
    d = np.random.default_rng(2).normal(0.1, 1.0, (6, 2))
    half = t.ppf(1 - 0.05 / 4, 5) * d[:, 0].std(ddof=1) / math.sqrt(6)
    assert joint_flips(d)[0].interval.width == pytest.approx(2 * half)


def test_columns_without_a_ratio_or_without_spread_disturb_no_other() -> None:
    rng = np.random.default_rng(3)
    sound = rng.normal(0.0, 1.0, 12)
    lost = np.where(np.arange(12) == 4, -math.inf, 0.1)
    constant = np.full(12, 0.25)
    alone = joint_flips(sound[:, None])[0]
    first, second, third = joint_flips(np.column_stack([sound, lost, constant]))
    assert first == alone
    assert (second.interval.low, second.p_value) == (-math.inf, 1.0)
    assert (third.interval.low, third.interval.high, third.p_value) == (0.25, 0.25, 0.0)


def test_a_secondary_contrast_shows_the_values_its_ratio_is_made_of() -> None:
    control, arm = [10.0, 12.0, 11.0, 9.0], [11.0, 13.2, 12.1, 9.9]
    wal, zero = secondary_contrasts({"wal": (control, arm), "fpi": ([0.0] * 4, [1.0] * 4)})
    assert wal.arm_value / wal.control_value == pytest.approx(1.1)
    assert wal.estimate.in_percent().value == pytest.approx(10.0)
    assert zero.note
    assert zero.arm_value == 1.0
    assert math.isinf(zero.estimate.high)
    with pytest.raises(ValueError, match="every epoch"):
        secondary_contrasts({"a": ([1.0], [1.0, 2.0])})


def test_a_quantile_without_ten_observations_beyond_it_is_left_out() -> None:
    rng = np.random.default_rng(5)
    control = np.exp(rng.normal(0, 0.01, (12, 3))) * [100.0, 300.0, 900.0]
    found = quantile_contrasts((0.5, 0.99, 0.999), control, control * 1.05, 5_000)
    assert [one.quantile for one in found] == [0.5, 0.99]
    assert found[1].arm_ns / found[1].control_ns == pytest.approx(1.05)
    assert found[1].estimate.low == pytest.approx(math.log(1.05))


@pytest.mark.parametrize(("arm", "quantiles"), [((11, 2), 2), ((12, 3), 2), ((12, 2), 3)])
def test_quantiles_of_other_epochs_or_of_other_shares_are_refused(
    arm: tuple[int, int], quantiles: int
) -> None:
    with pytest.raises(ValueError, match="alike for both arms"):
        quantile_contrasts((0.5, 0.9, 0.95)[:quantiles], np.ones((12, 2)), np.ones(arm), 5_000)


def test_the_t_interval_is_scipys_and_unbounded_where_there_is_none() -> None:
    d = np.random.default_rng(6).normal(0, 1, 7)
    oracle = ttest_1samp(d, 0).confidence_interval(0.95)
    found = t_interval(d)
    assert (found.low, found.high) == pytest.approx((oracle.low, oracle.high))
    assert t_interval(d[:1]).low == -math.inf
    assert t_interval(np.array([0.1, math.inf, 0.2])).high == math.inf
