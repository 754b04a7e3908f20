"""Blocks read per transaction tell when a pool has filled, whatever the noise of single slices."""

from __future__ import annotations

import math
import random

import pytest

from steelyard.analysis.pilot.pool_level import FEW_BLOCKS, FEWEST_SLICES, level_after


def _noisy(level: list[float], seed: int, transactions: int = 500) -> list[float]:
    """What slices of so many transactions show, each of which reads a block or does not."""
    draw = random.Random(seed)
    return [
        sum(draw.random() < one / 2 for _ in range(transactions)) * 2 / transactions
        for one in level
    ]


@pytest.mark.parametrize("level", [0.0, 0.4, 1.5])
def test_reads_that_stay_alike_are_level(level: float) -> None:
    found = [level_after(_noisy([level] * 60, seed)) for seed in range(100)]
    assert found.count(None) <= 4  # the slope is tested at .01


def test_a_pool_that_fills_slowly_is_not_level_at_the_end() -> None:
    falling = [2 * math.exp(-slice_ / 60) for slice_ in range(60)]
    assert all(level_after(_noisy(falling, seed)) is None for seed in range(50))


def test_reads_that_rise_are_no_pool_that_fills() -> None:
    rising = [2 - 2 * math.exp(-slice_ / 60) for slice_ in range(60)]
    assert all(level_after(_noisy(rising, seed)) is not None for seed in range(50))


def test_a_pool_that_fills_within_the_first_slices_is_cut_there() -> None:
    filled = [2.0 if slice_ < 10 else 0.0 for slice_ in range(60)]
    assert {level_after(_noisy(filled, seed)) for seed in range(50)} == {10}


def test_what_moves_by_next_to_nothing_is_no_pool_that_fills() -> None:
    assert level_after([FEW_BLOCKS * 0.9 * slice_ / 60 for slice_ in range(60)]) == 0


def test_slices_without_transactions_are_passed_over() -> None:
    assert level_after([math.nan, *[1.0] * 30]) == 0
    assert level_after([math.nan] * 30) == 0
    assert level_after([float(place) for place in range(FEWEST_SLICES - 1)]) == 0
