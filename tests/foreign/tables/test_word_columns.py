"""A column of units says what numbers are in, and units that contradict each other are refused."""

from __future__ import annotations

import pytest

from foreign.reading import arms_of, only, refusal, sheet_of
from steelyard.foreign.metric import LATENCY, THROUGHPUT, TIME, Metric
from steelyard.model.errors import NumbersError

MS = Metric(TIME, "ms", False)


def test_a_column_names_the_unit_of_the_numbers_beside_it() -> None:
    sheet = sheet_of("arm,value,unit\noff,1,msec\non,2,ms\n")
    assert sheet.metrics[0][0] == MS
    assert arms_of(sheet) == {"off": [1], "on": [2]}
    beside = sheet_of("off,on,unit\n1,2,ms\n3,4,ms\n")
    assert (beside.metrics[0][0], list(arms_of(beside))) == (MS, ["off", "on"])
    alone = sheet_of("time,unit\n1,ms\n3,ms\n")
    assert (alone.metrics[0][0], only(alone).values.tolist()) == (MS, [1, 3])
    records = '[{"arm": "off", "time": 1, "unit": "ms"}, {"arm": "on", "time": 2, "unit": "ms"}]'
    assert sheet_of(records).metrics[0][0] == MS


def test_a_unit_belongs_to_the_columns_that_can_be_in_it() -> None:
    sheet = sheet_of("name,iterations,latency,tps,time_unit\na,9,1,5,ns\nb,9,2,6,ns\na,9,2,5,ns\n")
    assert [metric for metric, _ in sheet.metrics] == [
        Metric(THROUGHPUT, "transactions/s", True),
        Metric(LATENCY, "ns", False),
        Metric("iterations", "", None),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("arm,value,unit\noff,1,ms\non,2,s\n", "line 3, column 6: mixed units: s after ms"),
        ("off,on,unit\n1,2,ms\n3,4,s\n", "line 3, column 5: mixed units: s after ms"),
        ("time,unit\n1,ms\n3,s\n", "line 3, column 3: mixed units: s after ms"),
        ("arm,value,unit\noff,1,ms\non,2,\n", "line 3, column 6: mixed units: none after ms"),
        ("arm,ms,unit\noff,1,s\non,2,s\n", "line 2, column 5: mixed units: s for time in ms"),
        ("arm,tps,unit\noff,1,s\non,2,s\n", "column 5: mixed units: s for throughput in tran"),
        ("arm,ms\noff,1 s\non,2 s\n", "line 2, column 5: mixed units: s for time in ms"),
        ("tps_off,tps_on\n1 s,2 s\n", "line 2, column 1: mixed units: s for throughput in tran"),
        ("off (ms),on (ms)\n1 s,2 s\n", "line 2, column 1: mixed units: ms after s"),
        ("tps\n1s\n2s\n", "line 2, column 1: mixed units: s for throughput in transactions/s"),
    ],
)
def test_units_that_differ_are_refused_with_their_place(text: str, said: str) -> None:
    assert said in refusal(text)


def test_a_column_of_nothing_but_units_needs_no_heading() -> None:
    assert sheet_of("off,9,ms\non,8,ms\noff,9,ms\n").metrics[0][0].unit == "ms"
    said = refusal("off,9,ms\non,8,s\noff,9,ms\non,8,s\n")
    assert said == '"f.txt" line 2, column 6: mixed units: s after ms'


def test_arms_that_are_called_units_can_be_said_to_be_arms() -> None:
    sheet = sheet_of("unit,ms\nA,1\nB,2\nA,3\n", arm="unit")
    assert arms_of(sheet) == {"A": [1, 3], "B": [2]}


def test_several_metrics_in_one_column_are_not_averaged() -> None:
    said = refusal("arm,metric,value\noff,tps,900\non,tps,910\noff,latency,9\non,latency,8\n")
    assert 'line 4, column 5: several metrics in one column: "latency" after "tps"' in said
    one = sheet_of("arm,metric,value\noff,tps,900\non,tps,910\noff,tps,905\non,tps,911\n")
    assert arms_of(one) == {"off": [900, 905], "on": [910, 911]}


@pytest.mark.parametrize(
    ("heads", "cells", "units"),
    [
        (
            "mean,p99,mean_rate,m1_rate,rate_unit,duration_unit",
            "3,9,50,51,calls/second,milliseconds",
            {"mean": "ms", "p99": "ms", "mean_rate": "operations/s", "m1_rate": "operations/s"},
        ),
        (
            "mean,throughput,duration_unit,rate_unit",
            "3,50,seconds,events/second",
            {"mean": "s", "throughput": "items/s"},
        ),
        (
            "latency,latency_unit,duration,duration_unit",
            "3,ms,60,s",
            {"latency": "ms", "duration": "s"},
        ),
        ("mean,score,mean_unit,score_unit", "3,4,ms,MB/s", {"mean": "ms", "score": "MB/s"}),
        ("mean,max,rate_unit", "3,4,MB/s", {"mean": "MB/s", "max": "MB/s"}),
        ("mean,mean_rate,rate_unit", "3,4,calls/s", {"mean": "", "mean_rate": "operations/s"}),
        ("value,tps,unit", "3,4,ms", {"value": "ms", "tps": "transactions/s"}),
        ("mean,max,time_unit,latency_unit", "3,9,ms,ms", {"mean": "ms", "max": "ms"}),
    ],
)
def test_of_several_columns_of_units_each_is_about_its_own_numbers(
    heads: str, cells: str, units: dict[str, str]
) -> None:
    sheet = sheet_of(f"arm,{heads}\n" + "".join(f"{arm},{cells}\n" for arm in ("a", "b", "a")))
    assert {metric.column: metric.unit for metric, _ in sheet.metrics} == units


def test_two_units_that_a_column_could_be_in_are_refused_with_what_to_type() -> None:
    with pytest.raises(NumbersError) as refused:
        sheet_of("arm,mean,time_unit,latency_unit\na,3,ms,s\nb,4,ms,s\n")
    said = 'columns "time_unit" and "latency_unit" name different units, and nothing says which'
    assert f"line 2, column 8: {said}" in refused.value.primary
    assert "after its numbers: mean_unit" in str(refused.value.hint)


@pytest.mark.parametrize("other", ["compression", "fsync", "jit"])
@pytest.mark.parametrize("switches", [("on", "off"), ("true", "false"), ("enabled", "disabled")])
def test_two_switches_could_each_name_the_arms(other: str, switches: tuple[str, str]) -> None:
    rows = [f"{a},{b},{1000 + 7 * k % 13}.5" for k in range(4) for a in switches for b in switches]
    text = "\n".join([f"checksums,{other},tps", *rows]) + "\n"
    with pytest.raises(NumbersError, match="could each name the arms"):
        sheet_of(text)
    assert sheet_of(text, arm="checksums").metrics
