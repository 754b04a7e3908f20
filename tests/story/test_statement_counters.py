"""What each statement costs is in the record, the verdict and on the page, where a study asks."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from steelyard.cli.views.verdict_view import render_verdict
from steelyard.model.readings import StatementCount, StatementCounts, between
from steelyard.record.verdict import Verdict
from steelyard.report.page import render_page
from steelyard.report.source import core_counts, read_source
from story.asked import study_of
from story.noop.engine import NoopInstance
from story.scripted import ScriptedWorld

Weigh = Callable[..., dict[str, Any]]
UPDATE, SELECT = "UPDATE t SET x = $1", "SELECT x FROM t"


class CountingWorld(ScriptedWorld):
    """Every look finds another ten updates and reads; an update logs twice as much in arm "on"."""

    forgotten = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.looks = 0
        self.noop.journal.answers.statements = self._statements

    def _statements(self, server: NoopInstance) -> StatementCounts:
        self.looks += 1
        times = 10 * self.looks
        [arm] = [name for name, one in self.running_arms.items() if one is server]
        log = 200 if arm == "on" else 100
        update = StatementCount(UPDATE, times, log * times, times if arm == "on" else 0, 0)
        read = StatementCount(SELECT, 2 * times, 0, 0, 0)
        return StatementCounts(
            {one.text: one for one in (read, update)}, forgotten=self.looks * self.forgotten
        )


def test_what_statements_cost_is_told_where_a_study_asks(tmp_path: Path, weigh_in: Weigh) -> None:
    world = CountingWorld(tmp_path / "world")
    verdict = weigh_in(world, study_of(statement_counters=True))
    rows = {(one["statement"], one["metric"]): one for one in verdict["statement_costs"]}
    log = rows[UPDATE, "wal_bytes"]
    assert (log["control_value"], log["arm_value"]) == pytest.approx((200, 100))
    assert log["estimate_percent"] == pytest.approx(-50)
    images = rows[UPDATE, "full_page_images"]
    assert (images["control_value"], images["arm_value"]) == pytest.approx((1, 0))
    assert images["difference"] == pytest.approx(-1)
    assert not [key for key in rows if key[0] == SELECT], "it cost nothing in either arm"
    starts = [call.arguments[1] for call in world.noop.calls if call.action == "start"]
    assert all(given["count_statements"] == "on" for given in starts)
    shown = render_verdict(Verdict.of_json(verdict, "the verdict"), 100)
    assert "an execution of" in shown
    assert UPDATE in shown
    page = render_page(read_source(tmp_path / "record", core_counts))
    assert f"{UPDATE}: WAL" in page
    assert "What an execution of each statement cost" in page


def test_servers_do_not_count_unasked(tmp_path: Path, weigh_in: Weigh) -> None:
    world = CountingWorld(tmp_path / "world")
    assert "statement_costs" not in weigh_in(world, study_of())
    assert world.looks == 0


def test_statements_that_a_server_forgot_are_missing(tmp_path: Path, weigh_in: Weigh) -> None:
    world = CountingWorld(tmp_path / "world")
    world.forgotten = 1
    verdict = weigh_in(world, study_of(statement_counters=True))
    assert "statement_costs" not in verdict
    line = json.loads((tmp_path / "record" / "telemetry.jsonl").read_text().splitlines()[0])
    assert "made room" in line["arms"]["on"]["statements"]["missing"]


def test_a_reset_between_two_looks_is_a_missing_reading() -> None:
    one = StatementCount(UPDATE, 10, 1000, 1, 0)
    many = StatementCounts({UPDATE: one})
    assert between(many, StatementCounts({UPDATE: replace(one, executions=3)})).missing
    assert not between(many, many).by_text, "what was not executed meanwhile is not told"
    assert between(StatementCounts(missing="gone"), many).missing == "gone"
