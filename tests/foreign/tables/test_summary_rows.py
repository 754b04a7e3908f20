"""Rows that sum up the others are no repetitions and no queries."""

from __future__ import annotations

import statistics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foreign.reading import arms_of, refusal, sheet_of
from steelyard.foreign.vocabulary.statistics import statistic_of
from steelyard.model.errors import NumbersError
from thinned import thinned

RNG = np.random.default_rng(5)
OFF, ON = RNG.normal(1000, 10, 12), RNG.normal(1030, 10, 12)
ROWS = list(zip(OFF, ON, strict=True))
STATISTICS = {
    "mean": lambda x: x.mean(),
    "Average": lambda x: x.mean(),
    "geomean": lambda x: np.exp(np.log(x).mean()),
    "stddev": lambda x: x.std(ddof=1),
    "Min": lambda x: x.min(),
    "max": lambda x: x.max(),
    "Total": lambda x: x.sum(),
    "overall": lambda x: x.sum(),
    "median": np.median,
    "Summe": lambda x: x.sum(),
}


def wide(heading: str, prefix: str, *rows: str) -> str:
    numbered = [f"{prefix}{n + 1},{a:.2f},{b:.2f}" for n, (a, b) in enumerate(ROWS)]
    return "\n".join([heading, *numbered, *rows]) + "\n"


WORDS = [
    *("mean", "avg", "Average", "AVG:", "Mittelwert", "Durchschnitt", "Ø", "geomean", "geo. mean"),
    *("stddev", "Std. Dev.", "std dev", "StdAbw", "σ", "sd", "Standardabweichung", "variance"),
    *("min", "Minimum", "max", "sum", "Σ", "Total", "Grand total", "Gesamt", "Summe", "overall"),
    *("median", "Mean of all", "cv", "count"),
]


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("heading", ["run", "", "#", "query", "lauf"])
def test_a_statistic_among_numbered_rows_is_left_out(word: str, heading: str) -> None:
    sheet = sheet_of(wide(f"{heading},off,on", "", f"{word},5.25,900"))
    assert {arm: len(values) for arm, values in arms_of(sheet).items()} == {"off": 12, "on": 12}
    assert any(f'left out: "{word}"' in note for note in sheet.notes)


@pytest.mark.parametrize("word", STATISTICS)
@pytest.mark.parametrize("heading", ["query", "benchmark", ""])
def test_a_statistic_among_names_is_left_out_where_it_is_one(word: str, heading: str) -> None:
    statistic = STATISTICS[word]
    row = f"{word},{statistic(OFF):.2f},{statistic(ON):.2f}"
    sheet = sheet_of(wide(f"{heading},off,on", "Q", row))
    assert sheet.row_names == tuple(f"Q{n}" for n in range(1, 13))
    doubted = refusal(wide(f"{heading},off,on", "Q", f"{word},77.5,{3 * ON.sum():.2f}"))
    assert doubted == f'"f.txt" line 14, column 1: "{word}" could be a summary of the other rows'


def test_in_long_form_the_rows_of_an_arm_are_summed_up() -> None:
    rows = "".join(f"off,{n + 1},{a:.2f}\non,{n + 1},{b:.2f}\n" for n, (a, b) in enumerate(ROWS))
    ends = "off,avg,1000\non,avg,1030\noff,stddev,5.2\non,stddev,15.9\n"
    counted = sheet_of(f"arm,run,tps\n{rows}{ends}")
    assert {arm: len(values) for arm, values in arms_of(counted).items()} == {"off": 12, "on": 12}
    named = rows.replace("off,", "off,Q").replace("on,", "on,Q")
    totals = f"off,Total,{OFF.sum():.1f}\non,Total,{ON.sum():.1f}\n"
    sheet = sheet_of(f"arm,query,seconds\n{named}{totals}")
    assert {arm: len(values) for arm, values in arms_of(sheet).items()} == {"off": 12, "on": 12}


def test_the_summary_of_pandas_is_left_out_whole() -> None:
    rows = ("count,12,12", "mean,9,9", "std,1,1", "min,8,8", "25%,8,8", "50%,9,9", "max,9,9")
    sheet = sheet_of(wide("run,off,on", "", *rows))
    assert {len(values) for values in arms_of(sheet).values()} == {12}


def test_the_places_and_lines_of_the_other_rows_stay() -> None:
    text = "run,off,on\navg,5,6\n1,1.5,1.25\n2,1.5,1.75\n3,x9y,1.5\n"
    assert refusal(text) == '"f.txt" line 5, column 3: "x9y" is not a number'
    assert sheet_of(text.replace("x9y", "1.25")).lines == (3, 4, 5)


@pytest.mark.parametrize("word", ["warmup", "cold", "discarded"])
def test_another_word_where_rows_are_numbered_is_asked_about(word: str) -> None:
    message = refusal(wide("run,off,on", "", f"{word},5,6"))
    assert message == f'"f.txt" line 14, column 1: "{word}" where other rows are numbered'


ODD = [
    *("warm-up", "warm up", "cold run", "discarded*", "3 (restart)", "warmup 1", "pre-warm"),
    "run 0 (warmup)",
]


@pytest.mark.parametrize("words", ODD)
@pytest.mark.parametrize("form", ["wide", "long"])
def test_any_words_where_rows_are_numbered_are_asked_about(words: str, form: str) -> None:
    text = wide("run,off,on", "", f"{words},5,6")
    if form == "long":
        rows = "".join(f"off,{n},1{n}.5\non,{n},1{n}.25\n" for n in range(10, 21))
        text = f"arm,run,tps\n{rows}off,{words},7\non,{words},9\n"
    assert f'"{words}" where other rows are numbered' in refusal(text)
    with_mean = text + ("mean,15.5,15.25\n" if form == "wide" else "off,mean,15.5\n")
    assert f'"{words}" where other rows are numbered' in refusal(with_mean)


@pytest.mark.parametrize("words", ["warm-up", "run 0 (warmup)", "discarded run", "7 (restart)"])
def test_they_are_asked_about_behind_a_word_that_numbers_the_others_too(words: str) -> None:
    message = refusal(wide("run,off,on", "run ", f"{words},5,6"))
    assert message == f'"f.txt" line 14, column 1: "{words}" where other rows are numbered'


@pytest.mark.parametrize("heading", ["query", "block", "round"])
def test_a_warm_up_is_no_query_of_numbered_ones_and_no_block(heading: str) -> None:
    assert "where other rows are numbered" in refusal(wide(f"{heading},off,on", "", "warm-up,5,6"))
    named = sheet_of(wide(f"{heading},off,on", "", "RF1,5.25,900"))
    assert len(arms_of(named)["off"]) == 13


@pytest.mark.parametrize(
    "names",
    [
        ["a91f", "77c0", "4821", "be32", "0d1c", "9f3a"],
        ["off1", "off2", "off3", "off4", "on1", "on2", "on3"],
        ["1a", "1b", "2a", "2b"],
        ["1st", "2nd", "3rd", "4th"],
    ],
)
def test_rows_that_are_numbered_otherwise_are_not(names: list[str]) -> None:
    rows = "".join(f"{name},{10 + n}.5,{11 + n}.5\n" for n, name in enumerate(names))
    assert len(arms_of(sheet_of(f"run,off,on\n{rows}"))["off"]) == len(names)


OF_ROWS = [
    *("Mean (n=10)", "mean(n = 12)", "avg of 12", "Average over 12 runs", "Total (12 queries)"),
    *("Std. Dev. (n = 12)", "median n=12", "95% CI", "CI 95%", "95 % CI", "CI95", "99% CI upper"),
    *("95% confidence interval", "std error", "Ø (12 runs)"),
]


@pytest.mark.parametrize("words", OF_ROWS)
@pytest.mark.parametrize("heading", ["run", "", "query"])
def test_a_statistic_that_says_of_how_much_is_left_out(words: str, heading: str) -> None:
    sheet = sheet_of(wide(f"{heading},off,on", "", f"{words},5.25,900"))
    assert {arm: len(values) for arm, values in arms_of(sheet).items()} == {"off": 12, "on": 12}
    beside = wide(f"{heading},off,on", "", "mean,999,1031", f"{words},5.25,900")
    assert {len(values) for values in arms_of(sheet_of(beside)).values()} == {12}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("query,off,on\nscan,1.1,1.2\nsum,2.1,2.2\njoin,3.1,3.2\n", ("scan", "sum", "join")),
        ("query,off,on\nmax,1.1,1.2\n", ("max",)),
        ("query,off,on\nsum(x),1.1,1.2\ntotal_orders,9,8\n", ("sum(x)", "total_orders")),
    ],
)
def test_names_of_queries_that_are_words_of_statistics_stay(
    text: str, names: tuple[str, ...]
) -> None:
    assert sheet_of(text).row_names == names


def test_arms_may_be_called_so_too() -> None:
    sheet = sheet_of("allocator,tps\nstd,5.1\njemalloc,6.1\nstd,5.2\njemalloc,6.2\n")
    assert arms_of(sheet) == {"std": [5.1, 5.2], "jemalloc": [6.1, 6.2]}


def test_a_table_of_nothing_but_statistics_is_refused() -> None:
    message = refusal("name,off,on\nmean,1000,1030\nstddev,5,6\nmax,1010,1040\n")
    assert "every row is a statistic" in message
    mixture = refusal("metric,off,on\ntps,1000,1030\nlatency,5,6\n")
    assert "several metrics in one column" in mixture


@given(
    st.lists(st.sampled_from(sorted(STATISTICS)), min_size=1, max_size=4, unique=True),
    st.lists(
        st.tuples(st.floats(5, 9_000), st.floats(5, 9_000)), min_size=5, max_size=22, unique=True
    ),
    st.booleans(),
)
@settings(deadline=None)
def test_summaries_never_count_as_rows(
    words: list[str], rows: list[tuple[float, float]], first: bool
) -> None:
    values = np.array(rows)
    named = [f"Q{n},{a:.2f},{b:.2f}" for n, (a, b) in enumerate(rows)]
    ends = [
        f"{word},{STATISTICS[word](values[:, 0]):.2f},{STATISTICS[word](values[:, 1]):.2f}"
        for word in words
    ]
    lines = [*ends, *named] if first else [*named, *ends]
    sheet = sheet_of("\n".join(["query,off,on", *lines]) + "\n")
    assert sheet.row_names == tuple(f"Q{n}" for n in range(len(rows)))


ENDS = {
    "mean": lambda x: x.mean(),
    "geometric mean": lambda x: np.exp(np.log(x).mean()),
    "median": np.median,
    "standard deviation": lambda x: x.std(ddof=1),
    "sum": lambda x: x.sum(),
}


def ending(statistic: str, digits: int, first: str, *more: str) -> str:
    """Numbers of two arms with rows at their end that nothing names."""
    numbers = [f"{n + 1}," if first else "" for n in range(12)]
    rows = [f"{number}{a:.2f},{b:.2f}" for number, (a, b) in zip(numbers, ROWS, strict=True)]
    ends = ",".join(f"{ENDS[statistic](np.round(x, 2)):.{digits}f}" for x in (OFF, ON))
    blank = "," if first else ""
    unnamed = [blank + line for line in (ends, *more)]
    return "\n".join([f"{first}off,on", *rows, *unnamed]) + "\n"


@pytest.mark.parametrize("statistic", ENDS)
@pytest.mark.parametrize("digits", [2, 3, 9])
@pytest.mark.parametrize("first", ["", "run,", "query,"])
def test_a_statistic_that_nothing_names_is_asked_about_at_the_end(
    statistic: str, digits: int, first: str
) -> None:
    for more in ((), ("5.12,5.77",), ("9.5,9.25", "8.5,8.25")):
        text = ending(statistic, digits, first, *more)
        said = refusal(text)
        assert said.startswith('"f.txt" line 14, column ')
        assert f"is the {statistic} of the rows above it: a summary, and no repetition" in said
    if first:
        numbered = ending(statistic, digits, first).replace("\n,", "\n13,")
        assert {len(values) for values in arms_of(sheet_of(numbered)).values()} == {13}


def test_one_column_ends_with_its_mean() -> None:
    for numbers in (OFF, ON):
        text = "tps\n" + "".join(f"{x:.2f}\n" for x in numbers) + f"{numbers.mean():.6f}\n"
        assert "is the mean of the rows above it" in refusal(text)


@thinned("decimals", [0, 1, 3], 1)
def test_measurements_are_hardly_ever_taken_for_statistics(decimals: int) -> None:
    rng, refused = np.random.default_rng(7), 0
    for _ in range(300):
        columns = rng.normal(1000, 10, (2, int(rng.integers(5, 40))))
        rows = (f"{a:.{decimals}f},{b:.{decimals}f}" for a, b in columns.T)
        try:
            sheet_of("\n".join(["off,on", *rows]) + "\n")
        except NumbersError:
            refused += 1
    assert refused <= 3


@pytest.mark.parametrize("cell", ["Q1", "total_orders", "12", "-", "", "mean 5", "delete", "scan"])
def test_other_cells_name_no_statistic(cell: str) -> None:
    assert statistic_of(cell) == ""


@pytest.mark.parametrize("statistic", ["mean", "median"])
@pytest.mark.parametrize("head", ["run,arm,tps", "arm,run,tps", "round,build,tps,latency_ms"])
def test_a_summary_of_each_arm_without_a_number_is_refused(statistic: str, head: str) -> None:
    names = head.split(",")
    rows = []
    for arm, level in (("off", 500.0), ("on", 600.0)):
        values = [level + (k * 37 % 11) + 0.25 for k in range(8)]
        for k, value in enumerate(values):
            rows.append(_cells(names, arm, str(k + 1), value))
        summary = getattr(statistics, statistic)(values)
        rows.append(_cells(names, arm, "", summary))
    with pytest.raises(NumbersError, match=f"is the {statistic} of the rows above it"):
        sheet_of("\n".join([head, *rows]) + "\n")


def _cells(names: list[str], arm: str, run: str, value: float) -> str:
    of = {"arm": arm, "build": arm, "run": run, "round": run}
    return ",".join(of.get(name, f"{value:.2f}") for name in names)
