"""The page of a question has a table a machine, and each row a place, a report and a neighbour."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from history.made import change_contrast
from steelyard.history.index import History, read_history
from steelyard.history.question import questions_of
from steelyard.site.address import report_page
from steelyard.site.question_page import show_question

Keep = Callable[..., Path]


def test_a_row_leads_to_its_report_and_to_the_weighing_before(history: History) -> None:
    question = next(q for q in questions_of(history.entries) if q.label.startswith("checksums"))
    reports = {one.entry.path: report_page(one.entry) for one in question.points[1:]}
    [machine] = show_question(question, reports).machines
    newest, oldest = machine.rows[0], machine.rows[-1]
    assert newest.at == "2026-03-16 12:00 UTC"
    assert newest.report == "../reports/checksums-2026-03-16T120000Z-" + newest.report[-11:]
    assert newest.compare == (
        "../compare.html#a=checksums%2F2026-03-15T120000Z&b=checksums%2F2026-03-16T120000Z"
    )
    assert (oldest.report, oldest.compare) == ("", "")
    assert len({row.name for row in machine.rows}) == 16
    assert (machine.drawn, len(machine.steps)) == (16, 1)


def test_machines_have_charts_of_their_own_and_one_without_a_verdict_that_stands_has_none(
    keep: Keep, records: Path
) -> None:
    keep(1)
    change_contrast(keep(2, machine={"hostname": "other"}), verdict="invalid")
    [question] = questions_of(read_history(records).entries)
    shown = show_question(question, {})
    by_name = {one.machine.partition(",")[0]: one for one in shown.machines}
    assert by_name["laboratory"].chart is not None
    assert by_name["other"].chart is None
    assert by_name["other"].left_out == (
        ("checksums/2026-03-02T120000Z", "its verdict is invalid"),
    )
    assert ("workload.scale", "50") in shown.keys
