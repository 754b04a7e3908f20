"""Simulates weighings in cycles: how they end, what they cover, and which threats they raise; and
weighings in turns on the same machines beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from steelyard.analysis.decision.epoch_reading import read_epoch
from steelyard.analysis.turns.distance import curve, effects_at
from steelyard.analysis.turns.machine_level import levelled
from steelyard.evaluation.rule import VerdictKind
from steelyard.evaluation.threats.cycles import cycle_threats
from steelyard.evaluation.threats.epochs import threats_of_epochs
from steelyard.evaluation.threats.run import plan_threats
from steelyard.model.threat import Observation
from steelyard.record.plan import Plan, TurnChoices
from validation.cases.case import generator
from validation.cases.simulation import NO_MARGIN
from validation.cases.virtual import Question, VirtualWeighing, planned
from validation.worlds.cycle_atlas import CYCLE_WORLDS, cycle_world
from validation.worlds.cycles import (
    ARMS,
    CYCLES,
    NS,
    SLICE_S,
    CycleWorld,
    Weighing,
)
from validation.worlds.world import Floats

EPOCHS = (8, 10)
PARTS = 2
WEIGHINGS_A_PART = 250
BROKEN_WEIGHINGS_A_PART = 50
WITH_CURVES = 5
"""One weighing in so many has its curve read: it takes three times as long as all else."""
S0 = 0.02
QUESTION = Question(0.0)
EFFECT = Question(-0.03)


@dataclass
class CycleTally:
    """How the weighings of one cell ended, in cycles or in turns."""

    weighings: int = 0
    alarms: int = 0
    """Slower or faster, the first verdict asked for and no margin to speak of."""
    uncaught: int = 0
    """Of these: without the threat that the world must raise, and not invalid."""
    missed: int = 0
    """The truth outside the printed set."""
    seen: int = 0
    """−3 % called slower."""
    invalid: int = 0
    caught: int = 0
    """Raised the threat that the world must raise."""
    curves: int = 0
    """With a curve; `distances`: with effects at distances."""
    curve_missed: int = 0
    """The truth outside some bin's interval."""
    curve_width: float = 0.0
    """Sum of the mean half widths of a curve's intervals, log."""
    plain_width: float = 0.0
    """The same where the machine's level is left in."""
    distances: int = 0
    distance_missed: int = 0
    spread: float = 0.0
    """Sum of the standard deviations of d over the epochs."""
    error: float = 0.0
    """Sum of what the mean of d is off the truth."""

    def __add__(self, other: CycleTally) -> CycleTally:
        mine, theirs = asdict(self), asdict(other)
        return CycleTally(**{name: mine[name] + theirs[name] for name in mine})


@dataclass
class _Counts:
    cycles: CycleTally = field(default_factory=CycleTally)
    turns: CycleTally = field(default_factory=CycleTally)
    threats: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class CycleCase:
    """A part of a cell: weighings of one world with so many epochs."""

    world: str
    epochs: int
    part: int
    weighings: int

    @property
    def key(self) -> str:
        return f"cycles/{self.world}/{self.epochs}/{self.part}"

    @property
    def cost(self) -> float:
        return self.weighings * 0.01 * self.epochs

    def work(self) -> Mapping[str, Any]:
        """Both tallies, and how often each threat was raised."""
        world, counts = cycle_world(self.world), _Counts()
        drawn = world.draw(generator(self.key), self.weighings, self.epochs)
        for number, weighing in enumerate(drawn):
            _count(world, weighing, counts)
            if world.must_raise is None and number % WITH_CURVES == 0:
                _count_distances(world, weighing, counts.cycles)
        return {
            "world": self.world,
            "epochs": self.epochs,
            "cycles": asdict(counts.cycles),
            "turns": asdict(counts.turns),
            "threats": dict(sorted(counts.threats.items())),
        }


def _count(world: CycleWorld, weighing: Weighing, counts: _Counts) -> None:
    totals = [epoch.totals for epoch in weighing.epochs]
    terms = planned(len(totals), s0=S0)
    readings = [read_epoch(epoch, "arm", "control", "throughput") for epoch in totals]
    d: Floats = np.array([reading.d for reading in readings])
    plan = plan_of(world, len(totals))
    threats: tuple[Observation, ...] = (
        *cycle_threats(weighing.epochs, plan, "control", "arm"),
        *plan_threats(plan),
        *threats_of_epochs(readings, "arm", "control", terms, True),
    )
    names = {threat.name for threat in threats}
    invalid = any(threat.invalidates for threat in threats)
    caught = world.must_raise is not None and world.must_raise.value in names
    tally = counts.cycles
    alarm = _judge(world, d, weighing.first, tally)
    tally.uncaught += alarm and not (caught or invalid)
    tally.invalid += invalid
    tally.caught += caught
    counts.threats.update(names)
    _judge(world, weighing.turns, weighing.first, counts.turns)


def _judge(world: CycleWorld, d: Floats, first: np.ndarray, tally: CycleTally) -> bool:
    """Whether equal arms were called slower or faster."""
    terms = planned(len(d), s0=S0)
    virtual = VirtualWeighing(d - world.truth, tuple(first.tolist()), terms)
    kind = virtual.ending(NO_MARGIN, first_verdict=True).kind
    alarm = kind in (VerdictKind.SLOWER, VerdictKind.FASTER)
    tally.weighings += 1
    tally.alarms += alarm
    tally.missed += not virtual.ending(QUESTION, first_verdict=False).covered
    tally.seen += virtual.ending(EFFECT, first_verdict=False).kind is VerdictKind.SLOWER
    tally.spread += float(d.std(ddof=1))
    tally.error += float(d.mean()) - world.truth
    return alarm


def _count_distances(world: CycleWorld, weighing: Weighing, tally: CycleTally) -> None:
    every = [epoch.totals.turns for epoch in weighing.epochs]
    plain = [(turns["control"], turns["arm"]) for turns in every]
    pairs = [levelled(pair) for pair in plain]
    points, effects = curve(pairs), effects_at(pairs)
    most_s = min(world.cycles_s)
    tally.curves += bool(points)
    tally.curve_width += _half_width(points)
    tally.plain_width += _half_width(curve(plain))
    tally.curve_missed += any(
        world.truth_between(point.from_ns / NS, min(point.to_ns / NS, most_s))
        not in point.estimate.interval
        for point in points
    )
    tally.distances += bool(effects)
    tally.distance_missed += any(
        world.truth_between(0.0, effect.distance_ns / NS) not in effect.estimate.interval
        for effect in effects
    )


def _half_width(points: Any) -> float:
    return (
        float(np.mean([point.estimate.interval.width / 2 for point in points])) if points else 0.0
    )


def plan_of(world: CycleWorld, epochs: int) -> Plan:
    """What a weighing in cycles lays down, as far as threats ask for it."""
    planned_s = world.planned_s or world.cycles_s
    return Plan(
        format=2, study="cycles", seed=1, metric="throughput", margin=QUESTION.margin,
        alpha=(0.01, 0.04), epochs=epochs, layout="cycles", epoch_ns=200 * NS, blocks_per_epoch=1,
        threads=2, clients=8, processors=(0, 1), control="control", arms=ARMS,
        assignment=(), start_orders=(), writes=True, cost="cycles", cost_why="",
        slice_ns=round(SLICE_S * NS), slice_why="", visit_ns=round(SLICE_S * NS),
        placement="symmetric", placement_why="", warmup_ns=0,
        upkeep="carry" if world.carried else "restore",
        upkeep_why="each arm keeps its own files", s0=S0,
        turns=TurnChoices(
            time_scale=10, time_scale_why="", cycles=CYCLES, warmup_cap_ns=60 * NS,
            wait_ns=60 * NS, longest_ns=120 * NS, turn_ns=100 * NS,
            cycle_seconds=dict(zip(ARMS, planned_s, strict=True)),
        ),
    )  # fmt: skip


def cases() -> Iterator[CycleCase]:
    """Every part of every world and number of epochs."""
    for part in range(PARTS):
        for world in CYCLE_WORLDS:
            count = WEIGHINGS_A_PART if world.must_raise is None else BROKEN_WEIGHINGS_A_PART
            yield from (CycleCase(world.name, epochs, part, count) for epochs in EPOCHS)
