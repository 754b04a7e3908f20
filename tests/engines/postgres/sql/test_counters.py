"""Counters mean what they say on every bundled version, once those who counted have gone."""

from __future__ import annotations

import subprocess
import threading
from typing import Any

import psycopg
import pytest

from steelyard.engines.postgres.sql.counters import (
    KINDS,
    read_counters,
    sample_counters,
    wait_until_flushed,
)
from steelyard.engines.postgres.sql.queries import query
from steelyard.engines.postgres.sql.session import connect
from steelyard.model.errors import EngineError
from steelyard.model.readings import SESSION_LOG, Sample
from steelyard.telemetry.source import RESET, reading

pytestmark = pytest.mark.by_version

BLOCK = 8192
UNTOLD = "the server does not tell it"
LOG_TIMES = {"wal_write_us", "wal_sync_us", SESSION_LOG}
TIMES = {*LOG_TIMES, "block_read_us", "block_write_us"}


class Counters:
    """What was counted between two samples, each counter by its name."""

    def __init__(self, before: Sample, after: Sample) -> None:
        self._readings = {kind.name: reading(kind, before, after) for kind in KINDS}

    def __getattr__(self, name: str) -> float:
        found = self._readings[name]
        assert found.value is not None, found.missing
        return found.value

    @property
    def missing(self) -> set[str]:
        """Why there is no figure, of all counters that this version has."""
        return {one.missing for one in self._readings.values()} - {UNTOLD}

    @property
    def untold(self) -> set[str]:
        """The counters that this version does not have, or that are switched off."""
        return {name for name, one in self._readings.items() if one.missing == UNTOLD}


def _counted(server: Any, *statements: str) -> Counters:
    """What a connection of its own made the server count with these statements."""
    assert wait_until_flushed(server.conninfo)
    before = read_counters(server.conninfo, server.version_number)
    assert wait_until_flushed(server.conninfo)
    with server.connect() as connection:
        for statement in statements:
            connection.execute(statement)
    assert wait_until_flushed(server.conninfo)
    return Counters(before, read_counters(server.conninfo, server.version_number))


@pytest.fixture(scope="module")
def table(server: Any) -> int:
    """A table of 4,000 blocks, twice the shared buffers; its size in blocks."""
    with server.connect() as connection:
        connection.execute("DROP TABLE IF EXISTS wide")
        connection.execute("CREATE TABLE wide (id int, filler text) WITH (fillfactor = 10)")
        connection.execute(
            "INSERT INTO wide SELECT i, repeat('x', 700) FROM generate_series(1, 4000) i"
        )
        connection.execute("VACUUM (FREEZE, ANALYZE) wide")
        connection.execute("CHECKPOINT")
        row = connection.execute("SELECT pg_relation_size('wide')").fetchone()
    assert row is not None
    return int(row[0]) // BLOCK


@pytest.mark.postgres
def test_blocks_read_and_hit_are_those_that_explain_sees(server: Any, table: int) -> None:
    assert wait_until_flushed(server.conninfo)
    before = read_counters(server.conninfo, server.version_number)
    assert wait_until_flushed(server.conninfo)
    with server.connect() as connection:
        row = connection.execute(
            "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT sum(length(filler)) FROM wide"
        ).fetchone()
    assert wait_until_flushed(server.conninfo)
    counted = Counters(before, read_counters(server.conninfo, server.version_number))
    assert row is not None
    plan = row[0][0]["Plan"]
    assert plan["Shared Read Blocks"] > table / 4  # more than the buffers hold
    assert plan["Shared Read Blocks"] + plan["Shared Hit Blocks"] == table
    # beside it stand only the catalog blocks of two connections
    assert 0 <= counted.blocks_read - plan["Shared Read Blocks"] < 300
    assert counted.blocks_hit >= plan["Shared Hit Blocks"]


@pytest.mark.postgres
def test_extending_and_checkpointing_a_table_counts_its_blocks(server: Any, table: int) -> None:
    make = "CREATE TABLE copied (LIKE wide) WITH (fillfactor = 10)"
    made = _counted(server, make, "INSERT INTO copied SELECT * FROM wide", "CHECKPOINT")
    dropped = _counted(server, "DROP TABLE copied")
    assert table <= made.blocks_extended <= table * 1.1
    assert table <= made.blocks_written <= table * 1.3
    assert made.checkpoints_requested == 1
    assert made.checkpoints_timed == 0
    assert dropped.blocks_extended < 10


@pytest.mark.postgres
def test_who_wrote_and_what_had_to_make_room_are_told(server: Any, table: int) -> None:
    update = "UPDATE wide SET id = id + 1"
    dirtied = _counted(server, "CHECKPOINT", update, "SELECT sum(length(filler)) FROM wide")
    assert dirtied.blocks_evicted > table / 4, "the pool has half as many blocks as the table"
    assert dirtied.blocks_written_by_sessions > 100
    written = _counted(server, update, "CHECKPOINT")
    assert written.blocks_written_by_checkpointer > 100
    both = written.blocks_written_by_sessions + written.blocks_written_by_checkpointer
    assert both + written.blocks_written_by_background_writer <= written.blocks_written


@pytest.mark.postgres
def test_a_large_scan_reads_through_a_ring_and_vacuum_through_another(
    server: Any, table: int
) -> None:
    scanned = _counted(server, "SELECT sum(length(filler)) FROM wide")
    assert scanned.blocks_read_in_bulk > table / 4
    assert scanned.blocks_read_by_vacuum == 0
    vacuumed = _counted(server, "VACUUM (FREEZE, DISABLE_PAGE_SKIPPING) wide")
    assert vacuumed.blocks_read_by_vacuum > table / 4
    assert vacuumed.blocks_read_in_bulk < vacuumed.blocks_read_by_vacuum / 4


@pytest.mark.postgres
def test_every_commit_that_must_reach_the_disk_syncs_the_log(server: Any, table: int) -> None:
    changes = [f"UPDATE wide SET id = id WHERE id = {n}" for n in range(20)]
    durable = _counted(server, *changes)
    assert durable.wal_syncs >= 15, "some changes may touch no row"
    assert durable.wal_writes >= 15, "the log writer writes some ahead, and tells of them later"
    lazy = _counted(server, "SET synchronous_commit = off", *changes)
    assert lazy.wal_syncs < durable.wal_syncs / 2


@pytest.mark.postgres
def test_times_are_told_where_the_server_takes_them(server: Any, table: int) -> None:
    assert _counted(server, "SELECT 1").untold >= TIMES
    switched = ("track_io_timing", "track_wal_io_timing")
    with server.connect() as connection:
        for name in switched:
            connection.execute(f"ALTER SYSTEM SET {name} = on")
        connection.execute("SELECT pg_reload_conf()")
    try:
        change = "UPDATE wide SET id = id WHERE id < 100"
        timed = _counted(server, "CHECKPOINT", change, "SELECT sum(length(filler)) FROM wide")
        assert not TIMES & timed.untold
        assert timed.wal_sync_us > 0
        told = timed.wal_sync_us + timed.wal_write_us
        assert 0 < timed.session_log_us <= told * (1 + 1e-9), "sums of the same fractions"
        assert timed.block_read_us > 0
    finally:
        with server.connect() as connection:
            for name in switched:
                connection.execute(f"ALTER SYSTEM RESET {name}")
            connection.execute("SELECT pg_reload_conf()")


def _told_by_psql(server: Any) -> dict[str, float]:
    """The views as psql shows them, each counter by a statement of its own."""
    io = "FROM pg_stat_io WHERE object <> 'wal'"
    new = server.version_number >= 180000
    asked = {
        "blocks_hit": f"SELECT sum(hits) {io}",
        "blocks_evicted": f"SELECT sum(evictions) {io}",
        "blocks_written_by_checkpointer": (
            f"SELECT sum({'write_bytes / 8192' if new else 'writes'}) {io} "
            "AND backend_type = 'checkpointer'"
        ),
        "wal_records": "SELECT wal_records FROM pg_stat_wal",
        "full_page_images": "SELECT wal_fpi FROM pg_stat_wal",
        "wal_syncs": (
            "SELECT sum(fsyncs) FROM pg_stat_io WHERE object = 'wal'"
            if new
            else "SELECT wal_sync FROM pg_stat_wal"
        ),
        "commits": "SELECT sum(xact_commit) FROM pg_stat_database",
        "temp_bytes": "SELECT sum(temp_bytes) FROM pg_stat_database",
        "slru_read": "SELECT sum(blks_read) FROM pg_stat_slru",
    }
    if server.version_number >= 190000:
        asked["full_page_image_bytes"] = "SELECT wal_fpi_bytes FROM pg_stat_wal"
        asked["locks_beyond_fast_path"] = "SELECT sum(fastpath_exceeded) FROM pg_stat_lock"
    told = {}
    for name, statement in asked.items():
        command = [server.bindir / "psql", "-XAt", "-c", statement, server.conninfo]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        told[name] = float(done.stdout)
    return told


@pytest.mark.postgres
def test_counters_are_what_psql_reads_of_the_views(server: Any, table: int) -> None:
    _counted(server, "UPDATE wide SET id = id + 1", "CHECKPOINT")
    before = sample_counters(server.conninfo, server.version_number)
    told = _told_by_psql(server)
    after = sample_counters(server.conninfo, server.version_number)
    for name, value in told.items():
        assert before.values[name] <= value <= after.values[name], name
        assert value > 0 or name in ("temp_bytes", "slru_read", "locks_beyond_fast_path"), name


@pytest.mark.postgres
def test_wal_of_the_statistics_agrees_with_the_insert_position(server: Any, table: int) -> None:
    with server.connect() as connection:
        start = _wal_insert_lsn(connection)
    written = _counted(server, "UPDATE wide SET id = id + 1")
    with server.connect() as connection:
        inserted = _wal_insert_lsn(connection) - start
    assert written.wal_records >= 4000
    # positions also count page headers and alignment: never less, some per cent more
    assert written.wal_bytes <= inserted <= written.wal_bytes * 1.2


def _wal_insert_lsn(connection: psycopg.Connection[Any]) -> int:
    row = connection.execute("SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint").fetchone()
    assert row is not None
    return int(row[0])


@pytest.mark.postgres
def test_full_page_images_come_after_a_checkpoint_and_not_again(server: Any, table: int) -> None:
    update = "UPDATE wide SET id = id + 1 WHERE id % 2 = 0"
    first = _counted(server, "CHECKPOINT", update)
    second = _counted(server, update)
    assert first.full_page_images > 100
    assert second.full_page_images < first.full_page_images / 4


@pytest.mark.postgres
def test_the_images_part_of_the_log_is_measured_from_19_on(server: Any, table: int) -> None:
    counted = _counted(server, "CHECKPOINT", "UPDATE wide SET filler = filler")
    if server.version_number < 190000:
        assert {"full_page_image_bytes", "lock_waits", "lock_wait_us"} <= counted.untold
        return
    assert counted.full_page_image_bytes < counted.wal_bytes
    # A page is full but for its hole, and what is in front of the image.
    assert 1000 < counted.full_page_image_bytes / counted.full_page_images <= BLOCK


@pytest.mark.postgres
def test_a_long_wait_for_a_lock_is_counted_from_19_on(server: Any, table: int) -> None:
    if server.version_number < 190000:
        pytest.skip("pg_stat_lock is of 19")
    assert wait_until_flushed(server.conninfo)
    before = read_counters(server.conninfo, server.version_number)
    with server.connect() as holder, server.connect() as waiter:
        holder.execute("BEGIN")
        holder.execute("LOCK TABLE wide")
        waiter.execute("SET deadlock_timeout = '10ms'")
        ended = threading.Timer(0.3, lambda: holder.execute("COMMIT"))
        ended.start()
        waiter.execute("SELECT count(*) FROM wide WHERE id = 1")
        ended.join()
    assert wait_until_flushed(server.conninfo)
    counted = Counters(before, read_counters(server.conninfo, server.version_number))
    assert counted.lock_waits == 1
    assert counted.lock_wait_us >= 100_000


@pytest.mark.postgres
def test_commits_rollbacks_and_temporary_files_are_counted(server: Any) -> None:
    counted = _counted(
        server,
        *["SELECT 1"] * 20,
        *["BEGIN", "SELECT 1", "ROLLBACK"] * 3,
        "SET work_mem = '64kB'",
        "SELECT count(*) FROM (SELECT i FROM generate_series(1, 100000) i ORDER BY i DESC) s",
    )
    assert 20 <= counted.commits <= 40  # the telemetry's own few are in it
    assert counted.rollbacks == 3
    assert counted.temp_bytes > 100_000
    assert counted.deadlocks == 0
    assert counted.checksum_failures == 0


@pytest.mark.postgres
def test_rows_are_counted_when_they_are_changed_and_not_when_they_are_not_there(
    server: Any, table: int
) -> None:
    counted = _counted(
        server,
        "UPDATE wide SET filler = filler WHERE id BETWEEN 1000 AND 1029",
        "UPDATE wide SET id = id WHERE id = -1",
        "INSERT INTO wide SELECT -2, 'x' FROM generate_series(1, 5)",
        "DELETE FROM wide WHERE id = -2",
    )
    assert counted.rows_changed == 40


@pytest.mark.postgres
def test_a_damaged_page_is_counted_once_it_is_read(server: Any) -> None:
    with server.connect() as connection:
        connection.execute("CREATE DATABASE whole")
        with server.connect("whole") as made:
            made.execute("CREATE TABLE victim AS SELECT 1 AS id")
        # a copy by files: none of its pages is in shared buffers, so the damage is met on disk
        connection.execute("CREATE DATABASE damaged TEMPLATE whole STRATEGY file_copy")
        with server.connect("damaged") as copied:
            row = copied.execute("SELECT pg_relation_filepath('victim')").fetchone()
    assert row is not None
    assert wait_until_flushed(server.conninfo)
    before = read_counters(server.conninfo, server.version_number)
    with (server.directory / row[0]).open("r+b") as relation:
        relation.seek(BLOCK - 4)
        relation.write(b"\xff")
    with server.connect("damaged") as reader, pytest.raises(psycopg.errors.DataCorrupted):
        reader.execute("SELECT * FROM victim")
    assert wait_until_flushed(server.conninfo)
    after = read_counters(server.conninfo, server.version_number)
    assert Counters(before, after).checksum_failures == 1


@pytest.mark.postgres
def test_waiting_for_the_flush_sees_a_client_that_stays(server: Any) -> None:
    with server.connect() as stays:
        assert not wait_until_flushed(server.conninfo, limit_seconds=0.05)
        pid = stays.info.backend_pid
        assert wait_until_flushed(server.conninfo, apart_from=[pid], limit_seconds=5)
    assert wait_until_flushed(server.conninfo)


@pytest.mark.postgres
def test_every_statement_works_on_every_bundled_version(server: Any) -> None:
    with server.connect() as connection:
        for name in ("counters", "client_backends", "waits"):
            connection.execute(query(name, server.version_number).encode())


@pytest.mark.postgres
def test_a_server_that_is_not_there_is_an_engine_error(tmp_path: Any) -> None:
    with pytest.raises(EngineError, match="could not connect"):
        read_counters(f"host={tmp_path} user=postgres dbname=postgres", 180000)


def test_a_statement_is_that_of_the_nearest_older_version() -> None:
    assert query("counters", 150010) == query("counters", 140000)
    assert "pg_stat_checkpointer" in query("counters", 170002)
    assert query("counters", 200000) == query("counters", 190000)


def test_a_server_older_than_every_statement_is_refused() -> None:
    with pytest.raises(EngineError, match="PostgreSQL 13 server") as refusal:
        query("counters", 130000)
    assert refusal.value.hint == "PostgreSQL 14 is the oldest it is known for."


@pytest.mark.postgres
def test_who_watches_is_not_held_to_the_time_limit_of_the_statements(server: Any) -> None:
    with server.connect() as connection:
        connection.execute("ALTER DATABASE postgres SET statement_timeout = '1ms'")
    try:
        with connect(server.conninfo) as watching:
            watching.execute("SELECT pg_sleep(0.02)")
            watching.execute("CHECKPOINT")
    finally:
        with server.connect() as connection:
            connection.execute("ALTER DATABASE postgres RESET statement_timeout")


@pytest.mark.postgres
@pytest.mark.parametrize("what", ["pg_stat_reset_shared('wal')", "pg_stat_reset()"])
def test_a_reset_of_the_statistics_is_seen_in_the_next_sample(server: Any, what: str) -> None:
    before = sample_counters(server.conninfo, server.version_number)
    with server.connect() as connection:
        connection.execute(f"SELECT {what}")
    after = sample_counters(server.conninfo, server.version_number)
    assert Counters(before, after).missing == {RESET}


@pytest.mark.postgres
def test_counters_of_a_backend_that_stays_are_not_flushed(server: Any) -> None:
    before = sample_counters(server.conninfo, server.version_number)
    with server.connect():
        late = sample_counters(server.conninfo, server.version_number, limit_seconds=0.05)
    assert Counters(before, late).missing == {"statistics were not flushed within 0.05 s"}
    after = sample_counters(server.conninfo, server.version_number)
    assert Counters(before, after).missing == {""}
