"""White worlds: epochs independent and alike, Gaussian or with spikes."""

from __future__ import annotations

import numpy as np

from validation.worlds.world import SIGMA, Bools, Draw, World

SPIKES = 0.12
"""Share of epochs that are spikes."""
SPIKE_WIDTH = 4.0


def _white(rng: np.random.Generator, first: Bools) -> Draw:
    noise = SIGMA * rng.standard_normal(first.shape)
    return Draw(noise, first)


def _spikes(rng: np.random.Generator, first: Bools) -> Draw:
    white = _white(rng, first)
    width = np.where(rng.random(first.shape) < SPIKES, SPIKE_WIDTH, 1.0)
    return Draw(white.d * width, white.first)


WHITE = World("white", "d = σ·ε", _white)
SPIKY = World("spikes", "d = σ·ε, four times as wide in 12 % of the epochs", _spikes)
