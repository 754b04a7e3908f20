"""The ledger's evidence is a product of fair bets: right in value, rarely large, and powerful."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from steelyard.analysis.calibration import OFF_BALANCE, EqualArms, evidence
from steelyard.analysis.decision.sign_flip import Floats
from thinned import thinned

values = st.lists(st.floats(-0.1, 0.1), max_size=7)
ledgers = st.lists(values, max_size=5)


def one_beginning(weighings: list[list[float]], s0: float) -> float:
    """Wealth of a capital of 1 that is bet on all of these, half of it either way."""
    carried = dict.fromkeys([(side, bet) for side in (1, -1) for bet in (0.5, 1.0, 2.0)], 1.0)
    product = 1.0
    for d in weighings:
        own = dict.fromkeys(carried, 1.0)
        for i, x in enumerate(d, 1):
            past = d[: i - 1]
            mean = sum(past) / len(past) if past else 0.0
            squares = sum((y - mean) ** 2 for y in past)
            s = math.sqrt((3 * s0**2 + squares) / (3 + max(i - 2, 0)))
            for side, bet in own:
                own[side, bet] *= 1 + side * math.tanh(bet * x / s)
        plus = sum(own[1, bet] for bet in (0.5, 1.0, 2.0)) / 3
        minus = sum(own[-1, bet] for bet in (0.5, 1.0, 2.0)) / 3
        product *= (plus + minus) / 2
        carried = {key: wealth * own[key] for key, wealth in carried.items()}
    return (product + sum(carried.values()) / 6) / 2


def textbook(weighings: list[list[float]], s0: float) -> float:
    """The definition: 1/(k(k + 1)) of the capital is bet from the k-th weighing on."""
    n = len(weighings)
    shares = [1 / (k * (k + 1)) for k in range(1, 100_000)]
    bet = sum(
        share * one_beginning(weighings[k:], s0) for k, share in zip(range(n), shares, strict=False)
    )
    return bet + 1 - sum(shares[:n])


def told(weighings: list[list[float]], s0: float = 0.02) -> list[EqualArms]:
    return [EqualArms(d, s0) for d in weighings]


@given(ledgers)
@settings(max_examples=80)
def test_the_evidence_is_that_of_the_textbook_definition(weighings: list[list[float]]) -> None:
    assert evidence(told(weighings)) == pytest.approx(textbook(weighings, 0.02), rel=1e-9)


@given(ledgers)
@settings(max_examples=40)
def test_exchanging_the_names_changes_nothing(weighings: list[list[float]]) -> None:
    exchanged = [[-x for x in d] for d in weighings]
    assert evidence(told(exchanged)) == pytest.approx(evidence(told(weighings)), rel=1e-9)


@given(ledgers)
@settings(max_examples=40)
def test_the_wealth_never_falls_below_what_is_kept(weighings: list[list[float]]) -> None:
    assert evidence(told(weighings)) >= 1 / (len(weighings) + 1) * (1 - 1e-12)


@given(st.lists(st.floats(0.001, 0.1), min_size=1, max_size=8))
@settings(max_examples=40)
def test_the_mean_over_all_signs_is_one(sizes: list[float]) -> None:
    """Exactly fair: over every way in which equal arms could have got these differences."""
    n = len(sizes)
    cut = n // 2
    total = 0.0
    for code in range(1 << n):
        d = [-x if code >> i & 1 else x for i, x in enumerate(sizes)]
        total += evidence(told([d[:cut], d[cut:]]))
    assert total / (1 << n) == pytest.approx(1.0, rel=1e-9)


def test_a_ledger_without_weighings_says_nothing() -> None:
    assert evidence([]) == 1.0
    assert evidence(told([[]])) == pytest.approx(1.0)


def test_an_epoch_that_an_arm_did_not_survive_is_no_bet() -> None:
    whole = evidence(told([[0.01, -0.02, 0.03]]))
    assert evidence(told([[0.01, math.inf, -0.02, math.nan, 0.03, -math.inf]])) == whole
    assert whole != 1.0


def test_evidence_beyond_all_numbers_is_still_a_number() -> None:
    huge = evidence(told([[0.5] * 40] * 60))
    assert math.isfinite(huge)
    assert huge > 1e200


def often_off(draw: Callable[[np.random.Generator, int], Floats], worlds: int, n: int) -> int:
    """In how many worlds the wealth reaches 100 after any of `n` weighings of 10 epochs."""
    rng = np.random.default_rng(8)
    off = 0
    for _ in range(worlds):
        weighings = [EqualArms(draw(rng, 10).tolist(), 1.0) for _ in range(n)]
        off += any(evidence(weighings[:k]) >= OFF_BALANCE for k in range(1, n + 1))
    return off


def _slots(rng: np.random.Generator, n: int, alternating: bool) -> Floats:
    """Slots that differ by 3 sd, drawn N/2 each way; the difference may change its sign."""
    signs = rng.permutation(np.repeat([1.0, -1.0], n // 2))
    turns = np.where(np.arange(n) % 2 == 0, 1.0, -1.0) if alternating else 1.0
    return 3 * signs * turns + rng.standard_normal(n)


@thinned(
    "draw",
    [
        lambda rng, n: rng.standard_normal(n),
        lambda rng, n: rng.standard_t(2, n),
        lambda rng, n: rng.standard_normal(n) * np.linspace(0.2, 5, n),
        lambda rng, n: np.where(rng.random(n) < 0.1, 10, 1) * rng.standard_normal(n),
        lambda rng, n: _slots(rng, n, False),
        lambda rng, n: _slots(rng, n, True),
    ],
    2,
    ids=["gaussian", "heavy tails", "growing", "spikes", "slots", "alternating slots"],
)
def test_symmetric_machines_are_called_off_balance_in_one_of_a_hundred_at_most(
    draw: Callable[[np.random.Generator, int], Floats],
) -> None:
    worlds = 600
    off = often_off(draw, worlds, 12)
    assert binomtest(off, worlds).proportion_ci(0.999, "exact").low <= 1 / OFF_BALANCE


@pytest.mark.parametrize(
    ("draw", "least"),
    [
        (lambda rng, n: rng.normal(0.5, 1, n), 0.75),  # always the same arm: 90 % of 400
        (lambda rng, n: rng.normal(rng.normal(0, 1), 1, n), 0.85),  # drawn afresh: 96 % of 400
    ],
    ids=["always", "afresh"],
)
def test_a_balance_that_is_off_is_found_whichever_way_it_is_off(
    draw: Callable[[np.random.Generator, int], Floats], least: float
) -> None:
    assert often_off(draw, 60, 12) >= least * 60


def test_a_balance_that_goes_out_of_true_after_many_sound_weighings_is_found_as_soon() -> None:
    rng = np.random.default_rng(9)
    sound = [EqualArms(rng.standard_normal(10).tolist(), 1.0) for _ in range(30)]
    assert evidence(sound) < OFF_BALANCE
    off: list[EqualArms] = []
    while evidence([*sound, *off]) < OFF_BALANCE:
        off.append(EqualArms(rng.normal(1.0, 1, 10).tolist(), 1.0))
    assert len(off) <= 5
