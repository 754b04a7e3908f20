"""Beside a running server, after a crash and in base backups, torn pages are not called damage."""

from __future__ import annotations

import gzip
import io
import tarfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from integrity.conftest import Made, back_up, execute, page_of, plant, running
from steelyard.engines.postgres.libpq.connection_string import client_flags, conninfo_of
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.integrity.scrub.advice import finding_facts
from steelyard.integrity.scrub.cluster_state import RunState
from steelyard.integrity.scrub.outcome import ScrubOutcome, ScrubRequest
from steelyard.integrity.scrub.scrub import scrub
from thinned import thinned

pytestmark = pytest.mark.postgres

FileOf = Callable[..., Path]
PAGE = 8192
QUICK = (0.2, 0.2, 0.4)


def scrubbed(path: Path, **options: object) -> ScrubOutcome:
    return scrub(ScrubRequest(path, **options), lambda *_: None)  # type: ignore[arg-type]


@pytest.mark.long
def test_damage_under_a_running_server_is_found_and_named(
    made: Made, cluster: Cluster, file_of: FileOf
) -> None:
    plain, index = file_of("plain"), file_of("plain_pkey")
    with running(made):
        plant(plain, 3 * PAGE + 5000, b"XYZ")  # it can still be shown as text
        plant(index, 2 * PAGE + 5000, b"\xff\x00\xff")
        outcome = scrubbed(
            cluster.directory, gaps_s=QUICK, server=conninfo_of(cluster.address), max_rate=0.0
        )
        shown = finding_facts(next(f for f in outcome.bad if f.path.endswith(f"/{plain.name}")))[
            "sql"
        ]
        first, select = shown.split("; ")
        assert len(execute(cluster, first, select)) > 10
        ((plan,), *_) = execute(cluster, f"EXPLAIN {select}")
        assert plan.startswith("Tid Scan"), "the rest of the table is left alone"
    assert outcome.run_state is RunState.RUNNING
    assert any("looked at again, up to 0.8 s later" in note for note in outcome.notes)
    named = {f.relation.name: f for f in outcome.bad if f.relation}
    assert set(named) == {"public.plain", "public.plain_pkey"}
    assert named["public.plain_pkey"].relation.table == "public.plain"  # type: ignore[union-attr]
    facts = finding_facts(named["public.plain"])
    assert "SELECT ctid, * FROM public.plain WHERE ctid = ANY" in facts["sql"]
    assert "REINDEX" in finding_facts(named["public.plain_pkey"])["advice"]


def test_the_server_of_another_cluster_names_no_relation(
    made: Made, cluster: Cluster, file_of: FileOf, made_of: Callable[[str], Made]
) -> None:
    """The numbers of its files are those of other tables, and an index would be made anew."""
    plant(file_of("plain"), 3 * PAGE + 5000, b"\xff\x00\xff")
    other = made_of("16" if made.engine.identity.version.startswith("18") else "18")
    with running(other) as foreign:
        outcome = scrubbed(cluster.directory, server=conninfo_of(foreign.address))
    assert [(f.block, f.relation) for f in outcome.bad] == [(3, None)]
    [note] = [note for note in outcome.notes if note.startswith("relations are not named: ")]
    assert "the server is of another cluster" in note


def test_what_nobody_looked_at_again_is_not_said_to_have_been(made: Made, cluster: Cluster) -> None:
    with running(made):
        outcome = scrubbed(cluster.directory, max_rate=0.0)
    assert any("the server runs" in note for note in outcome.notes)
    assert not any("looked at again" in note for note in outcome.notes)


def test_a_page_that_is_whole_at_a_later_look_is_no_damage(
    made: Made, cluster: Cluster, file_of: FileOf
) -> None:
    plain = file_of("plain")
    sound = page_of(plain, 3)
    with running(made):
        plant(plain, 3 * PAGE, sound[:4096] + bytes(4096))
        heal = threading.Timer(0.6, plant, (plain, 3 * PAGE, sound))
        heal.start()
        outcome = scrubbed(cluster.directory, gaps_s=(0.3, 0.6, 0.3), max_rate=0.0)
        heal.join()
    assert (outcome.bad_blocks, outcome.transient) == (0, 1)


def load(cluster: Cluster, until: float, wrong: list[str]) -> None:
    """Updates as fast as it goes, with forced checkpoints: pages are always being written."""
    number = 0
    try:
        with psycopg.connect(conninfo_of(cluster.address), autocommit=True) as session:
            while time.monotonic() < until:
                number += 1
                session.execute(
                    "UPDATE plain SET filler = repeat(md5(random()::text), 6) "
                    "WHERE mod(id, 50) = %s",
                    (number % 50,),
                )
                if number % 20 == 0:
                    session.execute("CHECKPOINT")
                if number % 90 == 0:
                    session.execute("VACUUM plain")
    except psycopg.Error as error:
        wrong.append(str(error))


def under_load(made: Made, seconds: float, gaps_s: tuple[float, ...]) -> list[ScrubOutcome]:
    """Scrubs, one after the other, of a cluster that writes all the time."""
    outcomes, wrong = [], []
    with running(made, {"shared_buffers": "1MB", "bgwriter_delay": "10ms"}) as cluster:
        until = time.monotonic() + seconds
        writer = threading.Thread(target=load, args=(cluster, until, wrong))
        writer.start()
        while time.monotonic() < until:
            outcomes.append(scrubbed(cluster.directory, gaps_s=gaps_s, max_rate=0.0, threads=2))
        writer.join()
    assert not wrong
    return outcomes


@pytest.mark.long
def test_a_server_that_writes_all_the_time_raises_no_alarm(made: Made, cluster: Cluster) -> None:
    outcomes = under_load(made, 2.0, (0.2, 0.2, 0.5))
    assert outcomes
    assert [o.bad for o in outcomes if o.bad] == []


TEN_MINUTES_S = 600
CLIENTS = 4


def tpcb_and_checkpoints(made: Made, cluster: Cluster, seconds: int, wrong: list[str]) -> None:
    """TPC-B as fast as it goes by pgbench, and a checkpoint every second."""
    until = time.monotonic() + seconds
    target = client_flags(cluster.address)

    def drive() -> None:
        status, words = made.program(
            "pgbench", *target, "-c", str(CLIENTS), "-T", str(seconds), "-n", "postgres"
        )
        if status != 0:
            wrong.append(words)

    driver = threading.Thread(target=drive)
    driver.start()
    while time.monotonic() < until:
        execute(cluster, "CHECKPOINT", "SELECT pg_sleep(1)")
    driver.join()


@pytest.mark.long
def test_ten_minutes_of_full_load_raise_no_alarm_and_planted_damage_is_found(
    made: Made, cluster: Cluster, file_of: FileOf
) -> None:
    wide = file_of("wide_toast")
    wrong: list[str] = []
    with running(made, {"shared_buffers": "16MB", "max_wal_size": "1GB"}) as alive:
        target = client_flags(alive.address)
        status, words = made.program("pgbench", *target, "-i", "-q", "-s", "20", "postgres")
        assert status == 0, words
        load = threading.Thread(
            target=tpcb_and_checkpoints, args=(made, alive, TEN_MINUTES_S, wrong)
        )
        load.start()
        outcomes = []
        while load.is_alive():
            outcomes.append(scrubbed(alive.directory, max_rate=0.0, threads=2))
        assert not wrong
        assert len(outcomes) > TEN_MINUTES_S // 60
        assert [o.bad for o in outcomes if o.bad] == []
        # Once it is on disk and evicted, damage under the same load is found.
        execute(alive, "CHECKPOINT", "SELECT count(*) FROM pgbench_accounts")
        plant(wide, 2 * PAGE + 5000, b"\xff\x00\xff")
        load = threading.Thread(target=tpcb_and_checkpoints, args=(made, alive, 15, wrong))
        load.start()
        outcome = scrubbed(alive.directory, max_rate=0.0)
        load.join()
    assert not wrong
    assert [(f.path.endswith(wide.name), f.block) for f in outcome.bad] == [(True, 2)]


@pytest.mark.long
def test_a_torn_page_of_a_crashed_cluster_waits_for_replay_and_is_healed_by_it(
    made: Made, cluster: Cluster, file_of: FileOf
) -> None:
    plain = file_of("plain")
    with running(made) as alive:
        before = page_of(plain, 3)
        execute(alive, "CHECKPOINT", "UPDATE plain SET filler = repeat('x', 192) WHERE id < 200")
        execute(alive, "CHECKPOINT")
        execute(alive, "UPDATE plain SET filler = repeat('y', 192) WHERE id < 200")
        alive.crash()
    # Of the write of the new page only the first half arrived; the log holds all of it.
    state = scrubbed(cluster.directory, gaps_s=QUICK, crashed=True)
    assert state.run_state is RunState.CRASHED
    newest = bytearray(page_of(plain, 3))
    lsn = state.layout.redo + 8
    newest[0:8] = (lsn >> 32).to_bytes(4, "little") + (lsn & 0xFFFFFFFF).to_bytes(4, "little")
    plant(plain, 3 * PAGE, bytes(newest[:4096]) + before[4096:])
    unsure = scrubbed(cluster.directory, gaps_s=QUICK)
    assert (unsure.run_state, [f.block for f in unsure.bad]) == (RunState.POSSIBLY, [3])
    assert any("--crashed" in note for note in unsure.notes)
    torn = scrubbed(cluster.directory, gaps_s=QUICK, crashed=True)
    assert [f.block for f in torn.needs_replay] == [3]
    told = torn.to_json()["needs_replay"][0]["advice"]
    assert told.startswith("Nothing yet: recovery makes it right."), "no advice for damage"
    assert (torn.bad_blocks, torn.exit_status) == (0, 0)
    with running(made):
        pass
    healed = scrubbed(cluster.directory)
    assert (healed.run_state, healed.bad_blocks, healed.needs_replay) == (RunState.STOPPED, 0, ())


def test_an_lsn_that_no_log_reaches_is_damage_also_after_a_crash(
    made: Made, cluster: Cluster, file_of: FileOf
) -> None:
    with running(made) as alive:
        alive.crash()
    plant(file_of("plain"), 3 * PAGE, b"\xff\xff\xff\x7f")
    outcome = scrubbed(cluster.directory, gaps_s=QUICK, crashed=True)
    assert ([f.block for f in outcome.bad], outcome.needs_replay) == ([3], ())


@thinned("form", ["plain", "tar", "tar.gz"], 1)
def test_base_backups_are_read_as_directory_and_as_archives(
    made: Made, cluster: Cluster, file_of: FileOf, form: str
) -> None:
    place = made.slot.path / f"backup-{form}"
    plain = file_of("plain")
    with running(made) as alive:
        how = ["--format=plain"] if form == "plain" else ["--format=tar"]
        how += ["--gzip"] if form == "tar.gz" else []
        back_up(made, alive, place, *how)
    sound = scrubbed(place, backup=True)
    assert sound.run_state is RunState.BACKUP
    assert (sound.bad_blocks, sound.needs_replay) == (0, ())
    assert sound.blocks > 900
    name = str(plain.relative_to(cluster.directory))
    damage = {3 * PAGE + 5000: b"\xff\x00\xff"}
    damage[4 * PAGE + 4] = b"\xff\xff\xff\x00"  # an LSN beyond the backup's log
    if form == "plain":
        for at, spoilt in damage.items():
            plant(place / name, at, spoilt)
    else:
        plant_in_archive(place / f"base.{form}", name, damage)
    found = scrubbed(place, backup=True)
    assert [(f.path, f.block) for f in found.bad] == [(name, 3), (name, 4)]


def plant_in_archive(archive: Path, name: str, damage: dict[int, bytes]) -> None:
    """Plant damage at offsets of a member of an archive that may be compressed."""
    packed = archive.suffix == ".gz"
    content = gzip.decompress(archive.read_bytes()) if packed else archive.read_bytes()
    spoilt = bytearray(content)
    with tarfile.open(fileobj=io.BytesIO(content)) as opened:
        start = opened.getmember(name).offset_data
    for at, planted in damage.items():
        spoilt[start + at : start + at + len(planted)] = planted
    archive.write_bytes(gzip.compress(spoilt, 1) if packed else spoilt)
