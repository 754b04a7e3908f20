"""A damaged page spreads to a standby, a backup and a dump, as its arm and its fault decide."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from integrity.conftest import drilled_cluster, quiet
from steelyard.cli.views.drilled import render
from steelyard.engines.postgres.sql.drill_tables import expected_rows
from steelyard.engines.registry import Run
from steelyard.integrity.drill import consequences as drilled
from steelyard.integrity.drill import drill as drilling
from steelyard.integrity.drill.consequences import (
    AFTER_READ,
    AFTER_UPDATE,
    AT_ONCE,
    AT_UPDATE,
    CONSEQUENCE_FAULTS,
    FIRST_READ,
    NEVER,
    UNREACHED,
    Consequence,
    ReadEvent,
    damage_file,
    drill_consequences,
    dumped_rows,
    rates,
    true_rows,
)
from steelyard.integrity.drill.matrix import DetectionMatrix, Rate, interval
from steelyard.integrity.drill.test_cluster import TestCluster
from steelyard.model.errors import UsageError
from steelyard.report.drill import write_page

Met = dict[tuple[str, str], str]


@pytest.fixture(scope="module", params=["16", pytest.param("18", marks=pytest.mark.long)])
def cluster(request: pytest.FixtureRequest, run: Run) -> TestCluster:
    """A test cluster of a bundled version."""
    return drilled_cluster(request.param, run, 80, 1)


def events_by_arm(
    cluster: TestCluster, fault: str, monkeypatch: pytest.MonkeyPatch
) -> dict[str, Met]:
    """What each reader met of one fault, by arm."""
    monkeypatch.setattr(drilled, "CONSEQUENCE_FAULTS", (fault,))
    seen: list[Consequence] = []
    drill_consequences(cluster, 1, 1, quiet, seen)
    for path in cluster.files.values():
        assert (cluster.clone.directory / path).read_bytes() == cluster.current(path), "healed"
    return {each.arm: {(e.reader, e.when): e.word for e in each.events} for each in seen}


@pytest.mark.postgres
def test_a_wrong_letter_travels_without_checksums_stops_with_and_is_sealed_by_ignoring(
    cluster: TestCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = events_by_arm(cluster, "one bit in a row", monkeypatch)
    off, on, ignore = found["off"], found["on"], found["ignore"]
    for who in ("base backup", "dump"):
        assert (off[who, AT_ONCE], off[who, AFTER_UPDATE]) == ("silent", "silent")
        assert (on[who, AT_ONCE], on[who, AFTER_UPDATE]) == ("error", "error")
    assert (off["primary", FIRST_READ], off["primary", AT_UPDATE]) == ("silent", "done")
    assert off["standby", AFTER_UPDATE] == "silent", "the full page went with the log"
    assert (off["comparison", FIRST_READ], off["comparison", AFTER_UPDATE]) == ("differ", "same")
    assert (on["primary", FIRST_READ], on["primary", AT_UPDATE]) == ("error", "error")
    assert on["standby", AFTER_UPDATE] == "sound"
    # The first reader is warned; what is written then has a right checksum and is seen no more.
    assert (ignore["base backup", AT_ONCE], ignore["base backup", AFTER_UPDATE]) == (
        "error",
        "silent",
    )
    assert (ignore["primary", FIRST_READ], ignore["primary", AFTER_UPDATE]) == ("warning", "silent")
    assert ignore["standby", AFTER_UPDATE] == "silent"
    assert ignore["dump", AT_ONCE] == "silent", "pg_dump shows no warning of the server"
    for arm in found.values():
        verified = {saw for (who, _), saw in arm.items() if who == "pg_verifybackup"}
        assert verified <= {"passes"}, "it compares the backup with what was sent"


@pytest.mark.postgres
@pytest.mark.long
@pytest.mark.parametrize("fault", ["zeroed page", "lost write"])
def test_a_page_that_is_right_to_every_checksum_is_seen_by_comparing_alone(
    cluster: TestCluster, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    for arm in events_by_arm(cluster, fault, monkeypatch).values():
        assert arm["comparison", FIRST_READ] == "differ"
        assert arm["primary", FIRST_READ] == "silent"
        assert arm["base backup", AT_ONCE] == "silent"
        assert arm["dump", AT_ONCE] == "silent"
        # Of a page of zeroes there is no row to update; a lost write goes with the full page.
        lost = fault == "lost write"
        assert arm["primary", AT_UPDATE] == ("done" if lost else "no row")
        assert arm["standby", AFTER_READ] == "sound"
        assert arm["standby", AFTER_UPDATE] == ("silent" if lost else "sound")
        assert arm["comparison", AFTER_UPDATE] == ("same" if lost else "differ")


@pytest.mark.postgres
@pytest.mark.long
def test_a_damaged_header_is_refused_whatever_the_checksums(
    cluster: TestCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    for arm in events_by_arm(cluster, "damaged header", monkeypatch).values():
        assert arm["primary", FIRST_READ] == arm["primary", AT_UPDATE] == "error"
        assert arm["dump", AT_ONCE] == "error"
        assert arm["standby", AFTER_UPDATE] == "sound"


@pytest.mark.postgres
def test_every_feared_fault_changes_one_page_and_the_true_rows_are_those_loaded(
    cluster: TestCluster,
) -> None:
    from steelyard.engines.postgres.sql.drill_tables import copy_rows
    from steelyard.integrity.drill.consequences import word_for

    now = cluster.current(cluster.files[0, "heap"])
    for fault in CONSEQUENCE_FAULTS:
        file = damage_file(cluster, fault, random.Random(fault))
        hit = {at // 8192 for at in range(len(now)) if file.content[at] != now[at]}
        assert len(hit) == 1, fault
        assert len(file.content) == len(now)
        assert file == damage_file(cluster, fault, random.Random(fault)), "by the seed"
    with cluster.running() as server:
        assert word_for(copy_rows(server.address), true_rows()) == "sound"
        assert word_for(copy_rows(server.address), true_rows(7)) == "silent", "one row is another"
    cluster.restore()


def _told(fault: str, arm: str, *events: tuple[str, str, str]) -> Consequence:
    return Consequence(fault, arm, tuple(ReadEvent(*event) for event in events))


def test_when_each_noticed_first_is_what_was_seen_and_has_an_interval(tmp_path: Path) -> None:
    warned = _told("one bit in a row", "on", ("dump", AT_ONCE, "silent"),
                   ("primary", FIRST_READ, "warning"), ("dump", AFTER_UPDATE, "error"))  # fmt: skip
    blind = _told("one bit in a row", "on", ("dump", AT_ONCE, "silent"),
                  ("primary", FIRST_READ, "silent"), ("dump", AFTER_UPDATE, "silent"))  # fmt: skip
    assert warned.noticed() == {"dump": AFTER_UPDATE, "primary": FIRST_READ}
    spared = _told("one bit in a row", "on", ("standby", AFTER_READ, "sound"))
    assert spared.noticed() == {"standby": UNREACHED}
    reached = _told("lost write", "on", ("standby", AFTER_READ, "sound"),
                    ("standby", AFTER_UPDATE, "silent"))  # fmt: skip
    assert reached.noticed() == {"standby": NEVER}
    assert blind.noticed() == {"dump": NEVER, "primary": NEVER}
    of_reads = next(r for r in rates([warned, blind]) if r["who"] == "primary")
    assert (of_reads["noticed"], of_reads["times"]) == (1, 2)
    assert (of_reads["low"], of_reads["high"]) == pytest.approx(Rate(1, 2).interval())
    recovery = DetectionMatrix()
    recovery.add("one bit", "WAL", "on", "query: error", Rate(20, 20))
    facts = drilling.DrillResult(
        "18.4", 1, 20, 1.0, True, {}, DetectionMatrix(), recovery, [warned, blind], None
    ).to_json()
    assert json.loads(json.dumps(facts))["consequences"][0]["noticed"]["dump"] == AFTER_UPDATE
    words = render(facts)
    assert "silent 1 / warning 1" in words
    assert "after the update 1 / never 1" in words
    assert "100 [83, 100]" in words, "what a crash left, with its interval"
    page = tmp_path / "page.html"
    write_page(words, facts, page, interval)
    text = page.read_text()
    assert 'title="noticed 1 of 2: 1 to 99 % at 95 %">silent 1 / warning 1</td>' in text
    assert 'title="noticed 20 of 20: 83 to 100 % at 95 %">100</td>' in text
    assert "ignore_checksum_failure changes nothing there" in text


def test_a_part_that_there_is_not_is_refused() -> None:
    with pytest.raises(UsageError, match="unknown part"):
        drilling.drill(drilling.DrillRequest(parts=["attic"]), quiet)


def test_a_dump_is_compared_row_by_row() -> None:
    rows = expected_rows(0)
    lines = ["--", "COPY public.drill_0 (id, tag, filler, long) FROM stdin;"]
    lines += ["\t".join(row) for row in reversed(rows)]
    assert dumped_rows("\n".join([*lines, "\\.", "-- done"])) == rows
    lines[-1] = lines[-1].replace("c", "b", 1)
    assert dumped_rows("\n".join([*lines, "\\."])) != rows
