r"""Times of `\timing` are repetitions, whatever else psql printed around them."""

from __future__ import annotations

import pytest

from foreign.judged_files import RANDOM, doubts, judged_text, percent, verdict
from foreign.reading import assert_values, only, refusal, sheet_of
from steelyard.foreign.formats import format_of
from steelyard.foreign.metric import TIME
from steelyard.foreign.series import FactorKind
from steelyard.foreign.source import source_of

RESULT = " count \n-------\n   100\n(1 row)\n\n"


@pytest.mark.parametrize(
    ("line", "ms"),
    [
        ("Time: 82.050 ms", 82.05),
        ("Time: 1235.123 ms (00:01.235)", 1235.123),
        ("Time: 3723456.789 ms (01:02:03.457)", 3723456.789),
        ("Time: 93784567.891 ms (1 d 02:03:04.568)", 93784567.891),
        ("Zeit: 0,290 ms", 0.29),
        ("Zeit: 1235,123 ms (00:01,235)", 1235.123),
        ("Durée : 1235,123 ms (00:01,235)", 1235.123),
        ("Время: 82,050 мс", 82.05),
        ("時間: 82.050 ミリ秒", 82.05),
        ("Süre: 82,050 milisaniye", 82.05),
    ],
)
@pytest.mark.parametrize("around", [RESULT, "Timing is on.\n", "SELECT 1\n", "1|2|3\n"])
def test_the_time_of_a_statement_is_read_in_every_length_and_language(
    line: str, ms: float, around: str
) -> None:
    text = f"{around}{line}\n{around}{line}\n"
    assert format_of(source_of(text.encode(), "f")) == "psql"
    sheet = sheet_of(text)
    assert_values(only(sheet), [ms, ms])
    assert (sheet.metrics[0][0].name, sheet.metrics[0][0].unit) == (TIME, "ms")


def test_times_above_a_second_need_nothing_else_around_them() -> None:
    def text(*ms: float) -> str:
        return "".join(f"Time: {value:.3f} ms (00:{value / 1e3:06.3f})\n" for value in ms)

    control, arm = (1200.111, 1210.222, 1190.333), (1300.111, 1310.222, 1290.333)
    judgement = judged_text(text(*control), text(*arm))
    assert [len(series.values) for series in judgement.comparison.arms] == [3, 3]


def test_lines_that_only_name_numbers_stay_a_table() -> None:
    text = "Planning Time: 0.250 ms\nExecution Time: 81.250 ms\nTime: 82.050 ms\n" * 3
    assert format_of(source_of(text.encode(), "f")) == "csv"
    assert format_of(source_of(b"# \\timing\nTime: 82.050 ms\nTime: 83.050 ms\n", "f")) == "csv"


def test_what_the_server_says_of_a_statement_is_read_beside_its_time() -> None:
    plan = " Planning Time: 0.250 ms\n Execution Time: 81.250 ms\n(9 rows)\n\nTime: 82.050 ms\n"
    sheet = sheet_of(plan + plan)
    assert [metric.name for metric, _ in sheet.metrics] == [
        TIME,
        "planning_time",
        "execution_time",
    ]
    assert_values(only(sheet, 2), [81.25, 81.25])


@pytest.mark.parametrize(
    "line",
    [
        'ERROR:  relation "t" does not exist',
        'psql:a.sql:3: ERROR:  relation "t" does not exist',
        "FEHLER:  Relation »t« existiert nicht",
    ],
)
def test_a_statement_that_failed_is_refused(line: str) -> None:
    text = f"{RESULT}Time: 82.050 ms\n{line}\nTime: 0.250 ms\n"
    assert "line 7, column 1: a statement failed" in refusal(text)


def passes(*statements: tuple[str, float], count: int = 12) -> str:
    """What psql prints of statements that are run one after the other: (output, ms) of each."""
    return "Timing is on.\n" + "".join(
        f"{output}Time: {ms * (1 + (0.618 * n + 0.1 * len(output)) % 1 / 100):.3f} ms\n"
        for n in range(count)
        for output, ms in statements
    )


PREPARING = [
    *("SET", "RESET", "BEGIN", "START TRANSACTION", "SAVEPOINT", "RELEASE", "ROLLBACK"),
    *("DISCARD ALL", "LOAD", "PREPARE", "DEALLOCATE ALL"),
]


@pytest.mark.parametrize("tag", [*PREPARING, "COMMIT"])
@pytest.mark.parametrize("output", [RESULT, " QUERY PLAN \n------\n Result\n(1 row)\n\n", "100\n"])
def test_what_only_prepares_for_a_query_is_no_repetition_of_it(tag: str, output: str) -> None:
    def arm(scale: float, ms: float) -> str:
        return passes((f"{tag}\n", ms), (output, 82.05 * scale))

    judgement = judged_text(arm(1, 0.3), arm(1.1, 0.5), **RANDOM)
    assert percent(judgement) == pytest.approx(10, abs=0.01)
    assert [len(series.values) for series in judgement.comparison.arms] == [12, 12]
    assert any(f"times of {tag} were left out" in note for note in judgement.comparison.notes)


@pytest.mark.parametrize("tag", [*PREPARING, "COMMIT", "INSERT 0 1", "CREATE INDEX", "CHECKPOINT"])
def test_a_statement_that_stands_alone_is_what_was_measured(tag: str) -> None:
    judgement = judged_text(passes((f"{tag}\n", 3.0)), passes((f"{tag}\n", 3.6)), **RANDOM)
    assert percent(judgement) == pytest.approx(20, abs=0.1)
    assert [len(series.values) for series in judgement.comparison.arms] == [12, 12]


def test_a_commit_behind_what_was_written_counts() -> None:
    writing = [("BEGIN\n", 0.1), ("INSERT 0 1\n", 0.5), ("COMMIT\n", 4.0)]
    sheet = sheet_of(passes(*writing, count=2))
    (factor,) = only(sheet).factors
    assert (factor.name, factor.kind) == ("statement", FactorKind.LABEL)
    assert factor.values == ("INSERT", "COMMIT") * 2


def test_statements_of_several_kinds_are_each_compared_with_their_own() -> None:
    slow = " o_orderkey | revenue \n-------------+---------\n 1 | 2\n(1 row)\n\n"
    framed = "+-------+\n| count |\n+-------+\n|   100 |\n+-------+\n(1 row)\n\n"

    def arm(scale: float, *, others: int = 1) -> str:
        update = ("UPDATE 5\n", 40 * scale)
        return passes((framed, 2 * scale), *[(slow, 900 * scale)] * others, update)

    judgement = judged_text(arm(1), arm(1.1), **RANDOM)
    assert percent(judgement) == pytest.approx(10, abs=0.05)
    assert judgement.reading.paired
    assert verdict(judgement) == "slower"
    unequal = judged_text(arm(1), arm(1.1, others=3), **RANDOM)
    assert percent(unequal) == pytest.approx(10, abs=0.5)
    (factor,) = only(sheet_of(arm(1))).factors
    assert factor.values[:3] == ("count", "o_orderkey | revenue", "UPDATE")


def test_arms_of_one_statement_each_may_differ_in_it() -> None:
    judgement = judged_text(passes(("INSERT 0 9\n", 9)), passes(("COPY 9\n", 6)), **RANDOM)
    assert verdict(judgement) == "faster"
    assert "conditions differ" in doubts(judgement)
