"""JSON is read in the shapes people write, and refused with line and column otherwise."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreign.judged_files import judged_text, refused_text
from foreign.reading import arms_of, only, refusal, sheet_of
from steelyard.foreign.json_document import offset_of, read_document
from steelyard.foreign.metric import LATENCY, THROUGHPUT, TIME, Metric
from steelyard.foreign.series import Rows
from steelyard.foreign.source import SourceText


def test_lists_by_arm() -> None:
    sheet = sheet_of('{"off": [101, 99.5, 1e2], "on": [103, 108, 102]}')
    assert arms_of(sheet) == {"off": [101, 99.5, 100], "on": [103, 108, 102]}
    assert sheet.rows is Rows.BESIDE
    assert sheet_of('{"off": [1, 2], "on": [1, 2, 3]}').rows is Rows.APART
    assert arms_of(sheet_of('{"off": 1, "on": 2}')) == {"off": [1], "on": [2]}


def test_lists_by_arm_with_what_was_measured() -> None:
    text = '{"metric": "lat", "unit": "ms", "clients": 8, "arms": {"off": [1, 2], "on": [2, 3]}}'
    sheet = sheet_of(text)
    assert sheet.metrics[0][0] == Metric(LATENCY, "ms", False)
    assert sheet.clients == {"off": 8, "on": 8}
    score = sheet_of('{"metric": "score", "higher_is_better": true, "arms": {"a": [1], "b": [2]}}')
    assert score.metrics[0][0] == Metric("score", "", True)


def test_units_behind_the_numbers_of_lists_are_read() -> None:
    assert sheet_of('{"off": ["9 ms"], "on": ["8 ms"]}').metrics[0][0] == Metric(TIME, "ms", False)
    assert sheet_of('["1 s", "2 s"]').metrics[0][0] == Metric(TIME, "s", False)
    text = '{"metric": "latency", "arms": {"a": ["1 s"], "b": ["2 s"]}}'
    assert sheet_of(text).metrics[0][0] == Metric(LATENCY, "s", False)


def test_records_are_a_table_in_long_form() -> None:
    sheet = sheet_of(
        '[{"arm": "off", "tps": 10, "block": 1}, {"arm": "on", "tps": 11, "block": 1}]'
    )
    assert arms_of(sheet) == {"off": [10], "on": [11]}
    assert (sheet.metrics[0][0].name, sheet.rows) == (THROUGHPUT, Rows.BLOCKS)


def test_one_object_a_line_is_a_list_of_records() -> None:
    text = '{"arm": "off", "s": 1}\n{"arm": "on", "s": 2}\n{"arm": "off", "s": 3}\n'
    assert arms_of(sheet_of(text)) == {"off": [1, 3], "on": [2]}


def test_a_list_of_numbers_is_one_arm() -> None:
    assert only(sheet_of("[1, 2, 3]")).values.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"off": [1, 2,\n "x"], "on": [1]}', 'line 2, column 2: "x" is not a number'),
        ('{"off": [1, null], "on": [1]}', "line 1, column 13: null where a number is expected"),
        ('{"off": [1, true], "on": [1]}', "line 1, column 13: true where a number is expected"),
        ('{"off": [1, [2]], "on": [1]}', "line 1, column 13: a list where a number is expected"),
        ('{"off": [1, NaN], "on": [1]}', 'line 1, column 13: "NaN" is not a finite number'),
        ('{"off": [1, -0.5], "on": [1]}', 'line 1, column 13: "-0.5" is negative'),
        ('{"off": [1, 0], "on": [1]}', 'line 1, column 13: "0" is zero'),
        ('{"off": ["9 s"], "on": ["2 min"]}', "line 1, column 25: mixed units: min after s"),
        ('{"off": ["9 s"], "on": [2]}', "line 1, column 25: mixed units: none after s"),
        ('{"arms": {"a": ["9 s"]}, "unit": "ms"}', "mixed units: s for time in ms"),
        ('{"unit": "ms", "metric": "tps", "arms": {"a": [1]}}', "column 10: mixed units: ms for"),
        ('{"off": [1], "on": [2],\n "off": [3]}', 'line 2, column 2: "off" stands twice in one'),
        ('{"arm": "a", "s": 1, "\\u0073": 2}', 'line 1, column 22: "s" stands twice in one object'),
        ('[{"a": {"a": 1}}, {"b": "a", "b": 1}]', 'column 30: "b" stands twice in one object'),
        ('{"off": [' + "9" * 5_000 + ', 1], "on": [1, 2]}', "column 10: "),
        ('{"off": [' + "9" * 5_000 + '], "on": ["x"]}', "column 10: "),
        ('{"off": [], "on": [1]}', 'line 1, column 9: arm "off" is empty'),
        ('{"off": [1, 2}', "line 1, column 14: this is not JSON: expecting ',' delimiter"),
        ('{"off": "a"}', 'line 1, column 9: "a" is not a number'),
        ("{}", "line 1, column 1: no numbers by arm in this JSON"),
        ("[]", "line 1, column 1: no numbers by arm in this JSON"),
        ("[" * 100_000, "line 1, column 1: nested too deeply for a file of numbers"),
        ('{"arms": {"a": [1]}, "metrics": 1}', 'line 1, column 33: unrecognized key "metrics"'),
        ('{"arms": {"a": [1]}, "metric": 1}', "line 1, column 32: a number cannot be the value"),
        ('{"arms": {"a": [1], "b": [2]}, "clients": "8"}', "column 43: a string is no number of"),
        ('[{"arm": "a", "s": 1}, 2]', "line 1, column 1: no numbers by arm"),
        (
            '[{"arm": "a", "s": 1},\n {"arm": "b", "s": "fast"}]',
            'line 2, column 20: "fast" is not a number',
        ),
        ('[{"arm": "a", "s": 1},\n {"arm": "b"}]', "line 2, column 2: a number is missing"),
        ('{"arm": "a", "s": 1}\n7', "line 2, column 1: a number between records"),
    ],
)
def test_faults_are_refused_with_line_and_column(text: str, said: str) -> None:
    assert said in refusal(text)


def test_lists_of_records_one_after_the_other_are_rows() -> None:
    plans = [[{"Plan": {"Node Type": "Seq Scan"}, "Execution Time": ms}] for ms in (81.5, 82.5)]
    sheet = sheet_of("\n".join(map(json.dumps, plans)))
    assert arms_of(sheet) == {"": [81.5, 82.5]}
    assert refusal('[{"s": 1}]\n[{"s": "x9y"}, {"s": 2}, {"s": 3}]').startswith(
        '"f.txt" line 2, column 8: "x9y" is not a number'
    )


NESTED = {
    "requests": {"mean": 998.5},
    "latency": {"p99": 9},
    "latencies_ms": [1, 2],
    "result": {"tps": 998.5},
}


@pytest.mark.parametrize("key", NESTED)
def test_beside_what_is_nested_the_length_of_runs_is_asked_about(key: str) -> None:
    records = [
        {"arm": arm, "duration": 60 + n / 1e3, key: NESTED[key]} for n in range(4) for arm in "ab"
    ]
    error = refused_text(json.dumps(records))
    assert '"duration" may say how long each run was' in error.primary
    assert f'in "{key}"' in str(error.detail)
    assert '--metric "duration"' in str(error.hint)
    assert judged_text(json.dumps(records), metric="duration").comparison.metric.name == TIME


@pytest.mark.parametrize(
    ("key", "value", "time"),
    [
        ("Plan", {"Actual Total Time": 60.5}, "Total Runtime"),
        ("rows", [[1, 2]], "time_ms"),
        ("settings", {"jit": "on"}, "duration"),
        ("latency", {"p99": 9}, "query_time_ms"),
        ("latency", {"p99": 9}, "tps"),
    ],
)
def test_what_is_nested_is_left_out_beside_what_surely_was_measured(
    key: str, value: Any, time: str
) -> None:
    records = [{"arm": arm, time: 60 + n / 1e3, key: value} for n in range(4) for arm in "ab"]
    judgement = judged_text(json.dumps(records))
    assert judgement.comparison.metric.column == time


class Counted(str):
    """A text that counts what is copied out of it."""

    copied = 0

    def __getitem__(self, part: Any) -> str:
        piece = super().__getitem__(part)
        self.copied += len(piece)
        return piece


def test_of_objects_a_line_no_line_copies_the_rest_of_the_text() -> None:
    text = Counted('{"arm": "off", "s": 1}\n{"arm": "on", "s": 2}\n' * 500)
    assert len(read_document(SourceText("f.txt", text)).values) == 1_000
    assert text.copied <= 2 * len(text)


def test_records_of_too_many_different_keys_are_refused() -> None:
    text = "".join(f'{{"arm": "a", "k{n}": 1}}\n' for n in range(1_000))
    assert "1001 different keys: more than 1000, the limit" in refusal(text)


@given(
    st.recursive(
        st.integers() | st.floats(allow_nan=False) | st.text() | st.booleans() | st.none(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
        max_leaves=12,
    ),
    st.sampled_from([None, 1]),
    st.data(),
)
def test_every_value_is_found_where_it_begins(value: Any, indent: int | None, data: Any) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    path, at = [], value
    while isinstance(at, dict | list) and at and data.draw(st.booleans()):
        step = data.draw(st.sampled_from(sorted(at) if isinstance(at, dict) else range(len(at))))
        path.append(step)
        at = at[step]
    found, _ = json.JSONDecoder().raw_decode(text, offset_of(text, path))
    assert found == at
