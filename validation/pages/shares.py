"""Counts what must not happen in simulated weighings: false alarms, missed truths, false equals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from validation.cases.simulation import (
    EPOCHS,
    FEW,
    NO_MARGIN,
    OPEN_EPOCHS,
    QUESTIONS,
    Tally,
    cell,
    tallies,
)
from validation.cases.virtual import Question
from validation.pages.table import table
from validation.proportion import Proportion
from validation.results import Results
from validation.worlds.atlas import WORLDS
from validation.worlds.world import World

BOUND = 0.05
FALSE = "false alarms"
MISSED = "truth missed"
WRONG = "false “equivalent”"

Judged = tuple[str, int, str, Proportion]
"""World, epochs, what is bounded, and how often it happened."""


@dataclass
class Simulated:
    """The tallies of every world, number of epochs and cell."""

    by_world: dict[tuple[str, int], dict[str, Tally]] = field(default_factory=dict)
    parts: int = 0
    codes: tuple[str, ...] = ()
    """The code that made the results, a hash for each file of them."""

    @classmethod
    def read(cls, *files: Results) -> Simulated:
        """From the results of all parts that are there."""
        every = cls()
        every.codes = tuple("/".join(sorted({result["code"] for result in file})) for file in files)
        for result in chain(*files):
            every.parts += 1
            cells = every.by_world.setdefault((result["world"], result["epochs"]), {})
            for name, tally in tallies(result["cells"]).items():
                cells[name] = cells[name] + tally if name in cells else tally
        return every

    def tally(self, world: str, epochs: int, rule: str, question: Question) -> Tally:
        """One cell; empty where it was not simulated yet."""
        return self.by_world.get((world, epochs), {}).get(cell(rule, question), Tally())


ZERO = Question(0.0)
AT_MARGIN = tuple(question for question in QUESTIONS if abs(question.effect) == question.margin)


def false_alarms(tally: Tally) -> Proportion:
    """Slower or faster said of equal arms."""
    return Proportion(tally.slower + tally.faster, tally.weighings)


def missed(tally: Tally) -> Proportion:
    """The printed set without the truth in it."""
    return Proportion(tally.weighings - tally.covered, tally.weighings)


def equivalent(tally: Tally) -> Proportion:
    """Called equivalent."""
    return Proportion(tally.equivalent, tally.weighings)


def detected(tally: Tally) -> Proportion:
    """An arm that is slower called so."""
    return Proportion(tally.slower, tally.weighings)


def worst(tallies_there: Iterator[Proportion]) -> Proportion:
    """The largest share of several."""
    return max(tallies_there, key=lambda share: share.value if share.trials else -1.0)


def judged(every: Simulated, *, symmetric: bool = True) -> Iterator[Judged]:
    """Everything that has a bound, in the worlds that promise it, or in those that do not.

    Without a margin to speak of, a missed truth of equal arms is a false alarm: it is one of those.
    """
    for world in WORLDS:
        if world.symmetric is not symmetric:
            continue
        for epochs in EPOCHS:
            yield from _of_planned(every, world, epochs)
        for epochs in OPEN_EPOCHS:
            yield from _of_open(every, world, epochs)


def _of_planned(every: Simulated, world: World, epochs: int) -> Iterator[Judged]:
    def tally(rule: str, question: Question) -> Tally:
        return every.tally(world.name, epochs, rule, question)

    yield world.name, epochs, FALSE, false_alarms(tally("first verdict", NO_MARGIN))
    for rule in ("plan", "first verdict", "interrupted"):
        yield world.name, epochs, FALSE, false_alarms(tally(rule, ZERO))
        for question in FEW if rule == "interrupted" else QUESTIONS:
            yield world.name, epochs, MISSED, missed(tally(rule, question))
    for rule in ("plan", "first verdict"):
        for question in AT_MARGIN:
            yield world.name, epochs, WRONG, equivalent(tally(rule, question))


def _of_open(every: Simulated, world: World, epochs: int) -> Iterator[Judged]:
    name = f"{world.name}, open-ended"
    alone = every.tally(world.name, epochs, "open, first verdict", NO_MARGIN)
    yield name, epochs, FALSE, false_alarms(alone)
    for rule in ("open", "open, first verdict"):
        yield name, epochs, FALSE, false_alarms(every.tally(world.name, epochs, rule, ZERO))
        for question in FEW:
            tally = every.tally(world.name, epochs, rule, question)
            yield name, epochs, MISSED, missed(tally)
            if abs(question.effect) == question.margin:
                yield name, epochs, WRONG, equivalent(tally)


def summary(every: Simulated) -> str:
    """The worst of what must not happen, and how many cells lie beyond their bound."""
    rows = []
    for kind in (FALSE, MISSED, WRONG):
        bounded = [case for case in judged(every) if case[2] == kind and case[3].trials]
        others = [case for case in judged(every, symmetric=False) if case[2] == kind]
        if not bounded:
            rows.append([kind, "≤ 5 %", "not yet simulated", "–", "–"])
            continue
        beyond = sum(case[3].exceeds(BOUND) for case in bounded)
        cells = f"{beyond} of {len(bounded)}"
        rows.append([kind, "≤ 5 %", _worst_of(bounded), cells, _worst_of(others)])
    return table(
        [
            "what must not happen",
            "bound",
            "worst cell where the assumption holds",
            "cells beyond the bound there",
            "worst cell where it is broken",
        ],
        rows,
    )


def _worst_of(shares: list[Judged]) -> str:
    done = [case for case in shares if case[3].trials]
    if not done:
        return "not yet simulated"
    world, epochs, _, share = max(done, key=lambda case: case[3].value)
    return f"{share} % ({world}, N = {epochs})"


def beyond(every: Simulated) -> list[Mapping[str, Any]]:
    """The cases whose whole interval lies beyond the bound."""
    return [
        {"world": world, "epochs": epochs, "what": what, "share": str(share)}
        for world, epochs, what, share in judged(every)
        if share.trials and share.exceeds(BOUND)
    ]
