"""Worlds in which the slots differ by something persistent: AR(1) over epochs."""

from __future__ import annotations

import numpy as np

from validation.worlds.world import SIGMA, Bools, Draw, Drawing, Floats, World, with_slots

LUCK = 0.5
"""Restart luck beside the slots' difference, in σ."""


def stationary(rng: np.random.Generator, rho: float, shape: tuple[int, ...]) -> Floats:
    """AR(1) along the last axis with variance 1: x = ρ·x₋₁ + √(1 − ρ²)·ε, stationary from the
    start."""
    fresh = rng.standard_normal(shape)
    path = np.empty(shape)
    path[..., 0] = fresh[..., 0]
    for i in range(1, shape[-1]):
        path[..., i] = rho * path[..., i - 1] + np.sqrt(1 - rho**2) * fresh[..., i]
    return path


def _drawing(rho: float) -> Drawing:
    def draw(rng: np.random.Generator, first: Bools) -> Draw:
        return with_slots(rng, first, SIGMA * stationary(rng, rho, first.shape), LUCK)

    return draw


AUTOREGRESSIONS = tuple(
    World(
        f"AR(1) {rho:g}",
        f"d = s·c + ½σ·ε, c an AR(1) over epochs with ρ = {rho:g} and sd σ",
        _drawing(rho),
    )
    for rho in (0.5, 0.9, 0.99)
)
