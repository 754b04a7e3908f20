"""A trend of the log ratios over the epochs is seen, rarely where there is none."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binomtest, permutation_test, spearmanr, theilslopes

from steelyard.analysis.turns.ageing import ALPHA, ageing
from thinned import thinned


@pytest.mark.parametrize("n", [8, 12])
def test_it_speaks_at_its_level_where_epochs_are_alike(n: int) -> None:
    rng = np.random.default_rng(n)
    count = sum(ageing(rng.normal(0.1, 0.04, n)).alarms for _ in range(1_000))
    assert binomtest(count, 1_000).proportion_ci(0.999, "exact").low <= ALPHA


def test_a_trend_is_seen_and_sized() -> None:
    d = 0.02 + 0.10 * np.linspace(0, 1, 12) + np.random.default_rng(1).normal(0, 0.01, 12)
    found = ageing(d)
    assert found.alarms
    assert found.change == pytest.approx(0.10, abs=0.02)
    assert found.change == pytest.approx(theilslopes(d).slope * 11)


@thinned("seed", range(2), 1)
def test_the_p_value_is_that_of_spearmans_permutations(seed: int) -> None:
    d = np.random.default_rng(seed).normal(0, 1, 10) + 0.2 * np.arange(10)
    expected = permutation_test(
        (d,), lambda x: abs(spearmanr(x, np.arange(10)).statistic), permutation_type="pairings",
        alternative="greater", n_resamples=2_000, rng=np.random.default_rng(seed),
    ).pvalue  # fmt: skip
    assert ageing(d).p_value == pytest.approx(expected, abs=4 * math.sqrt(0.25 / 2_000))


def test_a_wild_epoch_at_the_end_is_no_trend() -> None:
    d = np.random.default_rng(4).normal(0, 0.01, 10)
    d[-1] = 1.0
    assert not ageing(d).alarms
    assert abs(ageing(d).change) < 0.05


def test_missing_epochs_keep_their_place_and_fewer_than_eight_say_nothing() -> None:
    d = np.linspace(0, 0.1, 12)
    d[5] = math.nan
    assert ageing(d).change == pytest.approx(0.1)
    assert not ageing(d[:8]).alarms
    assert math.isnan(ageing(d[:8]).change)
