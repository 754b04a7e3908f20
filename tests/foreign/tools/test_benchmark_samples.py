"""Exports of hyperfine are read with their commands as arms."""

from __future__ import annotations

import json

import pytest

from foreign.judged_files import doubts, judged, judged_text, percent
from foreign.reading import arms_of, golden_sheet, refusal, sheet_of
from steelyard.foreign.metric import TIME, Metric
from steelyard.foreign.series import Order, Rows


def test_hyperfine_measures_one_command_after_the_other() -> None:
    sheet = golden_sheet("hyperfine.json")
    assert (sheet.form, sheet.order, sheet.rows) == ("hyperfine JSON", Order.SEQUENTIAL, Rows.APART)
    assert sheet.metrics[0][0] == Metric(TIME, "s", False)
    assert {arm: len(values) for arm, values in arms_of(sheet).items()} == {"one": 12, "two": 12}


def test_hyperfine_without_times_leaves_the_mean_and_failures_are_said() -> None:
    text = '{"results": [{"command": "a", "mean": 1.5}, {"command": "b", "times": [1, 2], '
    sheet = sheet_of(text + '"exit_codes": [0, 1]}]}')
    assert arms_of(sheet) == {"a": [1.5], "b": [1, 2]}
    assert sheet.notes == ('some repetitions of "b" ended with an error',)
    assert "ended" not in str(sheet_of(text + '"exit_codes": [0, 0]}]}').notes)
    assert "has something else than a number" in refusal('{"results": [{"command": "a"}]}')
    assert "something else" in refusal('{"results": [{"command": "a", "times": ["1 min"]}]}')
    assert "this is not an export of hyperfine" in refusal('{"off": [1]}', "hyperfine")


@pytest.mark.parametrize(("failed", "doubted"), [(0, False), (1, False), (10, True)])
def test_a_command_that_failed_more_often_is_doubted(failed: int, doubted: bool) -> None:
    commands = [
        {"command": arm, "times": [level + n / 100 for n in range(10)], "exit_codes": codes}
        for arm, level, codes in (("a", 2, [0] * 10), ("b", 1, [1] * failed + [0] * (10 - failed)))
    ]
    names = doubts(judged_text(json.dumps({"results": commands})))
    assert ("errors or retries differ" in names) is doubted


def test_commands_are_named_by_their_parameters_where_those_tell_them_apart() -> None:
    arms = [arm.arm for arm in judged("hf_param.json").comparison.arms]
    assert arms == ["w {n}, n=1", "w {n}, n=2", "w {n}, n=4"]
    same = judged("hf_same.json")
    assert [arm.arm for arm in same.comparison.arms] == [
        "psql -f q1.sql (result 1)",
        "psql -f q1.sql (result 2)",
    ]


@pytest.mark.parametrize(("name", "expected"), [("hf.csv", 5.0), ("hf.md", 4.926)])
def test_tables_of_hyperfine_hold_one_value_a_command(name: str, expected: float) -> None:
    judgement = judged(name)
    assert "one value per arm" in judgement.cannot
    assert percent(judgement) == pytest.approx(expected, abs=0.001)
