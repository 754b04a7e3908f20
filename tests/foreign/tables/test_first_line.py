"""A first line of numbers is a heading where it is written so, and is asked about in doubt."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foreign.judged_files import judged_text, percent
from foreign.reading import arms_of, refusal, sheet_of
from steelyard.foreign.series import Grain
from steelyard.foreign.tables.first_line import FirstLine, first_line
from steelyard.model.errors import NumbersError

VERSIONS = st.sampled_from(["9.6", "10", "12", "14", "15", "16", "17", "18", "8", "64", "256"])


def rows_of(columns: list[list[str]], separator: str = ",") -> str:
    return "".join(separator.join(row) + "\n" for row in zip(*columns, strict=True))


@given(
    st.lists(VERSIONS, min_size=2, max_size=4, unique=True),
    st.integers(2, 4),
    st.data(),
)
@settings(deadline=None)
def test_names_of_versions_above_numbers_with_decimals_are_the_heading(
    names: list[str], decimals: int, data: st.DataObject
) -> None:
    count, spread = data.draw(st.integers(3, 9)), data.draw(st.sampled_from([1.05, 40.0]))
    values = st.floats(500 / spread, 500 * spread)
    columns = [[f"{data.draw(values):.{decimals}f}" for _ in range(count)] for _ in names]
    text = ",".join(names) + "\n" + rows_of(columns)
    try:
        sheet = sheet_of(text)
    except NumbersError:
        assert spread > 2, "only names among numbers of their own size may be doubted"
        return
    assert arms_of(sheet) == {n: list(map(float, c)) for n, c in zip(names, columns, strict=True)}


@pytest.mark.parametrize("names", [("16", "17"), ("9.6", "17"), ("8", "64"), ("2025", "2026")])
@pytest.mark.parametrize(
    "frame",
    [
        "| {} | {} |\n|---:|---:|\n| 20 | 21 |\n| 20 | 22 |\n",
        " {} | {} \n----+----\n 20 | 21\n 20 | 22\n(2 rows)\n",
        "+----+----+\n| {} | {} |\n+----+----+\n| 20 | 21 |\n| 20 | 22 |\n+----+----+\n",
    ],
    ids=["Markdown", "psql", "MySQL"],
)
def test_above_a_rule_stands_the_heading_whatever_it_is(names: tuple[str, str], frame: str) -> None:
    assert arms_of(sheet_of(frame.format(*names))) == {names[0]: [20, 20], names[1]: [21, 22]}


def test_an_empty_corner_belongs_to_a_heading() -> None:
    text = ",16,17\n" + "".join(f"{n},20.{n},21.{n}\n" for n in range(1, 6))
    assert list(arms_of(sheet_of(text))) == ["16", "17"]


@pytest.mark.parametrize(
    "text",
    [
        "16,17\n2026,2058\n2029,1997\n2001,2018\n",
        "20,21\n20.26,20.58\n20.29,20.97\n20.91,20.18\n",
        "16.10;17.6\n12.31;12.91\n12.29;12.97\n12.01;12.98\n12.12;12.88\n12.20;12.90\n",
        "1000,1010\n1012.97,1033.89\n1014.60,1003.33\n1000.66,1014.00\n",
        "9.6,17\n20,21\n21,22\n20,23\n22,21\n21,21\n",
        "16,17\n20,21\n21,22\n20,22\n21,21\n21,22\n",
        "16\n20.26\n20.29\n20.91\n",
    ],
)
def test_what_could_be_either_is_asked_about(text: str) -> None:
    assert "could be a heading or numbers" in refusal(text)
    first, rest = text.split("\n", 1)
    separator = ";" if ";" in first else ","
    named = separator.join(f"v{name}" for name in first.split(separator))
    rows = {len(values) for values in arms_of(sheet_of(f"{named}\n{rest}")).values()}
    assert rows == {rest.count("\n")}


@pytest.mark.parametrize(
    "text",
    [
        "1,2\n3,4\n",
        "12.31,12.02\n12.41,12.11\n12.44,12.52\n12.10,12.91\n",
        "1012,1033\n1014,1003\n1001,1014\n999,1011\n",
        "64.1,66.2\n20.3,20.1\n20.4,20.9\n20.1,20.2\n20.2,20.8\n20.7,20.3\n",
        "1000,1010\n1012.97,1033.89\n1014.6,1003.33\n1000.66,1014\n",
        "100\n101.5\n99.2\n98.7\n",
        "5,5\n6.5,7.5\n5.5,7.1\n6.1,6.6\n",
    ],
)
def test_measurements_above_others_are_numbers(text: str) -> None:
    sheet = sheet_of(text)
    assert {len(values) for values in arms_of(sheet).values()} == {text.count("\n")}


MEASURED = [
    "off_1.txt:tps = 985.312000 (without)\noff_2.txt:tps = 990.112000 (without)\n",
    "load 12.31 s\nvacuum 3.21 s\nindex 45.62 s\n",
    "load,123.4,120.1\nindex,12.3,11.9\nQ1,45.6,44.0\n",
    "load,1204,1201\nvacuum,320,311\nanalyze,110,108\n",
    "read_latency 12\nwrite_latency 13\n",
    "avg_latency,812.4\nq,815.25\nr,813.1\n",
    "total 985.3\n",
]


@pytest.mark.parametrize("text", MEASURED)
def test_a_known_word_before_what_was_measured_is_no_heading(text: str) -> None:
    """Read as one, its row would be lost without a word."""
    assert first_line(columns_of(text)) is FirstLine.NUMBERS


def columns_of(text: str) -> list[tuple[str, ...]]:
    separator = "," if "," in text else None
    rows = [line.split(separator) for line in text.replace(" s\n", "s\n").splitlines()]
    return list(zip(*rows, strict=True))


def test_a_known_word_before_numbers_that_could_be_versions_is_asked_about() -> None:
    text = "vacuum,3.21,3.11\nindex,12.31,11.91\ncluster,4.60,4.41\n"
    assert "could be a heading or numbers" in refusal(text)
    assert list(arms_of(sheet_of(f"name,v1,v2\n{text}"))) == ["v1", "v2"]


@pytest.mark.parametrize("word", ["query", "load", "plan", "tps", "queries", "system", "test"])
@pytest.mark.parametrize("names", ["16,17", "9.6,10.1", "0.001,0.01", "16GB,32GB", "8192,65536"])
def test_a_known_word_before_names_is_a_heading(word: str, names: str) -> None:
    rows = "".join(f"kind {n},{12 + n}.125,{13 + n}.625\n" for n in range(5))
    assert first_line(columns_of(f"{word},{names}\n{rows}")) is FirstLine.HEADING


def test_phases_in_a_file_an_arm_are_all_there() -> None:
    phases = {"load": 12.31, "vacuum": 3.21, "index": 9.41}
    texts = [
        "".join(f"{name} {seconds * factor:.2f} s\n" for name, seconds in phases.items())
        for factor in (1, 2)
    ]
    judgement = judged_text(*texts)
    assert judgement.comparison.row_names == ("load", "vacuum", "index")
    assert percent(judgement) == pytest.approx(100)


def german(values: list[float], decimals: int) -> list[str]:
    return [f"{value:.{decimals}f}".replace(".", ",") for value in values]


@given(st.integers(1, 3), st.integers(2, 4), st.data())
@settings(deadline=None)
def test_decimal_commas_between_commas_are_never_read_as_columns(
    arms: int, decimals: int, data: st.DataObject
) -> None:
    level = data.draw(st.sampled_from([0.8, 1.0, 8.4, 98.0, 412.0]))
    count = data.draw(st.integers(8, 14))
    values = st.floats(level * 0.99, level * 1.01)
    columns = [german([data.draw(values) for _ in range(count - 2)], decimals) for _ in range(arms)]
    # Digits behind a comma begin with any digit.
    ends = german([int(level) + 0.951, int(level) + 0.123], decimals)
    text = rows_of([column + ends for column in columns])
    assert "could be decimal commas" in refusal(text)


def loop_of_a_shell(words: list[str], numbers: list[str], rest: str = "") -> str:
    """What `echo "$arm $seconds" >> times.txt` writes, the arms in turn."""
    return "".join(f"{words[n % len(words)]} {number}{rest}\n" for n, number in enumerate(numbers))


@given(st.data())
@settings(deadline=None)
def test_numbers_with_decimal_commas_behind_a_word_are_never_cut(data: st.DataObject) -> None:
    words = data.draw(st.sampled_from([["off", "on"], ["without index", "with"], ["A", "B", "C"]]))
    level = data.draw(st.sampled_from([0.8, 1.0, 8.4, 98.0, 412.0]))
    rest = data.draw(st.sampled_from(["", " ms", "ms"]))
    values = [data.draw(st.floats(level * 0.99, level * 1.01)) for _ in range(3 * len(words))]
    numbers = german(
        [*values, int(level) + 0.951, int(level) + 0.123], data.draw(st.integers(2, 4))
    )
    assert "could be decimal commas" in refusal(loop_of_a_shell(words, numbers, rest))


@pytest.mark.parametrize(
    "text",
    [
        loop_of_a_shell(["off", "on"], ["1,02", "1,15", "1,04", "1,17"]),
        loop_of_a_shell(["off", "on"], ["1,25", "1,4", "1,3", "1,45"]),
        loop_of_a_shell(["off", "on"], ["8,4", "16,9", "8,3", "16,8"]),
        loop_of_a_shell(["off", "on"], ["1,234", "1,301", "1,244", "1,299"]),
        loop_of_a_shell(["off", "on"], ["1,234.5", "1,301.2", "1,244.1", "1,299.9"]),
        loop_of_a_shell(["off", "on"], ["1.234,5", "1.301,2", "1.244,1", "1.299,9"]),
        loop_of_a_shell(["off |", "on |"], ["1,23", "1,31", "1,24", "1,29"]),
        loop_of_a_shell(["run"], ["1,25", "1,4", "1,3", "1,45"]),
        loop_of_a_shell(["run"], ["1,3"] * 8),
        loop_of_a_shell(["pg"], ["17,14", "16,55", "17,68", "16,23"]),
        loop_of_a_shell(["off", "on"], ["8,360", "12,547", "8,385", "12,561"]),
        loop_of_a_shell(["off", "on"], ["8,4099", "12,4532", "8,4123", "12,6975"]),
        loop_of_a_shell(["pg"], ["97,95", "98,13", "97,92", "97,91", "98,12", "98,15"]),
        "1,02 1,15\n1,04 1,17\n1,03 1,16\n",
        "off 1,02 3,45\non 1,15 3,55\noff 1,04 3,47\n",
    ],
)
def test_what_could_be_a_number_behind_a_word_is_asked_about(text: str) -> None:
    assert "could be decimal commas" in refusal(text)
    points = text.replace(".", "").replace(",", ".")
    heading = " ".join(f"c{n}" for n in range(len(points.split("\n", 1)[0].split())))
    assert sheet_of(f"{heading}\n{points}", value=heading.split()[-1])


@pytest.mark.parametrize(
    "text",
    [
        "pg 16,1033\npg 17,1340\n" * 4,
        "pg 16,1033\npg 16,1040\npg 17,1340\npg 17,1351\n",
        "postgres 17,1033\nmysql 8,1011\n" * 4,
        "Q 1,1234\nQ 2,250\nQ 3,1199\nQ 4,80\n",
        "clients 8,1033\nclients 16,1940\nclients 32,2713\n" * 2,
        "off 12.5,1033\non 12.5,1040\n" * 3,
    ],
)
def test_a_name_that_ends_in_a_number_is_a_name(text: str) -> None:
    arms = arms_of(sheet_of(text))
    assert sum(map(len, arms.values())) == text.count("\n")
    assert min(min(values) for values in arms.values()) >= 80


@pytest.mark.parametrize(
    "text",
    [
        "1012,1033\n1014,1003\n1001,1014\n1009,1011\n",
        "12,13\n11,13\n12,12\n13,13\n",
        "1,412\n2,431\n3,405\n4,418\n5,409\n",
        "900,1012\n905,1003\n899,998\n",
        "98.14,99.24\n97.91,99.11\n98.33,99.43\n",
        "98,14;99,24\n97,91;99,11\n98,33;99,43\n",
    ],
)
def test_columns_without_a_heading_are_read_where_they_can_be_nothing_else(text: str) -> None:
    assert all(len(values) == text.count("\n") for values in arms_of(sheet_of(text)).values())


def below(comment: str, separator: str = " ", columns: int = 3) -> str:
    rows = [
        separator.join([str(k + 1), *(f"{1000 + 50 * c + k * 7 % 5}.3" for c in range(1, columns))])
        for k in range(12)
    ]
    return "\n".join([comment, *rows]) + "\n"


@pytest.mark.parametrize(
    ("text", "arms"),
    [
        (below("# sec off on"), ["off", "on"]),
        (below("#sec off on"), ["off", "on"]),
        (below("# made in May\n# scale=100 clients=8 off\n# run off on"), ["off", "on"]),
        (below("# run,off,on", ","), ["off", "on"]),
        (below("#run;off;on", ";"), ["off", "on"]),
        (below("# run\toff\ton", "\t"), ["off", "on"]),
        (below("# run, pg 16, pg 17", ","), ["pg 16", "pg 17"]),
        (below("# time (s), off (ms), on (ms)", ","), ["off", "on"]),
    ],
)
def test_a_comment_may_name_the_columns_right_below_it(text: str, arms: list[str]) -> None:
    assert list(arms_of(sheet_of(text))) == arms


def test_seconds_that_a_comment_names_make_rows_slices() -> None:
    _, arms = sheet_of(below("# sec off on")).metrics[0]
    assert {series.grain for series in arms} == {Grain.SLICE}


@pytest.mark.parametrize(
    "comment",
    [
        *("# three runs each", "# pgbench -c 8", "# 1 1000.1 1020.3", "# sec off", "# off off on"),
        *("# scale=100 clients=8 off", "# results by me", "# sec off on\n", "# at 8 clients:"),
        "# sec off on\n# measured in May",
    ],
)
def test_other_comments_name_no_columns(comment: str) -> None:
    assert list(arms_of(sheet_of(below(comment)))) == ["column 2", "column 3"]
    assert list(arms_of(sheet_of("run off on\n" + below(comment)))) == ["off", "on"]


@pytest.mark.parametrize("comment", ["# scale 100, 8 clients, 5 runs", "# off, on", "# 16, 17, 18"])
def test_other_comments_with_commas_name_no_columns(comment: str) -> None:
    assert list(arms_of(sheet_of(below(comment, ",")))) == ["column 2", "column 3"]


def test_a_lone_word_in_a_comment_says_what_was_measured_or_nothing() -> None:
    numbers = "100.2\n101.2\n100.7\n"
    assert sheet_of(f"# tps\n{numbers}").metrics[0][0].unit == "transactions/s"
    assert sheet_of(f"# off\n{numbers}").metrics[0][0].name == "value"


FAILED = ["#N/A", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!", "#NV", "#WERT!"]


@pytest.mark.parametrize("cell", FAILED)
@pytest.mark.parametrize("separator", [",", ";", "\t", " "])
def test_cells_that_a_spreadsheet_could_not_compute_are_no_comments(
    cell: str, separator: str
) -> None:
    lines = ["off,on", "1000.5,1041.3", f"{cell},1061.0", "1000.2,1050.7"]
    said = refusal("\n".join(lines).replace(",", separator) + "\n")
    assert said == f'"f.txt" line 3, column 1: "{cell}" is not a number'


@pytest.mark.parametrize(
    "line", ["#N/A stands for missing", "#NAME of it", "#VALUES", "# #REF!", "#REFERENCE,none"]
)
def test_comments_may_begin_as_such_cells_do(line: str) -> None:
    text = f"off,on\n1000.5,1041.3\n{line}\n1000.2,1050.7\n"
    assert arms_of(sheet_of(text)) == {"off": [1000.5, 1000.2], "on": [1041.3, 1050.7]}
