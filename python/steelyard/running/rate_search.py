"""Searches the highest rate within a limit of latency: finds where the searches of a weighing begin
and how long their visits are, from one discarded epoch after those of the pilot of slices, and runs
their epochs, each visit at the rate that those of its arm before it chose.

Every arm's rate is searched once, with larger steps, from half of the throughput that its clients
have in a closed loop. The searches of all epochs then begin at one rate for all arms, the geometric
mean of these: a begin of its own would favour an arm in every epoch alike.

Every epoch begins anew at the rate of the plan, so that epochs do not depend on each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from steelyard.analysis.staircase import (
    FEWEST_VISITS,
    FIRST_STEP,
    LAST_STEP,
    SPAN,
    Reading,
    Rule,
    Search,
)
from steelyard.driver.answer import Arrivals
from steelyard.evaluation.rates import rule_of
from steelyard.model.errors import StudyError, WeighingError
from steelyard.model.latency_goal import MOST_NS, LatencyGoal
from steelyard.model.units import NS_PER_MS, NS_PER_S, format_duration
from steelyard.record.plan import Choices, SearchChoice, SearchPilot
from steelyard.record.slice import SliceLine
from steelyard.running.measuring.driving import drive, drive_pilot, require_work
from steelyard.running.measuring.epoch import EpochRunner
from steelyard.running.measuring.load import Load, SlicePlace, Visit
from steelyard.running.measuring.pilot import Pilot
from steelyard.running.preparing.setup import Setup
from steelyard.running.stopwatch import Progress
from steelyard.study.design import LEAST_EPOCHS
from steelyard.study.study import Study

THIRD_PILOT = -4
"""Number of the discarded epoch; -3 times single executions."""
WANTED_VISITS = 30
"""Of an arm in an epoch, where the study leaves the number of epochs to the budget."""
TAIL_ARRIVALS = 10
"""That a visit must have beyond its quantile."""
FEWEST_ARRIVALS = 200
LIMITS_A_VISIT = 10
SHORTEST_VISIT_NS = 250 * NS_PER_MS
LONGEST_PILOT_VISIT_NS = 5 * NS_PER_S
PILOT_FIRST_STEP, PILOT_LAST_STEP, PILOT_SPAN = math.log(2), 0.04, math.log(32)
PILOT_VISITS = 20
BEGINS_AT = 0.5
"""Of the throughput in a closed loop."""


def pilot_search(setup: Setup, progress: Progress) -> Choices:
    """The choices of the pilot of slices, and those of the searches. WeighingError: an arm keeps
    the limit at no rate, or breaks it at none. StudyError: the budget holds too few visits."""
    chosen = Pilot(setup, progress).run()
    slow = chosen.counted
    if slow:
        raise WeighingError(
            f"cannot search a rate: {chosen.slice_why}",
            hint="Take transactions that are faster, or --metric latency_mean.",
        )
    progress.stage("pilot: search the rates within the limit")
    return _SearchPilot(setup.with_choices(chosen), chosen).run()


def visit_length_ns(goal: LatencyGoal, rate: float) -> int:
    """Long enough for arrivals beyond the quantile, and against the limit."""
    arrivals = max(FEWEST_ARRIVALS, TAIL_ARRIVALS / (1 - goal.quantile))
    return max(SHORTEST_VISIT_NS, LIMITS_A_VISIT * goal.limit_ns, round(arrivals / rate * NS_PER_S))


@dataclass
class _ArmSearch:
    """The search of one arm in the pilot."""

    search: Search
    lines: list[SliceLine] = field(default_factory=list)

    def result(self) -> SearchPilot:
        """What it came to."""
        reading = self.search.reading()
        rate = self.search.rate if reading is None else reading.rate
        rates = {
            within: [
                line.rate for line in self.lines if line.rate is not None and line.within is within
            ]
            for within in (True, False)
        }
        return SearchPilot(
            rate=rate,
            slowest=min(rates[False], default=rate),
            fastest=max(rates[True], default=rate),
        )


class _SearchPilot:
    def __init__(self, setup: Setup, chosen: Choices) -> None:
        goal = setup.study.decision.goal
        assert goal is not None  # this pilot is that of such a metric
        self._setup, self._chosen, self._goal = setup, chosen, goal
        self._blocks = 0

    def run(self) -> Choices:
        setup, chosen = self._setup, self._chosen
        seed = setup.design.script_seed(THIRD_PILOT)
        with (
            setup.started_arms(0, "restore", chosen.warm) as instances,
            setup.connect(instances, chosen.placement, seed, chosen.stalls) as load,
        ):
            closed = self._closed_loop(load)
            searches = self._searches(load, closed)
        pilots = {arm: arm_search.result() for arm, arm_search in searches.items()}
        return self._choices(
            pilots, [line for arm_search in searches.values() for line in arm_search.lines]
        )

    def _closed_loop(self, load: Load) -> dict[str, float]:
        """Throughput of every arm once it is warm, transactions a second."""
        arms, chosen = self._setup.design.arms, self._chosen
        blocks = max(4, math.ceil(chosen.warmup_ns / (len(arms) * chosen.visit_ns)) + 4)
        visits = {arm: Visit(arm, chosen.slice_ns, "pilot", 0, 0) for arm in arms}
        lines = [line for _ in range(blocks) for line in self._block(load, visits)]
        require_work(lines)
        later = lines[len(lines) // 2 :]
        return {arm: _throughput([line for line in later if line.arm == arm]) for arm in arms}

    def _searches(self, load: Load, closed: Mapping[str, float]) -> dict[str, _ArmSearch]:
        rules = {
            arm: Rule(BEGINS_AT * rate, PILOT_FIRST_STEP, PILOT_LAST_STEP, PILOT_SPAN)
            for arm, rate in closed.items()
        }
        searches = {arm: _ArmSearch(Search(rule)) for arm, rule in rules.items()}
        for _ in range(PILOT_VISITS):
            visits = {
                arm: self._visit(arm, arm_search.search.rate)
                for arm, arm_search in searches.items()
            }
            for line in self._block(load, visits):
                searches[line.arm].search.answer(kept=bool(line.within))
                searches[line.arm].lines.append(line)
                self._require_within(searches[line.arm].search.reading(), line)
        return searches

    def _visit(self, arm: str, rate: float) -> Visit:
        length_ns = min(visit_length_ns(self._goal, rate), self._longest_ns)
        return Visit(arm, length_ns, "pilot", 0, 0, arrivals=Arrivals(rate, self._goal))

    @property
    def _longest_ns(self) -> int:
        return max(LONGEST_PILOT_VISIT_NS, LIMITS_A_VISIT * self._goal.limit_ns)

    def _block(self, load: Load, visits: Mapping[str, Visit]) -> list[SliceLine]:
        """The visits of one block, in drawn order."""
        self._blocks += 1
        design = self._setup.design
        order = [design.arms[n] for n in design.blocks(1000 * THIRD_PILOT - self._blocks, 1)[0]]
        drawn = [
            replace(visits[arm], block=self._blocks, position=position)
            for position, arm in enumerate(order)
        ]
        with self._setup.phase("pilot"):
            return drive_pilot(self._setup, load, drawn, SlicePlace(THIRD_PILOT, run=1))

    def _require_within(self, reading: Reading | None, line: SliceLine) -> None:
        if reading is None or not reading.at_end:
            return
        rate, goal = f"{line.rate:,.0f} arrivals a second", self._goal
        read = "more" if line.quantile_ns is None else format_duration(line.quantile_ns)
        if reading.at_end == "slowest":
            raise WeighingError(
                f'arm "{line.arm}" does not keep {goal.words} at any rate: at {rate} '
                f"{goal.quantile_name} was {read}",
                hint=_longer(line.quantile_ns, goal),
            )
        raise WeighingError(
            f'arm "{line.arm}" keeps {goal.words} at every rate that was driven: at {rate} '
            f"{goal.quantile_name} was {read}",
            hint='Give a shorter limit, or more clients: --set "workload.clients='
            f'{2 * self._setup.study.workload.clients}".',
        )

    def _choices(self, pilots: Mapping[str, SearchPilot], lines: Sequence[SliceLine]) -> Choices:
        study, goal, arms = self._setup.study, self._goal, self._setup.design.arms
        logs = [math.log(pilot.rate) for pilot in pilots.values()]
        start = math.exp(sum(logs) / len(logs))
        slowest = min(pilot.rate for pilot in pilots.values())
        length_ns = study.budget.slice or visit_length_ns(goal, slowest)
        border_ns = sum(map(_border_ns, lines)) // len(lines)
        visit_ns = length_ns + border_ns
        epochs = self._epochs(visit_ns)
        visits = study.budget.measuring // epochs // (len(arms) * visit_ns)
        why = "the study says so" if study.budget.slice else self._why(length_ns, slowest)
        return self._chosen.model_copy(
            update={
                "slice_ns": length_ns,
                "slice_why": why,
                "visit_ns": visit_ns,
                "epochs": epochs,
                "epochs_why": ""
                if epochs == self._chosen.epochs
                else f"an epoch is to hold {WANTED_VISITS} visits of every arm",
                "search": SearchChoice(
                    quantile=goal.quantile,
                    limit_ns=goal.limit_ns,
                    start=start,
                    first_step=min(PILOT_FIRST_STEP, max(FIRST_STEP, max(logs) - min(logs))),
                    last_step=LAST_STEP,
                    span=SPAN,
                    visits=visits,
                    pilot=dict(pilots),
                ),
            }
        )

    def _why(self, length_ns: int, rate: float) -> str:
        """Of the slowest arm."""
        goal, arrivals = self._goal, length_ns * rate / NS_PER_S
        return (
            f"about {arrivals:,.0f} arrivals, {arrivals * (1 - goal.quantile):,.0f} of them beyond "
            f"{goal.quantile_name}"
        )

    def _epochs(self, visit_ns: int) -> int:
        """As planned, or fewer in which enough visits fit. StudyError: not even so."""
        study, arms = self._setup.study, len(self._setup.design.arms)
        fixed = study.budget.epochs
        fitting = study.budget.measuring // (WANTED_VISITS * arms * visit_ns)
        epochs = fixed or min(self._chosen.epochs, max(LEAST_EPOCHS, 2 * (fitting // 2)))
        if study.budget.measuring // epochs >= FEWEST_VISITS * arms * visit_ns:
            return epochs
        raise _too_short(study, epochs, visit_ns)


def require_visits(study: Study) -> None:
    """StudyError: the budget holds too few visits, however fast the work is."""
    goal, epochs = study.decision.goal, study.budget.epochs or LEAST_EPOCHS
    if goal is None:
        return
    visit_ns = study.budget.slice or max(SHORTEST_VISIT_NS, LIMITS_A_VISIT * goal.limit_ns)
    if study.budget.measuring // epochs < FEWEST_VISITS * len(study.every_arm) * visit_ns:
        raise _too_short(study, epochs, visit_ns)


def _too_short(study: Study, epochs: int, visit_ns: int) -> StudyError:
    arms = len(study.every_arm)
    least_s = math.ceil(epochs * (FEWEST_VISITS + 2) * arms * visit_ns / NS_PER_S)
    return StudyError(
        f"a budget of {format_duration(study.budget.measuring)} is too short: {epochs} epochs of "
        f"{FEWEST_VISITS} visits of {arms} arms, {format_duration(visit_ns)} each",
        hint=f"Give --budget {least_s}s, or a shorter limit or a lower quantile.",
    )


def _throughput(lines: Sequence[SliceLine]) -> float:
    done = sum(line.transactions for line in lines)
    busy_ns = sum(line.busy_ns for line in lines)
    if not done:
        raise WeighingError(f'arm "{lines[0].arm}" completed no transaction in the pilot')
    return lines[0].clients * done / (busy_ns / NS_PER_S)


def _border_ns(line: SliceLine) -> int:
    """What a visit takes beyond its length."""
    taken_ns = line.end_ns - line.start_ns + max(line.debt_ns, line.left_ns)
    return max(0, taken_ns - (line.length_ns or 0))


def _longer(quantile_ns: int | None, goal: LatencyGoal) -> str:
    """What to type where a limit is kept at no rate."""
    longer_ns = min(2 * max(quantile_ns or 0, goal.limit_ns), MOST_NS)
    if longer_ns == goal.limit_ns:
        return "No longer limit can be searched: take faster work, or a lower quantile."
    limit = f"{math.ceil(longer_ns / NS_PER_MS)}ms"
    return f'Give a longer limit: --metric "rate at {goal.quantile_name} ≤ {limit}".'


class SearchRunner(EpochRunner):
    """Runs the epochs of one weighing, a search of every arm in each."""

    def __init__(self, setup: Setup, choices: Choices, search: SearchChoice) -> None:
        super().__init__(setup, choices)
        self._rule = rule_of(search)
        self._goal = LatencyGoal(search.quantile, search.limit_ns)
        self._searches: dict[str, Search] = {}

    def _driven(
        self, load: Load, visits: Sequence[Visit], place: SlicePlace
    ) -> Iterator[SliceLine]:
        """Each visit chooses the rate of the next of its arm; one that is dropped is repeated."""
        for visit in visits:
            if visit.block == 0:
                self._searches[visit.arm] = Search(self._rule)
            search = self._searches[visit.arm]
            at_rate = replace(visit, arrivals=Arrivals(search.rate, self._goal))
            [line] = drive(self._setup, load, [at_rate], place)
            if line.within is not None and not line.dropped:
                search.answer(kept=line.within)
            yield line
