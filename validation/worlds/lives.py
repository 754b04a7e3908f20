"""Worlds in which each start gives a server its own speed and its own slow drift."""

from __future__ import annotations

import numpy as np

from validation.worlds.autoregression import stationary
from validation.worlds.bench import Layout, jitter, lay_out, read, steady
from validation.worlds.world import Bools, Draw, Floats, World, signs

WANDER_RHO = 0.9
WANDER_SD = 0.03
LUCK_SD = 0.01
SLOT = 0.015
DROPPED = 0.05
SUSPENDED = np.log(0.5)


def wander(rng: np.random.Generator, layout: Layout) -> Floats:
    """Log speed of one server over the blocks of its life: AR(1) .9 of sd 3 %, fresh at each
    start, so that neighbouring blocks of an epoch agree and epochs do not."""
    return WANDER_SD * stationary(rng, WANDER_RHO, layout.shape)


def luck(rng: np.random.Generator, layout: Layout) -> Floats:
    """Log speed that one server keeps for its life, sd 1 %."""
    return LUCK_SD * rng.standard_normal(layout.shape[:2])[..., None]


def _wandering(rng: np.random.Generator, first: Bools) -> Draw:
    layout = lay_out(rng, first)
    sides = [steady(wander(rng, layout) + jitter(rng, layout)) for _ in range(2)]
    return Draw(read(*sides), layout.first)


def _slots(rng: np.random.Generator, first: Bools) -> Draw:
    layout = lay_out(rng, first)
    slot_effect = SLOT / 2 * signs(layout.first)[..., None]
    arm = steady(slot_effect + luck(rng, layout) + jitter(rng, layout))
    control = steady(-slot_effect + luck(rng, layout) + jitter(rng, layout))
    return Draw(read(arm, control), layout.first)


def _drops(rng: np.random.Generator, first: Bools) -> Draw:
    layout = lay_out(rng, first)
    sides = []
    for _ in range(2):
        dropped = rng.random(layout.shape) < DROPPED
        work = steady(luck(rng, layout) + jitter(rng, layout) + np.where(dropped, SUSPENDED, 0.0))
        work.transactions[dropped] = 0
        work.busy_ns[dropped] = 0
        sides.append(work)
    return Draw(read(*sides), layout.first)


WANDERING = World(
    "arm × time autocorrelation",
    "slices: each server wanders by itself over the blocks of its life, AR(1) .9 of sd 3 %, fresh "
    "at each start; every slice 3 % of its own",
    _wandering,
)
SLOWER_SLOT = World(
    "slot effect, in slices",
    "slices: one slot's server is 1.5 % faster, every life has luck of sd 1 %; every slice 3 % of "
    "its own",
    _slots,
)
DROPS = World(
    "slices dropped",
    "slices: 5 % of the slices are suspended (half the speed), seen between slices and dropped, in "
    "either arm alike; luck of a life 1 %, every slice 3 % of its own",
    _drops,
)
