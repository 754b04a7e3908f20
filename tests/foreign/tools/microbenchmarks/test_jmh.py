"""Percentiles and profilers of JMH are no benchmarks, and its commas are decimal ones."""

from __future__ import annotations

import pytest

from foreign.reading import assert_values, only, refusal, sheet_of
from steelyard.foreign.metric import TIME

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
