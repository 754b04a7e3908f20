"""A server that makes, rewrites and drops relations and databases all the time misses nothing."""

from __future__ import annotations

import threading
import time

import psycopg
import pytest

from integrity.conftest import Made, back_up, execute, running
from steelyard.engines.postgres.libpq.connection_string import conninfo_of
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.integrity.scrub import missing
from steelyard.integrity.scrub.outcome import ScrubOutcome, ScrubRequest
from steelyard.integrity.scrub.scrub import scrub
from thinned import thinned

pytestmark = pytest.mark.postgres

CHANGES = (
    "CREATE TABLE passing_by (id int PRIMARY KEY)",
    "VACUUM FULL pg_class",
    "CREATE UNLOGGED TABLE quick AS SELECT generate_series(1, 100) i",
    "TRUNCATE plain",
    "REINDEX TABLE wide",
    "CREATE DATABASE moment",
    "VACUUM FULL pg_database",
    "DROP TABLE passing_by, quick",
    "DROP DATABASE moment",
)
UNREACHED = "host=/nowhere"


def change(cluster: Cluster, stop: threading.Event, wrong: list[str]) -> None:
    try:
        with psycopg.connect(conninfo_of(cluster.address), autocommit=True) as session:
            while not stop.is_set():
                for statement in CHANGES:
                    session.execute(statement)  # type: ignore[arg-type]
    except psycopg.Error as error:
        wrong.append(str(error))


def scrubbed(cluster: Cluster, server: str | None) -> ScrubOutcome:
    request = ScrubRequest(cluster.directory, max_rate=0.0, gaps_s=(0.1,), server=server)
    return scrub(request, lambda *_: None)


@thinned("server", [None, UNREACHED], 1, ids=["asked", "unreached"])
def test_what_comes_and_goes_is_not_missing(
    made: Made, cluster: Cluster, server: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(missing, "BETWEEN_LOOKS_S", 0.3)
    stop, wrong = threading.Event(), list[str]()
    with running(made, {"shared_buffers": "1MB"}) as alive:
        writer = threading.Thread(target=change, args=(alive, stop, wrong))
        writer.start()
        try:
            outcomes = [scrubbed(alive, server) for _ in range(6)]
        finally:
            stop.set()
            writer.join()
    assert not wrong
    assert [outcome.bad for outcome in outcomes if outcome.bad] == []


def test_a_standby_misses_neither_unlogged_tables_nor_what_was_dropped(
    made: Made, cluster: Cluster
) -> None:
    place = made.slot.path / "follower"
    with running(made, {"wal_keep_size": "1GB"}) as alive:
        execute(alive, "CREATE DATABASE gone", "CHECKPOINT")
        back_up(made, alive, place, "-R")
        port = alive.address.port + 1000
        start = ("-D", str(place), "-w", "-l", str(place / "log"))
        status, said = made.program(
            "pg_ctl", *start, "-o", f"-p {port} -k {alive.address.host}", "start"
        )
        assert status == 0, said
        try:
            execute(alive, "DROP DATABASE gone", "DROP TABLE wide")
            execute(alive, "CREATE UNLOGGED TABLE volatile AS SELECT 1 AS one")
            [(lsn,)] = execute(alive, "SELECT pg_current_wal_lsn()::text")
            server = f"host={alive.address.host} port={port} user=postgres dbname=postgres"
            with psycopg.connect(server, autocommit=True) as session:
                query = f"SELECT pg_last_wal_replay_lsn() >= '{lsn}'"
                while not session.execute(query).fetchone()[0]:  # type: ignore[arg-type,index]
                    time.sleep(0.05)
            for conninfo in (server, UNREACHED):
                request = ScrubRequest(place, max_rate=0.0, gaps_s=(0.1,), server=conninfo)
                outcome = scrub(request, lambda *_: None)
                assert outcome.bad == (), conninfo
                unseen = any("not seen: relation files" in note for note in outcome.notes)
                assert unseen is (conninfo == UNREACHED)
        finally:
            made.program("pg_ctl", "-D", str(place), "-m", "fast", "-w", "stop")
    stopped = scrub(ScrubRequest(place), lambda *_: None)
    assert stopped.bad == (), "its catalogues on disk may be older than its files"
    assert any("scrub it while it runs" in note for note in stopped.notes)
