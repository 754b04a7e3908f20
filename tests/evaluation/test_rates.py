"""Rates that arms carried are read from the visits of a record, and what spoils them is said; what
transactions cost follows from prices and throughput, with the contrast's own set.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from evaluation.made import make_plan
from record.made import details_of, line_of, verdict_of
from steelyard.analysis.decision.looks import Terms
from steelyard.evaluation.contrast import Contrast, WeighedContrast
from steelyard.evaluation.layouts import SearchJudging, SlicesJudging, judging_of
from steelyard.evaluation.rates import (
    ClientsTooFew,
    DriverLate,
    LimitNeverCrossed,
    RateIsBound,
    capacities,
    carried,
    costs,
    read_search_epoch,
    search_threats,
)
from steelyard.evaluation.rule import Decision, VerdictKind
from steelyard.model.estimate import LOG_RATIO, Estimate
from steelyard.model.latency_goal import LatencyGoal
from steelyard.model.readings import ArmTotals, EpochTotals, RateVisit, Reading, SliceTotals
from steelyard.model.threat import Observation
from steelyard.record.plan import SearchChoice
from steelyard.report.answer.measured import cost_rows, figures
from steelyard.study.study import Study
from steelyard.wording.contrast_text import with_sentences

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


PRICES = ("0.36 USD/h", "0.45 USD/h")


def study(prices: tuple[str | None, str | None] = PRICES, **changes: Any) -> Study:
    return Study.model_validate({
        "name": "s", "title": "t", "question": "q",
        "control": {"name": "on", "price": prices[0]},
        "arms": [{"name": "off", "checksums": False, "price": prices[1]}],
        **changes,
    })  # fmt: skip


def contrast(rates: list[tuple[float, float]], low: float, high: float) -> WeighedContrast:
    """Of epochs with a throughput of the control and of the arm."""
    epochs = [
        {"epoch": n, "slots": {}, "order": (), "d": math.log(off / on), "typical_d": None,
         "throughput": {"on": on, "off": off}, "outcome": "complete"}
        for n, (on, off) in enumerate(rates)
    ]  # fmt: skip
    value = sum(math.log(off / on) for on, off in rates) / len(rates)
    return Contrast(
        arm="off", control="on", terms=Terms(8), verdict=Decision(VerdictKind.FASTER),
        estimate=Estimate(value, low, high, len(rates), LOG_RATIO, 0.95), epochs=len(rates),
        blocks=1, forecast=None, threats=(), details=details_of(epochs=epochs),
    )  # fmt: skip


RATES = [(1000.0 * f, 1200.0 * f) for f in (0.9, 1.0, 1.1)]


def test_each_arm_has_its_cost_with_an_interval_of_its_own() -> None:
    on, off = with_sentences(costs(study(), [contrast(RATES, 0.17, 0.20)]))
    mean = 1000 * (0.9 * 1.1) ** (1 / 3)
    assert on.per_million == pytest.approx(0.36 / (mean * 3600) * 1e6)
    assert off.per_million == pytest.approx(0.45 / (1.2 * mean * 3600) * 1e6)
    assert on.low_per_million is not None
    assert on.high_per_million is not None
    assert on.low_per_million < 0.9 * on.per_million
    assert on.high_per_million > 1.1 * on.per_million
    assert (on.price, on.currency, on.epochs, on.control) == ("0.36 USD/h", "USD", 3, "")


def test_the_difference_is_the_contrasts_set_moved_by_the_prices() -> None:
    _, off = with_sentences(costs(study(), [contrast(RATES, 0.17, 0.20)]))
    dearer = math.log(0.45 / 0.36)
    assert off.estimate_percent == pytest.approx(100 * math.expm1(dearer - math.log(1.2)))
    assert off.low_percent == pytest.approx(100 * math.expm1(dearer - 0.20))
    assert off.high_percent == pytest.approx(100 * math.expm1(dearer - 0.17))
    # Drift that both arms share is in neither end: the arms' own intervals are ten times as wide.
    assert off.sentence == (
        "a million transactions cost 0.105 USD in off and 0.100 USD in on: +4.17 % [+2.34, +5.46]"
    )


def test_an_interval_that_holds_zero_leaves_it_open() -> None:
    _, off = with_sentences(costs(study(), [contrast(RATES, 0.17, 0.25)]))
    assert off.sentence.endswith("which is cheaper is open")


def test_an_unbounded_end_stays_unbounded() -> None:
    _, off = with_sentences(costs(study(), [contrast(RATES, -math.inf, 0.25)]))
    assert off.high_percent is None
    assert off.low_percent is not None
    assert "unbounded" in off.sentence


def test_an_invalid_weighing_prices_each_arm_and_compares_none() -> None:
    invalid = replace(contrast(RATES, 0.17, 0.20), verdict=Decision(VerdictKind.INVALID))
    on, off = with_sentences(costs(study(), [invalid]))
    assert on.per_million > 0
    assert off.per_million > 0
    assert (off.control, off.estimate_percent, off.sentence) == ("", None, "")
    [shown, _] = cost_rows(verdict_of(line_of(arm="off", control="on"), costs=(off, on)))
    assert (shown["arm"], shown["reading"]) == ("off", "–")


def test_two_arms_are_not_compared_by_what_each_costs_against_the_control() -> None:
    arms = [{"name": "off", "price": PRICES[1]}, {"name": "third", "price": PRICES[0]}]
    first = contrast(RATES, 0.17, 0.20)
    epochs = tuple(
        epoch.model_copy(update={"throughput": {"on": 1000.0, "third": 900.0 + epoch.epoch}})
        for epoch in first.details.epochs
    )
    details = first.details.model_copy(update={"epochs": epochs})
    third = replace(first, arm="third", details=details)
    priced = with_sentences(costs(study(arms=arms), [first, third]))
    lines = [line_of(arm=arm, control="on") for arm in ("off", "third")]
    pair = line_of(arm="third", control="off")
    verdict = verdict_of(*lines, pairs=(pair,), costs=priced)
    against_control, of_two = (
        dict(figures(verdict, line))["a million transactions cost"] for line in (lines[1], pair)
    )
    assert "% [" in against_control
    assert of_two.endswith(" USD")
    assert "%" not in of_two


def test_without_prices_or_epochs_there_are_no_costs() -> None:
    assert costs(study((None, None)), [contrast(RATES, 0.1, 0.2)]) == ()
    assert costs(study(), []) == ()


@pytest.mark.parametrize(
    ("prices", "changes", "words"),
    [
        (("0.5/h", None), {}, 'arm "off" has no price: give every arm one, --set control.price='),
        ((None, "0.5/h"), {}, 'arm "on" has no price'),
        (("0.5 USD/h", "0.5 EUR/h"), {}, r"several currencies \(EUR, USD\)"),
        (("0.5/h", "0.5 EUR/h"), {}, r"several currencies \(EUR, none\)"),
        (("0.5/h", "0.5/h"), {"decision": {"metric": "latency_mean"}}, "counts no transactions"),
        (("0.5", "0.5/h"), {}, 'invalid price: "0.5"; accepted: 0.504/h'),
        ((0.5, "0.5/h"), {}, "0.5 has no period: 0.5/h"),
    ],
)  # fmt: skip
def test_prices_that_cannot_be_compared_are_refused(
    prices: Any, changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        study(prices, **changes)


def test_equal_arms_are_equal_at_any_price() -> None:
    one = study(arms=[{"name": "off", "price": "0.45 USD/h"}])
    assert [arm.name for arm in one.equals] == ["off"]
