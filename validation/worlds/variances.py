"""Worlds in which some epochs are much noisier than others."""

from __future__ import annotations

import numpy as np

from validation.worlds.world import SIGMA, Bools, Draw, Drawing, World

REGIMES = (0.5, 2.5)
"""Standard deviations of either half, in σ: variances 1 : 25."""
TREND = (1.5, 0.5)
"""Standard deviations at the beginning and at the end, in σ: variances 9 : 1."""


def _drawing(trend: bool) -> Drawing:
    def draw(rng: np.random.Generator, first: Bools) -> Draw:
        epochs = first.shape[1]
        early = np.arange(epochs) < epochs // 2
        spread = np.linspace(*TREND, epochs) if trend else np.where(early, *REGIMES)
        noise = SIGMA * spread * rng.standard_normal(first.shape)
        return Draw(noise, first)

    return draw


VARIANCES = (
    World(
        "variance regimes",
        "d = σₑ·ε, σₑ = ½σ in the first half of the epochs, 2½σ in the second",
        _drawing(trend=False),
    ),
    World("variance trend", "d = σₑ·ε, σₑ falls in a line from 1½σ to ½σ", _drawing(trend=True)),
)
