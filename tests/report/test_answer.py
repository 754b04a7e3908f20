"""Beside a verdict stand both arms in numbers, plans in words, the gate, and what is next."""

from __future__ import annotations

import pytest

from record.made import line_of, verdict_of
from steelyard.evaluation.rule import FailCondition
from steelyard.model.latency_goal import goal_of
from steelyard.record.contrast import Capacity
from steelyard.record.verdict import FlippedPlan, Place
from steelyard.report.answer.first_page import gate_lines, next_lines
from steelyard.report.answer.measured import capacity_limit, place_text, times_text, us_pair
from steelyard.report.answer.scripts import flip_words, plan_reasons
from steelyard.report.incidents import interruption_text


@pytest.mark.parametrize(
    ("percent", "words"),
    [(102.5, "2.02 times"), (50.0, "1.50 times"), (49.9, ""), (-80.0, ""), (None, "")],
)
def test_a_large_gain_is_said_as_a_factor(percent: float | None, words: str) -> None:
    assert times_text(percent) == words


@pytest.mark.parametrize(
    ("us", "words"),
    [
        ((858.0, 877.0), "858 → 877 µs"),
        ((31800.0, 10900.0), "31.8 → 10.9 ms"),
        ((900.0, 1200.0), "900 µs → 1.2 ms"),
        ((18e6, 80e6), "18 s → 1 min 20 s"),
        ((78e6, 80e6), "1 min 18 s → 1 min 20 s"),
        ((1800e6, 3720e6), "30 min → 1 h 2 min"),
        ((18e6, 20e6), "18 → 20 s"),
    ],
)
def test_two_times_share_their_unit(us: tuple[float, float], words: str) -> None:
    assert us_pair(*us) == words


@pytest.mark.parametrize("limit", ["20ms", "12.345ms", "1234ms", "10us", "1.5s"])
def test_the_limit_is_the_one_of_the_verdict_to_its_last_digit(limit: str) -> None:
    goal = goal_of(f"rate at p99 <= {limit}")
    assert goal is not None
    carried = Capacity(
        arm="on", quantile="p99", limit_us=goal.limit_ns / 1000, rate_per_second=5000.0,
        low_per_second=None, high_per_second=None, epochs=8, visits=190,
    )  # fmt: skip
    line = line_of(metric=goal.metric)
    assert capacity_limit(verdict_of(line, capacity=(carried,))) == goal.words
    assert capacity_limit(verdict_of(line)) == ""


def test_the_place_is_one_line() -> None:
    place = Place(
        processors=1,
        processor="",
        memory_bytes=0,
        products=("PostgreSQL 16.14", "PostgreSQL 18.4"),
        workload="own",
        clients=1,
        data='base backup "monday", database shop',
        data_bytes=60 << 20,
    )
    assert place_text(place) == (
        "1 processor; PostgreSQL 16.14 and PostgreSQL 18.4; "
        'workload own, base backup "monday", database shop (60 MB), 1 client'
    )
    assert place_text(None) == ""


@pytest.mark.parametrize(
    ("flips", "words"),
    [
        (
            ["Hash Join → Nested Loop", "Seq Scan on c → Index Scan on c by customers_pkey"],
            "joins by Nested Loop over customers_pkey, was Hash Join",
        ),
        (
            ["Index Scan on t by t_pkey → Seq Scan on t"],
            "reads by Seq Scan on t, was Index Scan on t by t_pkey",
        ),
        (["HashAggregate → GroupAggregate"], "is planned with GroupAggregate, was HashAggregate"),
        (["Sort added"], "is planned otherwise (Sort added)"),
    ],
)
def test_a_flip_says_what_the_arm_does_and_what_the_control_did(
    flips: list[str], words: str
) -> None:
    assert flip_words(flips) == words


def flipped(script: str, us: tuple[float, float], *ends: float) -> FlippedPlan:
    low, middle, high = ends
    time = {
        "arm": "off", "control": "on", "of": "script", "control_us": us[0], "arm_us": us[1],
        "estimate_percent": middle, "low_percent": low, "high_percent": high, "confidence": 0.95,
    }  # fmt: skip
    facts = {"arm": "off", "control": "on", "statement": f"{script}: SELECT 1", "time": time}
    return FlippedPlan.model_validate({**facts, "flips": ["Hash Join → Nested Loop"]})


def test_the_plans_that_changed_most_are_the_reasons_and_those_that_cost_nothing_are_none() -> None:
    plans = (
        flipped("small", (100.0, 200.0), 90.0, 100.0, 110.0),
        flipped("large", (54200.0, 7860.0), -86.0, -85.5, -84.0),
        flipped("same", (5e6, 6e6), -5.0, 20.0, 50.0),
    )
    large = "large joins by Nested Loop, was Hash Join: 54.2 → 7.86 ms"
    small = "small joins by Nested Loop, was Hash Join: 100 → 200 µs"
    for word, reasons in (
        ("inconclusive", [large, small]), ("slower", [small]), ("faster", [large]),
    ):  # fmt: skip
        verdict = verdict_of(line_of(verdict=word), plans=plans)
        assert plan_reasons(verdict, "off") == reasons
        assert plan_reasons(verdict, "another") == []


def test_a_gate_says_why_it_is_open_or_closed() -> None:
    slower = line_of(verdict="slower", estimate_percent=-3.1, low_percent=-3.5, high_percent=-2.6)
    condition = FailCondition.parse("slower:2%")
    assert gate_lines([condition], [slower]) == [
        "gate: closed, slower:2% holds (off against on −3.10 % [−3.50, −2.60]: the whole "
        "interval lies beyond −2 %)"
    ]
    unsure = line_of(
        verdict="inconclusive", estimate_percent=-1.3, low_percent=-3.0, high_percent=0.4
    )
    assert gate_lines([condition], [unsure]) == [
        "gate: open, slower:2% does not hold (inconclusive: off against on −1.30 % [−3.00, +0.40])"
    ]
    assert gate_lines([], [slower]) == []


def test_what_is_next_is_typed_only_where_more_would_settle_it() -> None:
    unsure = line_of(verdict="inconclusive", forecast_seconds=360.0)
    command = "steelyard weigh checksums --budget 2m --seed 16"
    verdict = verdict_of(unsure, command=command, measured_seconds=120.0)
    assert next_lines(verdict)[0] == "next    steelyard weigh checksums --budget 8m --open-ended"
    assert "another attempt" in next_lines(verdict)[1]
    assert next_lines(verdict.model_copy(update={"interrupted": True})) == []
    turns = verdict.model_copy(update={"layout": "turns", "seconds": 1800.0})
    assert next_lines(turns)[0] == "next    steelyard weigh checksums --budget 36m --open-ended"
    several = verdict.model_copy(update={"contrasts": (unsure, unsure)})
    assert next_lines(several)[0] == "next    steelyard weigh checksums --budget 8m"
    settled, longer = line_of(verdict="faster"), unsure.model_copy(update={"forecast_seconds": 6e3})
    endless = line_of(verdict="inconclusive", forecast_seconds=1e6)
    for lines, budget in (
        ((settled, unsure), "8m"),
        ((unsure, longer), "102m"),
        ((endless, unsure), "8m"),
    ):
        command_of_both = next_lines(verdict.model_copy(update={"contrasts": lines}))[0]
        assert command_of_both == f"next    steelyard weigh checksums --budget {budget}"
    assert next_lines(verdict_of(endless, command=command, measured_seconds=9.0)) == []
    open_ended = unsure.details.model_copy(update={"look": "open"})
    extendable = unsure.model_copy(update={"details": open_ended})
    goes_on = next_lines(verdict_of(extendable, command=command, record="records/a b"))
    assert goes_on[0] == "next    steelyard weigh --resume 'records/a b'"
    assert "error rate holds" in goes_on[1]
    stopped = verdict_of(extendable, command=command, interrupted=True)
    assert interruption_text(stopped, 10).startswith("It is open-ended, and was stopped after ")
    plain = verdict_of(unsure, command=command, interrupted=True)
    assert interruption_text(plain).startswith("It was stopped before its planned end")
    hopeless = verdict_of(line_of(verdict="inconclusive", forecast_seconds=None), command=command)
    assert next_lines(hopeless) == []
    assert next_lines(verdict_of(line_of(verdict="faster"), command=command)) == []
