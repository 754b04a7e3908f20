"""Counts false alarms at their worst: equal arms, first verdict asked for, no margin to speak of.

With a margin many weighings of equal arms end as "equivalent" before they could err; with next to
none they go on to every look there is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from validation.cases.case import generator
from validation.cases.simulation import EPOCHS, NO_MARGIN, Tallies, weighings
from validation.worlds.atlas import WORLDS, world

PARTS = 2
WEIGHINGS_A_PART = 1_000


@dataclass(frozen=True)
class AlarmCase:
    """A part of the weighings of one world and one number of epochs."""

    world: str
    epochs: int
    part: int
    weighings: int = WEIGHINGS_A_PART

    @property
    def key(self) -> str:
        return f"alarms/{self.world}/{self.epochs}/{self.part}"

    @property
    def cost(self) -> float:
        return self.weighings * (0.001 if self.epochs <= 16 else 0.005)

    def work(self) -> Mapping[str, Any]:
        """A tally of one cell."""
        cells = Tallies()
        draw = world(self.world).draw(generator(self.key), self.weighings, self.epochs)
        for weighing in weighings(draw, self.epochs):
            cells.add("first verdict", NO_MARGIN, weighing.ending(NO_MARGIN, first_verdict=True))
        return {"world": self.world, "epochs": self.epochs, "cells": cells.to_json()}


def cases() -> Iterator[AlarmCase]:
    """Every part of every world and number of epochs."""
    for part in range(PARTS):
        for each_world in WORLDS:
            yield from (AlarmCase(each_world.name, epochs, part) for epochs in EPOCHS)
