"""What fits of a database is in shared buffers once it was read: EXPLAIN's buffers say so."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from own_cache import own_run
from steelyard.engines.engine import Slot
from steelyard.engines.postgres.builds.find import discovered, has_contrib
from steelyard.engines.postgres.libpq.connection_string import conninfo_of
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.selection import find_postgres
from steelyard.engines.postgres.sql.buffer_pool import PoolRelation, relations_that_fit

BLOCK = 8192
SETTINGS = {"autovacuum": "off", "max_parallel_workers_per_gather": "0", "shared_buffers": "32MB"}
WIDE = 2000
"""Blocks of a table that a sequential scan would read through a ring: half of the pool."""

MAKE = f"""
CREATE TABLE wide (id int PRIMARY KEY, filler text) WITH (fillfactor = 10);
INSERT INTO wide SELECT i, repeat('x', 700) FROM generate_series(1, {WIDE}) i;
CREATE INDEX a_part ON wide (filler DESC NULLS LAST, id) WHERE id > 10;
CREATE TABLE long (id int PRIMARY KEY, text text);
ALTER TABLE long ALTER text SET STORAGE EXTERNAL;
INSERT INTO long SELECT i, repeat('y', 100000) FROM generate_series(1, 20) i;
CREATE TABLE "odd name" (id int);
DELETE FROM wide WHERE id % 100 = 0;
"""


def _relation(number: int, blocks: int, *, is_index: bool) -> PoolRelation:
    return PoolRelation(number, is_index, blocks, blocks, "", "", is_index, None, None)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 500)), max_size=8), st.integers(1, 1000))
def test_no_more_is_read_than_the_pool_holds_and_indexes_come_last(
    sizes: list[tuple[bool, int]], pool: int
) -> None:
    relations = [_relation(n, blocks, is_index=index) for n, (index, blocks) in enumerate(sizes)]
    found = relations_that_fit(relations, pool)
    assert sum(one.blocks for one in found) == min(pool, sum(one.blocks for one in relations))
    assert [one.is_index for one in found] == sorted(one.is_index for one in found)
    whole = {one.oid: one.blocks for one in relations}
    assert all(one.blocks == whole[one.oid] for one in found[1:])  # only the first is cut
    assert found == relations_that_fit(relations[::-1], pool)


def _buffers(session: psycopg.Connection[Any], statement: str) -> tuple[int, int]:
    """Blocks hit and read by a statement, but for the catalogs that any of its kind reads first."""
    session.execute('SELECT count(id), sum(length(reverse(id::text))) FROM "odd name"')
    explained = f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}"
    row = session.execute(explained.encode()).fetchone()
    assert row is not None
    plan = row[0][0]["Plan"]
    return plan["Shared Hit Blocks"], plan["Shared Read Blocks"]


@pytest.fixture
def loaded(cluster: Cluster, slot_of: Callable[[int], Slot]) -> Cluster:
    """A server with tables of ours, just started: its pool is empty."""
    cluster.start(slot_of(0), SETTINGS)
    with psycopg.connect(conninfo_of(cluster.address), autocommit=True) as session:
        session.execute(MAKE.encode())
        session.execute("VACUUM (FREEZE, ANALYZE)")
    cluster.stop()
    cluster.start(slot_of(0), SETTINGS)
    return cluster


@pytest.mark.long
@pytest.mark.postgres
def test_a_database_that_fits_is_read_from_the_pool_afterwards(loaded: Cluster) -> None:
    before = loaded.use().requested_bytes
    fill = loaded.fill_pool("postgres")
    # What the session read is told again once the postmaster has waited for it.
    limit = time.monotonic() + 10
    while (requested := loaded.use().requested_bytes - before) < fill.read_bytes / 2:
        assert time.monotonic() < limit, "the session's reads never came back"
        time.sleep(0.01)
    assert (fill.pool_bytes, fill.by) == (32 << 20, "queries")
    assert fill.read_bytes > (WIDE + 250) * BLOCK  # TOAST is 250 blocks
    assert requested == pytest.approx(fill.read_bytes, rel=0.2)
    with psycopg.connect(conninfo_of(loaded.address), autocommit=True) as session:
        hit, read = _buffers(session, "SELECT count(filler) FROM wide")
        assert (read, hit >= WIDE) == (0, True)
        assert _buffers(session, "SELECT sum(length(reverse(text))) FROM long")[1] == 0
        session.execute("SET enable_seqscan = off")
        for statement in (
            "SELECT count(*) FROM wide WHERE id > 0",
            "SELECT filler FROM wide WHERE id > 10 ORDER BY filler DESC NULLS LAST, id",
        ):
            hit, read = _buffers(session, statement)
            assert read == 0 < hit


@pytest.mark.postgres
def test_a_pool_that_is_too_small_holds_the_indexes_and_a_part(
    loaded: Cluster, slot_of: Callable[[int], Slot]
) -> None:
    loaded.stop()
    loaded.start(slot_of(0), {**SETTINGS, "shared_buffers": "4MB"})
    fill = loaded.fill_pool("postgres")
    assert fill.read_bytes <= fill.pool_bytes == 4 << 20
    with psycopg.connect(conninfo_of(loaded.address), autocommit=True) as session:
        session.execute("SET enable_seqscan = off")
        assert _buffers(session, "SELECT count(*) FROM wide WHERE id > 0")[1] == 0


@pytest.mark.long
@pytest.mark.postgres
def test_with_pg_prewarm_the_same_is_read_and_no_extension_is_left() -> None:
    """On a build that has contrib, with pg_buffercache for a witness."""
    own = [found.name for found in discovered() if has_contrib(found.build)]
    if not own:
        pytest.skip("no build with contrib is installed")
    with own_run() as run:
        slot = Slot(0, run.directory / "slot0", run.sockets, 54320)
        cluster = find_postgres(own[0]).create(run.directory / "data", protection="checksums")
        cluster.start(slot, SETTINGS)
        try:
            with psycopg.connect(conninfo_of(cluster.address), autocommit=True) as session:
                session.execute(MAKE.encode())
                session.execute("CREATE EXTENSION pg_buffercache")
                session.execute("VACUUM (FREEZE, ANALYZE)")
            cluster.stop()
            cluster.start(slot, SETTINGS)
            fill = cluster.fill_pool("postgres")
            assert fill.by == "pg_prewarm"
            with psycopg.connect(conninfo_of(cluster.address), autocommit=True) as session:
                held = session.execute(
                    "SELECT count(*) * 8192 FROM pg_buffercache WHERE relfilenode >= 16384 "
                    "AND relforknumber = 0"
                ).fetchone()
                left = session.execute(
                    "SELECT count(*) FROM pg_extension WHERE extname = 'pg_prewarm'"
                ).fetchone()
        finally:
            cluster.stop()
    assert held == (fill.read_bytes,)
    assert left == (0,)
