"""Simulated rounds of a search: the best candidate is rarely dropped, whatever the noise."""

from __future__ import annotations

import numpy as np
import pytest

from validation.races import Drop, Tally, by_halves, by_intervals, play


def tally(drop: Drop, sd: float, times: float = 1.0) -> Tally:
    """What came of 300 rounds."""
    done, draw = Tally(), np.random.default_rng([7, round(sd)])
    for _ in range(300):
        play(done, drop, sd, times, draw)
    return done


@pytest.mark.parametrize(("sd", "times"), [(1.0, 1.0), (5.0, 1.0), (3.0, 3.0)])
def test_the_best_is_rarely_dropped(sd: float, times: float) -> None:
    done = tally(by_intervals, sd, times)
    assert done.rounds > 250
    assert done.dropped <= 0.07 * done.rounds


def test_halving_drops_it_more_often_where_epochs_are_noisy() -> None:
    """The count of dropped ones can be large at all."""
    assert tally(by_halves, 5.0).dropped > 2 * tally(by_intervals, 5.0).dropped


def test_a_round_is_shorter_where_differences_are_plain() -> None:
    assert tally(by_intervals, 0.5).arm_epochs < 0.8 * tally(by_intervals, 5.0).arm_epochs
