"""Chooses how long epochs in cycles are: the time scale, the slice, and how many epochs fit.

All arms run, each in its own time. After a checkpoint of each, an arm is measured from the begin of
one of its own checkpoints to the begin of the k-th after it, whole cycles of own time. The arm with
the longest cycles says how long an epoch is: each is measured at about the same age for about the
same time. An epoch takes as many times its own time on the wall as there are arms, and what each
border costs, at which one arm is stopped and another resumed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from steelyard.analysis.pilot.turn_lengths import (
    FEWEST_EPOCHS,
    LEAST_MEASURED_S,
    PATIENCE,
    WANTED_EPOCHS,
    ArmCycle,
    EpochLengths,
    Shortage,
    TurnPlanRequest,
    awaited_s,
    fit_epochs,
    longest_s,
    measured_s,
    shortest_s,
)

SHORTEST_SLICE_S = 0.1
LONGEST_SLICE_S = 2.0
WANTED_SLICE_S = 0.2
"""A device is slower or faster for moments: arms in slices of 0.5 s scatter nearly twice as much as
in slices of 0.1 s (docs/decisions/2026-11-29-slices-of-a-fifth-of-a-second.md)."""
SLICES_A_CYCLE = 20
"""At least: the borders of a window lie within a slice of a checkpoint's begin."""
LATENCIES_A_SLICE = 20
FEWEST_SLICES = 5
"""Of what is measured of an arm: of fewer it is cut anywhere, and lasts longer than planned."""
LEVEL_SLICES = 25
"""Until MSER-5 finds an arm level, with some to spare: it needs 20."""
LEVEL_MARGIN = 1.25
"""Times what an arm alone took to read evenly, likewise."""
BORDER_S = 0.012
"""What stopping one arm and resuming another takes at a border, beside its clients' way back."""


@dataclass(frozen=True, slots=True)
class CycleLengths(EpochLengths):
    """What was chosen of cycles in own time, whose measured part begins with a checkpoint; only
    `epoch_s` is time on the wall."""

    slice_s: float
    measured_s: float = math.inf  # of the arm that is measured for the shortest time

    @property
    def coarse(self) -> bool:
        """Whether what is measured of an arm holds too few slices."""
        return self.measured_s < FEWEST_SLICES * self.slice_s


def choose_cycle_lengths(
    arms: Sequence[ArmCycle],
    wish: TurnPlanRequest,
    *,
    idle_s: float,
    warm_s: float,
    latency_s: float,
    level_s: float | None = None,
) -> CycleLengths | Shortage:
    """The lengths of cycles that `fit_epochs` chooses.

    `idle_s`: of an epoch without load, wall time; `warm_s`: own time until an arm is level, at
    most; `latency_s`: mean of a transaction; `level_s`: after which every arm alone read evenly,
    None where one did not.
    """
    return fit_epochs(
        arms, wish, lambda scale: _lengths(arms, wish, scale, idle_s, warm_s, latency_s, level_s)
    )


def least_cycles_budget_s(arms: int, epochs: int | None) -> float:
    """What the shortest epochs there can be take, before anything is known of the arms."""
    return (epochs or FEWEST_EPOCHS) * arms * (2 * LEAST_MEASURED_S)


def _lengths(
    arms: Sequence[ArmCycle],
    wish: TurnPlanRequest,
    scale: float,
    idle_s: float,
    warm_s: float,
    latency_s: float,
    level_s: float | None,
) -> CycleLengths:
    cycles = tuple(arm.seconds(scale) for arm in arms)
    finite = [cycle for cycle in cycles if math.isfinite(cycle)]
    longest = max(finite, default=0.0)
    waited = awaited_s(arms, cycles)
    round_s = max(arm.round_s for arm in arms)
    slice_s = wish.slice_s or _slice_s(min(finite, default=longest), latency_s, round_s)
    if all(waited) and level_s is not None:  # an arm that is not level waits for the next one
        warm_s = min(warm_s, max(LEVEL_SLICES * slice_s, LEVEL_MARGIN * level_s))
    room_s = (wish.budget_s / (wish.epochs or WANTED_EPOCHS) - idle_s) / len(arms) - warm_s
    measured = measured_s(arms, cycles, wish, room_s)
    # The begin of the first checkpoint of the longest cycles that comes after the warm-up.
    age = max(1, math.ceil(warm_s / longest - 1e-9)) * longest if finite else warm_s
    own_s = max(age + length for length in measured)
    border_s = BORDER_S + latency_s
    return CycleLengths(
        scale=scale,
        epochs=0,
        slice_s=slice_s,
        epoch_s=idle_s + len(arms) * own_s * (1 + border_s / slice_s),
        # Checkpoints begin whole cycles after the one that all arms are given, or a little later:
        # midway between two there is no doubt which one is meant.
        begins_s=tuple(age - cycle / 2 for cycle in waited),
        waits_s=tuple(PATIENCE * 2 * cycle for cycle in waited),
        least_s=shortest_s(measured, waited, wish),
        longest_s=longest_s(measured, waited, wish),
        cycles_s=cycles,
        measured_s=min(measured),
    )


def _slice_s(shortest_cycle_s: float, latency_s: float, round_s: float) -> float:
    """A fifth of a second, shorter where cycles are short, longer where transactions are slow;
    whole rounds of the servers' background work where they have any."""
    least = max(SHORTEST_SLICE_S, LATENCIES_A_SLICE * latency_s)
    if round_s:
        return math.ceil(least / round_s - 1e-9) * round_s
    most = LONGEST_SLICE_S
    if shortest_cycle_s:
        most = min(most, shortest_cycle_s / SLICES_A_CYCLE)
    return max(least, min(WANTED_SLICE_S, most))
