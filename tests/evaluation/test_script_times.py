"""Each script of a mix is judged by itself: the worst of many is no accident of their number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from record.made import line_of, verdict_of
from steelyard.analysis.decision.max_t import joint_flips
from steelyard.cli.views.verdict_view import render_verdict
from steelyard.evaluation.mean_times import script_times
from steelyard.model.readings import ArmTotals, EpochTotals
from steelyard.record.environment import Inspection
from steelyard.report.answer.scripts import script_rows

PLANS = Inspection(compared=0, statements=0, writes=False, arms={}, build_profile="release")
Means = Mapping[str, tuple[int, float]]
"""Script → executions in an epoch, and their mean in µs."""


@pytest.fixture(autouse=True)
def readable_histograms(monkeypatch: pytest.MonkeyPatch) -> None:
    """Histograms are written `COUNT MEAN_NS`."""

    def read(encoded: list[str], _: list[float]) -> dict[str, Any]:
        count, mean_ns = encoded[0].split()
        return {"count": int(count), "mean_ns": float(mean_ns), "values": []}

    monkeypatch.setattr("steelyard._core.histogram_quantiles", read)


def epoch(number: int, control: Means, arm: Means) -> EpochTotals:
    arms = {
        name: replace(
            ArmTotals(name, slot, 1, 100, 10**9, 10**9),
            latencies={
                script: f"{n} {1000 * float(mean)!r}" for script, (n, mean) in means.items()
            },
        )
        for slot, (name, means) in enumerate({"on": control, "off": arm}.items())
    }
    return EpochTotals(number, {"on": 0, "off": 1}, ("on", "off"), arms)


def noisy(effects: Mapping[str, float], spread: float, epochs: int = 12) -> list[EpochTotals]:
    draw = np.random.default_rng(3)
    made = []
    for number in range(epochs):
        control = {name: (300, 100 * np.exp(draw.normal(0, spread))) for name in effects}
        arm = {
            name: (100, 100 * (1 + effect) * np.exp(draw.normal(0, spread)))
            for name, effect in effects.items()
        }
        made.append(epoch(number, control, arm))
    return made


EFFECTS = {"faster": -0.1, "same": 0.0, "slower": 0.2, "slowest": 0.5}


def test_the_slower_ones_come_first_and_each_has_share_means_and_verdict() -> None:
    rows = script_times(noisy(EFFECTS, 0.001), PLANS, "on", "off", 0.01)
    assert [(row.script, row.verdict) for row in rows] == [
        ("slowest", "slower"), ("slower", "slower"), ("same", "equivalent"), ("faster", "faster"),
    ]  # fmt: skip
    assert sum(row.executed_percent or 0 for row in rows) == pytest.approx(100)
    assert sum(row.share_percent for row in rows) == pytest.approx(100)
    assert rows[0].control_us == pytest.approx(100, rel=0.01)
    assert rows[0].arm_us == pytest.approx(150, rel=0.01)
    assert rows[0].estimate_percent == pytest.approx(50, abs=1)
    assert script_times(noisy({"alone": 0.2}, 0.001), PLANS, "on", "off", 0.01) == []


def test_intervals_are_those_of_the_joint_test_over_all_scripts() -> None:
    epochs = noisy(EFFECTS, 0.05)
    table = np.array(
        [
            [
                np.log(float(one.arms["off"].latencies[name].split()[1]))
                - np.log(float(one.arms["on"].latencies[name].split()[1]))
                for name in EFFECTS
            ]
            for one in epochs
        ]
    )
    expected = dict(zip(EFFECTS, joint_flips(table), strict=True))
    for row in script_times(epochs, PLANS, "on", "off", 0.01):
        interval = expected[row.script].interval
        assert row.low_percent == pytest.approx(100 * np.expm1(interval.low))
        assert row.high_percent == pytest.approx(100 * np.expm1(interval.high))


@pytest.mark.long
def test_of_thirty_scripts_without_an_effect_one_is_rarely_called_slower_or_faster() -> None:
    draw, alarms, weighings = np.random.default_rng(11), 0, 200
    names = [f"s{n:02}" for n in range(30)]
    for _ in range(weighings):
        epochs = [
            epoch(
                number,
                dict.fromkeys(names, (10, 100.0)),
                {name: (10, 100 * np.exp(draw.normal(0, 0.05))) for name in names},
            )
            for number in range(10)
        ]
        rows = script_times(epochs, PLANS, "on", "off", 0.01)
        alarms += any(row.verdict in ("slower", "faster") for row in rows)
    # 5 % with four standard errors.
    assert alarms / weighings < 0.05 + 4 * np.sqrt(0.05 * 0.95 / weighings)


def test_a_script_that_an_epoch_lacks_is_shown_without_a_change() -> None:
    epochs = noisy({"a": 0.1, "b": 0.1}, 0.001)
    rare = {"rare": "5 7000"}
    with_rare = [
        replace(
            one,
            arms={
                name: replace(arm, latencies={**arm.latencies, **(rare if number else {})})
                for name, arm in one.arms.items()
            },
        )
        for number, one in enumerate(epochs)
    ]
    rows = {row.script: row for row in script_times(with_rare, PLANS, "on", "off", 0.01)}
    assert rows["rare"].verdict == "inconclusive"
    assert rows["rare"].estimate_percent is None
    assert rows["rare"].control_us == pytest.approx(7)
    assert rows["a"].verdict == "slower", "the others are judged all the same"


def test_flips_stand_at_their_script_and_all_is_shown_in_the_terminal_and_the_report() -> None:
    plans = {"on": "Index Scan using i on t", "off": "Seq Scan on t"}
    found = PLANS.model_copy(
        update={"plans": {arm: {"slower: SELECT 1": plan} for arm, plan in plans.items()}}
    )
    rows = script_times(noisy(EFFECTS, 0.001), found, "on", "off", 0.01)
    assert [row.script for row in rows if row.flips] == ["slower"]
    shown = render_verdict(verdict_of(line_of(), scripts=tuple(rows)), 110)
    places = [shown.index(f"{name} (25 %)") for name in ("slowest", "slower", "same", "faster")]
    assert places == sorted(places)
    page = script_rows(rows)
    assert page[1]["plan"] == "; ".join(rows[1].flips)
    assert (page[0]["share"], page[0]["executed"]) == ("25 %", "25 %")
