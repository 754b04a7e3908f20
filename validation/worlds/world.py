"""Defines a world: a way a machine may behave, to draw weighings from with a known truth."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.study.design import balanced_orders

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

SIGMA = 0.01
"""σ of the formulas: the scale of an epoch's log ratio, 1 %, as on the development machine."""


@dataclass(frozen=True)
class Draw:
    """Weighings drawn from a world: log ratios of epochs, and where the arm stood."""

    d: Floats
    """Log ratio of each epoch, shape first.shape, in the order they were measured."""
    first: Bools
    """Whether the arm stood in the first of its two slots, same shape."""
    truth: float = 0.0
    """The mean log ratio that the world itself puts into d, before any effect is added."""


Drawing = Callable[[np.random.Generator, Bools], Draw]
"""Draws weighings in which the arm stands in given slots, shape (weighings, epochs)."""


@dataclass(frozen=True)
class World:
    """One way for a machine to behave."""

    name: str
    formula: str
    """How d comes about, for the reader of docs/results/validation.md."""
    drawing: Drawing
    symmetric: bool = True
    """Whether d − θ is symmetric, which the method's exactness asks for."""
    nearly: bool = False
    """It is not quite, but the bound is asked all the same."""

    def draw(
        self, rng: np.random.Generator, weighings: int, epochs: int, planned: int | None = None
    ) -> Draw:
        """So many weighings of so many epochs, of which `planned` (all) were planned."""
        return self.drawing(rng, draw_slots(rng, weighings, epochs, planned))


def draw_slots(
    rng: np.random.Generator, weighings: int, epochs: int, planned: int | None = None
) -> Bools:
    """Slots as a plan draws them, shape (weighings, epochs): exactly half of the planned epochs
    each way, in uniformly random order, by the product's own code; past the plan, a coin each."""
    draw = random.Random(int(rng.integers(1 << 62)))
    balanced = epochs if planned is None else planned
    rows = [[slot == 0 for _, slot in balanced_orders(2, balanced, draw)] for _ in range(weighings)]
    coins = rng.random((weighings, epochs - balanced)) < 0.5
    return np.concatenate([np.array(rows, dtype=np.bool_), coins], axis=1)


def signs(first: Bools) -> Floats:
    """+1 where the arm stands in the first slot, −1 where in the second."""
    return np.where(first, 1.0, -1.0)


def with_slots(rng: np.random.Generator, first: Bools, difference: Floats, luck: float) -> Draw:
    """d = s·c + luck·σ·ε: the slots' difference c, shape (weighings, epochs), with the sign of the
    arm's slot, and the restart luck of both arms."""
    noise = luck * SIGMA * rng.standard_normal(first.shape)
    return Draw(signs(first) * difference + noise, first)
