"""Simulates weighings that search the highest rate within a limit: how they end and cover."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from steelyard.evaluation.rule import VerdictKind
from validation.cases.case import generator, seed_of
from validation.cases.simulation import NO_MARGIN
from validation.cases.virtual import Question, VirtualWeighing, planned
from validation.worlds.queues import QUEUE_WORLDS, queue_world, truth
from validation.worlds.world import Floats

EPOCHS = 10
PARTS = 2
WEIGHINGS_A_PART = 500
S0 = 0.02
QUESTION = Question(0.0)


@dataclass
class SearchTally:
    """How the weighings of a world ended."""

    weighings: int = 0
    alarms: int = 0
    """Slower or faster, the first verdict asked for and no margin to speak of."""
    wrong: int = 0
    """Of these: in the direction that is not the truth's."""
    missed: int = 0
    """The truth outside the printed set."""
    without: int = 0
    """Epochs without a reading."""
    spread: float = 0.0
    """Sum of the standard deviations of d over the epochs."""
    error: float = 0.0
    """Sum of what the mean of d is off the truth."""

    def __add__(self, other: SearchTally) -> SearchTally:
        mine, theirs = asdict(self), asdict(other)
        return SearchTally(**{name: mine[name] + theirs[name] for name in mine})


@dataclass(frozen=True)
class SearchCase:
    """A part of a cell: weighings of one world."""

    world: str
    part: int

    @property
    def key(self) -> str:
        return f"capacity/{self.world}/{EPOCHS}/{self.part}"

    @property
    def cost(self) -> float:
        return 0.03 * WEIGHINGS_A_PART + (0.0 if queue_world(self.world).alike else 10.0)

    def work(self) -> Mapping[str, Any]:
        """The tally, and the truth that it is held against."""
        world, tally = queue_world(self.world), SearchTally()
        effect = truth(world, seed_of(f"capacity/{self.world}/truth"))
        for d, first in world.draw(generator(self.key), WEIGHINGS_A_PART, EPOCHS):
            _judge(d, first, effect, tally)
        return {"world": self.world, "truth": effect, "tally": asdict(tally)}


def _judge(d: Floats, first: np.ndarray, known: float, tally: SearchTally) -> None:
    read = np.isfinite(d)
    tally.weighings += 1
    tally.without += int((~read).sum())
    finite, places = d[read], tuple(first[read].tolist())
    virtual = VirtualWeighing(finite, places, planned(len(finite), s0=S0))
    ending = virtual.ending(NO_MARGIN, first_verdict=True)
    direction = {VerdictKind.SLOWER: -1.0, VerdictKind.FASTER: 1.0}.get(ending.kind, 0.0)
    tally.alarms += direction != 0.0
    tally.wrong += direction * known < 0
    moved = VirtualWeighing(finite - known, places, planned(len(finite), s0=S0))
    tally.missed += not moved.ending(QUESTION, first_verdict=False).covered
    tally.spread += float(finite.std(ddof=1))
    tally.error += float(finite.mean()) - known


def cases() -> Iterator[SearchCase]:
    """Every part of every world."""
    return (SearchCase(world.name, part) for part in range(PARTS) for world in QUEUE_WORLDS)
