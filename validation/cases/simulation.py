"""Simulates weighings in every world and counts how they end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from steelyard.evaluation.rule import VerdictKind
from validation.cases.case import generator
from validation.cases.virtual import Ending, Question, VirtualWeighing, planned
from validation.worlds.atlas import WORLDS, world
from validation.worlds.world import SIGMA, Draw

PARTS = 4
WEIGHINGS_A_PART = 500
"""2,000 weighings a cell, in parts of a few seconds."""
EPOCHS = (8, 10, 12, 18, 30)
OPEN_EPOCHS = (10,)
"""Planned epochs of the open-ended weighings; they go on to HORIZON times as many."""
HORIZON = 10
"""As far as the product goes (running/measuring/settling.py)."""
OPEN_PARTS = 2

QUESTIONS = (
    *(Question(effect) for effect in (0.0, -0.005, -0.01, 0.01, -0.02, -0.03, -0.05)),
    *(Question(effect, margin=0.02) for effect in (0.0, -0.02, 0.02)),
)
"""Effects 0 … 5 % at a margin of 1 %, which is 1 σ; equivalence also at 2 %."""
NO_MARGIN = Question(0.0, margin=1e-4)
"""Equal arms, and a margin of a hundredth of σ: none ends as "equivalent" before it could err."""
FEW = tuple(question for question in QUESTIONS if question.effect in (0.0, -0.01, -0.03))


@dataclass
class Tally:
    """How the weighings of one cell ended."""

    weighings: int = 0
    slower: int = 0
    faster: int = 0
    equivalent: int = 0
    nonzero: int = 0
    """Called equivalent, with 0 outside the printed set."""
    covered: int = 0
    epochs: int = 0
    """Sum over the weighings."""

    def add(self, ending: Ending) -> None:
        """Count one weighing."""
        self.weighings += 1
        self.slower += ending.kind is VerdictKind.SLOWER
        self.faster += ending.kind is VerdictKind.FASTER
        self.equivalent += ending.kind is VerdictKind.EQUIVALENT
        self.nonzero += ending.kind is VerdictKind.EQUIVALENT and ending.verdict.nonzero
        self.covered += ending.covered
        self.epochs += ending.epochs

    def __add__(self, other: Tally) -> Tally:
        mine, theirs = asdict(self), asdict(other)
        return Tally(**{name: mine[name] + theirs[name] for name in mine})


def cell(rule: str, question: Question) -> str:
    """The name of a cell: rule, effect and margin in percent."""
    return f"{rule} {100 * question.effect:+g} {100 * question.margin:g}"


@dataclass
class Tallies:
    """The tallies of many cells, by name."""

    cells: dict[str, Tally] = field(default_factory=dict)

    def add(self, rule: str, question: Question, ending: Ending) -> None:
        """Count one weighing in its cell."""
        self.cells.setdefault(cell(rule, question), Tally()).add(ending)

    def to_json(self) -> dict[str, list[int]]:
        """Cell → the numbers of its tally, in the order of the fields."""
        return {name: list(asdict(tally).values()) for name, tally in self.cells.items()}


def tallies(cells: Mapping[str, list[int]]) -> dict[str, Tally]:
    """What `to_json` wrote."""
    return {name: Tally(*numbers) for name, numbers in cells.items()}


def weighings(draw: Draw, epochs: int) -> Iterator[VirtualWeighing]:
    """The weighings of a draw, centred at 0: what the world itself does is made up for."""
    terms = planned(epochs, s0=SIGMA)
    for d, first in zip(draw.d - draw.truth, draw.first, strict=True):
        yield VirtualWeighing(d, tuple(first.tolist()), terms)


@dataclass(frozen=True)
class LookCase:
    """A part of a cell with two looks: to the end, first verdict, or interrupted."""

    world: str
    epochs: int
    part: int
    weighings: int = WEIGHINGS_A_PART

    @property
    def key(self) -> str:
        return f"simulation/{self.world}/{self.epochs}/looks/{self.part}"

    @property
    def cost(self) -> float:
        return self.weighings * (0.002 if self.epochs <= 16 else 0.006)

    def work(self) -> Mapping[str, Any]:
        """Tallies by cell."""
        rng = generator(self.key)
        cells = Tallies()
        draw = world(self.world).draw(rng, self.weighings, self.epochs)
        for weighing in weighings(draw, self.epochs):
            for question in QUESTIONS:
                cells.add("plan", question, weighing.ending(question, first_verdict=False))
                cells.add("first verdict", question, weighing.ending(question, first_verdict=True))
            after = int(rng.integers(8, self.epochs + 1))
            for question in FEW:
                cells.add("interrupted", question, weighing.interrupted(question, after))
        return _result(self.world, self.epochs, cells)


@dataclass(frozen=True)
class OpenCase:
    """A part of a cell of open-ended weighings, judged after every epoch."""

    world: str
    epochs: int
    part: int
    weighings: int = WEIGHINGS_A_PART

    @property
    def key(self) -> str:
        return f"simulation/{self.world}/{self.epochs}/open/{self.part}"

    @property
    def cost(self) -> float:
        return self.weighings * 0.04

    def work(self) -> Mapping[str, Any]:
        """Tallies by cell."""
        rng = generator(self.key)
        cells = Tallies()
        draw = world(self.world).draw(rng, self.weighings, HORIZON * self.epochs, self.epochs)
        for weighing in weighings(draw, self.epochs):
            for question in FEW:
                cells.add("open", question, weighing.open_ending(question, first_verdict=False))
                ending = weighing.open_ending(question, first_verdict=True)
                cells.add("open, first verdict", question, ending)
            ending = weighing.open_ending(NO_MARGIN, first_verdict=True)
            cells.add("open, first verdict", NO_MARGIN, ending)
        return _result(self.world, self.epochs, cells)


def _result(name: str, epochs: int, found: Tallies) -> Mapping[str, Any]:
    return {"world": name, "epochs": epochs, "cells": found.to_json()}


def cases() -> Iterator[LookCase | OpenCase]:
    """Every part of every cell; first parts first, so that a beginning covers everything."""
    for part in range(PARTS):
        for each_world in WORLDS:
            yield from (LookCase(each_world.name, epochs, part) for epochs in EPOCHS)
            if part < OPEN_PARTS:
                yield from (OpenCase(each_world.name, epochs, part) for epochs in OPEN_EPOCHS)
