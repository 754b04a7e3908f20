"""Cuts recorded weighings of equal arms into many virtual ones, and judges them.

Equal arms differ by nothing, so which of the two servers of an epoch is called the arm may be drawn
again. Whatever the machine did stays as it was recorded: restart luck, drift, spikes, the places of
backends. Given the traces, virtual weighings are independent draws, and an interval for the share
of them that err is one for these traces.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from steelyard.analysis.decision.epoch_reading import block_log_ratios, epoch_log_ratio
from steelyard.model.readings import EpochTotals
from validation.cases.case import generator
from validation.cases.simulation import FEW, QUESTIONS, Tallies
from validation.cases.virtual import VirtualWeighing, planned
from validation.traces import Trace, arm_of, traces
from validation.worlds.world import SIGMA, Floats, draw_slots, signs

WEIGHINGS = 2_000
EPOCHS = (10, 12, 18, 30)
PIECES = 3
"""Pseudo-epochs that an epoch is cut into."""

SCHEMES: Mapping[str, str] = {
    "scattered": "epochs chosen at random from all traces, arms and slots drawn anew",
    "neighbours": "epochs that follow each other, from a random one on, across weighings; arms and "
    "slots drawn anew",
    "pieces": f"the same, each epoch cut into {PIECES} pseudo-epochs of neighbouring blocks",
}


@dataclass(frozen=True)
class Replayed:
    """An epoch of a trace, or a piece of one."""

    d: float
    """ln(server in slot 0 ÷ server in slot 1) of throughput, by the product's reading."""
    blocks: tuple[float, ...]
    """The same of each block."""


def replayed(epoch: EpochTotals) -> Replayed:
    """One epoch of a trace, as the contrast of its slots."""
    by_slot = {slot: name for name, slot in epoch.slots.items()}
    arm, control = by_slot[0], by_slot[1]
    return Replayed(
        d=epoch_log_ratio(epoch, arm, control, "throughput"),
        blocks=tuple(block_log_ratios(epoch.arms[arm], epoch.arms[control], "throughput")),
    )


def pieces(epoch: EpochTotals, count: int) -> Iterator[EpochTotals]:
    """An epoch cut into so many pseudo-epochs of neighbouring blocks."""
    blocks = sorted({totals.block for arm in epoch.arms.values() for totals in arm.slices})
    for part in np.array_split(blocks, count):
        piece = set(part.tolist())
        arms = {
            name: arm_of(
                name, arm.slot, arm.clients, tuple(s for s in arm.slices if s.block in piece)
            )
            for name, arm in epoch.arms.items()
        }
        yield EpochTotals(epoch.epoch, epoch.slots, epoch.start_order, arms)


def placements() -> list[str]:
    """The placements that were recorded."""
    return sorted({trace.placement for trace in traces()})


@lru_cache(maxsize=4)
def every_epoch(placement: str, cut: int = 1) -> tuple[Replayed, ...]:
    """The epochs (or pieces) of all traces with a placement, in the order they were recorded."""
    return tuple(epochs_of([trace for trace in traces() if trace.placement == placement], cut))


def epochs_of(some: Sequence[Trace], cut: int = 1) -> Iterator[Replayed]:
    """The epochs (or pieces) of some traces."""
    for trace in some:
        for epoch in trace.epochs:
            yield from (replayed(part) for part in (pieces(epoch, cut) if cut > 1 else (epoch,)))


def choose(
    rng: np.random.Generator, placement: str, scheme: str, epochs: int
) -> tuple[Floats, Floats]:
    """Contrasts of slots and signs of the arm of one virtual weighing, shapes (epochs,); empty
    where the traces do not hold as many epochs."""
    pool = every_epoch(placement, PIECES if scheme == "pieces" else 1)
    if len(pool) < epochs:
        return np.empty(0), np.empty(0)
    if scheme == "scattered":
        chosen = rng.choice(len(pool), epochs, replace=False)
    else:
        chosen = int(rng.integers(len(pool) - epochs + 1)) + np.arange(epochs)
    sign = signs(draw_slots(rng, 1, epochs))[0]
    return np.array([pool[i].d for i in chosen]), sign


@dataclass(frozen=True)
class ReplayCase:
    """Virtual weighings of one placement, one scheme and one number of epochs."""

    placement: str
    scheme: str
    epochs: int
    weighings: int = WEIGHINGS

    @property
    def key(self) -> str:
        return f"replay/{self.placement}/{self.scheme}/{self.epochs}"

    @property
    def cost(self) -> float:
        return self.weighings * (0.002 if self.epochs <= 16 else 0.006)

    def work(self) -> Mapping[str, Any]:
        """Tallies by cell; no cells where the traces are too short."""
        rng = generator(self.key)
        cells, spread = Tallies(), []
        for _ in range(self.weighings):
            contrast, sign = choose(rng, self.placement, self.scheme, self.epochs)
            if not len(contrast):
                break
            d = sign * contrast
            spread.append(float(np.std(d, ddof=1)))
            terms = planned(self.epochs, SIGMA)
            weighing = VirtualWeighing(d, tuple((sign > 0).tolist()), terms)
            for question in QUESTIONS:
                cells.add("plan", question, weighing.ending(question, first_verdict=False))
            for question in FEW:
                ending = weighing.ending(question, first_verdict=True)
                cells.add("first verdict", question, ending)
        median = 100 * float(np.median(spread)) if spread else None
        return {
            "placement": self.placement,
            "scheme": self.scheme,
            "epochs": self.epochs,
            "epoch_sd_percent": median,
            "cells": cells.to_json(),
        }


def cases() -> Iterator[ReplayCase]:
    """Every placement that was recorded, with every scheme and every number of epochs."""
    return (
        ReplayCase(placement, scheme, epochs)
        for placement in placements()
        for scheme in SCHEMES
        for epochs in EPOCHS
    )
