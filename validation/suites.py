"""Lists the suites of `make validate`: their cases, their results, and the code that makes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from steelyard.analysis import staircase
from steelyard.analysis.checks import autocorrelation, drops
from steelyard.analysis.checks import slots as slot_checks
from steelyard.analysis.decision import (
    e_process,
    epoch_reading,
    looks,
    max_t,
    sets,
    sign_flip,
    student_t,
    t_interval,
)
from steelyard.analysis.pilot import steady_state
from steelyard.analysis.turns import ageing, debt, distance, machine_level
from steelyard.analysis.two_samples import change_points, replicates, trend, unpaired
from steelyard.evaluation import rule
from steelyard.evaluation.threats import cycles as cycle_threats
from steelyard.evaluation.threats import turns as turn_threats
from steelyard.foreign.judgement import judge_numbers, number_sets, number_threats, overview
from steelyard.model import estimate
from steelyard.running.measuring import load_watch
from steelyard.study.design import balanced_orders, first_look
from validation import traces
from validation.cases import (
    alarms,
    case,
    comparison,
    controls,
    covariates,
    cycled,
    foreign_rates,
    rates,
    replay,
    settling,
    simulation,
    turned,
    virtual,
)
from validation.cases.case import Case
from validation.fingerprint import fingerprint
from validation.machines import machine as measuring
from validation.machines import simulated, traced
from validation.results import FOLDER, Results
from validation.rules import (
    criterion,
    mann_whitney,
    perfgate,
    pinpoint,
    steelyard,
    tango,
)
from validation.rules import rule as other_rules
from validation.rules import welch as rule_welch
from validation.worlds import (
    atlas,
    autoregression,
    bench,
    cycle_atlas,
    cycles,
    errors,
    lives,
    loads,
    machine,
    queues,
    restarts,
    slots,
    stalls,
    trends,
    turns,
    variances,
    white,
    world,
)

JUDGING: tuple[Any, ...] = (
    *(sign_flip, e_process, estimate, virtual, case),
    *(sets.judging_sets, sets._flip_sets, sets._open_sets, sets._both),
    *(sets.equivalence_set, sets.equivalence_set_open),
    *(looks.Stage, looks.Terms.stage, looks.Terms.margins, looks.FEWEST_FOR_VERDICT),
    *(rule.decide, rule._may_end, rule._plan_is_over),
    *(epoch_reading.epoch_log_ratio, epoch_reading._log_ratio),
    *(balanced_orders, first_look),
)
"""What judges: the product's own code and what hands it the epochs."""
ROWS: tuple[Any, ...] = (
    *(replicates, autocorrelation, number_sets, sign_flip, unpaired),
    *(t_interval, student_t, change_points, trend, estimate, case),
    *(sets.judging_sets, sets._flip_sets, sets.equivalence_set, sets.equivalence_set_open),
    *(looks.Terms.margins, looks.FEWEST_FOR_VERDICT),
    *(rule.decide, judge_numbers._contrast, judge_numbers._value, overview.steps_of),
    *(number_threats._order, number_threats._movement),
)
"""What judges rows from elsewhere."""
TRACES: tuple[Any, ...] = (
    *(traces.Trace, traces.read, traces._epoch, traces._slice, traces.arm_of, traces.traces),
    traces.NS_PER_US,
)
"""What reads traces; what makes them of records shows in their digest."""
WORLDS: tuple[ModuleType, ...] = (
    *(atlas, autoregression, bench, errors, lives, machine, restarts, slots, stalls, trends),
    *(variances, white, world),
)


TURNS: tuple[Any, ...] = (
    *(ageing, debt, distance, max_t, turn_threats, slot_checks, drops),
    *(turns, world),
)
"""What draws turns, reads them by distance, and raises their threats."""
CYCLES: tuple[Any, ...] = (
    *(ageing, debt, distance, machine_level, max_t, turn_threats, cycle_threats),
    *(slot_checks, drops, cycles, cycle_atlas, world),
)
"""What draws cycles, reads them by distance, and raises their threats."""

CAPACITY: tuple[Any, ...] = (staircase, queues, world)
"""What searches a rate, and the queues it is searched on."""

PILOTS: tuple[Any, ...] = (
    *(steady_state, student_t, load_watch.longest_cut, load_watch.warmup_of),
    *(load_watch.WARMUP_FLOOR_NS, load_watch.WARMUP_MARGIN),
    *(loads, autoregression.stationary, case),
)
"""What draws loads as pilots watch them, and says when they have settled."""


RULES: tuple[ModuleType, ...] = (
    *(criterion, mann_whitney, perfgate, pinpoint, steelyard, tango, rule_welch, other_rules),
    *(measuring, simulated, traced),
)


@dataclass(frozen=True)
class Suite:
    """A part of the validation."""

    name: str
    cases: Callable[[], Iterable[Case]]
    parts: tuple[Any, ...]
    """Code on which the results depend."""
    replays: bool = False
    """Whether they depend on the traces too."""

    @property
    def results(self) -> Results:
        """Where its results lie."""
        return Results(FOLDER / f"{self.name}.jsonl")

    @property
    def code(self) -> str:
        """The version of the code, and of the traces it works on, that makes the results."""
        code = fingerprint(self.parts)
        return f"{code} on {traces.digest()}" if self.replays else code


SUITES = (
    Suite("simulation", simulation.cases, (*JUDGING, *WORLDS, simulation)),
    Suite("alarms", alarms.cases, (*JUDGING, *WORLDS, simulation, alarms)),
    Suite("turns", turned.cases, (*JUDGING, *TURNS, turned)),
    Suite("cycles", cycled.cases, (*JUDGING, *CYCLES, cycled)),
    Suite("capacity", rates.cases, (*JUDGING, *CAPACITY, rates)),
    Suite("settling", settling.cases, (*PILOTS, settling)),
    Suite("covariates", covariates.cases, (*TRACES, cycles, covariates), replays=True),
    Suite("judge", foreign_rates.cases, (*ROWS, foreign_rates)),
    Suite("controls", controls.cases, (*JUDGING, *WORLDS, replay, controls), replays=True),
    Suite("replay", replay.cases, (*JUDGING, *TRACES, simulation, replay), replays=True),
    Suite(
        "comparison",
        comparison.cases,
        (*JUDGING, *TRACES, *WORLDS, *RULES, comparison),
        replays=True,
    ),
)
