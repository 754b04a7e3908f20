"""Lays out epochs as slices of two arms in blocks, and reads them as the product does.

A world below the epoch says how fast a server is in each slice; here this becomes transactions and
busy time, and the product's own reading of totals makes the log ratio of the epoch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.analysis.decision.epoch_reading import epoch_log_ratio
from steelyard.model.readings import ArmTotals, EpochTotals
from validation.worlds.world import Bools, Floats

Ints = NDArray[np.int64]

BLOCKS = 15
"""Blocks of an epoch: 3 s of slices of 100 ms, as in a weighing of 30 s."""
SLICE_NS = 100_000_000
CLIENTS = 8
LATENCY_NS = 170_000
"""Mean latency of a transaction at speed 1."""
LOAD_NS = CLIENTS * SLICE_NS
"""Time under load of a slice, over its clients."""
SLICE_SD = 0.03
"""Standard deviation of the log speed of single slices."""


@dataclass(frozen=True)
class Layout:
    """Where the slices of some weighings stand in time: two a block, one of either arm."""

    first: Bools
    """Slots of the arm, shape first.shape."""
    leads: Bools
    """Whether the arm has the first slice of the block, shape (weighings, epochs, blocks)."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Weighings, epochs, blocks."""
        weighings, epochs, blocks = self.leads.shape
        return weighings, epochs, blocks

    @property
    def slices(self) -> int:
        """Slices of one weighing, of both arms."""
        return 2 * self.shape[1] * self.shape[2]

    def of_arm(self, path: Floats) -> Floats:
        """What a path over time, shape (weighings, slices), holds at the slices of the arm."""
        return self._at(path, self.leads)

    def of_control(self, path: Floats) -> Floats:
        """The same at the slices of the control."""
        return self._at(path, ~self.leads)

    def _at(self, path: Floats, leads: Bools) -> Floats:
        pairs = path.reshape(*self.shape, 2)
        return np.where(leads, pairs[..., 0], pairs[..., 1])


def lay_out(rng: np.random.Generator, first: Bools, blocks: int = BLOCKS) -> Layout:
    """The arm in given slots, and a coin for the order of each block."""
    return Layout(first, rng.random((*first.shape, blocks)) < 0.5)


def jitter(rng: np.random.Generator, layout: Layout) -> Floats:
    """Log speed that every slice has for itself."""
    return SLICE_SD * rng.standard_normal(layout.shape)


def transactions_at(log_speed: Floats) -> Ints:
    """Transactions that fill a slice at a log speed, to the nearest one."""
    counts: Ints = np.rint(LOAD_NS / LATENCY_NS * np.exp(log_speed)).astype(np.int64)
    return counts


@dataclass(frozen=True)
class Work:
    """What one arm did: successful transactions and time under load, (weighings, epochs, blocks).

    A slice that was dropped holds zero of both.
    """

    transactions: Ints
    busy_ns: Ints


def steady(log_speed: Floats) -> Work:
    """Slices that are full from end to end."""
    return Work(transactions_at(log_speed), np.full(log_speed.shape, LOAD_NS, dtype=np.int64))


def read(arm: Work, control: Work) -> Floats:
    """The log ratio of every epoch by the product's reading, shape first.shape."""
    totals = [
        part.sum(axis=2).ravel().tolist()
        for work in (arm, control)
        for part in (work.transactions, work.busy_ns)
    ]
    d = [_log_ratio(*epoch) for epoch in zip(*totals, strict=True)]
    return np.array(d).reshape(arm.transactions.shape[:2])


def _log_ratio(done: int, busy_ns: int, control_done: int, control_busy_ns: int) -> float:
    arms = {
        "arm": ArmTotals("arm", 0, CLIENTS, done, busy_ns, latency_sum_ns=busy_ns),
        "control": ArmTotals(
            "control", 1, CLIENTS, control_done, control_busy_ns, latency_sum_ns=control_busy_ns
        ),
    }
    epoch = EpochTotals(0, {"arm": 0, "control": 1}, ("arm", "control"), arms)
    return epoch_log_ratio(epoch, "arm", "control", "throughput")
