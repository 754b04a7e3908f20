"""A weighing by the rate at a limit searches both arms in turn, and says what each carries."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.cli.views.ci import markdown
from steelyard.cli.views.verdict_view import render_verdict
from steelyard.model.errors import StudyError, WeighingError
from steelyard.model.latency_goal import LEAST_NS, MOST_NS, QUANTILES, LatencyGoal, goal_of
from steelyard.record.reader import read_recorded
from steelyard.record.record import Record
from steelyard.report.page import write_report
from steelyard.running.rate_search import _longer
from steelyard.study.study import Study
from steelyard.verdict.rejudge import rejudge
from story.asked import lines, study_of
from story.scripted import ScriptedWorld

Weigh = Callable[..., dict[str, Any]]
METRIC = "rate at p99 ≤ 20 ms"


def rate_study(**changes: Any) -> Study:
    decision = {"metric": METRIC, **changes.pop("decision", {})}
    budget = {"measuring": "240s", **changes.pop("budget", {})}
    return study_of(decision=decision, budget=budget, **changes)


def carry(world: ScriptedWorld, rates: dict[str, float], scatter: float = 0.03) -> None:
    """Arms that serve what arrives up to a rate, and fall behind beyond it."""

    def distort(answer: dict[str, Any]) -> None:
        rate = world.rate
        if rate is None:
            return
        arrived = round(rate * answer["length_ns"] / 1e9)
        kept = math.log(rate) < math.log(rates[answer["arm"]]) + world.draw.gauss(0, scatter)
        served = arrived if kept else arrived // 2
        answer |= {"transactions": served, "unstarted": arrived - served, "rows": served}

    world.distort = distort


def test_the_arm_that_carries_more_is_said_to(world: ScriptedWorld, weigh_in: Weigh) -> None:
    carry(world, {"on": 2000.0, "off": 2200.0})
    told = weigh_in(world, rate_study())
    [contrast] = told["contrasts"]
    assert contrast["verdict"] == "faster"
    assert contrast["metric"] == METRIC
    assert contrast["unit"] == "transactions/s"
    assert contrast["low_percent"] < 10.0 < contrast["high_percent"]
    on, off = told["capacity"]
    assert (on["arm"], off["arm"], on["quantile"]) == ("on", "off", "p99")
    assert on["rate_per_second"] == pytest.approx(2000, rel=0.03)
    ratio = 100 * (off["rate_per_second"] / on["rate_per_second"] - 1)
    assert ratio == pytest.approx(contrast["estimate_percent"], abs=0.3)
    assert contrast["sentence"].startswith("off carries ")
    assert (
        f"more load than on at p99 ≤ 20 ms: {off['rate_per_second']:,.0f} against"
        in (contrast["sentence"])
    )


def test_equal_arms_are_searched_from_one_rate_in_as_many_visits(
    world: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    carry(world, {"on": 2000.0, "off": 2000.0})
    told = weigh_in(world, rate_study())
    assert told["contrasts"][0]["verdict"] in ("equivalent", "inconclusive")
    plan = json.loads((tmp_path / "record" / "plan.json").read_text())
    slices = [one for one in lines(tmp_path, "slices.jsonl") if one["kind"] == "measured"]
    by_search: dict[tuple[int, str], list[dict[str, Any]]] = {}
    for one in slices:
        by_search.setdefault((one["epoch"], one["arm"]), []).append(one)
    assert len(by_search) == 2 * plan["epochs"]
    for search in by_search.values():
        assert search[0]["rate"] == pytest.approx(plan["search"]["start"])
        assert len(search) == plan["blocks_per_epoch"]
        for before, after in pairwise(search):
            assert (after["rate"] > before["rate"]) is before["within"]


def test_the_record_judges_to_the_same(
    world: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    carry(world, {"on": 2000.0, "off": 1900.0})
    told = weigh_in(world, rate_study())
    again = rejudge(read_recorded(Record.open(tmp_path / "record")))
    assert again.to_json() == told


def test_drift_that_all_arms_share_is_in_no_interval_of_the_ratio(
    world: ScriptedWorld, weigh_in: Weigh
) -> None:
    rates = {"on": 2000.0, "off": 2000.0}
    carry(world, rates)
    steady = world.distort

    def drifting(answer: dict[str, Any]) -> None:
        level = 2000.0 * math.exp(0.25 * math.sin(world.slices / 300))
        rates.update(on=level, off=level)
        steady(answer)

    world.distort = drifting
    told = weigh_in(world, rate_study())
    [contrast] = told["contrasts"]
    assert contrast["low_percent"] < 0 < contrast["high_percent"]
    assert contrast["high_percent"] - contrast["low_percent"] < 6
    on = told["capacity"][0]
    assert on["high_per_second"] / on["low_per_second"] > 1.06


def test_a_limit_that_no_rate_keeps_ends_the_weighing_with_a_longer_one(
    world: ScriptedWorld, weigh_in: Weigh
) -> None:
    carry(world, {"on": 2000.0, "off": 1e-9})
    with pytest.raises(WeighingError, match='arm "off" does not keep p99 ≤ 20 ms at any rate') as e:
        weigh_in(world, rate_study())
    assert '--metric "rate at p99 ≤ 40ms"' in (e.value.hint or "")


@given(st.sampled_from(sorted(QUANTILES)), st.integers(LEAST_NS, MOST_NS), st.integers(0, 10**12))
def test_the_longer_limit_that_is_advised_can_be_typed(
    quantile: str, limit_ns: int, read_ns: int
) -> None:
    goal = LatencyGoal(QUANTILES[quantile], limit_ns)
    advice = _longer(read_ns, goal)
    if limit_ns == MOST_NS:
        assert "--metric" not in advice
        return
    longer = goal_of(advice.partition('"')[2].partition('"')[0])
    assert longer is not None
    assert longer.quantile == goal.quantile
    assert goal.limit_ns < longer.limit_ns <= MOST_NS


def test_a_limit_that_every_rate_keeps_ends_it_too(world: ScriptedWorld, weigh_in: Weigh) -> None:
    carry(world, {"on": 1e12, "off": 2000.0})
    with pytest.raises(WeighingError, match='arm "on" keeps p99 ≤ 20 ms at every rate'):
        weigh_in(world, rate_study())


def test_a_budget_that_holds_too_few_visits_is_refused_before_anything_is_loaded(
    world: ScriptedWorld, weigh_in: Weigh
) -> None:
    study = rate_study(decision={"metric": "rate at p99 ≤ 100ms"})
    with pytest.raises(StudyError, match="is too short: 8 epochs of 24 visits of 2 arms") as error:
        weigh_in(world, study)
    assert "--budget 416s" in (error.value.hint or "")
    assert world.slices == 0


def test_an_arm_far_from_where_the_pilot_had_it_is_a_bound(
    world: ScriptedWorld, weigh_in: Weigh
) -> None:
    rates = {"on": 2000.0, "off": 2000.0}
    carry(world, rates)

    def collapse() -> None:
        rates["off"] = 1e-9

    world.events[260] = [collapse]
    told = weigh_in(world, rate_study())
    [contrast] = told["contrasts"]
    names = [one["name"] for one in contrast["threats"]]
    assert "rate is a bound" in names
    assert contrast["estimate_percent"] < -50


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"layout": "cycles"}, "is searched in slices"),
        ({"budget": {"counted": {"each": 1, "blocks": 2}}}, "is searched by time"),
        (
            {
                "workload": {"machines": 2},
                "address": "host=db",
                "control": {"name": "on"},
                "arms": [{"name": "off", "settings": {"jit": "off"}}],
                "layout": "auto",
            },
            "by one load machine",
        ),
        ({"workload": {"pace": 1.0}}, "sets the arrivals itself"),
    ],
)
def test_what_a_search_cannot_be_with_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        rate_study(**changes)


def test_rates_and_costs_stand_in_terminal_report_markdown_and_json(
    world: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    carry(world, {"on": 2000.0, "off": 2200.0})
    study = rate_study(
        control={"name": "on", "price": "0.36 USD/h"},
        arms=[{"name": "off", "checksums": False, "price": "0.45 USD/h"}],
    )
    told = weigh_in(world, study)
    verdict = rejudge(read_recorded(Record.open(tmp_path / "record")))
    on, off = verdict.costs
    assert on.per_million == pytest.approx(
        0.36 / (verdict.capacity[0].rate_per_second * 3600) * 1e6
    )
    [contrast] = verdict.contrasts
    assert off.low_percent is not None
    assert contrast.high_percent is not None
    moved = (1 + off.low_percent / 100) * (1 + contrast.high_percent / 100)
    assert moved == pytest.approx(0.45 / 0.36)
    assert told["costs"][1]["sentence"] == off.sentence
    terminal = " ".join(render_verdict(verdict, 100).split())
    page = write_report(tmp_path / "record").read_text(encoding="utf-8")
    for words in (
        "off carries ",
        "at p99 ≤ 20 ms",
        f"on at 0.36 USD/h: {on.per_million:.4f}",
        off.sentence,
    ):
        assert words in terminal
    for words in ("What the arms carried", "What transactions cost", "0.45 USD/h"):
        assert words in page
    assert "a million transactions cost" in markdown(verdict)


def test_a_throughput_is_priced_too_and_a_record_without_prices_says_nothing(
    world: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    plain = weigh_in(world, study_of())
    assert "costs" not in plain
    assert "capacity" not in plain
    priced = study_of(
        control={"name": "on", "price": "0.36/h"},
        arms=[{"name": "off", "checksums": False, "price": "0.36/h"}],
    )
    told = weigh_in(ScriptedWorld(tmp_path / "other"), priced, record="priced")
    on, off = told["costs"]
    assert (on["currency"], off["epochs"]) == ("", told["contrasts"][0]["epochs"])
