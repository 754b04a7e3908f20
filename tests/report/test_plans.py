"""The page shows every statement's plan, flipped ones side by side with what differs marked."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from report.test_page import Balanced
from steelyard.record.verdict import StatementTime
from steelyard.report.page import write_report
from steelyard.report.plans import MOST_LETTERS, shown_plans, time_text

MakeRecord = Callable[..., Path]
Counts = Callable[[list[str], list[int]], list[int]]
SELECT, UPDATE = "mix: SELECT n FROM t WHERE id = $1", "mix: UPDATE t SET n = $1 WHERE a < $2"
INDEX = "Index Scan using t_pkey on t\n  Index Cond: (id = $1)"
SEQ = "Seq Scan on t\n  Filter: (id = $1)"
TIME = {
    "arm": "off", "control": "on", "estimate_percent": 240.0, "low_percent": 230.0,
    "high_percent": 250.0, "confidence": 0.95, "of": "statement", "control_us": 100.0,
    "arm_us": 340.0,
}  # fmt: skip
FLIP = "Index Scan on t by t_pkey → Seq Scan on t"


def put_plans(record: Path, *, time: bool = True) -> Path:
    """Plans into a record, and the flip of one of them into its verdict."""
    inspection = {
        "compared": 1, "statements": 2, "writes": True, "arms": {},
        "plans": {
            "on": {SELECT: INDEX, UPDATE: "Update on t\n  ->  Seq Scan on t"},
            "off": {SELECT: SEQ, UPDATE: "Update on t\n  ->  Seq Scan on t"},
        },
    }  # fmt: skip
    (record / "inspection.json").write_text(json.dumps(inspection))
    verdict = json.loads((record / "verdict.json").read_text())
    one = {"arm": "off", "control": "on", "statement": SELECT, "flips": [FLIP]}
    verdict["plans"] = [{**one, **({"time": TIME} if time else {})}]
    (record / "verdict.json").write_text(json.dumps(verdict))
    return record


def page_of(record: Path, counts: Counts) -> str:
    return write_report(record, count_latencies=counts).read_text(encoding="utf-8")


def section(page: str) -> str:
    found = re.search(r'<h2 id="plans">.*?(?=<details class="part">|</main>)', page, re.DOTALL)
    assert found is not None
    return found[0]


def test_a_flip_is_shown_with_its_name_its_time_and_both_plans(
    record: MakeRecord, counts: Counts
) -> None:
    page = page_of(put_plans(record()), counts)
    parser = Balanced()
    parser.feed(page)
    assert (parser.wrong, parser.open) == ([], [])
    shown = section(page)
    assert f"<strong>{FLIP}</strong>" in shown
    assert "100 µs on, 340 µs off: +240.0 % [+230.0, +250.0]" in shown
    assert '<span class="differs" style="--depth:0">▸ Index Scan using t_pkey on t</span>' in shown
    assert '<span class="differs" style="--depth:0">▸ Seq Scan on t</span>' in shown
    assert '<span style="--depth:1">Index Cond: (id = $1)</span>' in shown
    assert "1 of 2 flips in off" in shown
    alike = shown.partition("<details>")[2]
    assert "1 statement planned alike in all arms" in alike
    assert "UPDATE t SET n" in alike
    assert "SELECT n FROM t" not in alike


def test_a_deep_plan_is_indented_by_a_third_of_what_explain_takes() -> None:
    plan = "Limit\n  ->  Sort\n        Sort Key: a\n        ->  Seq Scan on t"
    shown = shown_plans({"on": {SELECT: plan}}, "on", None)
    assert shown is not None
    [one] = shown.alike
    assert [(line.text, line.depth) for line in one.plan] == [
        ("Limit", 0), ("-> Sort", 1), ("Sort Key: a", 3), ("-> Seq Scan on t", 3),
    ]  # fmt: skip


def test_a_statement_without_a_time_says_how_to_get_one(record: MakeRecord, counts: Counts) -> None:
    assert "workload.timed = true" in section(page_of(put_plans(record(), time=False), counts))


def test_arms_that_plan_alike_are_said_to(record: MakeRecord, counts: Counts) -> None:
    directory = put_plans(record())
    inspection = json.loads((directory / "inspection.json").read_text())
    inspection["plans"]["off"] = inspection["plans"]["on"]
    (directory / "inspection.json").write_text(json.dumps(inspection))
    shown = section(page_of(directory, counts))
    assert "No plan flips: every node is the same in all arms." in shown
    assert "differs" not in shown


def test_a_record_without_plans_has_no_such_section(record: MakeRecord, counts: Counts) -> None:
    assert 'id="plans"' not in page_of(record(), counts)
    assert shown_plans({}, "on", None) is None


def test_a_line_of_a_thousand_values_is_cut() -> None:
    plan = f"Seq Scan on t\n  Filter: (a = ANY ('{{{'x,' * 1000}}}'::text[]))"
    shown = shown_plans({"on": {SELECT: plan}, "off": {SELECT: INDEX}}, "on", None)
    assert shown is not None
    [pair] = shown.pairs
    assert max(len(line.text) for line in pair.flipped[0].control) <= MOST_LETTERS + 2


@pytest.mark.parametrize(
    ("of", "begins"), [("statement", "100 µs on"), ("transaction", "a transaction of this")]
)
def test_a_time_says_what_it_is_of(of: str, begins: str) -> None:
    time = StatementTime.model_validate({**TIME, "of": of})
    assert time_text(time).startswith(begins)
    assert time_text(time).endswith("+240.0 % [+230.0, +250.0]")
