"""White worlds: epochs independent and alike, Gaussian or with spikes."""

from __future__ import annotations

import numpy as np

from validation.worlds.world import SIGMA, Draw, World, draw_slots

SPIKES = 0.12
"""Share of epochs that are spikes."""
SPIKE_WIDTH = 4.0


def _white(rng: np.random.Generator, weighings: int, epochs: int) -> Draw:
    noise = SIGMA * rng.standard_normal((weighings, epochs))
    return Draw(noise, draw_slots(rng, weighings, epochs))


def _spikes(rng: np.random.Generator, weighings: int, epochs: int) -> Draw:
    white = _white(rng, weighings, epochs)
    width = np.where(rng.random((weighings, epochs)) < SPIKES, SPIKE_WIDTH, 1.0)
    return Draw(white.d * width, white.first)


WHITE = World("white", "d = σ·ε", _white)
SPIKY = World("spikes", "d = σ·ε, four times as wide in 12 % of the epochs", _spikes)
