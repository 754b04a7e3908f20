"""The wall has a row a question with its newest verdict, checks of the balance last."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from history.made import keep_record
from steelyard.history.index import History, read_history
from steelyard.history.question import questions_of
from steelyard.site.overview_pages import show_wall
from steelyard.site.pages import build_site
from steelyard.site.pictures import draw_strip

SWEEP = {"key": "workload.clients", "values": ["8", "32", "256"], "order": [1, 0, 2],
         "seed": 1, "study": "checksums"}  # fmt: skip


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


def test_a_sweep_is_one_row_with_its_curve_and_a_link_to_each_point(tmp_path: Path) -> None:
    sweep = tmp_path / "records" / "by-clients" / "2026-03-01T120000Z"
    for clients, effect in ((32, -0.001), (8, 0.002), (256, -0.06)):
        keep_record(sweep / "points" / str(clients), clients=clients, effect=effect, seed=clients)
    (sweep / "sweep.json").write_text(json.dumps(SWEEP))
    keep_record(tmp_path / "records" / "alone" / "2026-02-01T120000Z", clients=4)
    history = read_history(tmp_path / "records")
    shown = show_wall(history, questions_of(history.entries), {})
    row, alone = shown.rows
    assert row.label == "checksums: off against on by clients"
    assert [point.value for point in row.values] == ["8", "32", "256"]
    assert len({point.page for point in row.values}) == 3
    assert (row.verdict, row.strip, row.weighings) == ("slower", None, 3)
    assert row.sentence.startswith("Slower at 256")
    assert [str(row.beam).count(f">{value}<") for value in (8, 32, 256)] == [1, 1, 1]
    assert alone.values == ()
    wall = (build_site(history, tmp_path / "site").folder / "index.html").read_text("utf-8")
    assert wall.count('<article class="row') == 2
    assert wall.count('<ul class="values">') == 1


def test_a_sweep_over_sizes_has_its_points_in_its_own_order(tmp_path: Path) -> None:
    sweep = tmp_path / "records" / "by-work_mem" / "2026-03-01T120000Z"
    values = ["64kB", "4MB", "256MB", "1GB"]
    for number in (2, 0, 3, 1):
        setting = f'settings.work_mem = "{values[number]}"'
        keep_record(sweep / "points" / values[number], more=setting, seed=1 + number)
    plan = {**SWEEP, "key": "arm.settings.work_mem", "values": values, "order": [2, 0, 3, 1]}
    (sweep / "sweep.json").write_text(json.dumps(plan))
    history = read_history(tmp_path / "records")
    [row] = show_wall(history, questions_of(history.entries), {}).rows
    assert [point.value for point in row.values] == values
    assert row.label == "checksums: off against on by work_mem"


def test_one_point_of_a_sweep_stands_for_itself(tmp_path: Path) -> None:
    sweep = tmp_path / "records" / "by-clients" / "2026-03-01T120000Z"
    keep_record(sweep / "points" / "8")
    (sweep / "sweep.json").write_text(json.dumps(SWEEP))
    history = read_history(tmp_path / "records")
    [row] = show_wall(history, questions_of(history.entries), {}).rows
    assert (row.values, row.label) == ((), "checksums: off against on")
