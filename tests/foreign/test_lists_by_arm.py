"""Lists by key are read like columns: what counts, dates or asks for rows is no arm."""

from __future__ import annotations

import json
from typing import Any

import pytest

from foreign.reading import arms_of, refusal, sheet_of
from steelyard.foreign.metric import LATENCY, THROUGHPUT
from steelyard.foreign.series import Grain, Rows, Sheet
from steelyard.model.errors import NumbersError

OFF = [101.25, 99.5, 100.125, 98.75, 102.5, 100.25, 99.25, 101.5]
ON = [103.25, 101.5, 104.125, 100.75, 104.5, 102.25, 101.25, 103.5]
COUNT = len(OFF)


def sheet(**value: Any) -> Sheet:
    return sheet_of(json.dumps(value))


@pytest.mark.parametrize(
    "beside",
    [
        {"run": list(range(1, COUNT + 1))},
        {"iteration": list(range(COUNT))},
        {"clients": [8] * COUNT},
        {"clients": [8, 16] * (COUNT // 2)},
        {"timestamp": [1_764_311_229 + 3_600 * n for n in range(COUNT)]},
        {"time": ["2026-11-21T14:03:00", *(f"2026-11-22T1{n}:03:00" for n in range(1, COUNT))]},
        {"query": [f"Q{n}" for n in range(COUNT)]},
        {"errors": [n * 5 % 3 for n in range(COUNT)]},
        {"on/off": [round(b / a, 3) for a, b in zip(OFF, ON, strict=True)]},
    ],
    ids=lambda beside: next(iter(beside)),
)
@pytest.mark.parametrize("arms", [False, True])
def test_lists_that_hold_no_arm_are_none(beside: dict[str, Any], arms: bool) -> None:
    lists = {**beside, "off": OFF, "on": ON}
    read = sheet(metric="tps", arms=lists) if arms else sheet(**lists)
    assert arms_of(read) == {"off": OFF, "on": ON}
    assert read.form == "JSON by arm"
    assert read.metrics[0][0].name == (THROUGHPUT if arms else "value")


def test_seconds_beside_them_are_slices() -> None:
    read = sheet(timestamp=[1_764_311_229 + n for n in range(COUNT)], off=OFF, on=ON)
    assert {series.grain for series in read.metrics[0][1]} == {Grain.SLICE}


def test_lists_of_several_metrics_are_one_arm() -> None:
    read = sheet(tps=OFF, latency_ms=ON)
    assert [metric.name for metric, _ in read.metrics] == [THROUGHPUT, LATENCY]
    assert arms_of(read) == {"": OFF}
    with pytest.raises(NumbersError, match="name what was measured, and no arms"):
        sheet(metric="tps", arms={"tps": OFF, "latency_ms": ON})


def test_lists_as_columns_of_a_long_table() -> None:
    arms = ["off", "on"] * (COUNT // 2)
    assert arms_of(sheet(arm=arms, tps=OFF)) == {"off": OFF[::2], "on": OFF[1::2]}


@pytest.mark.parametrize("name", ["prepared", "index", "parallel", "final", "statement"])
def test_arms_called_by_words_of_other_things_stay(name: str) -> None:
    assert arms_of(sheet(simple=OFF, **{name: ON})) == {"simple": OFF, name: ON}


def test_a_shorter_list_is_an_arm_measured_less_often_beside_a_counter_too() -> None:
    read = sheet(run=list(range(1, COUNT + 1)), off=OFF, on=ON[:-2])
    assert arms_of(read) == {"off": OFF, "on": ON[:-2]}
    assert read.rows is Rows.APART


@pytest.mark.parametrize(
    "beside",
    [{"clients": 8}, {"unit": "tps"}, {"samples": 12}, {"duration": 60}, {"off_mean": 100.1}],
    ids=lambda beside: next(iter(beside)),
)
def test_one_value_beside_lists_is_asked_about(beside: dict[str, Any]) -> None:
    (name,) = beside
    message = refusal(json.dumps({**beside, "off": OFF, "on": ON}))
    assert f'"{name}" has one value where others have lists' in message


def test_the_fields_beside_the_arms_say_what_was_measured_of_each() -> None:
    read = sheet(unit="ms", clients=8, arms={"off": OFF, "on": ON})
    assert (read.metrics[0][0].unit, read.clients) == ("ms", {"off": 8, "on": 8})
    text = json.dumps({"metric": "tps", "arms": {"off_ms": OFF, "on_ms": ON}})
    assert "mixed units" in refusal(text)


def test_keys_that_differ_by_blanks_alone_are_refused() -> None:
    text = json.dumps({"off": OFF, "off ": ON})
    assert '"off " stands twice in one object' in refusal(text)
