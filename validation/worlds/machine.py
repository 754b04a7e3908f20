"""Worlds in which the machine's own speed changes: a storm, and a period equal to the slice."""

from __future__ import annotations

import numpy as np

from validation.worlds.bench import jitter, lay_out, read, steady
from validation.worlds.world import Bools, Draw, Floats, World

WANDER_RHO = 0.9
WANDER_SD = 0.05
LEVEL_CHANCE = 0.01
LEVEL_SD = 0.05
SPIKE_CHANCE = 0.02
SPIKE_LOSS = 0.2
PERIOD_LOSS = 0.10


def storm(rng: np.random.Generator, weighings: int, slices: int) -> Floats:
    """Log speed of the machine at each slice, shape (weighings, slices): AR(1) .9 with sd 5 %,
    steps to another level that stay (1 % of slices, sd 5 %) and one-sided spikes (2 % of slices,
    exponential, 20 %)."""
    from scipy.signal import lfilter

    shape = (weighings, slices)
    fresh = rng.standard_normal(shape)
    fresh[:, 1:] *= np.sqrt(1 - WANDER_RHO**2)
    wander = WANDER_SD * np.asarray(lfilter([1.0], [1.0, -WANDER_RHO], fresh, axis=1))
    steps = LEVEL_SD * rng.standard_normal(shape) * (rng.random(shape) < LEVEL_CHANCE)
    spikes = (rng.random(shape) < SPIKE_CHANCE) * rng.exponential(SPIKE_LOSS, shape)
    path: Floats = wander + np.cumsum(steps, axis=1) - spikes
    return path


def period(rng: np.random.Generator, weighings: int, slices: int) -> Floats:
    """Every other slice loses a tenth; whether the even or the odd ones is a coin a weighing."""
    odd = (np.arange(slices) + rng.integers(0, 2, (weighings, 1))) % 2
    return np.where(odd == 1, np.log1p(-PERIOD_LOSS), 0.0)


def _storm(rng: np.random.Generator, first: Bools) -> Draw:
    layout = lay_out(rng, first)
    path = storm(rng, len(first), layout.slices)
    arm = steady(layout.of_arm(path) + jitter(rng, layout))
    control = steady(layout.of_control(path) + jitter(rng, layout))
    return Draw(read(arm, control), layout.first)


def _period(rng: np.random.Generator, first: Bools) -> Draw:
    layout = lay_out(rng, first)
    path = period(rng, len(first), layout.slices)
    arm = steady(layout.of_arm(path) + jitter(rng, layout))
    control = steady(layout.of_control(path) + jitter(rng, layout))
    return Draw(read(arm, control), layout.first)


STORM = World(
    "storm",
    "slices: machine AR(1) .9 of sd 5 %, steps that stay (1 % of slices, sd 5 %), one-sided spikes "
    "(2 % of slices, exponential, mean 20 %); every slice 3 % of its own",
    _storm,
)
PERIOD = World(
    "a period equal to the slice",
    "slices: every other slice of the machine loses 10 %; every slice 3 % of its own",
    _period,
)
