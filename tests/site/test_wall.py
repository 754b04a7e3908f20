"""The wall has a row a question with its newest verdict, checks of the balance last."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from steelyard.history.index import History, read_history
from steelyard.history.question import questions_of
from steelyard.site.pictures import draw_strip
from steelyard.site.wall import show_wall


def test_questions_come_newest_first_and_checks_of_the_balance_last(history: History) -> None:
    shown = show_wall(history, questions_of(history.entries), {})
    assert [row.label.partition(":")[0] for row in shown.rows] == [
        "builds", "versions", "checksums", "aa",
    ]  # fmt: skip
    assert [row.known_truth for row in shown.rows] == [False, False, False, True]
    assert [one.study for one in shown.unjudged] == ["versions"]
    assert [one.path for one in shown.unread] == ["torn/2026-03-20T120000Z"]


def test_a_row_says_its_newest_verdict_with_its_doubts(history: History) -> None:
    shown = show_wall(history, questions_of(history.entries), {})
    row = next(row for row in shown.rows if row.label.startswith("checksums"))
    assert (row.verdict, row.mark, row.weighings) == ("faster", "▲", 16)
    assert row.at == "2026-03-16 12:00 UTC"
    assert row.sentence.endswith(".")
    assert row.doubts == ("steal or throttling", "memory or disk nearly full")
    assert row.report == ""
    assert set(shown.verdicts) <= {"slower", "faster", "equivalent", "inconclusive", "invalid"}


def test_a_rows_strip_is_of_its_newest_machine_alone(
    keep: Callable[..., Path], records: Path
) -> None:
    keep(1, machine={"hostname": "former", "processors": 2})
    keep(2, machine={"hostname": "newest", "processors": 4})
    history = read_history(records)
    [question] = questions_of(history.entries)
    [row] = show_wall(history, [question], {}).rows
    assert row.weighings == 2
    assert row.strip == draw_strip([question.newest.reading])
