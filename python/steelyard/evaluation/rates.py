"""Judges the rates that arms carried within a limit of latency, epoch by epoch, and prices the
transactions of each arm: what a million of them cost, and the difference.

Raises the threats of searches of a rate: an end that was reached, epochs without a reading, a
driver that was late, and clients that were too few.

The cost is price ÷ throughput, so that the log ratio of two costs is that of the prices less that
of the throughputs, and the set of a contrast moved by it is that of the cost: the same epochs
reject the same values, at the same error rate.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from steelyard.analysis.decision.epoch_reading import EpochReading, read_epoch
from steelyard.analysis.decision.looks import CONFIDENCE
from steelyard.analysis.decision.t_interval import t_interval
from steelyard.analysis.staircase import Reading, Rule, read_search
from steelyard.evaluation.contrast import WeighedContrast
from steelyard.evaluation.judge_epochs import percent_or_none
from steelyard.evaluation.rule import VerdictKind
from steelyard.model.latency_goal import LatencyGoal
from steelyard.model.memoize import memoize_by_identity
from steelyard.model.price import Price, parse_price
from steelyard.model.readings import SERVER_CPU, SESSION_QUEUE, ArmTotals, EpochTotals, RateVisit
from steelyard.model.threat import Observation, ThreatKind
from steelyard.model.units import NS_PER_US
from steelyard.record.contrast import Capacity, Cost
from steelyard.record.plan import Plan, SearchChoice
from steelyard.study.study import Study

NEAR = 0.1
"""Log rate about an epoch's reading within which visits show what its limit rests on."""
LATE_LAG = 0.1
"""Of the limit: arrivals that begin so late on average, though clients were idle, wait for the
driver."""
IDLE_CLIENTS = 0.2
"""Share of arrivals that found no idle client, below which clients do not make the others wait."""
WAITS_FOR_CLIENT = 0.5
"""Of the latency near the limit: so much of it spent waiting for a client ..."""
IDLE_PROCESSORS = 0.6
"""... while processors are wanted for no larger share of the time, says that more clients would
carry more."""


@dataclass(frozen=True, slots=True)
class RateIsBound(Observation):
    """Searches came to an end of their rates without crossing the limit."""

    kind: ClassVar[ThreatKind] = ThreatKind.RATE_BOUND
    arm: str
    goal: LatencyGoal
    end: str
    """`"slowest"`, where the limit was not kept, or `"fastest"`, where it was."""
    count: int
    """Of epochs in which they did."""
    epochs: int


@dataclass(frozen=True, slots=True)
class LimitNeverCrossed(Observation):
    """Epochs in which the visits to an arm did not come near its limit."""

    kind: ClassVar[ThreatKind] = ThreatKind.SEARCH_SHORT
    arm: str
    visits: int
    """Of the search, in an epoch."""
    count: int
    """Of such epochs."""
    epochs: int


@dataclass(frozen=True, slots=True)
class DriverLate(Observation):
    """Transactions began late near the limit, though clients were idle."""

    kind: ClassVar[ThreatKind] = ThreatKind.DRIVER_BOUND
    arm: str
    lag_ns: float
    """On average."""
    waited: int
    """Transactions that found no idle client."""
    begun: int


@dataclass(frozen=True, slots=True)
class ClientsTooFew(Observation):
    """Most of an arm's latency was waiting for a client, while processors were idle."""

    kind: ClassVar[ThreatKind] = ThreatKind.FEW_CLIENTS
    arm: str
    clients: int
    waiting_share: float
    """Of its latency."""
    processor_share: float
    """Of the time of all processors, for which they were wanted."""


def rule_of(search: SearchChoice) -> Rule:
    """The rule of a plan's searches."""
    return Rule(search.start, search.first_step, search.last_step, search.span)


def carried(totals: EpochTotals, arm: str, search: SearchChoice) -> Reading | None:
    """What an arm carried in an epoch; None: its search did not come near enough."""
    return read_search(rule_of(search), [visit.kept for visit in _visits(totals.arms[arm])])


def read_search_epoch(
    totals: EpochTotals, arm: str, control: str, search: SearchChoice
) -> EpochReading:
    """The reading of one epoch: the log ratio of the rates that both arms carried.

    An arm that could not start or survive carried nothing; an epoch in which a search did not come
    near has no ratio. Slices of unequal rates are no blocks, and obey no law of clients that never
    wait.
    """
    read = _read_work(totals, arm, control)
    rates = {name: carried(totals, name, search) for name in (control, arm)}
    d = read.d
    if math.isfinite(d):
        d = _log_ratio(rates[control], rates[arm])
    return replace(
        read,
        d=d,
        typical_d=math.nan,
        throughput={name: math.nan if rate is None else rate.rate for name, rate in rates.items()},
        carry_over=math.nan,
        block_autocorrelation=math.nan,
        busy_share={},
        uncharged_share={},
    )


def _log_ratio(ours: Reading | None, theirs: Reading | None) -> float:
    """NaN where either has none, or both came to one end, where two bounds tell nothing."""
    if ours is None or theirs is None or (ours.at_end and ours.at_end == theirs.at_end):
        return math.nan
    return math.log(theirs.rate / ours.rate)


@memoize_by_identity
def _read_work(totals: EpochTotals, arm: str, control: str) -> EpochReading:
    return read_epoch(totals, arm, control, "throughput")


def capacities(
    epochs: Sequence[EpochTotals], plan: Plan, arms: Sequence[str]
) -> tuple[Capacity, ...]:
    """What each arm carried over all epochs in which every one of them has a reading: so that the
    ratio of two is the estimate of their contrast."""
    search = plan.search
    if search is None:
        return ()
    goal = LatencyGoal(search.quantile, search.limit_ns)
    read = [[carried(epoch, arm, search) for arm in arms] for epoch in epochs]
    usable = [
        [reading.rate for reading in row if reading is not None]
        for row, totals in zip(read, epochs, strict=True)
        if totals.outcome == "complete" and all(reading is not None for reading in row)
    ]
    if not usable:
        return ()
    logs = np.log(np.array(usable))
    ends = [t_interval(logs[:, n], CONFIDENCE) for n in range(len(arms))]
    return tuple(
        Capacity(
            arm=arm,
            quantile=goal.quantile_name,
            limit_us=goal.limit_ns / NS_PER_US,
            rate_per_second=float(np.exp(logs[:, n].mean())),
            low_per_second=_rate(ends[n].low),
            high_per_second=_rate(ends[n].high),
            epochs=len(usable),
            visits=sum(reading.visits for row in read if (reading := row[n]) is not None),
        )
        for n, arm in enumerate(arms)
    )


def _rate(log_rate: float) -> float | None:
    return math.exp(log_rate) if math.isfinite(log_rate) else None


def search_threats(epochs: Sequence[EpochTotals], plan: Plan, arm: str) -> Iterator[Observation]:
    """What makes the rates of an arm or of the control something else than they seem."""
    search = plan.search
    if search is None:
        return
    complete = [epoch for epoch in epochs if epoch.outcome == "complete"]
    for name in (plan.control, arm):
        read = [carried(epoch, name, search) for epoch in complete]
        yield from _bounds(name, read, plan, search)
        near = [
            (totals, visit)
            for totals, reading in zip(complete, read, strict=True)
            for visit in _visits(totals.arms[name])
            if reading is not None and abs(math.log(visit.rate / reading.rate)) <= NEAR
        ]
        yield from _driver_late(name, [visit for _, visit in near], search)
        yield from _few_clients(name, complete, plan, search)


def _bounds(
    arm: str, read: Sequence[Reading | None], plan: Plan, search: SearchChoice
) -> Iterator[Observation]:
    goal = LatencyGoal(search.quantile, search.limit_ns)
    for end in ("slowest", "fastest"):
        count = sum(reading is not None and reading.at_end == end for reading in read)
        if count:
            yield RateIsBound(arm, goal, end, count, len(read))
    missing = sum(reading is None for reading in read)
    if missing:
        yield LimitNeverCrossed(arm, search.visits, missing, len(read))


def _driver_late(
    arm: str, near: Sequence[RateVisit], search: SearchChoice
) -> Iterator[Observation]:
    begun = sum(visit.begun for visit in near)
    if not begun:
        return
    late = sum(visit.late for visit in near)
    lag_ns = sum(visit.lag_ns for visit in near) / begun
    if late < IDLE_CLIENTS * begun and lag_ns > LATE_LAG * search.limit_ns:
        yield DriverLate(arm, lag_ns, late, begun)


def _few_clients(
    arm: str, epochs: Sequence[EpochTotals], plan: Plan, search: SearchChoice
) -> Iterator[Observation]:
    """Most of the latency is spent waiting for a client, while processors are idle."""
    totals = [epoch.arms[arm] for epoch in epochs]
    parts = [
        part
        for arm_totals in totals
        for part in arm_totals.slices
        if part.visit is not None and part.visit.kept
    ]
    latency_ns = sum(part.latency_sum_ns for part in parts)
    lag_ns = sum(part.visit.lag_ns for part in parts if part.visit is not None)
    elapsed_ns = sum(arm_totals.elapsed_ns for arm_totals in totals) * len(plan.processors)
    wanted_us = [_runnable_us(epoch, arm) for epoch in epochs]
    wanted_ns = float(np.sum(wanted_us)) * NS_PER_US + sum(
        arm_totals.driver_cpu_ns for arm_totals in totals
    )
    if not latency_ns or not elapsed_ns or math.isnan(wanted_ns):
        return
    share, busy = lag_ns / latency_ns, wanted_ns / elapsed_ns
    if share > WAITS_FOR_CLIENT and busy < IDLE_PROCESSORS:
        yield ClientsTooFew(arm, plan.clients, share, busy)


def _runnable_us(epoch: EpochTotals, arm: str) -> float:
    """Time on processors, and runnable without one where that is counted."""
    queue_us = epoch.amount(arm, SESSION_QUEUE)
    return epoch.amount(arm, SERVER_CPU) + (0.0 if math.isnan(queue_us) else queue_us)


def _visits(totals: ArmTotals) -> list[RateVisit]:
    return [part.visit for part in totals.slices if part.visit is not None]


def costs(study: Study, contrasts: Sequence[WeighedContrast]) -> tuple[Cost, ...]:
    """Of every arm, the control first, compared with it but where nothing can be said of the two;
    none where the study has no prices, or an arm no epoch."""
    prices = {arm.name: parse_price(arm.price) for arm in study.every_arm if arm.price is not None}
    if not prices or not contrasts:
        return ()
    control = _cost(study.control.name, prices[study.control.name], contrasts[0])
    if control is None:
        return ()
    rows = [control]
    for contrast in contrasts:
        cost = _cost(contrast.arm, prices[contrast.arm], contrast)
        if cost is None:
            continue
        invalid = contrast.verdict.kind is VerdictKind.INVALID
        rows.append(cost if invalid else _compared(cost, control, prices, contrast))
    return tuple(rows)


def _cost(arm: str, price: Price, contrast: WeighedContrast) -> Cost | None:
    """Of an arm by itself; None where it has no epoch."""
    rates = [
        rate
        for epoch in contrast.details.epochs
        if epoch.d is not None and (rate := epoch.throughput.get(arm))
    ]
    if not rates:
        return None
    logs = np.log(np.array(rates))
    ends = t_interval(logs, CONFIDENCE)
    return Cost(
        arm=arm,
        price=price.words,
        currency=price.currency,
        per_million=price.per_million(math.exp(float(logs.mean()))),
        low_per_million=_bound(price, ends.high),
        high_per_million=_bound(price, ends.low),
        epochs=len(rates),
    )


def _bound(price: Price, log_rate: float) -> float | None:
    return price.per_million(math.exp(log_rate)) if math.isfinite(log_rate) else None


def _compared(
    cost: Cost, control: Cost, prices: dict[str, Price], contrast: WeighedContrast
) -> Cost:
    """With the difference to the control."""
    dearer = math.log(prices[cost.arm].per_hour / prices[control.arm].per_hour)
    estimate = contrast.estimate
    logs = (estimate.value, estimate.high, estimate.low)
    middle, low, high = (dearer - log for log in logs)
    return cost.model_copy(
        update={
            "control": control.arm,
            "estimate_percent": percent_or_none(middle),
            "low_percent": percent_or_none(low),
            "high_percent": percent_or_none(high),
        }
    )
