"""Rates that arms carried are read from the visits of a record, and what spoils them is said."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from evaluation.made import make_plan
from steelyard.evaluation.layouts import SearchJudging, SlicesJudging, judging_of
from steelyard.evaluation.rates import (
    ClientsTooFew,
    DriverLate,
    LimitNeverCrossed,
    RateIsBound,
    capacities,
    carried,
    read_search_epoch,
    search_threats,
)
from steelyard.model.latency_goal import LatencyGoal
from steelyard.model.observation import Observation
from steelyard.model.readings import ArmTotals, EpochTotals, RateVisit, Reading, SliceTotals
from steelyard.record.plan import SearchChoice

SEARCH = SearchChoice(
    quantile=0.99, limit_ns=20_000_000, start=1000.0, first_step=0.1, last_step=0.1, span=2.0,
    visits=24,
)  # fmt: skip
PLAN = make_plan(search=SEARCH)
GOAL = LatencyGoal(0.99, 20_000_000)
SWINGS = [True, False] * 12


def arm(name: str, kept: list[bool], rate: float = 1000.0, **visits: Any) -> ArmTotals:
    facts = {"begun": 250, "late": 100, "lag_ns": 250 * 1_000_000, **visits}
    slices = tuple(
        SliceTotals(
            block=block, position=0, transactions=250, busy_ns=10**9,
            latency_sum_ns=250 * 4_000_000, visit=RateVisit(rate, one, **facts),
        )
        for block, one in enumerate(kept)
    )  # fmt: skip
    return ArmTotals(
        name, 0, 4, 250 * len(kept), 10**9, 10**9, elapsed_ns=10**9, slices=slices,
        driver_cpu_ns=10**8,
    )  # fmt: skip


def epoch(on: ArmTotals, off: ArmTotals, **facts: Any) -> EpochTotals:
    cpu = {
        name: {"server_cpu_us": Reading("server_cpu_us", "µs", 1_900_000.0)}
        for name in ("on", "off")
    }
    return EpochTotals(0, {"on": 0, "off": 1}, ("on", "off"), {"on": on, "off": off}, readings=cpu,
                       **facts)  # fmt: skip


def doubts(*epochs: EpochTotals) -> list[Observation]:
    return list(search_threats(epochs, PLAN, "off"))


def test_an_epoch_reads_the_log_ratio_of_the_rates() -> None:
    faster = [True] * 4 + SWINGS[:20]
    made = epoch(arm("on", SWINGS), arm("off", faster))
    rates = {name: carried(made, name, SEARCH) for name in ("on", "off")}
    read = read_search_epoch(made, "off", "on", SEARCH)
    assert rates["on"] is not None
    assert rates["off"] is not None
    assert read.d == pytest.approx(math.log(rates["off"].rate / rates["on"].rate))
    assert 0.3 < read.d < 0.5
    assert read.throughput["off"] == rates["off"].rate
    assert not read.busy_share  # arrivals obey no law of clients that never wait


def test_an_arm_that_crashed_carried_nothing_and_a_search_without_a_crossing_has_no_ratio() -> None:
    made = epoch(arm("on", SWINGS), arm("off", SWINGS), outcome="crashed: off")
    assert read_search_epoch(made, "off", "on", SEARCH).d == -math.inf
    stuck = epoch(arm("on", SWINGS), arm("off", [True] * 12))
    assert math.isnan(read_search_epoch(stuck, "off", "on", SEARCH).d)
    assert doubts(stuck) == [LimitNeverCrossed("off", 24, 1, 1)]


def test_two_bounds_at_one_end_are_no_equality() -> None:
    up = [True] * 40
    both = epoch(arm("on", up), arm("off", up))
    assert math.isnan(read_search_epoch(both, "off", "on", SEARCH).d)
    alone = epoch(arm("on", SWINGS), arm("off", up))
    assert read_search_epoch(alone, "off", "on", SEARCH).d > 1.9
    assert doubts(alone) == [RateIsBound("off", GOAL, "fastest", 1, 1)]
    below = epoch(arm("on", SWINGS), arm("off", [False] * 40))
    assert doubts(below) == [RateIsBound("off", GOAL, "slowest", 1, 1)]


def test_a_sound_search_raises_nothing() -> None:
    assert doubts(epoch(arm("on", SWINGS), arm("off", SWINGS))) == []


def test_a_driver_that_was_late_is_seen_where_clients_were_idle() -> None:
    late = {"late": 10, "lag_ns": 250 * 3_000_000}
    made = epoch(arm("on", SWINGS, **late), arm("off", SWINGS))
    [doubt] = doubts(made)
    assert isinstance(doubt, DriverLate)
    assert (doubt.arm, doubt.lag_ns) == ("on", 3_000_000)
    assert doubt.waited / doubt.begun == 10 / 250


def test_waiting_for_a_client_beside_idle_processors_is_seen() -> None:
    waits = {"late": 240, "lag_ns": 250 * 3_000_000}
    made = epoch(arm("on", SWINGS, **waits), arm("off", SWINGS))
    assert doubts(made) == []  # the processors are used
    idle = {name: {"server_cpu_us": Reading("server_cpu_us", "µs", 2e5)} for name in ("on", "off")}
    assert doubts(replace(made, readings=idle)) == [
        ClientsTooFew("on", PLAN.clients, pytest.approx(0.75), pytest.approx(0.15))
    ]
    queued = {
        name: {**own, "session_queue_us": Reading("session_queue_us", "µs", 3e6)}
        for name, own in idle.items()
    }
    assert doubts(replace(made, readings=queued)) == []  # what else runs takes the processors


def test_capacities_are_means_over_the_epochs_of_all_arms() -> None:
    epochs = [epoch(arm("on", SWINGS), arm("off", [True] * n + SWINGS[n:])) for n in (2, 4, 6)]
    on, off = capacities(epochs, PLAN, ["on", "off"])
    d = [read_search_epoch(totals, "off", "on", SEARCH).d for totals in epochs]
    assert math.log(off.rate_per_second / on.rate_per_second) == pytest.approx(sum(d) / 3)
    assert on.low_per_second == pytest.approx(on.rate_per_second)  # all epochs read the same
    assert off.low_per_second is not None
    assert off.low_per_second < off.rate_per_second
    assert (on.quantile, on.limit_us, on.epochs) == ("p99", 20_000.0, 3)
    assert capacities(epochs, make_plan(), ["on", "off"]) == ()


def test_throughput_follows_the_rates_and_is_not_held_to_be_level() -> None:
    assert isinstance(judging_of(PLAN), SearchJudging)
    assert not judging_of(PLAN).level
    assert isinstance(judging_of(make_plan()), SlicesJudging)
