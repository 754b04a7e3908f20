"""The pilot's choices: end of the warm-up, steady state, slice length, placement."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import linregress

from steelyard.analysis.pilot.slice_length import (
    SliceTrial,
    allowed_lengths,
    choose_placement,
    choose_slice,
    shortest_slice_ns,
    standard_error,
)
from steelyard.analysis.pilot.steady_state import (
    drift_of,
    first_half_cut,
    line_through,
    mser5,
    settled_after,
)

MS = 1_000_000


def slow_mser5(series: list[float]) -> int | None:
    """The rule by its definition, a cut at a time."""
    means = [sum(series[i : i + 5]) / 5 for i in range(0, len(series) - len(series) % 5, 5)]
    best, best_score = 0, math.inf
    for cut in range(len(means) - 2):
        rest = means[cut:]
        mean = sum(rest) / len(rest)
        score = sum((x - mean) ** 2 for x in rest) / len(rest) ** 2
        if score < best_score:
            best, best_score = cut, score
    return best * 5 if best <= len(means) // 2 else None


@pytest.mark.parametrize("seed", range(8))
def test_the_truncation_is_that_of_the_slow_textbook_rule(seed: int) -> None:
    rng = np.random.default_rng(seed)
    ramp = 1 - np.exp(-np.arange(100) / rng.uniform(2, 60))
    series = list(1000 * ramp + rng.normal(0, 20, 100))
    assert mser5(series) == slow_mser5(series)


def test_a_load_that_settles_is_cut_after_it_settled_and_a_ramp_never_settles() -> None:
    rng = np.random.default_rng(1)
    settled = np.where(np.arange(100) < 20, 400.0, 1000.0) + rng.normal(0, 10, 100)
    cut = mser5(list(settled))
    assert cut is not None
    assert 20 <= cut <= 45  # never before the end, at times later by luck
    assert mser5([float(i) for i in range(100)]) is None
    assert mser5([1.0] * 19) is None


def steady(rng: np.random.Generator, length: int = 37, noise: float = 0.03) -> list[float]:
    """A load without warm-up, in as many blocks as a pilot watches."""
    return list(1000 * np.exp(rng.normal(0, noise, length)))


def test_a_steady_load_is_said_to_settle_in_98_pilots_of_100() -> None:
    rng = np.random.default_rng(3)
    pilots = [[settled_after(steady(rng)) for _ in range(2)] for _ in range(500)]
    assert sum(None in both for both in pilots) <= 10
    assert sum(None in [mser5(steady(rng)) for _ in range(2)] for _ in range(500)) > 100


def test_a_steady_load_loses_less_than_a_quarter_of_what_was_watched_on_average() -> None:
    rng = np.random.default_rng(4)
    cuts = [settled_after(steady(rng)) or 0 for _ in range(500)]
    assert sum(cuts) / len(cuts) < 37 / 4


@pytest.mark.parametrize("blocks_long", [2, 5, 10, 15])
def test_a_warm_up_that_ends_is_left_out_whole(blocks_long: int) -> None:
    rng = np.random.default_rng(blocks_long)
    for _ in range(50):
        series = steady(rng, noise=0.01)
        series[:blocks_long] = [0.6 * one for one in series[:blocks_long]]
        cut = settled_after(series)
        assert cut is not None
        assert cut >= blocks_long


def test_a_load_that_goes_on_drifting_has_not_settled() -> None:
    rng = np.random.default_rng(5)
    ramps = [np.array(steady(rng)) * np.exp(0.2 * np.arange(37) / 37) for _ in range(200)]
    assert sum(settled_after(list(one)) is None for one in ramps) >= 180
    assert settled_after([1.0] * 19) is None
    assert settled_after([1.0, math.nan] * 20) is None


def test_the_cut_of_the_first_half_is_never_beyond_it() -> None:
    rng = np.random.default_rng(6)
    assert first_half_cut([float(i) for i in range(100)]) == 50
    cuts = [first_half_cut(steady(rng)) for _ in range(200)]
    assert set(cuts) <= {0, 5, 10, 15}


def test_a_drift_is_sized_and_noise_alone_seldom_is_one() -> None:
    rng = np.random.default_rng(2)
    rising = np.exp(np.linspace(0, 0.2, 200)) * np.exp(rng.normal(0, 0.02, 200))
    assert drift_of(list(rising)).change == pytest.approx(0.2, abs=0.02)
    assert drift_of(list(rising)).matters(0.05)
    steady = [drift_of(list(np.exp(rng.normal(0, 0.05, 200)))).matters(0.05) for _ in range(200)]
    assert sum(steady) <= 6
    assert not drift_of([1.0] * 50).matters(0.05)
    assert not drift_of([1.0, 2.0]).matters(0.05)


def trial(length_ms: int, spread: float, seed: int = 3) -> SliceTrial:
    rng = np.random.default_rng(seed)
    batches = [(round(100_000 * math.exp(rng.normal(0, spread))), 10**9) for _ in range(10)]
    return SliceTrial(length_ms * MS, control=((100_000, 10**9),) * 10, arm=tuple(batches))


def test_the_steadiest_slice_length_is_chosen() -> None:
    best, why = choose_slice([trial(1000, 0.02), trial(50, 0.001), trial(200, 0.01)])
    assert best.length_ns == 50 * MS
    assert "steadiest of 3" in why
    assert best.standard_error == pytest.approx(standard_error(best.log_ratios))


def test_a_trial_without_work_is_never_chosen_and_alone_says_so() -> None:
    idle = SliceTrial(50 * MS, control=((0, 10**9),) * 10, arm=((0, 10**9),) * 10)
    assert math.isnan(idle.standard_error)
    assert choose_slice([idle, trial(200, 0.01)])[0].length_ns == 200 * MS
    assert "too little work" in choose_slice([idle])[1]
    with pytest.raises(ValueError, match="no slice length"):
        choose_slice([])


def test_a_slice_holds_twenty_latencies_and_two_hundred_transactions() -> None:
    assert shortest_slice_ns(5 * MS, 100_000) == 100 * MS
    assert shortest_slice_ns(1_000, 1_000) == 200 * MS
    candidates = [50 * MS, 200 * MS, 500 * MS, 1000 * MS]
    assert allowed_lengths(candidates, 6_500 * MS, 1_000, 1_000) == (200 * MS,)
    assert allowed_lengths(candidates, 6_500 * MS, 1_000, 100) == (2000 * MS,)


def test_a_short_epoch_gets_the_shortest_candidate_and_nothing_below() -> None:
    candidates = [200 * MS, 500 * MS]
    assert allowed_lengths(candidates, 3_000 * MS, 1_000, 50_000) == (200 * MS,)
    assert allowed_lengths(candidates, 3_000 * MS, 1_000, 100) == (2000 * MS,)


def test_batch_means_see_autocorrelation_that_single_blocks_hide() -> None:
    rng = np.random.default_rng(4)
    series = np.zeros(1000)
    for i in range(1, 1000):
        series[i] = 0.9 * series[i - 1] + rng.normal()
    batches = series.reshape(10, 100).mean(axis=1)
    naive = series.std(ddof=1) / math.sqrt(1000)
    assert standard_error(list(batches)) > 2 * naive


def test_work_that_waits_for_the_disk_is_placed_freely_and_other_work_symmetrically() -> None:
    assert choose_placement(0.0)[0] == "symmetric"
    assert choose_placement(0.7)[0] == "free"
    assert choose_placement(0.0, parallel_plans=True)[0] == "free"
    assert "70 %" in choose_placement(0.7)[1]


@pytest.mark.parametrize("values", [3, 10, 41])
def test_a_line_is_that_of_scipy_to_the_last_digit(values: int) -> None:
    rng = np.random.default_rng(values)
    for slope in (0.0, 1e-7, -0.3, 1e9):
        series = rng.normal(5, 1, values) + slope * np.arange(values)
        ours, theirs = line_through(series), linregress(np.arange(values), series)
        assert (ours.slope, ours.p_value) == (float(theirs.slope), float(theirs.pvalue))
    straight = line_through(np.arange(float(values)))
    assert straight.p_value == float(linregress(np.arange(values), np.arange(values)).pvalue)
