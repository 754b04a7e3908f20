"""A setting that flips a plan is told by the flip's name, beside the statement's time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from underway import QUICK, Underway

pytestmark = [pytest.mark.postgres, pytest.mark.long]

WITHOUT_INDEXES = (
    *("--set", "arm.settings.enable_indexscan=off"),
    *("--set", "arm.settings.enable_bitmapscan=off"),
)
FLIP = "Index Scan on pgbench_accounts by pgbench_accounts_pkey → Seq Scan on pgbench_accounts"


def test_a_plan_that_flips_is_named_in_verdict_and_report(start: Callable[..., Underway]) -> None:
    timed = ("--set", "workload.timed=true", "--set", "workload.scale=1")
    weighing = start("record", "settings", "-f", "simple-update", *WITHOUT_INDEXES, *timed, *QUICK)
    assert weighing.end() == 0, weighing.said
    verdict = weighing.verdict

    by_statement = {one["statement"]: one for one in verdict["plans"]}
    select = "simple-update: SELECT abalance FROM pgbench_accounts WHERE aid = $1"
    update = "simple-update: UPDATE pgbench_accounts SET abalance = abalance + $1 WHERE aid = $2"
    assert set(by_statement) == {select, update}, "the insert has no index to lose"
    for one in by_statement.values():
        assert one["flips"] == [FLIP]
        assert one["time"]["of"] == "statement"
        assert one["time"]["arm_us"] > one["time"]["control_us"] > 0
    [contrast] = verdict["contrasts"]
    doubts = {one["name"] for one in contrast["threats"]}
    assert "plans differ" not in doubts, "a setting of the planner is to change them"
    assert contrast["arm_throughput"] < contrast["control_throughput"]

    page = Path(verdict["record"], "report.html").read_text(encoding="utf-8")
    assert f"<strong>{FLIP}</strong>" in page
    assert ">▸ Index Scan using pgbench_accounts_pkey" in page


def test_statements_of_ones_own_transaction_are_judged_without_being_asked_for(
    start: Callable[..., Underway], tmp_path: Path
) -> None:
    script = tmp_path / "tx.sql"
    script.write_text(
        "\\set aid random(1, 100000)\nBEGIN;\nSELECT 1;\n"
        "SELECT abalance FROM pgbench_accounts\n WHERE aid = :aid;\nEND;\n"
    )
    changed = ("-f", str(script), "--set", "workload.scale=1")
    weighing = start("record", "settings", *changed, *WITHOUT_INDEXES, *QUICK)
    assert weighing.end() == 0, weighing.said
    rows = weighing.verdict["statements"]
    places = [row["statement"].removeprefix(str(script))[:3] for row in rows]
    assert {*places} == {":1 ", ":2 ", ":3 ", ":4 ", ":6 "}
    assert places[-1] == ":1 ", "what the client does by itself comes last"
    [scan] = [row for row in rows if row.get("flips")]
    assert scan["flips"] == [FLIP]
    assert scan["sql"] == "SELECT abalance FROM pgbench_accounts WHERE aid = $1"
    assert scan["arm_us"] > scan["control_us"] > 0
    page = Path(weighing.verdict["record"], "report.html").read_text(encoding="utf-8")
    assert f"{script}:4<" in page
