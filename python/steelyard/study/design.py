"""Draws the design of a weighing from a seed: epochs, slots, start orders, block orders, looks.

The same study and seed give the same design everywhere: every draw has a generator of its own,
named by its purpose, so that a resumed weighing draws what the interrupted one would have drawn.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

from steelyard.model.units import NS_PER_MS, NS_PER_S
from steelyard.study.study import Study

FEWEST_EPOCHS = 10
MOST_EPOCHS = 40
LEAST_EPOCHS = 8
"""Where epochs must be longer because pools warm slowly: fewer have no set that means much."""
FEWEST_LOADS = 3
"""Separate loads of each build's data, where builds cannot share it: the luck of one load (which
rows ANALYZE saw, where files lie) is then seen instead of taken for the build."""
TURN_EPOCHS = 10
"""With layout "turns", until the pilot knows what a turn takes."""
EPOCH_TARGET_NS = {"foreground": 6_500 * NS_PER_MS, "whole": 12 * NS_PER_S}
"""Load per epoch that the number of epochs is chosen for: restarts cost about 2 s more."""

SLICE_CANDIDATES_NS = {
    "foreground": tuple(NS_PER_MS * n for n in (50, 100, 200, 500, 1000, 2000, 5000, 10000)),
    "whole": tuple(NS_PER_MS * n for n in (200, 500, 1000, 2000, 5000, 10000)),
}


@dataclass(frozen=True)
class Design:
    """What is fixed before the first slice: numbers of epochs, looks, and every random order."""

    seed: int
    arms: tuple[str, ...]  # the control first
    epochs: int  # N
    first_look: int | None  # n1; None when open-ended, judged separately, or too short for two
    epoch_ns: int  # load per epoch, all arms together
    assignment: tuple[tuple[int, ...], ...]  # [epoch][arm] = slot number
    start_orders: tuple[tuple[int, ...], ...]  # [epoch] = arm numbers in order of their start

    def slots_of(self, epoch: int) -> dict[str, int]:
        """Arm name → slot number in an epoch; epochs past N (open-ended) are drawn as they come."""
        return dict(zip(self.arms, self._row(self.assignment, epoch, "slots"), strict=True))

    def start_order(self, epoch: int) -> tuple[str, ...]:
        """Arm names in the order in which they are started in an epoch."""
        return tuple(self.arms[arm] for arm in self._row(self.start_orders, epoch, "start"))

    def _row(self, rows: tuple[tuple[int, ...], ...], epoch: int, purpose: str) -> tuple[int, ...]:
        if epoch < len(rows):
            return rows[epoch]
        return _permutation(len(self.arms), random.Random(f"{self.seed}/{purpose}/{epoch}"))

    def blocks(self, epoch: int, count: int) -> list[tuple[int, ...]]:
        """The arm order of each of `count` blocks of an epoch; a longer list begins alike."""
        draw = random.Random(f"{self.seed}/blocks/{epoch}")
        return [_permutation(len(self.arms), draw) for _ in range(count)]

    def load_of(self, loader: str, epoch: int, loads: int) -> int:
        """Which of the separate loads of a loader's data is used in an epoch.

        Each once before any comes again, in random order; arms of one loader use the same.
        """
        turn = epoch // loads
        order = _permutation(loads, random.Random(f"{self.seed}/loads/{loader}/{turn}"))
        return order[epoch % loads]

    def script_seed(self, epoch: int) -> int:
        """The seed of the load in an epoch: equal for all arms, new in every epoch."""
        return random.Random(f"{self.seed}/script/{epoch}").getrandbits(63)


def draw_design(study: Study, seed: int, cost: str, epochs: int | None = None) -> Design:
    """The design of a study for a seed; `cost` is "foreground", "whole" or "cycles". `epochs`: in
    place of the number that study and budget give."""
    names = tuple(arm.name for arm in study.every_arm)
    epochs = epochs_for(study, cost) if epochs is None else epochs
    one_look = study.decision.open_ended or study.decision.judged == "separately"
    return Design(
        seed=seed,
        arms=names,
        epochs=epochs,
        first_look=None if one_look else first_look(epochs),
        epoch_ns=study.budget.measuring // epochs,
        assignment=balanced_orders(len(names), epochs, random.Random(f"{seed}/slots")),
        start_orders=balanced_orders(len(names), epochs, random.Random(f"{seed}/start")),
    )


def epochs_for(study: Study, cost: str) -> int:
    """The study's own number, else one from the budget: even, 10 to 40."""
    if study.budget.epochs is not None:
        return study.budget.epochs
    if cost == "cycles":
        return TURN_EPOCHS
    affordable = study.budget.measuring / EPOCH_TARGET_NS[cost]
    return max(FEWEST_EPOCHS, min(MOST_EPOCHS, 2 * round(affordable / 2)))


def longer_epochs(design: Design, study: Study, warmup_ns: int) -> int:
    """The number of epochs in which a warm-up takes no more than half as long as what is measured:
    even, and no fewer than LEAST_EPOCHS."""
    fit = study.budget.measuring // (2 * max(1, warmup_ns))
    return min(design.epochs, max(LEAST_EPOCHS, 2 * (fit // 2)))


def counted_epochs(design: Design, study: Study, epoch_ns: int) -> int:
    """The number of epochs, each of which its executions cut to `epoch_ns` of load: the study's
    own, else as many as the budget has room for: even, and no fewer than FEWEST_EPOCHS."""
    if study.budget.epochs is not None:
        return design.epochs
    fit = study.budget.measuring // max(1, epoch_ns)
    return min(design.epochs, max(FEWEST_EPOCHS, 2 * (fit // 2)))


def first_look(epochs: int) -> int | None:
    """n1 = max(8, ⌈2N/3⌉), where it lies before N; else there is one look only."""
    early = max(8, math.ceil(2 * epochs / 3))
    return early if early < epochs else None


def balanced_orders(arms: int, epochs: int, draw: random.Random) -> tuple[tuple[int, ...], ...]:
    """Permutations of the arms, uniformly shuffled, in which every arm holds every place
    equally often (as nearly as `epochs` allows): rotations of random permutations.

    Complete randomisation, not swapped pairs: an alternating slot effect would break pairs.
    """
    rows: list[tuple[int, ...]] = []
    while len(rows) < epochs:
        base = _permutation(arms, draw)
        rotations = [base[i:] + base[:i] for i in range(arms)]
        draw.shuffle(rotations)
        rows += rotations
    rows = rows[:epochs]
    draw.shuffle(rows)
    return tuple(rows)


def _permutation(size: int, draw: random.Random) -> tuple[int, ...]:
    numbers = list(range(size))
    draw.shuffle(numbers)
    return tuple(numbers)


def slice_candidates(epoch_ns: int, cost: str) -> tuple[int, ...]:
    """Slice lengths a pilot may choose from: none longer than 1/20 of the epoch, at least one."""
    every = SLICE_CANDIDATES_NS[cost]
    return tuple(length for length in every if length <= epoch_ns // 20) or every[:1]


def block_count(epoch_ns: int, arms: int, visit_ns: int) -> int:
    """Blocks that fill an epoch: each holds one visit (a slice with its border and its debt) of
    every arm; at least one."""
    return max(1, round(epoch_ns / (arms * visit_ns)))
