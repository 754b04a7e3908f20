"""After a crash and in recovery only pages that the log heals are excused."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from integrity.conftest import Made, back_up, execute, page_of, plant, running
from steelyard._core import page_checksum, read_control
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.life.control import PidFile, read_pid_file
from steelyard.integrity.scrub.cluster_state import RunState, inspect_cluster, is_recovering
from steelyard.integrity.scrub.layout import ClusterLayout
from steelyard.integrity.scrub.outcome import ScrubOutcome, ScrubRequest
from steelyard.integrity.scrub.scrub import scrub
from steelyard.model.errors import UsageError

pytestmark = pytest.mark.postgres

FileOf = Callable[..., Path]
PAGE = 8192
QUICK = (0.1, 0.1, 0.1)
CONTROL = "global/pg_control"
START_S = 30


def scrubbed(path: Path, **options: object) -> ScrubOutcome:
    request = ScrubRequest(path, gaps_s=QUICK, **options)  # type: ignore[arg-type]
    return scrub(request, lambda *_: None)


def with_lsn(page: bytes, lsn: int) -> bytes:
    high, low = (lsn >> 32).to_bytes(4, "little"), (lsn & 0xFFFFFFFF).to_bytes(4, "little")
    return high + low + page[8:]


def tear(path: Path, block: int, lsn: int) -> None:
    """A page of which the new first half, with its LSN, was written alone."""
    page = with_lsn(page_of(path, block), lsn)
    plant(path, block * PAGE, page[:4096] + bytes(2048) + page[6144:])


def crashed(made: Made, settings: dict[str, str] | None = None) -> int:
    """A cluster that was killed behind a checkpoint; where its replay starts."""
    with running(made, settings) as alive:
        execute(alive, "CHECKPOINT", "CREATE TABLE later AS SELECT generate_series(1, 1000)")
        alive.crash()
    return read_control(made.clone.directory / CONTROL)["redo"]


def test_the_fields_of_recovery_read_as_pg_controldata_prints_them(made: Made) -> None:
    place = made.slot.path / "control"
    made.engine.account.make_directory(place)
    made.engine.account.make_directory(place / "global")
    control = bytearray((made.template.directory / CONTROL).read_bytes())
    for at, value in ((136, 0x1_0000_00A1), (152, 0x2_0000_00B2), (160, 0x3_0000_00C3)):
        control[at : at + 8] = value.to_bytes(8, "little")
    control[56], control[168] = 0, 1
    (place / CONTROL).write_bytes(control)
    (place / CONTROL).chmod(0o644)
    _, words = made.program("pg_controldata", str(place))
    printed = dict(line.split(":", 1) for line in words.splitlines() if ":" in line)
    read = read_control(place / CONTROL)
    for name, value in (
        ("Latest checkpoint's full_page_writes", "on" if read["full_page_writes"] else "off"),
        ("Minimum recovery ending location", f"1/{read['min_recovery_point'] & 0xFF:X}"),
        ("Backup start location", f"2/{read['backup_start_point'] & 0xFF:X}"),
        ("Backup end location", f"3/{read['backup_end_point'] & 0xFF:X}"),
        ("End-of-backup record required", "yes" if read["backup_end_required"] else "no"),
    ):
        assert printed[name].strip() == value, name
    assert read["min_recovery_point"] == 0x1_0000_00A1


def test_without_full_page_writes_no_torn_page_is_promised_to_be_healed(
    made: Made, cluster: Cluster, file_of: FileOf
) -> None:
    plain = file_of("plain")
    redo = crashed(made, {"full_page_writes": "off"})
    tear(plain, 3, redo + 8)
    outcome = scrubbed(cluster.directory, crashed=True)
    assert ([f.block for f in outcome.bad], outcome.needs_replay) == ([3], ())
    assert any("full_page_writes is off" in note for note in outcome.notes), outcome.notes


@pytest.mark.long
def test_without_a_log_nothing_is_excused(made: Made, cluster: Cluster, file_of: FileOf) -> None:
    plain = file_of("plain")
    redo = crashed(made)
    tear(plain, 3, redo + 8)
    assert len(scrubbed(cluster.directory, crashed=True).needs_replay) == 1
    for segment in (cluster.directory / "pg_wal").glob("[0-9A-F]*"):
        segment.unlink()
    outcome = scrubbed(cluster.directory, crashed=True)
    assert ([f.block for f in outcome.bad], outcome.needs_replay) == ([3], ())
    assert any("how far its write-ahead log reaches is not known" in n for n in outcome.notes)


def test_the_log_ends_where_it_was_written_to_not_where_names_end(
    made: Made, cluster: Cluster, file_of: FileOf
) -> None:
    plain = file_of("plain")
    with running(made) as alive:
        execute(alive, "CHECKPOINT", "UPDATE plain SET filler = 'x'", "CHECKPOINT")
        ((flushed,),) = execute(alive, "SELECT pg_current_wal_flush_lsn() - '0/0'")
        alive.crash()
    wal = cluster.directory / "pg_wal"
    last = sorted(wal.glob("[0-9A-F]" * 24))[-1]
    future = f"{int(last.name, 16) + 1:024X}"
    (wal / future).write_bytes(last.read_bytes())  # recycled: the pages of another time
    (wal / future).chmod(0o644)
    state = inspect_cluster(cluster.directory, crashed=True)
    assert state.replay_to is not None
    assert int(flushed) <= state.replay_to <= int(flushed) + 4 * PAGE
    tear(plain, 3, state.replay_to + 8)
    assert [f.block for f in scrubbed(cluster.directory, crashed=True).bad] == [3]
    (wal / future).unlink()


def test_unlogged_relations_are_reset_after_a_crash_and_only_then(
    made: Made, cluster: Cluster, file_of: FileOf
) -> None:
    plant(file_of("passing"), PAGE + 5000, b"\xff\x00\xff")
    assert [f.block for f in scrubbed(cluster.directory).bad] == [1]
    crashed(made)
    plant(file_of("passing"), PAGE + 5000, b"\xff\x00\xff")
    outcome = scrubbed(cluster.directory, crashed=True)
    assert (outcome.bad, [f.block for f in outcome.needs_replay]) == ((), [1])
    with running(made):
        pass
    assert scrubbed(cluster.directory).bad == ()


@pytest.mark.long
def test_a_write_that_a_crash_took_is_no_lost_write_when_the_log_has_it(
    made: Made, cluster: Cluster, file_of: FileOf, tmp_path: Path
) -> None:
    plain = file_of("plain")
    redo = crashed(made)
    before = {block: page_of(plain, block) for block in (3, 4)}
    for block, lsn in ((3, redo + 8), (4, redo - 8)):
        page = bytearray(with_lsn(before[block], lsn))
        page[8:10] = page_checksum(bytes(page), block).to_bytes(2, "little")
        plant(plain, block * PAGE, bytes(page))
    catalogue = tmp_path / "catalogue"
    assert scrubbed(cluster.directory, crashed=True, catalogue=catalogue).bad == ()
    for block, page in before.items():
        plant(plain, block * PAGE, page)
    outcome = scrubbed(cluster.directory, crashed=True, catalogue=catalogue)
    assert [(f.block, f.reason) for f in outcome.needs_replay] == [(3, "backwards")]
    assert [(f.block, f.reason) for f in outcome.bad] == [(4, "backwards")]


def test_a_file_that_ends_within_a_page_is_excused_where_it_can_have_been_growing(
    made: Made, cluster: Cluster, file_of: FileOf
) -> None:
    plain = file_of("plain")
    redo = crashed(made)
    os.truncate(plain, 50 * PAGE + 100)
    outcome = scrubbed(cluster.directory, crashed=True)
    assert ([(f.block, f.reason) for f in outcome.bad], outcome.needs_replay) == (
        [(50, "short")],
        (),
    )
    page = bytearray(with_lsn(page_of(plain, 48), redo + 8))
    page[8:10] = page_checksum(bytes(page), 48).to_bytes(2, "little")
    plant(plain, 48 * PAGE, bytes(page) + bytes(PAGE))  # extended by a page that is not filled yet
    outcome = scrubbed(cluster.directory, crashed=True)
    assert (outcome.bad, [(f.block, f.reason) for f in outcome.needs_replay]) == (
        (),
        [(50, "short")],
    )


def test_a_segment_that_grew_before_a_crash_is_filled_up_by_recovery(
    made: Made, cluster: Cluster, file_of: FileOf
) -> None:
    plain = file_of("plain")
    redo = crashed(made)
    behind = plain.with_name(f"{plain.name}.1")
    page = bytearray(with_lsn(page_of(plain, 0), redo + 8))
    page[8:10] = page_checksum(bytes(page), 131072).to_bytes(2, "little")
    behind.write_bytes(page)
    outcome = scrubbed(cluster.directory, crashed=True)
    assert (outcome.bad, [f.reason for f in outcome.needs_replay]) == ((), ["missing segment"])
    # What lies behind the gap is older than the start of replay: it was not growing.
    page[:8] = page_of(plain, 0)[:8]
    page[8:10] = page_checksum(bytes(page), 131072).to_bytes(2, "little")
    behind.write_bytes(page)
    outcome = scrubbed(cluster.directory, crashed=True)
    assert ([f.reason for f in outcome.bad], outcome.needs_replay) == (["missing segment"], ())


def test_a_server_that_cannot_be_seen_is_taken_to_run_unless_told_or_known(
    made: Made, cluster: Cluster
) -> None:
    crashed(made)
    assert inspect_cluster(cluster.directory).run_state is RunState.POSSIBLY
    assert inspect_cluster(cluster.directory, crashed=True).run_state is RunState.CRASHED
    file = cluster.directory / "postmaster.pid"
    lines = file.read_text().splitlines()
    lines[2] = "1000000000"  # started before this machine was
    file.write_text("\n".join(lines))
    assert inspect_cluster(cluster.directory).run_state is RunState.CRASHED
    file.unlink()
    assert inspect_cluster(cluster.directory).run_state is RunState.CRASHED
    with running(made) as alive, pytest.raises(UsageError, match="a server runs"):
        inspect_cluster(alive.directory, crashed=True)


def test_a_server_that_is_started_under_a_scrub_is_noticed(
    made: Made, cluster: Cluster, file_of: FileOf
) -> None:
    plain = file_of("plain")
    sound = page_of(plain, 3)
    plant(plain, 3 * PAGE, bytes(100))
    told = []

    def start(*_: int) -> None:
        if not told:
            told.append(1)
            made.clone.start(made.slot, {"fsync": "off", "autovacuum": "off"})
            time.sleep(0.2)

    def heal(read: int, *_: int) -> None:
        start()
        plant(plain, 3 * PAGE, sound)

    outcome = scrub(ScrubRequest(cluster.directory, gaps_s=QUICK), heal)
    made.clone.stop()
    assert (outcome.run_state, outcome.bad) == (RunState.RUNNING, ())
    assert any("started here meanwhile" in note for note in outcome.notes)


def layout_of(cluster: Cluster) -> ClusterLayout:
    return inspect_cluster(cluster.directory).layout


def test_who_is_consistent_is_told_by_state_and_by_what_the_server_says(cluster: Cluster) -> None:
    layout = layout_of(cluster)
    ready, starting = PidFile(1, None, "ready"), PidFile(1, None, "starting")
    archive = replace(layout, state="in archive recovery")
    unfinished = replace(archive, backup_start_point=5)
    for state, lock, wanted in (
        (archive, ready, False),
        (archive, starting, True),
        (archive, PidFile(1, None, "standby"), True),
        (unfinished, ready, True),
        (replace(layout, state="in crash recovery"), starting, True),
        (replace(layout, state="in production"), ready, False),
        (replace(layout, state="in production"), starting, True),
        (layout, starting, False),
    ):
        assert is_recovering(state, lock) is wanted, (state.state, lock)


@pytest.mark.long
def test_a_standby_that_still_replays_its_backup_is_not_judged_as_consistent(
    made: Made, cluster: Cluster, file_of: FileOf
) -> None:
    place = made.slot.path / "standby"
    with running(made) as alive:
        address = alive.address
        back_up(made, alive, place, "-X", "stream")
    plain = place / file_of("plain").relative_to(cluster.directory)
    (place / "standby.signal").touch()
    options = f"-c hot_standby=off -c port={address.port} -c unix_socket_directories=''"
    options += " -c listen_addresses=127.0.0.1"
    try:
        status, words = made.program(
            "pg_ctl", "-D", str(place), "-W", "-l", str(place / "log"), "-o", options, "start"
        )
        assert status == 0, words
        until = time.monotonic() + START_S
        while (lock := read_pid_file(place)) is None or lock.status != "standby":
            assert time.monotonic() < until, (place / "log").read_text()
            time.sleep(0.1)
        time.sleep(1)
        state = inspect_cluster(place)
        assert state.run_state is RunState.RUNNING
        assert state.replay_from is not None
        tear(plain, 3, state.replay_from + 8)
        plant(plain, 4 * PAGE + 5000, b"\xff\x00\xff")  # damage that no log explains
        outcome = scrubbed(place)
    finally:
        made.program("pg_ctl", "-D", str(place), "-m", "immediate", "stop")
    assert [f.block for f in outcome.needs_replay] == [3]
    assert [f.block for f in outcome.bad] == [4]
    assert any("being recovered" in note for note in outcome.notes)
