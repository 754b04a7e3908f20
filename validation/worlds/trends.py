"""Worlds in which the slots' difference moves: level steps, a drift, a random walk."""

from __future__ import annotations

import numpy as np

from validation.worlds.autoregression import LUCK
from validation.worlds.world import SIGMA, Bools, Draw, Floats, World, with_slots

STEP_CHANCE = 0.2
STEP_SD = 2.0
DRIFT = 2.0
WALK_SD = 0.5


def levels(
    rng: np.random.Generator, shape: tuple[int, ...], chance: float, spread: float
) -> Floats:
    """Levels along the last axis: with `chance` a place begins a new one, N(0, spread²)."""
    fresh = spread * rng.standard_normal(shape)
    begins = rng.random(shape) < chance
    begins[..., 0] = True
    last = np.maximum.accumulate(np.where(begins, np.arange(shape[-1]), 0), axis=-1)
    return np.take_along_axis(fresh, last, axis=-1)


def _steps(rng: np.random.Generator, first: Bools) -> Draw:
    return with_slots(rng, first, levels(rng, first.shape, STEP_CHANCE, STEP_SD * SIGMA), LUCK)


def _drift(rng: np.random.Generator, first: Bools) -> Draw:
    line = DRIFT * SIGMA * np.linspace(-1, 1, first.shape[1])
    return with_slots(rng, first, np.tile(line, (len(first), 1)), LUCK)


def _walk(rng: np.random.Generator, first: Bools) -> Draw:
    walk = np.cumsum(rng.standard_normal(first.shape), axis=1)
    return with_slots(rng, first, WALK_SD * SIGMA * walk, LUCK)


STEPS = World(
    "steps", "d = s·c + ½σ·ε, c a level that is drawn anew, N(0, (2σ)²), in 20 % of epochs", _steps
)
DRIFTING = World("drift", "d = s·c + ½σ·ε, c a line from −2σ to +2σ over the epochs", _drift)
WALK = World("random walk", "d = s·c + ½σ·ε, c a random walk with steps of sd ½σ", _walk)
