"""Numbers are read as they are meant, or refused with line, column and the reason."""

from __future__ import annotations

import pytest

from foreign.reading import arms_of, refusal, sheet_of
from steelyard.foreign.metric import LATENCY, THROUGHPUT, TIME, Metric
from steelyard.foreign.vocabulary.heading import metric_of
from steelyard.foreign.vocabulary.units import unit_of


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("1,2\n3,x\n5,6\n", 'line 3, column 3: "x" is not a number'),
        ("1,2\n 3,  4y2\n", 'line 3, column 6: "4y2" is not a number'),
        ("1,2\n3,0\n", 'line 3, column 3: "0" is zero: arms are compared by ratios'),
        ("1,2\n3,-4\n", 'line 3, column 3: "-4" is negative: arms are compared by ratios'),
        ("1,2\n3,nan\n", 'line 3, column 3: "nan" is not a finite number'),
        ("1,2\n3,NaN\n4,5\n", 'line 3, column 3: "NaN" is not a finite number'),
        ("1,2\n3,inf\n", 'line 3, column 3: "inf" is not a finite number'),
        ("1,2\n3,1e999\n", 'line 3, column 3: "1e999" is not a finite number'),
        ("1,2\n,3\n4,5\n", "line 3, column 1: a number is missing"),
        ("1,2\nNA,3\n4,5\n", "line 3, column 1: a number is missing"),
        ("1,2\n3,1_000\n", 'line 3, column 3: "1_000" is not a number'),
        ("1,2\n3,١٢\n", 'line 3, column 3: "١٢" is not a number'),
        ("1,2\n3,0x1f\n", 'line 3, column 3: "0x1f" is not a number'),
        ("9 ms,8 ms\n1 s,8 ms\n", 'line 3, column 1: mixed units: "1 s" after "9 ms"'),
        ("1,2\n3\n", "line 3, column 2: 1 cell where the first line has 2"),
        ("1,2\n3,4,5\n", "line 3, column 5: 3 cells where the first line has 2"),
    ],
)
def test_bad_cells_are_refused_with_line_and_column(rows: str, said: str) -> None:
    assert refusal("off,on\n" + rows).startswith(f'"f.txt" {said}')


def test_a_heading_alone_is_refused() -> None:
    assert (
        refusal("off,on\n") == '"f.txt" line 1, column 1: there is a heading, but no row of numbers'
    )


@pytest.mark.parametrize("separator", [",", ";", "\t", "|", " ", "   "])
def test_every_usual_separator_is_found(separator: str) -> None:
    rows = [("off", "on"), ("1.5", "2.5"), ("3.25", "4")]
    text = "\n".join(separator.join(row) for row in rows)
    assert arms_of(sheet_of(text)) == {"off": [1.5, 3.25], "on": [2.5, 4]}


def test_decimal_commas_are_read_where_they_are_clear() -> None:
    assert arms_of(sheet_of("off;on\n1,5;2,25\n3,5;4\n")) == {"off": [1.5, 3.5], "on": [2.25, 4]}
    assert arms_of(sheet_of("off on\n1,5 2,25\n3,5 4\n"))["on"] == [2.25, 4]
    assert arms_of(sheet_of("off;on\n0,098;0,102\n")) == {"off": [0.098], "on": [0.102]}


def test_one_clear_decimal_comma_settles_all_of_a_table() -> None:
    sheet = sheet_of("off;on\n0,981;1,003\n1,004;1,011\n")
    assert arms_of(sheet) == {"off": [0.981, 1.004], "on": [1.003, 1.011]}
    listed = sheet_of("arm;ms\noff;1,003\non;1,25\noff;1,004\n")
    assert arms_of(listed) == {"off": [1.003, 1.004], "on": [1.25]}


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("1,234;5\n", '"1,234" could be a decimal comma or a separator of thousands'),
        ("1,5;5\n1.5;6\n", '"1,5" has a decimal comma, "1.5" a decimal point'),
        ("1,5;1.234\n", '"1,5" has a decimal comma, "1.234" a decimal point'),
        ("1,234;1,003\n", '"1,234" could be a decimal comma or a separator of thousands'),
        ("1.234,5;5\n", '"1.234,5" is not a number'),
        ("1'234;5\n", '"1\'234" is not a number'),
    ],
)
def test_doubtful_commas_are_refused(rows: str, said: str) -> None:
    assert said in refusal("off;on\n" + rows)


def test_a_decimal_comma_between_commas_is_noticed() -> None:
    assert "4 cells where the first line has 2" in refusal("off,on\n1,5,2,5\n")


def test_units_behind_numbers_are_taken_off() -> None:
    sheet = sheet_of("off,on\n9.5 ms,8ms\n9 msec,8.5 ms\n")
    assert arms_of(sheet) == {"off": [9.5, 9], "on": [8, 8.5]}
    assert sheet.metrics[0][0] == Metric(TIME, "ms", False)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("100.08 s\n101 s\n", {"column 1": [100.08, 101]}),
        ("100 s\n100.5 s\n", {"column 1": [100, 100.5]}),
        ("runtime\n100 s\n101 s\n", {"": [100, 101]}),
        ("off on\n9.5 ms 8 ms\n9 ms  8.5 ms\n", {"off": [9.5, 9], "on": [8, 8.5]}),
        ("9.5 ms 8 ms\n9 ms 8.5 ms\n", {"column 1": [9.5, 9], "column 2": [8, 8.5]}),
        ("arm value unit\noff 9 ms\non 8 ms\n", {"off": [9], "on": [8]}),
        ("off 9 ms\non 8 ms\noff 7 ms\non 6 ms\n", {"off": [9, 7], "on": [8, 6]}),
    ],
)
def test_between_blanks_a_number_and_its_unit_are_one(
    text: str, expected: dict[str, list[float]]
) -> None:
    sheet = sheet_of(text)
    assert arms_of(sheet) == expected
    assert sheet.metrics[0][0].unit in ("s", "ms")


def test_units_between_blanks_must_agree() -> None:
    assert "mixed units" in refusal("off 9 ms\non 8 s\noff 9 ms\non 8 s\n")
    assert "mixed units" in refusal("9.5 ms\n9 s\n")


def test_the_place_of_a_number_with_its_unit_is_that_of_the_number() -> None:
    said = refusal("off on\n9.5 ms 8 ms\n9 ms 8.5 s\n")
    assert said == '"f.txt" line 3, column 6: mixed units: "8.5 s" after "8 ms"'
    ragged = refusal("off on\n9 ms 8 ms\n9 ms 8 ms 7 ms\n")
    assert "line 3, column 11: 3 cells where the first line has 2" in ragged


def test_a_first_line_whose_words_come_again_is_no_heading() -> None:
    sheet = sheet_of("off,100\non,101\noff,102\non,103\n")
    assert arms_of(sheet) == {"off": [100, 102], "on": [101, 103]}


@pytest.mark.parametrize(
    ("heading", "metric"),
    [
        ("tps", Metric(THROUGHPUT, "transactions/s", True)),
        ("TPS (excl.)", Metric(THROUGHPUT, "transactions/s", True)),
        ("NOPM", Metric(THROUGHPUT, "NOPM", True)),
        ("latency_ms", Metric(LATENCY, "ms", False)),
        ("avg latency [µs]", Metric(LATENCY, "µs", False)),
        ("elapsed_seconds", Metric(TIME, "s", False)),
        ("time", Metric(TIME, "", False)),
        ("seconds", Metric(TIME, "s", False)),
        ("score", None),
        ("off", None),
        ("shared_buffers", None),
    ],
)
def test_headings_tell_what_was_measured_where_they_do(heading: str, metric: Metric | None) -> None:
    assert metric_of(heading) == metric


def test_words_of_units_are_known_and_others_are_not() -> None:
    assert [unit_of(word) for word in ("msec", "USEC", "tps", "furlong")] == [
        "ms",
        "µs",
        "transactions/s",
        None,
    ]


@pytest.mark.parametrize(
    ("cells", "values", "unit"),
    [
        (("15.2k", "14k"), [15_200, 14_000], ""),
        (("1.5M", "2M"), [1.5e6, 2e6], ""),
        (("81.2 ± 1.1", "85"), [81.2, 85], ""),
        (("81.2 ms ± 1.1", "85 +/- 2 ms"), [81.2, 85], "ms"),
        (("1:20.13", "2:00"), [80.13, 120], "s"),
        (("1:00:01.5", "0:59"), [3601.5, 59], "s"),
        (("1m20.5s", "2m0s"), [80.5, 120], "s"),
        (("1h2m3s", "1m1s"), [3723, 61], "s"),
        (("9.5 ns/op", "9 ns/op"), [9.5, 9], "ns"),
        (("5 req/sec", "6 req/s"), [5, 6], "requests/s"),
    ],
)
def test_numbers_as_people_write_them_are_read(
    cells: tuple[str, str], values: list[float], unit: str
) -> None:
    sheet = sheet_of(f"off;on\n{cells[0]};{cells[0]}\n{cells[1]};{cells[1]}\n")
    assert arms_of(sheet)["on"] == pytest.approx(values)
    assert sheet.metrics[0][0].unit == unit


def test_thousands_beside_bare_numbers_are_mixed_units() -> None:
    assert "mixed units" in refusal("off,on\n1.013k,997\n999,1.001k\n")


@pytest.mark.parametrize("prefix", ["K", "M", "G"])
def test_units_of_1000_and_of_1024_are_mixed_units(prefix: str) -> None:
    rows = f"off,120 {prefix}B/s\non,120 {prefix}iB/s\n"
    assert "mixed units" in refusal(f"arm,bw\n{rows}{rows}")
