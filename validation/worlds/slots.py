"""Worlds in which one slot is better than the other: always, in turns, by a standard deviation."""

from __future__ import annotations

import numpy as np

from validation.worlds.world import SIGMA, Bools, Draw, World, with_slots

EFFECT = 1.0
"""Slot effect in σ."""


def _constant(rng: np.random.Generator, first: Bools) -> Draw:
    return with_slots(rng, first, np.full(first.shape, EFFECT * SIGMA), luck=1.0)


def _alternating(rng: np.random.Generator, first: Bools) -> Draw:
    turns = np.where(np.arange(first.shape[1]) % 2 == 0, 1.0, -1.0)
    return with_slots(rng, first, EFFECT * SIGMA * np.tile(turns, (len(first), 1)), luck=1.0)


SLOT = World("slot effect", "d = s·σ + σ·ε", _constant)
ALTERNATING = World("slot effect that alternates", "d = s·(−1)ᵉ·σ + σ·ε", _alternating)
