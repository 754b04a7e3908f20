"""The first page says its limits and what was weighed, of any record."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from records.conftest import unpack
from steelyard.report.answer.first_page import NO_DOUBT, FirstPage, first_page
from steelyard.report.page import render_page
from steelyard.report.source import core_counts, read_source

Counts = Callable[[list[str], list[int]], list[int]]
MakeRecord = Callable[..., Path]


def shown(record: Path, counts: Counts) -> FirstPage:
    return first_page(read_source(record, counts))


def change(record: Path, name: str, edit: Callable[[dict[str, Any]], object]) -> None:
    value = json.loads((record / name).read_text())
    edit(value)
    (record / name).write_text(json.dumps(value))


def test_doubts_stand_first_those_that_invalidate_before_all(
    record: MakeRecord, counts: Counts
) -> None:
    mild = {"name": "steal", "seen": "s1", "cause": "c", "advice": "a", "invalidates": False}
    fatal = {**mild, "name": "wrong", "seen": "", "invalidates": True}
    page = shown(record(threats=[mild, fatal, mild]), counts)
    assert page.doubts == (("wrong", "–"), ("steal", "s1"))
    assert NO_DOUBT not in page.limits


def test_no_doubt_is_no_proof_and_reads_say_nothing_of_writes(
    record: MakeRecord, counts: Counts
) -> None:
    directory = record(threats=[])
    page = shown(directory, counts)
    assert page.limits[0] == NO_DOUBT
    assert "what writes cost is not in it" in page.limits[-1]
    change(directory, "plan.json", lambda plan: plan.update(writes=True))
    assert "Checkpoints that are further apart" in shown(directory, counts).limits[-1]


def test_what_makes_a_pair_of_arms_invalid_is_a_doubt_of_the_page(
    record: MakeRecord, counts: Counts
) -> None:
    """It said that none of the known threats was seen, above the pair's own ruling."""
    directory = record(arms=("on", "off", "tuned"), threats=[])
    fatal = {"name": "wrong answer", "seen": "s", "cause": "c", "advice": "a", "invalidates": True}

    def with_pair(verdict: dict[str, Any]) -> None:
        second = verdict["contrasts"][1]
        verdict["pairs"] = [{**second, "control": "off", "verdict": "invalid", "threats": [fatal]}]

    change(directory, "verdict.json", with_pair)
    page = shown(directory, counts)
    assert page.doubts == (("wrong answer", "s"),)
    assert NO_DOUBT not in page.limits


def test_what_is_open_says_how_long_it_would_take_once(record: MakeRecord, counts: Counts) -> None:
    directory = record(effects=(0.0,), spread=0.02)
    more = "If the effect is as large as it reads, 4 min more measuring would settle it."

    def unsettle(verdict: dict[str, Any]) -> None:
        verdict["contrasts"][0].update(
            verdict="inconclusive", forecast_seconds=240, sentence="inconclusive: it reads 1 %"
        )

    change(directory, "verdict.json", unsettle)
    assert more in shown(directory, counts).limits
    said = {"sentence": "inconclusive: if the effect is as large as it reads, 4 min more"}
    change(directory, "verdict.json", lambda verdict: verdict["contrasts"][0].update(said))
    assert more not in shown(directory, counts).limits


def test_a_record_without_a_verdict_claims_nothing(record: MakeRecord, counts: Counts) -> None:
    page = shown(record(verdict=False), counts)
    assert page.limits == ("There is no verdict: no result is claimed.",)
    assert dict(page.weighed)["compared"] == "on → off"


@pytest.mark.long
def test_of_several_arms_each_has_its_own_differences(record: MakeRecord, counts: Counts) -> None:
    """A row that names no arm would read as if one arm had what two have."""
    declared = {"off": [["shared_buffers", "128MB", "1GB"]], "third": [["work_mem", "4MB", "64MB"]]}
    directory = record(arms=("on", *declared))
    every = [row for rows in declared.values() for row in rows]
    change(directory, "verdict.json", lambda v: v["differences"].update(declared=every))
    assert dict(shown(directory, counts).weighed)["compared"] == "on → off, third"
    inspection = {
        "compared": 388, "statements": 1, "writes": False,
        "arms": {
            arm: {"differences": {"declared": rows, "derived": [["wal_buffers", "4MB", arm]]}}
            for arm, rows in declared.items()
        },
    }  # fmt: skip
    (directory / "inspection.json").write_text(json.dumps(inspection))
    assert dict(shown(directory, counts).weighed)["compared"] == (
        "off: shared_buffers: 128MB → 1GB; third: work_mem: 4MB → 64MB"
    )
    change(directory, "verdict.json", lambda v: v["differences"].update(derived=[["a", "b", "c"]]))
    page = render_page(read_source(directory, counts))
    tables = re.findall(r"<thead><tr>(.*?)</tr></thead>\s*<tbody>(.*?)</tbody>", page, re.DOTALL)
    for arm, [[name, _, value]] in declared.items():
        [rows] = [body for head, body in tables if f"{name}</th>" in body and "difference" in head]
        [head] = [head for head, body in tables if body == rows]
        assert f'<th scope="col">{arm}</th>' in head
        assert value in rows
        assert f"<td>{arm}</td>" in page, "of what follows, too"
    assert "other arm" not in page


def test_what_was_weighed_is_named(tmp_path: Path) -> None:
    directory = unpack("settings", tmp_path)
    rows = dict(first_page(read_source(directory, core_counts)).weighed)
    assert rows["compared"] == "wal_compression: off → pglz"
    assert rows["traffic"] == "tproc-c, 8 clients, reads and writes"
    assert rows["server"] == "postgres 18.4"
    place = {
        "processors": 4, "processor": "EPYC", "memory_bytes": 2**33, "workload": "ours",
        "products": ["PostgreSQL 18.4", "PostgreSQL 16.14"], "clients": 8,
        "data": 'dump "shop"', "data_bytes": 60 * 2**20,
    }  # fmt: skip
    change(directory, "verdict.json", lambda verdict: verdict.update(place=place))
    rows = dict(first_page(read_source(directory, core_counts)).weighed)
    assert rows["data"] == 'dump "shop" (60 MB)'
    assert rows["server"] == "PostgreSQL 18.4 and PostgreSQL 16.14"
    assert "4 processors, 8192 MB of memory" in rows["machine"]
    many = [[f"setting_{n}", "a", "b"] for n in range(6)]
    change(directory, "verdict.json", lambda verdict: verdict["differences"].update(declared=many))
    rows = dict(first_page(read_source(directory, core_counts)).weighed)
    assert rows["compared"].endswith("setting_3: a → b; and 2 more")
