"""Chooses how long turns are: the time scale, and how many epochs the budget holds.

A turn is measured from the end of one completed checkpoint to the end of the k-th after it. The
first checkpoint of a server begins one cycle after its start and is spread over most of the next
(checkpoint_completion_target), so a turn takes about (2 + k) cycles. Where the budget does not hold
enough of those, what spaces checkpoints is divided by one factor F, the same for all arms.

The arm with the longest cycles says how long turns are, of all arms: each is measured from about
the same time after its start for about the same time, in whole cycles of its own. What comes with
time alone (a cache that fills, autovacuum, tables that grow) would else fall on one arm.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from steelyard.analysis.pilot.log_curve import LogCurve

FEWEST_EPOCHS = 8
WANTED_EPOCHS = 10
MOST_EPOCHS = 40
NEVER_S = 4 * 3600.0
"""An arm whose next checkpoint is further away makes none in any turn."""
LEAST_MEASURED_S = 10.0
MOST_WITHOUT_S = 300.0
"""Measured part where no arm makes checkpoints."""
PATIENCE = 1.5
"""Times what is expected that a turn waits for a checkpoint."""
MOST_MEASURED = 3.0
"""Times what is expected that an arm is measured until a checkpoint ends it. A pilot that saw no
whole cycle can be wrong by half; a window that is cut holds no whole cycles
(docs/decisions/2026-11-29-windows-that-were-cut.md)."""
NEARLY = 0.95
"""Of the timeout: a cycle as long as this was ended by it, and not by the log."""
LEAST_LOOK_S = 15.0
MOST_LOOK_S = 120.0
_STEP = 0.1


@dataclass(frozen=True, slots=True)
class Spacing:
    """What the settings of an arm make of its checkpoints: whichever comes first."""

    timeout_s: float
    wal_bytes: float  # log after which a checkpoint is requested


@dataclass(frozen=True, slots=True)
class ArmCycle:
    """What spaces the checkpoints of an arm: its settings, and the log that it writes."""

    spacing: Callable[[float], Spacing]  # at a time scale, as the server rounds it
    largest_scale: float
    log: LogCurve  # of the pilot
    seen_s: float | None = None  # mean of the whole cycles that the pilot saw, at a scale of 1
    continuous: bool = False  # no begin of a checkpoint is to be seen: a cycle is a turn of the log
    round_s: float = 0.0  # of its background work: a slice holds whole ones

    def seconds(self, scale: float) -> float:
        """Time between two checkpoints at a time scale; infinite where none is made."""
        if not self.log.writes:
            return math.inf
        spaced = self.spacing(scale)
        cycle = min(spaced.timeout_s, self._by_log(spaced.wal_bytes))
        return cycle if cycle <= NEVER_S else math.inf

    def by_size(self, scale: float) -> bool:
        """Whether the log that it writes ends a cycle, and not time."""
        spaced = self.spacing(scale)
        return self.log.writes and self._by_log(spaced.wal_bytes) < spaced.timeout_s

    def nearer(self, scale: float) -> float:
        """By how much what spaces its checkpoints is really smaller at a time scale: settings come
        in whole seconds, and in whole segments of log."""
        unscaled, spaced = self.spacing(1.0), self.spacing(scale)
        if self._by_log(spaced.wal_bytes) < spaced.timeout_s:
            return unscaled.wal_bytes / spaced.wal_bytes
        return unscaled.timeout_s / spaced.timeout_s

    def _by_log(self, wal_bytes: float) -> float:
        """Time until so much log was written. The pilot's curve is that of a server with empty
        pools: a cycle that it saw whole says by how much a later one is shorter or longer."""
        expected = self.log.seconds_to(wal_bytes)
        unscaled = self.spacing(1.0)
        first = self.log.seconds_to(unscaled.wal_bytes)
        if self.seen_s is None or not 0 < first < math.inf:
            return expected
        by_timeout = self.seen_s >= NEARLY * unscaled.timeout_s
        return expected if by_timeout else expected * self.seen_s / first


@dataclass(frozen=True, slots=True)
class TurnPlanRequest:
    """What the study asks of turns; None: it is chosen."""

    budget_s: float
    cycles: int
    stated_s: float | None = None
    scale: float | None = None
    epochs: int | None = None
    slice_s: float | None = None
    """Of cycles alone: turns are driven second by second."""


@dataclass(frozen=True, slots=True)
class EpochLengths:
    """What was chosen of epochs in which every arm is measured over whole cycles; in seconds."""

    scale: float
    epochs: int
    epoch_s: float  # all arms, with starts and reads
    begins_s: tuple[float, ...]  # of the arms: load at least, before the measured part
    waits_s: tuple[float, ...]  # of the arms: at most after that, for the border of a checkpoint
    least_s: tuple[float, ...]  # of the arms: measured part at least
    longest_s: tuple[float, ...]  # of the arms: measured part at most
    cycles_s: tuple[float, ...]  # of the arms, infinite where none is made

    @property
    def total_s(self) -> float:
        """What all epochs take."""
        return self.epochs * self.epoch_s


@dataclass(frozen=True, slots=True)
class TurnLengths(EpochLengths):
    """What was chosen of turns, whose measured part begins with the end of a checkpoint."""

    turn_s: float  # the longest of the arms'

    @property
    def mean_turn_s(self) -> float:
        """What a turn takes, the mean of the arms'."""
        return self.epoch_s / len(self.cycles_s)


LengthsT = TypeVar("LengthsT", bound=EpochLengths)


@dataclass(frozen=True, slots=True)
class Shortage:
    """The budget does not hold 8 epochs, however near checkpoints are brought."""

    needed_s: float


def choose_lengths(
    arms: Sequence[ArmCycle], wish: TurnPlanRequest, *, idle_s: float, warm_s: float
) -> TurnLengths | Shortage:
    """The lengths of turns that `fit_epochs` chooses. `idle_s`: of a turn without load; `warm_s`:
    its warm-up."""
    return fit_epochs(arms, wish, lambda scale: _lengths(arms, wish, scale, idle_s, warm_s))


def fit_epochs(
    arms: Sequence[ArmCycle], wish: TurnPlanRequest, lengths_at: Callable[[float], LengthsT]
) -> LengthsT | Shortage:
    """The smallest time scale with which the budget holds 10 epochs (8 with the largest scale), or
    the study's own, of the lengths that epochs have at a scale.

    With a scale of 1 and time left there are more epochs, 40 at most. An even number of them, so
    that every order of two arms comes equally often.
    """
    largest = min(arm.largest_scale for arm in arms)
    tried = scales(largest) if wish.scale is None else [wish.scale]
    epochs = wish.epochs or WANTED_EPOCHS
    for scale in tried:
        lengths = lengths_at(scale)
        fitting = math.floor(wish.budget_s / lengths.epoch_s + 1e-9)
        if fitting >= epochs:
            return replace(lengths, epochs=wish.epochs or min(MOST_EPOCHS, fitting // 2 * 2))
    last = lengths_at(tried[-1])
    fewest = wish.epochs or FEWEST_EPOCHS
    if fewest * last.epoch_s <= wish.budget_s:
        return replace(last, epochs=fewest)
    return Shortage(fewest * last.epoch_s)


def least_budget_s(arms: int, epochs: int | None) -> float:
    """What the shortest turns there can be take, before anything is known of the arms."""
    return (epochs or FEWEST_EPOCHS) * arms * (2 * LEAST_MEASURED_S)


def longest_solo_run_s(wish: TurnPlanRequest, arms: int) -> float:
    """How long a pilot looks at an arm at most, for a whole cycle: one that is longer does not fit
    into the turns of the budget, at any time scale. Stated turns need no cycle."""
    if wish.stated_s is not None:
        return LEAST_LOOK_S
    cycles = (wish.epochs or WANTED_EPOCHS) * arms * (2 + wish.cycles)
    return min(MOST_LOOK_S, max(LEAST_LOOK_S, wish.budget_s / cycles))


def scales(largest: float) -> list[float]:
    """1, 1.1, 1.2, ... and the largest."""
    steps = math.floor((largest - 1) / _STEP + 1e-9)
    return [*(round(1 + _STEP * step, 1) for step in range(steps + 1)), largest]


def _lengths(
    arms: Sequence[ArmCycle], wish: TurnPlanRequest, scale: float, idle_s: float, warm_s: float
) -> TurnLengths:
    cycles = tuple(arm.seconds(scale) for arm in arms)
    finite = [cycle for cycle in cycles if math.isfinite(cycle)]
    longest = max(finite, default=0.0)
    room_s = wish.budget_s / (wish.epochs or WANTED_EPOCHS) / len(arms) - idle_s - warm_s
    measured = measured_s(arms, cycles, wish, room_s)
    waited = awaited_s(arms, cycles)
    # From its start to the end of its first checkpoint that comes after the warm-up.
    begin = max((max(2 * cycle, warm_s + cycle) for cycle in waited if cycle), default=warm_s)
    # The end of a checkpoint of the longest cycles: the first begins after one, ends after two.
    first = 2 if any(waited) else 1
    age = max(first, math.ceil(warm_s / longest - 1e-9)) * longest if finite else 0.0
    turns = [idle_s + (begin if any(waited) else max(begin, age)) + length for length in measured]
    return TurnLengths(
        scale=scale,
        epochs=0,
        turn_s=max(turns),
        epoch_s=sum(turns),
        begins_s=tuple(max(0.0, age - cycle) for cycle in waited),
        waits_s=tuple(PATIENCE * 2 * cycle for cycle in waited),
        least_s=shortest_s(measured, waited, wish),
        longest_s=longest_s(measured, waited, wish),
        cycles_s=cycles,
    )


def measured_s(
    arms: Sequence[ArmCycle], cycles: Sequence[float], wish: TurnPlanRequest, room_s: float
) -> list[float]:
    """How long each arm is measured, in whole cycles of it. Where no checkpoint is to be seen: all
    for the time of whole turns of the log, of the arm with the longest ones. `room_s`: what the
    budget has for an arm that makes none."""
    finite = [cycle for cycle in cycles if math.isfinite(cycle)]
    if wish.stated_s is not None:
        return [wish.stated_s for _ in cycles]
    if not finite:
        return [min(MOST_WITHOUT_S, max(LEAST_MEASURED_S, room_s)) for _ in cycles]
    if any(arm.continuous for arm in arms):
        return [_whole_cycles_s(max(finite), wish.cycles) for _ in cycles]
    return [as_long(max(finite), cycle, wish.cycles) for cycle in cycles]


def awaited_s(arms: Sequence[ArmCycle], cycles: Sequence[float]) -> list[float]:
    """The cycles at whose checkpoints measuring begins; 0 of an arm that shows or makes none."""
    return [
        cycle if math.isfinite(cycle) and not arm.continuous else 0.0
        for arm, cycle in zip(arms, cycles, strict=True)
    ]


def shortest_s(
    measured: Sequence[float], awaited: Sequence[float], wish: TurnPlanRequest
) -> tuple[float, ...]:
    """The measured part of each arm at least: half a cycle less where checkpoints end it."""
    return tuple(
        max(LEAST_MEASURED_S, length - cycle / 2) if cycle and wish.stated_s is None else length
        for length, cycle in zip(measured, awaited, strict=True)
    )


def longest_s(
    measured: Sequence[float], awaited: Sequence[float], wish: TurnPlanRequest
) -> tuple[float, ...]:
    """The measured part of each arm at most: with patience where checkpoints end it, the same for
    all of those, whose cycles the pilot may have read differently."""
    most = MOST_MEASURED * max(measured)
    return tuple(
        most if cycle and wish.stated_s is None else length
        for length, cycle in zip(measured, awaited, strict=True)
    )


def as_long(longest_s: float, cycle_s: float, fewest: int) -> float:
    """Time of whole cycles of an arm that last about as long as the fewest of the longest cycles;
    of an arm without any, as long as those."""
    target_s = _whole_cycles_s(longest_s, fewest)
    if math.isinf(cycle_s):
        return target_s
    return max(_whole_cycles_s(cycle_s, fewest), round(target_s / cycle_s) * cycle_s)


def _whole_cycles_s(cycle_s: float, fewest: int) -> float:
    """Time of the fewest whole cycles that last as long as is measured at least."""
    return max(fewest, math.ceil(LEAST_MEASURED_S / cycle_s - 1e-9)) * cycle_s
