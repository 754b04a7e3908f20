"""docs/results/drilled.md says what was kept of drills, with an interval on every rate between."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from steelyard.integrity.drill.matrix import Rate
from validation.drilled import files, keep, read_algorithms, read_drills
from validation.pages.drilled import page
from validation.pages.folded import outdated


def cell(check: str, arm: str, noticed: int, fault: str = "one bit") -> dict[str, Any]:
    rate = Rate(noticed, 20).to_json()
    return {"fault": fault, "place": "heap", "arm": arm, "check": check, **rate}


def facts(**changed: Any) -> dict[str, Any]:
    event = {"fault": "one bit", "arm": "on", "who": "primary", "when": "at once"}
    return {
        "version": "18.4",
        "seed": 1,
        "copies": 20,
        "interrupted": False,
        "cost": None,
        "pages": [
            {"fault": "one bit", "check": "scrub", **Rate(999_985, 1_000_000).to_json()},
        ],
        "files": [
            cell("planted", "on", 20),
            cell("query: error", "on", 20),
            cell("query: nobody", "on", 0),
            cell("pg_basebackup", "on", 7),
            cell("query: wrong answer", "on", 0),
            cell("scrub", "on", 20),
            cell("query: nobody", "on", 5, "zeroed page"),
            cell("query: wrong answer", "on", 0, "zeroed page"),
            cell("scrub", "on", 0, "zeroed page"),
            cell("query: nobody", "on", 1, "run of bits"),
            cell("query: wrong answer", "on", 0, "run of bits"),
            cell("scrub", "on", 20, "run of bits"),
        ],
        "recovery": [cell("query: error", "on", 3)],
        "consequences": [{**event, "noticed": {"primary": "at once"}}],
        "consequence_rates": [{**event, "saw": {"error": 3}, **Rate(3, 3).to_json()}],
    } | changed


def written(folder: Path, name: str, one: dict[str, Any]) -> Path:
    file = folder / name
    file.write_text(json.dumps(one))
    return file


def test_rates_stand_with_their_intervals_and_what_nobody_noticed_with_its_reason() -> None:
    text = page([facts()])
    assert "| one bit | – | – | – | – | – | 100 |" in text, "an error every time"
    low, high = Rate(7, 20).interval()
    assert f"| 35 [{100 * low:.0f}, {100 * high:.0f}] |" in text
    assert "| one bit | 15 [8.4, 24.7] |" in text, "in memory, of a million"
    unnoticed = text.partition("without being told")[2].partition("###")[0]
    assert "zeroed page | heap | 25 [9, 49] | 0 | 0 | a page of zeroes is one that" in unnoticed
    assert "run of bits | heap | 5 [0, 25] | 0 | 100 | the sum is wrong, but" in unnoticed
    assert "one bit" not in unnoticed
    assert "of 20 faults in one place 0 means 0 to 17" in text


def test_parts_of_a_drill_come_together_and_what_is_not_whole_is_refused(tmp_path: Path) -> None:
    whole, none = facts(), {"recovery": [], "consequences": [], "consequence_rates": []}
    one = written(tmp_path, "one.json", facts(**none))
    rest = written(tmp_path, "rest.json", facts(pages=[], files=[]))
    with pytest.raises(ValueError, match="PostgreSQL 18: no recovery"):
        keep([one], tmp_path)
    with pytest.raises(ValueError, match="interrupted"):
        keep([written(tmp_path, "half.json", facts(interrupted=True))], tmp_path)
    assert read_drills(tmp_path) == []
    keep([one, rest], tmp_path)
    assert page(read_drills(tmp_path)) == page([whole])


def test_a_fault_that_is_drilled_anew_replaces_its_rows_alone(tmp_path: Path) -> None:
    anew = [cell("query: nobody", "on", 0, "run of bits"), cell("scrub", "on", 19, "run of bits")]
    none = {"pages": [], "recovery": [], "consequences": [], "consequence_rates": []}
    files = [
        written(tmp_path, "whole.json", facts()),
        written(tmp_path, "anew.json", facts(files=anew, **none)),
    ]
    keep(files, tmp_path)
    [found] = read_drills(tmp_path)
    others = [row for row in facts()["files"] if row["fault"] != "run of bits"]
    assert found["files"] == others + anew
    assert found["recovery"] == facts()["recovery"]


def test_ways_to_verify_stand_with_their_speeds_and_what_they_miss(tmp_path: Path) -> None:
    speed = {"gigabytes_per_s": 17.04, "low": 16.5, "high": 18.0, "ticks_per_page": 1203.4}
    way = {
        "algorithm": "PostgreSQL",
        "identity": "block",
        "speeds": {"SSE2": {"read cached": speed}},
        "faults": {"one bit": Rate(999_985, 1_000_000).to_json(), "torn": Rate(9, 9).to_json()},
    }
    none = {"algorithm": "none", "identity": "none", "speeds": {}}
    faults = {"one bit": Rate(0, 9).to_json(), "torn": Rate(0, 9).to_json()}
    machine = {
        "kernel": "Linux 6", "processor": "EPYC", "allowed_processors": [0], "memory_bytes": 10**9,
        "virtual": True, "hostname": "not for others",
    }  # fmt: skip
    compared = {"seed": 1, "machine": machine, "algorithms": [{**none, "faults": faults}, way]}
    keep([written(tmp_path, "algorithms.json", compared)], tmp_path)
    found = read_algorithms(tmp_path)
    assert found is not None
    assert "hostname" not in found["machine"]
    text = page([facts()], found)
    assert "| PostgreSQL | block | SSE2 | 17.0 [16.5, 18.0] (1203) |" in text
    assert "| none, none | all | all |" in text
    assert "| PostgreSQL, block | 15 [8.4, 24.7] | – |" in text
    assert "side by side" not in page([facts()])


def test_the_published_page_is_what_was_kept() -> None:
    assert read_drills(), "drills of 18 and 16 are kept"
    assert not outdated(files()), "run python -m validation.drilled"
