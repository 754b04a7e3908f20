"""Lists the worlds."""

from __future__ import annotations

from validation.worlds.autoregression import AUTOREGRESSIONS
from validation.worlds.errors import ERRORS
from validation.worlds.lives import DROPS, SLOWER_SLOT, WANDERING
from validation.worlds.machine import PERIOD, STORM
from validation.worlds.restarts import EITHER, LATE, SKEWED
from validation.worlds.slots import ALTERNATING, SLOT
from validation.worlds.stalls import STALLS
from validation.worlds.trends import DRIFTING, STEPS, WALK
from validation.worlds.variances import VARIANCES
from validation.worlds.white import SPIKY, WHITE
from validation.worlds.world import World

WORLDS: tuple[World, ...] = (
    WHITE,
    *AUTOREGRESSIONS,
    STEPS,
    DRIFTING,
    WALK,
    SPIKY,
    *VARIANCES,
    SLOT,
    ALTERNATING,
    EITHER,
    STORM,
    PERIOD,
    STALLS,
    ERRORS,
    WANDERING,
    SLOWER_SLOT,
    DROPS,
    SKEWED,
    LATE,
)


def world(name: str) -> World:
    """The world of a name; KeyError where there is none."""
    return {each_world.name: each_world for each_world in WORLDS}[name]
