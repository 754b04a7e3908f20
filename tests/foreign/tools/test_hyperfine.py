"""Exports of hyperfine are read with their commands as arms."""

from __future__ import annotations

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
