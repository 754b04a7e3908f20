"""A drill damages its cluster, reports what each check noticed, and removes the damage."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from integrity.conftest import drilled_cluster, quiet
from own_cache import own_cache
from steelyard._core import kernels
from steelyard.cli.command_line import app
from steelyard.cli.views.drilled import render, render_algorithms, sentence
from steelyard.engines.registry import Run
from steelyard.integrity.checksum_cost import SHIPPED_KERNEL
from steelyard.integrity.drill import drill as drilling
from steelyard.integrity.drill.drill import compare_algorithms, drill_pages, page_pairs
from steelyard.integrity.drill.faults import FAULTS
from steelyard.integrity.drill.files import drill_files, plant_in_copies
from steelyard.integrity.drill.matrix import (
    NEEDS_REPLAY,
    NO_START,
    QUERY_ERROR,
    ROW_COMPARISON,
    UNNOTICED,
    WRONG_ANSWER,
    DetectionMatrix,
    Rate,
    interval,
)
from steelyard.integrity.drill.recovery import WAL_FAULTS, drill_recovery
from steelyard.integrity.drill.test_cluster import TestCluster, require_drill_cluster
from steelyard.model.errors import EngineError, UsageError
from steelyard.report.drill import write_page

COPIES = 2


@pytest.fixture(scope="module", params=["16", pytest.param("18", marks=pytest.mark.long)])
def cluster(request: pytest.FixtureRequest, run: Run) -> TestCluster:
    """A test cluster of a bundled version."""
    return drilled_cluster(request.param, run, 60, COPIES)


@pytest.mark.postgres
def test_damage_is_detected_by_those_who_can_and_healed(cluster: TestCluster) -> None:
    matrix = DetectionMatrix()
    drill_files(cluster, ["misdirected write", "lost write"], ["heap"], 1, quiet, matrix)

    def noticed(check: str, fault: str, arm: str) -> int:
        rate = matrix.rate(check, fault=fault, arm=arm)
        assert rate.times == COPIES, (check, fault, arm)
        return rate.noticed

    assert noticed(QUERY_ERROR, "misdirected write", "on") == COPIES
    assert noticed("page checksum", "misdirected write", "on") == COPIES
    assert noticed("pg_checksums", "misdirected write", "on") == COPIES
    assert noticed("pg_basebackup", "misdirected write", "on") == COPIES
    if matrix.rate("pg_verifybackup").times:  # the one in the bundle of 18.4 crashes
        assert matrix.rate("pg_verifybackup").noticed == 0
    assert noticed("scrub", "misdirected write", "ignore") == COPIES
    # A page of another time: right to every check of pages, wrong to whoever knows the answer.
    for check in ("page checksum", "pg_checksums", "pg_basebackup", "scrub"):
        assert noticed(check, "lost write", "on") == 0
    assert noticed("catalogue", "lost write", "on") == COPIES
    assert noticed(WRONG_ANSWER, "lost write", "off") == COPIES
    assert noticed(ROW_COMPARISON, "lost write", "off") == COPIES
    assert noticed("table: wrong answer", "lost write", "off") == COPIES
    assert noticed("table: error", "misdirected write", "on") == COPIES
    assert noticed("server log", "misdirected write", "on") == COPIES
    assert cluster.clone.directory.is_dir()
    for number, place in cluster.files:
        path = cluster.files[number, place]
        assert (cluster.clone.directory / path).read_bytes() == cluster.current(path), "healed"


@pytest.mark.postgres
@pytest.mark.parametrize("place", ["heap", "FSM"])
def test_a_page_of_another_relation_has_the_same_number_there(
    cluster: TestCluster, place: str
) -> None:
    import random

    from steelyard._core import judge_page

    try:
        hit = plant_in_copies(cluster, "from another relation", place, random.Random(1))
        assert hit
        for number, blocks in hit.items():
            file = (cluster.clone.directory / cluster.files[number, place]).read_bytes()
            for block in blocks:
                assert judge_page(file[block * 8192 : (block + 1) * 8192], block, True) is None
    finally:
        cluster.restore()


@pytest.mark.postgres
@pytest.mark.parametrize("place", ["FSM", "VM", "index"])
def test_a_fault_is_drawn_again_until_something_is_spoiled(
    cluster: TestCluster, place: str
) -> None:
    """Most sectors of these pages are empty already."""
    import random

    for seed in range(3):
        try:
            hit = plant_in_copies(cluster, "zeroed sector", place, random.Random(seed))
            assert sorted(hit) == list(range(COPIES))
        finally:
            cluster.restore()


@pytest.mark.postgres
def test_the_same_seed_plants_the_same_damage(cluster: TestCluster) -> None:
    import random

    def planted(seed: int) -> list[bytes]:
        try:
            plant_in_copies(cluster, "run of bits", "index", random.Random(seed))
            paths = (cluster.files[number, "index"] for number in range(COPIES))
            return [(cluster.clone.directory / path).read_bytes() for path in paths]
        finally:
            cluster.restore()

    assert planted(3) == planted(3)
    assert planted(3) != planted(4)


@pytest.mark.postgres
@pytest.mark.long
def test_a_torn_page_is_healed_by_full_page_writes_and_seen_by_checksums_without(
    cluster: TestCluster,
) -> None:
    matrix = DetectionMatrix()
    drill_recovery(cluster, FAULTS, 1, 1, quiet, matrix)
    healed = matrix.rate(UNNOTICED, place="crash, full_page_writes on")
    assert healed == Rate(healed.times, healed.times)
    assert healed.times >= 3
    torn = {"place": "crash, full_page_writes off", "arm": "on"}
    seen = [matrix.rate(check, **torn) for check in (QUERY_ERROR, NO_START)]
    assert seen[0].noticed + seen[1].noticed == seen[0].times, "by a query, or by recovery itself"
    # Recovery that is told to pass over a wrong checksum goes on with the torn page.
    passed = {"place": "crash, full_page_writes off", "arm": "ignore"}
    assert matrix.rate(NO_START, **passed).noticed == 0
    assert matrix.rate("scrub", **passed).times == matrix.rate("scrub", **torn).times > 0
    assert {arm for _, place, arm, _ in matrix.cells if place in ("WAL", "pg_xact")} == {
        "off",
        "on",
    }
    # The log has a CRC of its own: recovery ends there, and what came after is silently gone.
    lost = matrix.rate(ROW_COMPARISON, place="WAL")
    assert lost.times == 2 * len(WAL_FAULTS)
    assert lost.noticed > 0
    # By its LSN, which is in the one half or the other, a torn page is damaged or needs replay.
    scrubbed = [matrix.rate(check, **torn) for check in ("scrub", NEEDS_REPLAY)]
    assert scrubbed[0].noticed + scrubbed[1].noticed == scrubbed[0].times


@pytest.mark.postgres
def test_pages_in_memory_and_algorithms_have_a_rate_for_every_fault(cluster: TestCluster) -> None:
    pairs = page_pairs(cluster)
    assert len(pairs) > 10
    pages: dict[str, dict[str, Rate]] = {}
    drill_pages(pairs, cluster.start, 2000, 1, quiet, pages)
    assert pages["garbage"]["page checksum"].noticed == 2000
    assert pages["lost write"]["page checksum"].noticed == 0
    assert pages["pd_upper zeroed"]["pg_checksums"].noticed == 0
    assert pages["pd_upper zeroed"]["page checksum"].noticed == 0, "the header's rule sees it"
    assert pages["pd_upper zeroed"]["header sanity"].noticed > 0
    assert pages["pd_upper zeroed"]["scrub"].noticed == pages["pd_upper zeroed"]["scrub"].times
    ways = compare_algorithms(pairs[:20], 100, 1, 1, quiet)
    assert {way.algorithm for way in ways} >= {"none", "torn-page bits", "PostgreSQL", "XXH3-64"}
    speeds = [s for way in ways for modes in way.speeds.values() for s in modes.values()]
    assert all(0 < speed.low <= speed.gigabytes_per_s <= speed.high for speed in speeds)
    own = next(way for way in ways if (way.algorithm, way.identity) == ("PostgreSQL", "block"))
    assert list(own.speeds) == list(dict.fromkeys([SHIPPED_KERNEL or kernels()[-1], kernels()[-1]]))
    assert not ways[0].speeds, "nothing is done, and nothing timed"
    words = render_algorithms({"algorithms": [way.to_json() for way in ways]})
    assert "torn-page bits, none" in words
    assert "from another relation" in words
    told = (line for line in words.splitlines() if "; sees " in line)
    line = next(line for line in told if line.startswith("torn-page bits, page id in the header: "))
    assert "from another relation" in line.partition("misses")[0]
    assert "lost write" in line.partition("misses")[2]


def test_a_directory_that_no_drill_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "PG_VERSION").write_text("18\n")
    with pytest.raises(UsageError, match="was not made by a drill"):
        require_drill_cluster(tmp_path)


def test_a_fault_or_place_that_there_is_not_is_refused() -> None:
    with pytest.raises(UsageError, match="unknown fault"):
        drilling.drill(drilling.DrillRequest(faults=["rust"]), quiet)
    with pytest.raises(UsageError, match="unknown place"):
        drilling.drill(drilling.DrillRequest(places=["attic"]), quiet)


def test_a_rate_has_its_exact_interval() -> None:
    assert Rate(0, 20).interval() == pytest.approx((0.0, 0.1684), abs=1e-4)
    assert Rate(20, 20).interval() == pytest.approx((0.8316, 1.0), abs=1e-4)
    assert Rate(0, 0).interval() == (0.0, 1.0)
    assert Rate(1, 2) + Rate(3, 4) == Rate(4, 6)


@pytest.mark.postgres
@pytest.mark.parametrize(
    "error",
    [pytest.param(KeyboardInterrupt(), marks=pytest.mark.long), EngineError("the server is gone")],
    ids=["interrupted", "failed"],
)
def test_a_drill_that_ends_early_tells_what_it_saw_and_leaves_nothing(
    error: BaseException, tmp_path: Path
) -> None:
    def interrupt(stage: str) -> None:
        if stage.startswith("lost write, "):
            raise error

    asked = drilling.DrillRequest(
        copies=1, trials=100, recovery=1, consequences=0, records=tmp_path
    )
    with own_cache() as root:
        seen = drilling.drill(asked, interrupt)
        assert seen.ended_by is error
        assert 0 < len(seen.pages) < 17
        assert list((root / "run").glob("2*")) == []
    assert "ended early" in render(seen.to_json())


def test_a_page_that_could_not_be_written_is_refused_before_anything_is_damaged(
    tmp_path: Path,
) -> None:
    for page in (tmp_path / "none" / "page.html", tmp_path):
        done = CliRunner().invoke(app, ["drill", "--page", str(page)], standalone_mode=False)
        assert isinstance(done.exception, UsageError)
        assert str(page) in str(done.exception)


@pytest.mark.long
@pytest.mark.postgres
def test_a_drill_that_is_told_to_end_prints_what_it_saw(tmp_path: Path) -> None:
    few = ["--copies", "1", "--trials", "100000", "--recovery", "0", "--json"]
    with own_cache() as root:
        process = subprocess.Popen(
            [sys.executable, "-m", "steelyard", "drill", *few],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        with process:
            assert process.stderr is not None
            next(line for line in process.stderr if line.startswith("run of bits, "))
            process.terminate()
            printed, _ = process.communicate(timeout=60)
        assert list((root / "run").glob("2*")) == []
    facts = json.loads(printed)
    assert process.returncode == 128 + signal.SIGTERM
    assert facts["interrupted"]
    assert "one bit" in {row["fault"] for row in facts["pages"]}


def _facts() -> dict[str, object]:
    matrix = DetectionMatrix()
    matrix.add("one bit", "heap", "on", QUERY_ERROR, Rate(19, 20))
    matrix.add("stale file", "heap", "off", WRONG_ANSWER, Rate(20, 20))
    pages = {
        "one bit": {"page checksum": Rate(999_985, 1_000_000)},
        "lost write": {"page checksum": Rate(0, 1_000_000)},
    }
    return drilling.DrillResult(
        "18.4", 1, 20, 60.0, True, pages, matrix, DetectionMatrix(), [], None
    ).to_json()


def test_the_sentence_says_what_is_caught_missed_and_paid(tmp_path: Path) -> None:
    facts = _facts()
    said = sentence(facts)
    assert said.startswith(
        "You catch one bit; you still miss lost write (100 % of them), stale file."
    )
    assert " The price: the change of throughput was not weighed here yet" in said
    words = render(facts)
    assert "(of 20 times a 0 means 0 to 17, a 100 means 83 to 100, at 95 %)" in words
    assert "15 [8.4, 24.7]" in words, "undetected of a million, with its interval"
    page = tmp_path / "page.html"
    write_page(words, facts, page, interval)
    text = page.read_text()
    assert "<p>You catch one bit" in text
    assert '<td class="some" title="19 of 20: 75 to 100 % at 95 %">95</td>' in text
    assert "http" not in text
