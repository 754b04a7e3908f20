"""Worlds in which restarts are now and then slow: of either arm alike, or of one arm only."""

from __future__ import annotations

import numpy as np

from validation.worlds.world import SIGMA, Bools, Draw, World

SLOW_SHARE = 0.15
SLOW_BY = 4.0
LUCK_SHARE = 0.3
LOSS = 1.0


def _either(rng: np.random.Generator, first: Bools) -> Draw:
    shape = first.shape
    slow = [SLOW_BY * SIGMA * (rng.random(shape) < LUCK_SHARE) for _ in range(2)]
    noise = SIGMA * rng.standard_normal(shape)
    return Draw(noise - slow[0] + slow[1], first)


def _skewed(rng: np.random.Generator, first: Bools) -> Draw:
    shape = first.shape
    slow = SLOW_BY * SIGMA * (rng.random(shape) < SLOW_SHARE)
    noise = SIGMA * rng.standard_normal(shape)
    truth = -SLOW_BY * SIGMA * SLOW_SHARE
    return Draw(noise - slow, first, truth)


def _late(rng: np.random.Generator, first: Bools) -> Draw:
    shape = first.shape
    loss = LOSS * SIGMA * rng.exponential(1.0, shape)
    noise = SIGMA * rng.standard_normal(shape)
    return Draw(noise - loss, first, -LOSS * SIGMA)


EITHER = World(
    "slow restarts, either arm",
    "d = σ·ε − 4σ·B₁ + 4σ·B₀, B₁ and B₀ each 1 in 30 % of the epochs, else 0",
    _either,
)
SKEWED = World(
    "slow restarts, one arm",
    "d = σ·ε − 4σ·B, B = 1 in 15 % of the epochs, else 0",
    _skewed,
    symmetric=False,
)
LATE = World(
    "start-up loss, one arm",
    "d = σ·ε − σ·X, X exponential with mean 1",
    _late,
    symmetric=False,
)
