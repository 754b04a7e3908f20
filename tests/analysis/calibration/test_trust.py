"""What a machine is trusted for is what weighings of its scatter would really see."""

from __future__ import annotations

import math

import numpy as np
import pytest

from steelyard.analysis.calibration import SIZES, trust
from steelyard.analysis.decision.forecast import MOST_EPOCHS, epochs_needed
from steelyard.analysis.decision.t_interval import t_interval


def epochs_of(sd: float, n: int = 12) -> np.ndarray:
    """Epochs of equal arms with this very standard deviation."""
    d = np.random.default_rng(1).standard_normal(n)
    return (d - d.mean()) / d.std(ddof=1) * sd


def test_the_time_is_the_forecasts_number_of_epochs_times_what_one_takes() -> None:
    [one, *_] = trust(epochs_of(0.02), 3.5)
    assert one.size == 0.01
    assert one.need.likely == epochs_needed(0.02, math.log(1.01))
    assert one.seconds is not None
    assert one.seconds[1] == one.need.likely * 3.5


def test_smaller_sizes_take_longer_and_the_range_holds_the_figure() -> None:
    rows = trust(epochs_of(0.015), 3.0)
    assert [row.size for row in rows] == list(SIZES)
    likely = [row.need.likely for row in rows]
    assert likely == sorted(likely, reverse=True)
    for row in rows:
        assert row.seconds is not None
        assert row.seconds[0] <= row.seconds[1] <= row.seconds[2]


def test_that_many_epochs_see_the_size_four_times_in_five() -> None:
    sd, size = 0.02, 0.02
    n = next(row for row in trust(epochs_of(sd), 1.0) if row.size == size).need.likely
    rng = np.random.default_rng(2)
    worlds = rng.normal(math.log1p(size), sd, (1_500, n))
    seen = np.mean([t_interval(world, 0.96).low > 0 for world in worlds])
    assert 0.76 < seen < 0.88


def test_a_scatter_that_no_time_will_tame_is_said_so() -> None:
    [one, *_] = trust(epochs_of(3.0), 1.0)
    assert one.need.likely == MOST_EPOCHS
    assert one.seconds is None


@pytest.mark.parametrize("d", [[], [0.01, 0.02], [0.01] * 8, [math.nan, math.inf, 0.1, 0.2]])
def test_epochs_without_a_scatter_say_nothing(d: list[float]) -> None:
    assert trust(np.array(d), 1.0) == []
