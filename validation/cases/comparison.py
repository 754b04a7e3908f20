"""Puts Steelyard's rule beside those of other tools, on the same machines and traces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from validation.cases.case import generator
from validation.cases.replay import placements
from validation.cases.virtual import Question
from validation.machines.machine import Machine
from validation.machines.simulated import WEATHERS, SimulatedMachine
from validation.machines.traced import TracedMachine, recorded
from validation.rules.criterion import CRITERION
from validation.rules.mann_whitney import BENCHSTAT, BENCHSTAT_INTERLEAVED
from validation.rules.perfgate import PERFGATE
from validation.rules.pinpoint import PINPOINT
from validation.rules.rule import Rule, Says
from validation.rules.steelyard import STEELYARD
from validation.rules.tango import TANGO, TANGO_WIDE
from validation.rules.welch import WELCH

RULES: tuple[Rule, ...] = (
    STEELYARD,
    WELCH,
    BENCHSTAT,
    BENCHSTAT_INTERLEAVED,
    CRITERION,
    TANGO,
    TANGO_WIDE,
    PINPOINT,
    PERFGATE,
)
EFFECTS = (0.0, -0.01, -0.03)
WEIGHINGS = 1_000
TRACES = "traces, "
"""Begins the name of a machine that was recorded; its placement follows."""


def machine(name: str, theta: float, rng: np.random.Generator) -> Machine:
    """A machine by name, with an effect on B."""
    if name.startswith(TRACES):
        return TracedMachine(recorded(name.removeprefix(TRACES)), theta, rng)
    [weather] = [candidate for candidate in WEATHERS if candidate.name == name]
    return SimulatedMachine(weather, theta, rng)


@dataclass(frozen=True)
class ComparisonCase:
    """One rule on one machine with one effect."""

    machine: str
    rule: str
    effect: float
    weighings: int = WEIGHINGS

    @property
    def key(self) -> str:
        return f"comparison/{self.machine}/{self.rule}/{100 * self.effect:+g}"

    @property
    def cost(self) -> float:
        return self.weighings * 0.004

    def work(self) -> Mapping[str, Any]:
        """How often the rule said what, and the mean time it measured."""
        rng = generator(self.key)
        [rule] = [candidate for candidate in RULES if candidate.name == self.rule]
        counts = dict.fromkeys(Says, 0)
        seconds = 0.0
        for _ in range(self.weighings):
            there = machine(self.machine, Question(self.effect).theta, rng)
            counts[rule.judge(there, rng)] += 1
            seconds += there.seconds
        return {
            "machine": self.machine,
            "rule": self.rule,
            "effect_percent": 100 * self.effect,
            "weighings": self.weighings,
            "said": {str(says): count for says, count in counts.items()},
            "measured_seconds": seconds / self.weighings,
        }


def cases() -> Iterator[ComparisonCase]:
    """Every rule on every machine with every effect."""
    names = [weather.name for weather in WEATHERS] + [
        TRACES + placement for placement in placements()
    ]
    return (
        ComparisonCase(name, rule.name, effect)
        for name in names
        for rule in RULES
        for effect in EFFECTS
    )
