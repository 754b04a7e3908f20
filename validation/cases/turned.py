"""Simulates weighings in turns: how they end, what they cover, and which threats they raise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from steelyard.analysis.decision.epoch_reading import read_epoch
from steelyard.analysis.turns.distance import curve, effects_at
from steelyard.evaluation.rule import VerdictKind
from steelyard.evaluation.threats.epochs import threats_of_epochs
from steelyard.evaluation.threats.run import plan_threats
from steelyard.evaluation.threats.turns import turn_threats
from steelyard.model.threat import Observation
from steelyard.record.plan import Plan
from validation.cases.case import generator
from validation.cases.simulation import NO_MARGIN
from validation.cases.virtual import Question, VirtualWeighing, planned
from validation.worlds.turns import CYCLE_S, NS, TURN_WORLDS, TurnWorld, Weighing, turn_world
from validation.worlds.world import Floats

EPOCHS = (8, 10, 12)
PARTS = 4
WEIGHINGS_A_PART = 250
BROKEN_WEIGHINGS_A_PART = 100
S0 = 0.03
QUESTION = Question(0.0)
EFFECT = Question(-0.05)


@dataclass
class TurnTally:
    """How the weighings of one cell ended."""

    weighings: int = 0
    alarms: int = 0
    """Slower or faster, the first verdict asked for and no margin to speak of."""
    uncaught: int = 0
    """Of these: without the threat that the world must raise, and not invalid."""
    missed: int = 0
    """The truth outside the printed set."""
    seen: int = 0
    """−5 % called slower."""
    invalid: int = 0
    caught: int = 0
    """Raised the threat that the world must raise."""
    curves: int = 0
    """With a curve; `distances`: with effects at distances."""
    curve_missed: int = 0
    """The truth outside some bin's interval."""
    distances: int = 0
    distance_missed: int = 0
    spread: float = 0.0
    """Sum of the standard deviations of d over the epochs."""

    def __add__(self, other: TurnTally) -> TurnTally:
        mine, theirs = asdict(self), asdict(other)
        return TurnTally(**{name: mine[name] + theirs[name] for name in mine})


@dataclass
class _Counts:
    tally: TurnTally = field(default_factory=TurnTally)
    threats: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class TurnCase:
    """A part of a cell: weighings of one world with so many epochs."""

    world: str
    epochs: int
    part: int
    weighings: int

    @property
    def key(self) -> str:
        return f"turns/{self.world}/{self.epochs}/{self.part}"

    @property
    def cost(self) -> float:
        return self.weighings * 0.003 * self.epochs

    def work(self) -> Mapping[str, Any]:
        """The tally, and how often each threat was raised."""
        world, counts = turn_world(self.world), _Counts()
        for weighing in world.draw(generator(self.key), self.weighings, self.epochs):
            _count(world, weighing, counts)
        return {
            "world": self.world,
            "epochs": self.epochs,
            "tally": asdict(counts.tally),
            "threats": dict(sorted(counts.threats.items())),
        }


def _count(world: TurnWorld, weighing: Weighing, counts: _Counts) -> None:
    epochs = len(weighing.epochs)
    terms = planned(epochs, s0=S0)
    readings = [read_epoch(epoch, "arm", "control", "throughput") for epoch in weighing.epochs]
    d: Floats = np.array([reading.d for reading in readings])
    plan = plan_of(world, epochs)
    threats: tuple[Observation, ...] = (
        *turn_threats(weighing.epochs, plan, "control", "arm"),
        *plan_threats(plan),
        *threats_of_epochs(readings, "arm", "control", terms, True),
    )
    names = {threat.name for threat in threats}
    invalid = any(threat.invalidates for threat in threats)
    caught = world.must_raise is not None and world.must_raise.value in names
    virtual = VirtualWeighing(d - world.truth, tuple(weighing.first.tolist()), terms)
    kind = virtual.ending(NO_MARGIN, first_verdict=True).kind
    alarm = kind in (VerdictKind.SLOWER, VerdictKind.FASTER)
    tally = counts.tally
    tally.weighings += 1
    tally.alarms += alarm
    tally.uncaught += alarm and not (caught or invalid)
    tally.missed += not virtual.ending(QUESTION, first_verdict=False).covered
    tally.seen += virtual.ending(EFFECT, first_verdict=False).kind is VerdictKind.SLOWER
    tally.invalid += invalid
    tally.caught += caught
    tally.spread += float(d.std(ddof=1))
    counts.threats.update(names)
    if world.must_raise is None:
        _count_distances(world, weighing, tally)


def _count_distances(world: TurnWorld, weighing: Weighing, tally: TurnTally) -> None:
    pairs = [(epoch.turns["control"], epoch.turns["arm"]) for epoch in weighing.epochs]
    points, effects = curve(pairs), effects_at(pairs)
    tally.curves += bool(points)
    tally.curve_missed += any(
        world.truth_between(point.from_ns / NS, min(point.to_ns / NS, CYCLE_S))
        not in point.estimate.interval
        for point in points
    )
    tally.distances += bool(effects)
    tally.distance_missed += any(
        world.truth_between(0.0, effect.distance_ns / NS) not in effect.estimate.interval
        for effect in effects
    )


def plan_of(world: TurnWorld, epochs: int) -> Plan:
    """What a weighing in turns lays down, as far as threats ask for it."""
    return Plan(
        format=2, study="turns", seed=1, metric="throughput", margin=QUESTION.margin,
        alpha=(0.01, 0.04), epochs=epochs, layout="turns", epoch_ns=160 * NS, blocks_per_epoch=1,
        threads=2, clients=8, processors=(0, 1), control="control", arms=("control", "arm"),
        assignment=(), start_orders=(), writes=True, cost="whole", cost_why="", slice_ns=NS,
        slice_why="", visit_ns=60 * NS, placement="symmetric", placement_why="", warmup_ns=0,
        upkeep="carry" if world.carried else "exchange",
        upkeep_why="each arm keeps its own files", s0=S0,
    )  # fmt: skip


def cases() -> Iterator[TurnCase]:
    """Every part of every world and number of epochs."""
    for part in range(PARTS):
        for world in TURN_WORLDS:
            count = WEIGHINGS_A_PART if world.must_raise is None else BROKEN_WEIGHINGS_A_PART
            yield from (TurnCase(world.name, epochs, part, count) for epochs in EPOCHS)
