"""Runs of one file are in one unit of time, and a rate that was given is not judged."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreign.reading import assert_values, only, refusal, sheet_of
from steelyard.foreign.metric import LATENCY, THROUGHPUT, TIME, Metric
from steelyard.foreign.source import SourceText
from steelyard.foreign.tools.measured_runs import FIXED_RATE, MeasuredRun, sheet_of_runs
from steelyard.foreign.vocabulary.units import SECONDS
from steelyard.model.errors import NumbersError

SOURCE = SourceText("f.txt", "")
RATE = Metric(THROUGHPUT, "requests/s", True)
MEAN = Metric(LATENCY, "ms", False)


@given(st.lists(st.tuples(st.sampled_from(sorted(SECONDS)), st.floats(1e-3, 1e3)), min_size=1))
def test_times_are_in_the_unit_of_the_first_run(times: list[tuple[str, float]]) -> None:
    runs = [MeasuredRun({Metric(TIME, unit, False): value}) for unit, value in times]
    sheet = sheet_of_runs(SOURCE, "a form", runs)
    [(metric, (series,))] = sheet.metrics
    assert metric.unit == times[0][0]
    assert_values(series, [value * SECONDS[u] / SECONDS[metric.unit] for u, value in times])


def test_two_times_of_one_run_are_two_things() -> None:
    figures = {Metric(TIME, "ns", False): 1090.5, Metric(TIME, "ms", False): 3.5}
    sheet = sheet_of_runs(SOURCE, "a form", [MeasuredRun(figures)] * 2)
    assert [(metric.unit, s[0].values[0]) for metric, s in sheet.metrics] == [
        ("ns", 1090.5),
        ("ms", 3.5),
    ]


def test_runs_without_a_figure_in_common_are_refused_by_what_they_have() -> None:
    runs = [MeasuredRun({RATE: 1.5}, 3), MeasuredRun({MEAN: 1.5}, 7)]
    with pytest.raises(NumbersError) as refused:
        sheet_of_runs(SOURCE, "a form", runs)
    for words in ("line 7", "latency mean in ms", "line 3", "throughput in requests/s"):
        assert words in refused.value.primary
    assert refused.value.hint


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_rates_come_last_where_they_were_given(order: tuple[int, ...]) -> None:
    every = [(RATE, 5.5), (MEAN, 7.5), (Metric("goodput", "requests/s", True), 5.4)]
    runs = [MeasuredRun(dict(every[place] for place in order))] * 2
    sheet = sheet_of_runs(SOURCE, "a form", runs, rated=True)
    assert sheet.metrics[0][0] == MEAN
    assert FIXED_RATE in sheet.notes
    assert sheet_of_runs(SOURCE, "a form", runs).metrics[0][0] == every[order[0]][0]


def test_nothing_but_a_rate_that_was_given_is_refused() -> None:
    with pytest.raises(NumbersError) as refused:
        sheet_of_runs(SOURCE, "a form", [MeasuredRun({RATE: 5.5})], rated=True)
    assert "fixed rate" in refused.value.primary


@pytest.mark.parametrize("text_form", ["json", "csv"])
def test_google_benchmark_in_two_units_is_read(text_form: str) -> None:
    rows = [("A", 101.5, "ns"), ("B", 2.5, "us"), ("A", 102.5, "ns"), ("B", 2.6, "us")]
    benchmarks = [
        {"name": name, "run_type": "iteration", "real_time": t, "cpu_time": t, "time_unit": unit}
        for name, t, unit in rows
    ]
    text = json.dumps({"benchmarks": benchmarks})
    if text_form == "csv":
        text = "name,iterations,real_time,cpu_time,time_unit\n" + "".join(
            f'"{name}",10,{t},{t},{unit}\n' for name, t, unit in rows
        )
    assert_values(only(sheet_of(text)), [101.5, 2500, 102.5, 2600])
    assert sheet_of(text).metrics[0][0].unit == "ns"


def test_units_that_cannot_be_converted_are_refused_by_name() -> None:
    text = (
        "Benchmark   Mode  Cnt  Score   Error  Units\n"
        "B.q  avgt  5  12.5 ± 0.1  us/op\nB.r  thrpt  5  12.5 ± 0.1  ops/s\n"
    )
    assert "line 3, column 1" in refusal(text)
