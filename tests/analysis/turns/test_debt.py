"""Debt that grows in one arm only is seen, and debt that grows in both is not."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from analysis.turns.made import MB, make_turn
from steelyard.analysis.turns.debt import apart, turn_bytes, waiting_growth, wal_growth
from steelyard.model.turn import Debt, Turn

WHOLE = 60 * 1000 * 1000.0
"""Bytes of log of a turn: 60 s of 1,000 transactions of 1,000 bytes."""


def owing(share: float, noise: float = 0.0) -> Turn:
    start = 0.45 * WHOLE
    return make_turn(
        at_start=Debt(start, 1.0 * MB), at_end=Debt(start + (share + noise) * WHOLE, 1.0 * MB)
    )


def test_a_turns_bytes_are_its_log() -> None:
    assert turn_bytes(make_turn()) == WHOLE
    assert math.isnan(turn_bytes(make_turn(seconds=0)))


@pytest.mark.parametrize(("missing", "known"), [(1, True), (6, True), (7, False), (60, False)])
def test_few_seconds_without_a_number_are_taken_for_mean_ones(missing: int, known: bool) -> None:
    turn = make_turn()
    blind = [dataclasses.replace(one, wal_bytes=math.nan) for one in turn.seconds[:missing]]
    seen = turn_bytes(dataclasses.replace(turn, seconds=(*blind, *turn.seconds[missing:])))
    assert seen == pytest.approx(WHOLE) if known else math.isnan(seen)


@pytest.mark.parametrize(("control", "arm", "unequal"), [
    (0.0, 0.05, True), (0.05, 0.0, True), (0.05, 0.05, False), (0.0, 0.015, False),
])  # fmt: skip
def test_only_a_difference_between_the_arms_counts(
    control: float, arm: float, unequal: bool
) -> None:
    noise = np.random.default_rng(2).normal(0, 0.005, (10, 2))
    pairs = [(owing(control, a), owing(arm, b)) for a, b in noise.tolist()]
    found = wal_growth(pairs)
    assert found.unequal is unequal
    assert found.control == pytest.approx(control, abs=0.006)
    assert found.arm == pytest.approx(arm, abs=0.006)
    assert not waiting_growth(pairs).unequal


def test_pages_that_wait_are_debt_too() -> None:
    late = make_turn(at_end=Debt(27e6, 0.04 * WHOLE))
    assert waiting_growth([(make_turn(), late)] * 8).unequal


def test_a_difference_that_chance_explains_is_none() -> None:
    noise = np.random.default_rng(4).normal(0, 0.1, (10, 2))
    pairs = [(owing(0, a), owing(0, b)) for a, b in noise.tolist()]
    assert abs(wal_growth(pairs).arm - wal_growth(pairs).control) > 0.02
    assert not wal_growth(pairs).unequal


def test_nothing_is_said_of_what_is_not_known() -> None:
    unknown = make_turn(at_end=Debt(math.nan, math.nan))
    assert math.isnan(wal_growth([(make_turn(), unknown)] * 8).arm)
    assert not wal_growth([(make_turn(), unknown)] * 8).unequal
    assert not wal_growth([]).unequal
    assert not apart(np.full(3, 0.5), 0.02), "three epochs have no spread to speak of"
    assert apart(np.full(4, 0.5), 0.02)
