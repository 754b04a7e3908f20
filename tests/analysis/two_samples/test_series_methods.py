"""Steps, slopes and ranks agree with the libraries whose import they save."""

from __future__ import annotations

import math

import numpy as np
import pytest
from ruptures import KernelCPD  # type: ignore[import-untyped]
from scipy.stats import rankdata, theilslopes

from steelyard.analysis.decision.sign_flip import Floats
from steelyard.analysis.two_samples.change_points import PENALTY, optimal_borders
from steelyard.analysis.two_samples.pairing import ranks_of
from steelyard.analysis.two_samples.trend import CONFIDENCE, median_slope


def stepped(seed: int, most: int) -> Floats:
    """Noise with steps of 0, 2 or 5 sd every ten points; every third series is rounded."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(12, most))
    levels = rng.integers(0, 4, size=1 + count // 10).repeat(10)[:count]
    points: Floats = rng.normal(size=count) + levels * rng.choice([0, 2, 5])
    return np.round(points, 1) if seed % 3 == 0 else points


@pytest.mark.parametrize("seed", range(60))
def test_borders_are_those_of_pelt(seed: int) -> None:
    points = stepped(seed, 1_000 if seed < 5 else 150)
    penalty = PENALTY * math.log(len(points))
    search = KernelCPD(kernel="linear", min_size=4).fit(points.reshape(-1, 1))
    assert optimal_borders(points, penalty) == search.predict(pen=penalty)[:-1]


@pytest.mark.parametrize("seed", range(60))
def test_slopes_and_ranks_are_those_of_scipy(seed: int) -> None:
    points = stepped(seed, 40)
    slope, _, low, high = theilslopes(points, np.arange(len(points)), CONFIDENCE)
    assert median_slope(points) == pytest.approx((slope, low, high))
    np.testing.assert_allclose(ranks_of(points), rankdata(points))
