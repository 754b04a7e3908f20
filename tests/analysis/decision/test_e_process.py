"""The e-process may be looked at after every epoch, and its set is what it does not reject."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from steelyard.analysis.decision.e_process import e_process, past_scale

values = st.lists(st.floats(-0.2, 0.2, allow_nan=False), min_size=1, max_size=14)


def textbook(d: list[float], theta: float, s0: float, side: int) -> float:
    """The formula, one epoch and one bet at a time."""
    best = 1.0
    products = {0.5: 1.0, 1.0: 1.0, 2.0: 1.0}
    for i, x in enumerate(d, 1):
        past = d[: i - 1]
        mean = sum(past) / len(past) if past else 0.0
        squares = sum((y - mean) ** 2 for y in past)
        s = math.sqrt((3 * s0**2 + squares) / (3 + max(i - 2, 0)))
        for bet in products:
            products[bet] *= 1 + side * math.tanh(bet * (x - theta) / s)
        best = max(best, sum(products.values()) / 3)
    return best


@given(values, st.floats(-0.3, 0.3), st.sampled_from([-1, 1]))
@settings(max_examples=60)
def test_the_evidence_is_that_of_the_textbook_formula(
    d: list[float], theta: float, side: int
) -> None:
    process = e_process(np.array(d), s0=0.01)
    assert process.largest(theta, side) == pytest.approx(textbook(d, theta, 0.01, side), rel=1e-9)


@given(values, st.floats(-0.3, 0.3), st.floats(0.0, 0.3))
@settings(max_examples=60)
def test_the_evidence_that_a_centre_is_too_low_never_grows_with_the_centre(
    d: list[float], theta: float, step: float
) -> None:
    process = e_process(np.array(d), s0=0.01)
    assert process.largest(theta + step, +1) <= process.largest(theta, +1) * (1 + 1e-9)
    assert process.largest(theta + step, -1) >= process.largest(theta, -1) * (1 - 1e-9)


@given(values)
@settings(max_examples=40)
def test_the_set_only_ever_shrinks(d: list[float]) -> None:
    earlier = e_process(np.array(d[:-1]), s0=0.01).confidence_set(0.01)
    later = e_process(np.array(d), s0=0.01).confidence_set(0.01)
    assert later.low >= earlier.low - 1e-9
    assert later.high <= earlier.high + 1e-9


def test_the_ends_of_the_set_are_where_the_evidence_reaches_its_threshold() -> None:
    d = np.random.default_rng(1).normal(0.03, 0.01, 14)
    process = e_process(d, s0=0.01)
    found = process.confidence_set(0.01)
    assert process.largest(found.low, +1) == pytest.approx(200, rel=1e-6)
    assert process.largest(found.high, -1) == pytest.approx(200, rel=1e-6)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("side", [-1, +1])
def test_a_bound_is_where_slow_halving_finds_it(seed: int, side: int) -> None:
    rng = np.random.default_rng(seed)
    d = rng.normal(0.02, 0.01, int(rng.integers(8, 30)))
    if seed % 4 == 0:
        d[3] = -math.inf
    process = e_process(d, s0=10 ** float(rng.uniform(-4, -1)))
    refused, kept = (-5.0, 5.0) if side > 0 else (5.0, -5.0)
    for _ in range(80):
        middle = (refused + kept) / 2
        if process.largest(middle, side) >= 200:
            refused = middle
        else:
            kept = middle
    found = process.confidence_set(0.01)
    bound = found.low if side > 0 else found.high
    expected = refused if abs(refused) < 5 else -side * math.inf
    assert bound == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_seven_epochs_bound_nothing_and_eight_can() -> None:
    d = np.full(8, 0.03)
    assert e_process(d[:7], s0=0.01).confidence_set(0.01).low == -math.inf
    assert math.isfinite(e_process(d, s0=0.01).confidence_set(0.01).low)


def test_the_first_bets_take_the_pilots_scale_and_later_ones_the_past_only() -> None:
    d = np.array([0.01, 0.03, 0.02, 9.0])
    scale = past_scale(d, 0.01)
    assert scale[:2] == pytest.approx([0.01, 0.01])
    assert scale[2] == pytest.approx(math.sqrt((3e-4 + 2e-4) / 4))
    changed = d.copy()
    changed[3] = -9.0
    assert past_scale(changed, 0.01) == pytest.approx(scale)


def test_an_epoch_without_work_is_one_lost_bet_and_no_crash() -> None:
    d = np.array([0.01] * 6 + [-math.inf] + [0.012] * 9)
    found = e_process(d, s0=0.005).confidence_set(0.01)
    assert found.low == -math.inf
    assert found.high > 0.0


def test_a_missing_epoch_or_scale_is_refused() -> None:
    with pytest.raises(ValueError, match="missing epoch"):
        e_process(np.array([math.nan]), s0=0.01)
    with pytest.raises(ValueError, match="positive"):
        e_process(np.array([0.1]), s0=0.0)


@pytest.mark.parametrize("noise", ["gaussian", "heavy tails", "growing"])
def test_looking_after_every_epoch_raises_false_alarms_no_further_than_the_level(
    noise: str,
) -> None:
    worlds, n, alpha = 1_500, 30, 0.05
    rng = np.random.default_rng(4)
    d = rng.standard_normal((worlds, n))
    if noise == "heavy tails":
        d = rng.standard_t(2, (worlds, n))
    elif noise == "growing":
        d *= np.linspace(1, 6, n)
    alarms = 0
    for world in d:
        process = e_process(world, s0=0.7)
        alarms += max(process.largest(0.0, +1), process.largest(0.0, -1)) >= 2 / alpha
    assert binomtest(alarms, worlds).proportion_ci(0.999, "exact").low <= alpha


def test_it_does_speak_where_there_is_an_effect() -> None:
    rng = np.random.default_rng(4)
    seen = sum(
        0.0 not in e_process(rng.normal(1.0, 1.0, 18), s0=1.0).confidence_set(0.02)
        for _ in range(300)
    )
    assert seen >= 0.6 * 300  # 73 % in a larger simulation
