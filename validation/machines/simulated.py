"""Simulated machines: quiet, restless servers, a storm. Slices follow each other in time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from validation.machines.machine import RUN
from validation.worlds.autoregression import stationary
from validation.worlds.bench import SLICE_NS, SLICE_SD
from validation.worlds.lives import LUCK_SD, WANDER_RHO, WANDER_SD
from validation.worlds.machine import storm
from validation.worlds.world import Bools, Floats, draw_slots

SLICE_S = SLICE_NS / 1e9
LONGEST = 2_500
"""Slices that a machine can be measured for: more than any rule asks for."""


@dataclass(frozen=True)
class Weather:
    """What a simulated machine does."""

    name: str
    words: str
    path: Callable[[np.random.Generator, int], Floats]
    """Log speed of the machine over so many slices."""
    lives: bool
    """Whether every start of a server brings its own luck and wandering."""


def _calm(rng: np.random.Generator, slices: int) -> Floats:
    return np.zeros(slices)


def _storm(rng: np.random.Generator, slices: int) -> Floats:
    return np.asarray(storm(rng, 1, slices)[0])


WEATHERS = (
    Weather("quiet", "slices scatter by 3 %, and nothing else", _calm, lives=False),
    Weather(
        "restless servers",
        "beside that, every start brings luck of sd 1 % and a wandering of its own, AR(1) .9 over "
        "slices of sd 3 %",
        _calm,
        lives=True,
    ),
    Weather("storm", "the storm of the worlds above", _storm, lives=False),
)


@dataclass
class SimulatedMachine:
    """A machine with some weather; the effect θ is put on B."""

    weather: Weather
    theta: float
    rng: np.random.Generator
    seconds: float = 0.0
    _path: Floats = field(init=False)
    _now: int = 0

    def __post_init__(self) -> None:
        self._path = self.weather.path(self.rng, LONGEST)

    def slices(self, count: int) -> tuple[Floats, Floats]:
        """A for so long, then B for as long."""
        of_b = np.arange(2 * count) >= count
        speed = self._measure(of_b, [self._life(count), self._life(count)])
        return speed[:count], speed[count:]

    def pairs(self, count: int) -> tuple[Floats, Floats]:
        """A, B, A, B …"""
        of_b = np.arange(2 * count) % 2 == 1
        speed = self._measure(of_b, [self._life(count), self._life(count)])
        return speed[::2], speed[1::2]

    def runs(self, order: Sequence[str]) -> Floats:
        """One life a run."""
        speeds = []
        for arm in order:
            of_b = np.full(RUN, arm == "B")
            speeds.append(self._measure(of_b, [self._life(RUN), self._life(RUN)]).mean())
        return np.array(speeds)

    def epochs(self, count: int) -> tuple[Floats, tuple[bool, ...]]:
        """RUN blocks an epoch, the order of each a coin."""
        d = []
        for _ in range(count):
            leads = np.repeat(self.rng.random(RUN) < 0.5, 2)
            of_b = (np.arange(2 * RUN) % 2 == 1) ^ leads
            speed = self._measure(of_b, [self._life(RUN), self._life(RUN)])
            d.append(math.log(speed[of_b].sum() / speed[~of_b].sum()))
        first = draw_slots(self.rng, 1, count)[0]
        return np.array(d), tuple(first.tolist())

    def _life(self, slices: int) -> Floats:
        """Log speed of a server over the slices of its life."""
        if not self.weather.lives:
            return np.zeros(slices)
        wander = WANDER_SD * stationary(self.rng, WANDER_RHO, (slices,))
        return LUCK_SD * float(self.rng.standard_normal()) + wander

    def _measure(self, of_b: Bools, lives: Sequence[Floats]) -> Floats:
        """Speeds of the next slices; `lives`: of A's server and of B's, each long enough."""
        count = len(of_b)
        log_speed = self._path[self._now : self._now + count].copy()
        for here, life, effect in ((~of_b, lives[0], 0.0), (of_b, lives[1], self.theta)):
            log_speed[here] += life[: int(here.sum())] + effect
        self._now += count
        self.seconds += count * SLICE_S
        return np.exp(log_speed + SLICE_SD * self.rng.standard_normal(count))
