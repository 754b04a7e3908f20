"""A machine as it was recorded: the epochs of traces of equal arms, one after the other.

Both servers of an epoch ran at the same time, slice by slice, and are alike. A rule that measures
A for a while and B later gets the slices of both servers, in the order they were recorded, as A's
for the first half and as B's for the second. Pairs are the two slices of a block. Runs are the
slices of one server in one epoch, two runs an epoch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from steelyard.analysis.decision.epoch_reading import epoch_log_ratio
from steelyard.model.readings import EpochTotals
from validation.traces import traces
from validation.worlds.world import Floats, draw_slots


@dataclass(frozen=True)
class TracedEpoch:
    """One recorded epoch of two equal servers."""

    in_time: Floats
    """Throughput of both servers' slices in the order they were measured, shape (2·blocks,)."""
    by_slot: tuple[Floats, Floats]
    """Throughput of either server's slices by block, shape (blocks,) each."""
    whole: tuple[float, float]
    """Throughput of either server over the epoch."""
    d: float
    """ln(slot 0 ÷ slot 1), by the product's reading."""
    slice_s: float


def traced_epoch(epoch: EpochTotals, slice_s: float) -> TracedEpoch:
    """An epoch of a trace."""
    arms = sorted(epoch.arms.values(), key=lambda arm: arm.slot)
    places = [
        (totals.block, totals.position, totals.transactions / totals.busy_ns)
        for arm in arms
        for totals in arm.slices
    ]
    by_slot = [
        np.array([totals.transactions / totals.busy_ns for totals in arm.slices]) for arm in arms
    ]
    return TracedEpoch(
        in_time=np.array([speed for _, _, speed in sorted(places)]),
        by_slot=(by_slot[0], by_slot[1]),
        whole=(arms[0].throughput, arms[1].throughput),
        d=epoch_log_ratio(epoch, arms[0].arm, arms[1].arm, "throughput"),
        slice_s=slice_s,
    )


@lru_cache(maxsize=4)
def recorded(placement: str) -> tuple[TracedEpoch, ...]:
    """Every epoch of the traces with a placement, in the order they were recorded."""
    return tuple(
        traced_epoch(epoch, trace.slice_ns / 1e9)
        for trace in traces()
        if trace.placement == placement
        for epoch in trace.epochs
    )


@dataclass
class TracedMachine:
    """The recorded epochs from a random one on, round and round; the effect θ is put on B."""

    epochs_there: Sequence[TracedEpoch]
    theta: float
    rng: np.random.Generator
    seconds: float = 0.0

    def __post_init__(self) -> None:
        self._now = int(self.rng.integers(len(self.epochs_there)))
        self._flip = int(self.rng.integers(2))

    def slices(self, count: int) -> tuple[Floats, Floats]:
        """The slices of both servers in time: A's first, then B's."""
        speed = np.empty(0)
        while len(speed) < 2 * count:
            epoch = self._next()
            speed = np.append(speed, epoch.in_time)
            self.seconds += epoch.slice_s * len(epoch.in_time)
        return speed[:count], speed[count : 2 * count] * math.exp(self.theta)

    def pairs(self, count: int) -> tuple[Floats, Floats]:
        """The two slices of each block; which server is A is a coin for the whole."""
        sides: tuple[list[float], list[float]] = ([], [])
        while len(sides[0]) < count:
            epoch = self._next()
            for number, side in enumerate(sides):
                side.extend(epoch.by_slot[number ^ self._flip].tolist())
            self.seconds += epoch.slice_s * len(epoch.in_time)
        return np.array(sides[0][:count]), np.array(sides[1][:count]) * math.exp(self.theta)

    def runs(self, order: Sequence[str]) -> Floats:
        """Two runs an epoch, each server's whole epoch one."""
        speeds = []
        for number, arm in enumerate(order):
            if number % 2 == 0:
                epoch = self._next()
            speeds.append(
                epoch.whole[(number % 2) ^ self._flip] * (math.exp(self.theta) if arm == "B" else 1)
            )
            self.seconds += epoch.slice_s * len(epoch.in_time) / 2
        return np.array(speeds)

    def epochs(self, count: int) -> tuple[Floats, tuple[bool, ...]]:
        """The next epochs, with slots drawn anew."""
        first = draw_slots(self.rng, 1, count)[0]
        d = []
        for arm_first in first.tolist():
            epoch = self._next()
            d.append((epoch.d if arm_first else -epoch.d) + self.theta)
            self.seconds += epoch.slice_s * len(epoch.in_time)
        return np.array(d), tuple(first.tolist())

    def _next(self) -> TracedEpoch:
        self._now += 1
        return self.epochs_there[self._now % len(self.epochs_there)]
