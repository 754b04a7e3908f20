"""On a standby, also a promoted one, pages set back by replay are not called lost writes."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from integrity.conftest import LAYOUT, Made, back_up, execute, page_of, plant, running
from steelyard._core import page_checksum
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.integrity.scrub.outcome import ScrubOutcome, ScrubRequest
from steelyard.integrity.scrub.scrub import scrub

FileOf = Callable[..., Path]
PAGE = 8192
START_S = 60
UPDATES = [f"UPDATE plain SET filler = repeat('{text}', 190)" for text in "abc"]


def scrubbed(path: Path, catalogue: Path) -> ScrubOutcome:
    # The server is not reached: what a backend reads would drive out what replay left in memory.
    request = ScrubRequest(
        path, catalogue=catalogue, max_rate=0.0, gaps_s=(0.1,), server="host=/nowhere"
    )
    return scrub(request, lambda *_: None)


def is_behind(outcome: ScrubOutcome) -> bool:
    return any("older than at an earlier scrub, and no damage" in note for note in outcome.notes)


def test_pages_go_back_for_good_reason_until_the_first_checkpoint_of_the_servers_own() -> None:
    assert LAYOUT.replayed_from is None, "a server that was no standby since its checkpoint"
    for state in ("in archive recovery", "shut down in recovery", "in production"):
        standby = replace(LAYOUT, state=state, min_recovery_point=LAYOUT.redo + 500)
        assert standby.replayed_from == LAYOUT.redo


@contextmanager
def standby(made: Made, place: Path) -> Iterator[None]:
    """A standby that has replayed all the log there is; few buffers, so that pages are evicted."""
    address = made.clone.address
    options = {
        "port": address.port,
        "unix_socket_directories": address.host,
        "listen_addresses": "''",
        "shared_buffers": "256kB",
        "bgwriter_lru_maxpages": 0,
        "fsync": "off",
    }
    log = place / "log"
    before = len(log.read_text()) if log.exists() else 0
    given = " ".join(f"-c {name}={value}" for name, value in options.items())
    start = ["-D", str(place), "-w", "-l", str(log), "-o", given, "start"]
    status, said = made.program("pg_ctl", *start)
    assert status == 0, said
    # Nobody connects: what a backend reads would drive out the pages that replay left in memory.
    until = time.monotonic() + START_S
    while "waiting for WAL" not in (words := log.read_text()[before:]):
        assert time.monotonic() < until, words
        time.sleep(0.05)
    try:
        yield
    finally:
        status, said = made.program("pg_ctl", "-D", str(place), "-m", "fast", "-w", "stop")
        assert status == 0, said


@pytest.fixture
def behind(made: Made, cluster: Cluster) -> Iterator[Path]:
    """A standby whose primary died after a checkpoint and more; it has its log."""
    place = made.slot.path / "behind"
    with running(made, {"wal_keep_size": "1GB"}) as alive:
        back_up(made, alive, place, "-X", "none")
        execute(alive, UPDATES[0], "CHECKPOINT", *UPDATES[1:])
        alive.crash()
    for segment in (cluster.directory / "pg_wal").glob("[0-9A-F]*"):
        copy = place / "pg_wal" / segment.name
        copy.write_bytes(segment.read_bytes())
        copy.chmod(0o644)
    (place / "standby.signal").touch()
    yield place
    shutil.rmtree(place)


@pytest.mark.long
@pytest.mark.postgres
def test_what_replay_sets_back_is_no_lost_write_and_one_from_before_it_is(
    made: Made, behind: Path, file_of: FileOf, tmp_path: Path
) -> None:
    catalogue = tmp_path / "catalogue"
    with standby(made, behind):
        pass
    assert "is begun" in scrubbed(behind, catalogue).notes[0]
    with standby(made, behind):
        alive = scrubbed(behind, catalogue)
    assert (alive.bad, is_behind(alive)) == ((), True), alive.notes
    # No restartpoint came since: the stop has left pages as they were.
    stopped = scrubbed(behind, catalogue)
    assert (stopped.layout.state, stopped.bad) == ("shut down in recovery", ())
    assert is_behind(stopped)
    wide = behind / file_of("wide_toast").relative_to(made.clone.directory)
    page = bytearray(page_of(wide, 3))
    page[4:8] = (int.from_bytes(page[4:8], "little") - 8).to_bytes(4, "little")
    page[8:10] = page_checksum(bytes(page), 3).to_bytes(2, "little")
    plant(wide, 3 * PAGE, bytes(page))
    outcome = scrubbed(behind, catalogue)
    assert [(f.path, f.block, f.reason) for f in outcome.bad] == [
        (str(wide.relative_to(behind)), 3, "backwards")
    ]
    plant(wide, 3 * PAGE, page_of(made.template.directory / wide.relative_to(behind), 3))
    with standby(made, behind):
        status, said = made.program("pg_ctl", "-D", str(behind), "-w", "promote")
        assert status == 0, said
        assert scrubbed(behind, catalogue).bad == ()
