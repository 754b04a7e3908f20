"""Of microbenchmarks forks, repetitions and lines are rows, samples of a process slices;
percentiles and profilers of JMH are no benchmarks, and its commas are decimal ones."""

from __future__ import annotations

import json
from typing import Any

import pytest

from foreign.judged_files import INPUTS, doubts, judged, judged_text, percent
from foreign.reading import assert_values, only, refusal, sheet_of
from steelyard.foreign.formats import format_of, read_sheet
from steelyard.foreign.metric import TIME
from steelyard.foreign.series import Grain
from steelyard.foreign.source import open_source


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("go_old.txt", "go"),
        ("go_old_bare.txt", "go"),
        ("jmh.csv", "jmh-text"),
        ("gb_a.csv", "google-benchmark-csv"),
        ("crit_a.csv", "criterion"),
    ],
)
def test_they_are_told_by_their_content(name: str, form: str) -> None:
    assert format_of(open_source(INPUTS / name)) == form


def test_lines_of_go_are_repetitions_of_time_an_operation_and_not_of_iterations() -> None:
    judgement = judged("old=go_old.txt", "new=go_new.txt")
    assert percent(judgement) == pytest.approx(-10.6, abs=0.05)
    assert judgement.comparison.metric.unit == "ns"
    names = [m.column for m, _ in read_sheet(open_source(INPUTS / "go_old.txt")).metrics]
    assert names == ["ns/op", "B/op", "allocs/op"]


def test_benchmarks_of_go_are_paired_by_name_and_other_machines_are_named() -> None:
    def text(cpu: str, ns: float) -> str:
        lines = "".join(
            f"Benchmark{b}-8\\t100\\t{ns * k} ns/op\\n" for k, b in ((1, "A"), (9, "B"))
        )
        return f"goos: linux\ncpu: {cpu}\n{lines.encode().decode('unicode_escape')}"

    judgement = judged_text(text("one", 100.5), text("other", 110.5))
    assert judgement.comparison.row_names == ("A-8", "B-8")
    assert "conditions differ" in doubts(judgement)
    assert "a benchmark failed" in refusal(text("one", 5.5) + "--- FAIL: BenchmarkC\n")


def result(name: str, raw: list[list[float]], mode: str = "thrpt", unit: str = "ops/s") -> Any:
    mean = sum(map(sum, raw)) / sum(map(len, raw))
    metric = {"score": mean, "scoreUnit": unit, "rawData": raw}
    return {"benchmark": name, "mode": mode, "forks": len(raw), "primaryMetric": metric}


def test_forks_of_jmh_are_repetitions_and_iterations_of_one_are_slices() -> None:
    forks = sheet_of(json.dumps([result("a", [[10.5, 11.5], [12.5, 13.5], [14.5, 15.5]])]))
    assert_values(only(forks), [11, 13, 15])
    assert only(forks).grain is Grain.REPETITION
    alone = sheet_of(json.dumps([result("a", [[10.5, 11.5, 12.5]])]))
    assert_values(only(alone), [10.5, 11.5, 12.5])
    assert only(alone).grain is Grain.SLICE


def test_the_mode_of_jmh_says_which_way_is_better() -> None:
    rate = sheet_of(json.dumps([result("a", [[10.5, 11.5]])])).metrics[0][0]
    time = sheet_of(json.dumps([result("a", [[10.5, 11.5]], "avgt", "ns/op")])).metrics[0][0]
    assert (rate.unit, rate.higher_is_better) == ("operations/s", True)
    assert (time.unit, time.higher_is_better) == ("ns", False)


def test_scores_of_jmh_are_read_in_csv_and_text_and_paired_by_benchmark() -> None:
    judgement = judged("old=jmh.csv", "new=jmh_new.csv")
    figures = [arm.values.tolist() for arm in judgement.comparison.arms]
    assert figures == [[1234567.8, 834567.8], [1334567.8, 854567.8]]
    table = (
        "Benchmark            (size)   Mode  Cnt        Score      Error  Units\n"
        "o.x.KvBench.get          10  thrpt    5  1234567.800 ± 1200.100  ops/s\n"
        "o.x.KvBench.get         100  thrpt    5   834567.800 ± 1500.100  ops/s\n"
    )
    sheet = sheet_of(table)
    assert_values(only(sheet), [1234567.8, 834567.8])
    assert only(sheet).factors[0].values == ("o.x.KvBench.get 10", "o.x.KvBench.get 100")


def test_a_score_that_is_not_the_mean_of_its_raw_data_is_said() -> None:
    judgement = judged("old=jmh_old.json", "new=jmh_new.json")
    assert any("is not the mean of its raw data" in note for note in judgement.comparison.notes)


def test_repetitions_of_google_benchmark_are_rows_without_their_aggregates() -> None:
    judgement = judged("a=gb_a.csv", "b=gb_b.csv")
    assert [len(arm.values) for arm in judgement.comparison.arms] == [10, 10]
    assert percent(judgement) == pytest.approx(10.5, abs=0.05)
    rows = [
        {"name": "BM", "run_type": "iteration", "real_time": 9.5, "cpu_time": 9, "time_unit": "us"},
        {
            "name": "BM",
            "run_type": "iteration",
            "real_time": 9.75,
            "cpu_time": 9,
            "time_unit": "us",
        },
        {"name": "BM_mean", "run_type": "aggregate", "real_time": 9.6, "cpu_time": 9},
    ]
    sheet = sheet_of(json.dumps({"context": {}, "benchmarks": rows}))
    assert_values(only(sheet), [9.5, 9.75])
    assert sheet.metrics[0][0].unit == "µs"
    failed = [{**rows[0], "error_occurred": True}]
    assert 'benchmark "BM" failed' in refusal(json.dumps({"benchmarks": failed}))


def test_how_time_grows_over_sizes_is_no_repetition() -> None:
    ends = '"BM_get_BigO",,0.81,0.80,NlgN\n"BM_get_RMS",,4,4,%\n'
    sheet = sheet_of((INPUTS / "gb_a.csv").read_text() + ends)
    assert len(only(sheet).values) == 10


def test_rounds_and_samples_of_one_process_are_slices() -> None:
    judgement = judged("a=crit_a2.csv", "b=crit_b2.csv")
    assert percent(judgement) == pytest.approx(20.0, abs=0.05)
    assert "one run per arm" in doubts(judgement)
    sample = {"sampling_mode": "Linear", "iters": [10, 20], "times": [100.0, 240.0]}
    assert_values(only(sheet_of(json.dumps(sample))), [10, 12])
    data = {"name": "t", "stats": {"data": [0.5, 0.25], "mean": 0.375}}
    rounds = only(sheet_of(json.dumps({"machine_info": {}, "benchmarks": [data]})))
    assert_values(rounds, [0.5, 0.25])
    assert rounds.grain is Grain.SLICE
    several = only(sheet_of(json.dumps({"benchmarks": [data, {**data, "name": "u"}]})))
    assert_values(several, [0.375, 0.375])
    assert several.grain is Grain.REPETITION


@pytest.mark.parametrize(
    ("text", "form", "said"),
    [
        ("PASS\n", "go", "no figure above zero"),
        ("a,b\n1,2\n", "jmh-text", "no figure above zero"),
        ("a,b\n1,2\n", "google-benchmark-csv", 'no column "name"'),
        ("a,b\n1,2\n", "criterion", 'no column "group"'),
        ('[{"primaryMetric": {}}]', None, "a result of JMH without a score"),
    ],
)
def test_what_is_no_result_is_refused(text: str, form: str | None, said: str) -> None:
    assert said in refusal(text, form)


HEAD = "Benchmark                  Mode     Cnt    Score    Error  Units\n"
SECONDARY = {
    "percentile": "B.q:p0.00 sample 9.635 us/op",
    "last percentile": "B.q:p1.00 sample 10025.482 us/op",
    "percentile, comma": "B.q:p0,9999 sample 25,482 us/op",
    "allocation": "B.q:gc.alloc.rate avgt 5 1234.567 ± 1.2 MB/sec",
    "bytes": "B.q:gc.alloc.rate.norm avgt 5 56.000 ± 0.1 B/op",
    "before 1.37": "B.q:·gc.alloc.rate.norm avgt 5 56.000 ± 0.1 B/op",
    "without colon": "B.q·gc.churn.G1_Eden_Space avgt 5 56.000 ± 0.1 MB/sec",
    "counter": "B.q:L1-dcache-loads avgt 5 185.944 ± 3.725 #/op",
    "cycles": "B.q:CPI avgt 5 0.288 ± 0.026 clks/insn",
    "rounded": "B.q:gc.alloc.rate.norm avgt 5 ≈ 10⁻⁶ B/op",
    "count": "B.q:gc.count avgt 5 10.000 counts",
}


def table(*lines: str) -> str:
    return HEAD + "".join(f"{line}\n" for line in lines)


@pytest.mark.parametrize("line", SECONDARY.values(), ids=SECONDARY)
def test_lines_that_are_no_benchmark_are_left_out(line: str) -> None:
    sheet = sheet_of(table("B.q avgt 5 50.236 ± 0.012 us/op", line))
    assert_values(only(sheet), [50.236])
    assert sheet.metrics[0][0].name == TIME


@pytest.mark.parametrize("name", ["B.q:p0.50", "B.q:gc.alloc.rate", "B.q:·stack", "B.q:CPI"])
def test_rows_of_csv_that_are_no_benchmark_are_left_out(name: str) -> None:
    unit = "us/op" if ":p" in name else "#/op"
    text = (
        '"Benchmark","Mode","Threads","Samples","Score","Score Error (99.9%)","Unit"\n'
        '"B.q","sample",1,5,50.236,0.012,"us/op"\n'
        f'"{name}","sample",1,1,9.635,NaN,"{unit}"\n'
    )
    sheet = sheet_of(text)
    assert_values(only(sheet), [50.236])
    assert sheet.notes == ("1 lines of percentiles and of profilers were left out",)


def test_methods_of_a_group_are_benchmarks() -> None:
    lines = ("B.g thrpt 5 30.5 ± 0.1 ops/us", "B.g:get thrpt 5 20.5 ± 0.1 ops/us")
    assert_values(only(sheet_of(table(*lines))), [30.5, 20.5])


@pytest.mark.parametrize(
    ("scores", "values"),
    [
        (("12,345 ± 0,012", "13,456 ± 0,013"), [12.345, 13.456]),
        (("1234,567 ± 123,456", "13,456 ± 10,013"), [1234.567, 13.456]),
        (("0,345", "13,456"), [0.345, 13.456]),
        (("12345.678 ± 100.012", "13.456 ± 1.013"), [12345.678, 13.456]),
    ],
)
def test_commas_are_decimal_ones_where_scores_or_errors_say_so(
    scores: tuple[str, ...], values: list[float]
) -> None:
    lines = [f"B.q{n} avgt 5 {score} us/op" for n, score in enumerate(scores)]
    assert_values(only(sheet_of(table(*lines))), values)
    rows = [score.split(" ± ") for score in scores]
    text = (
        '"Benchmark","Mode","Threads","Samples","Score","Score Error (99,9%)","Unit"\n'
        + "".join(
            f'"B.q{n}","avgt",1,5,"{row[0]}","{row[-1]}","us/op"\n' for n, row in enumerate(rows)
        )
    )
    assert_values(only(sheet_of(text)), values)


@pytest.mark.parametrize(
    ("scores", "reason"),
    [
        (("12,345", "13,456"), "could be a decimal comma or a separator of thousands"),
        (("12,345 ± 0,012", "13.456 ± 0.013"), "has a decimal comma"),
        (("1,234,567.800 ± 1.5",), "is not a number"),
    ],
)
def test_commas_that_could_be_others_are_refused_with_their_line(
    scores: tuple[str, ...], reason: str
) -> None:
    message = refusal(table(*(f"B.q{n} avgt 5 {score} us/op" for n, score in enumerate(scores))))
    assert reason in message
    assert "line 2, column 1" in message or "line 3, column 1" in message


def test_scores_without_digits_are_said_and_left_out() -> None:
    sheet = sheet_of(table("B.q avgt 5 50.236 ± 0.012 us/op", "B.r avgt 5 ≈ 10⁻⁴ us/op"))
    assert_values(only(sheet), [50.236])
    assert any("-tu" in note for note in sheet.notes)


def test_benchmarks_in_two_units_of_time_are_in_the_first() -> None:
    lines = ("B.q avgt 5 50.5 ± 0.1 us/op", "B.r avgt 5 2.5 ± 0.1 ms/op")
    sheet = sheet_of(table(*lines))
    assert_values(only(sheet), [50.5, 2500])
    assert sheet.metrics[0][0].unit == "µs"
