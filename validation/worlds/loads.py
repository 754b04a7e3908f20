"""Loads that settle after a restart, or do not: block by block, as a pilot watches them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from validation.worlds.autoregression import stationary
from validation.worlds.world import Floats

ARMS = 2
BLOCKS = 37
"""What the pilot of a weighing of two minutes watches."""
BLOCK_S = 0.1
BLOCK_SD = 0.03
"""Standard deviation of the log throughput of an arm in one block; its correlation from a block to
the next is BLOCK_RHO."""
BLOCK_RHO = 0.3
MACHINE_SD = 0.04
"""Of a wander that both arms share, with a correlation of MACHINE_RHO."""
MACHINE_RHO = 0.9


@dataclass(frozen=True)
class Load:
    """One way for a load to begin."""

    name: str
    slower: float = 0.0
    """Share of the throughput that is missing at first."""
    fades_s: float = 1.0
    """It falls to a third in so many seconds."""
    drift: float = 0.0
    """Log change over the pilot that goes on after it."""
    machine: bool = False
    """Whether the machine wanders."""

    @property
    def steady(self) -> bool:
        """Whether there is nothing to leave out."""
        return not self.slower and not self.drift

    def missing(self, at_s: Floats) -> Floats:
        """Share of the throughput that is missing at times since the start, s."""
        return self.slower * np.exp(-at_s / self.fades_s)

    def draw(self, rng: np.random.Generator, pilots: int) -> Floats:
        """Throughput of every block, shape (pilots, arms, blocks); 1 is the settled one."""
        middle_s = np.linspace(BLOCK_S / 2, BLOCK_S * (BLOCKS - 0.5), BLOCKS)
        shape = (pilots, ARMS, BLOCKS)
        logs: Floats = BLOCK_SD * stationary(rng, BLOCK_RHO, shape)
        if self.machine:
            logs = logs + MACHINE_SD * stationary(rng, MACHINE_RHO, (pilots, 1, BLOCKS))
        logs = logs + np.log1p(-self.missing(middle_s)) + self.drift * np.linspace(0, 1, BLOCKS)
        return np.exp(logs)


def _both(name: str, slower: float = 0.0, fades_s: float = 1.0, drift: float = 0.0) -> list[Load]:
    """A load on a machine that stands still, and on one that wanders."""
    return [
        Load(name, slower, fades_s, drift),
        Load(f"{name}, machine wanders", slower, fades_s, drift, machine=True),
    ]


LOADS: tuple[Load, ...] = (
    *_both("steady"),
    *_both("30 % slower at first, 0.3 s", slower=0.3, fades_s=0.3),
    *_both("30 % slower at first, 0.8 s", slower=0.3, fades_s=0.8),
    *_both("10 % slower at first, 2 s", slower=0.1, fades_s=2.0),
    *_both("30 % slower at first, 2 s", slower=0.3, fades_s=2.0),
    *_both("drifts by 20 %", drift=float(np.log(1.2))),
)


def load(name: str) -> Load:
    """The load of a name; KeyError where there is none."""
    return {each_load.name: each_load for each_load in LOADS}[name]
