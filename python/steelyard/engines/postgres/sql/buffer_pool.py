"""Reads the relations of a database into the server's buffer pool, as far as they fit into it.

By pg_prewarm where the server has it: its extension is created in a transaction that is rolled
back, so the database does not keep it. Elsewhere by queries that use buffers as the load does: a
sequential scan would not do, since a table larger than a quarter of the pool goes through a ring
of 256 kB (initscan in heapam.c, GetAccessStrategy in freelist.c). A block of a table is read by
its first row's ctid (heap_fetch uses no ring, and nothing but the block is touched), the leaves of
a B-tree by an index-only scan in its order. Its inner pages, and indexes of other kinds, are left
to the load.

What is read last stays longest, so the pool is filled with the largest table first, as far as
there is room beside all that is smaller, and with indexes last.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from steelyard.engines.capabilities.checkpoints import PoolFill
from steelyard.engines.postgres.sql.queries import query
from steelyard.engines.postgres.sql.session import connect
from steelyard.model.errors import ServerError

BLOCKS_A_QUERY = 16_384
"""128 MB of a table at once: the list of its ctids takes 100 kB of the session's memory."""

_POOL = """
    SELECT setting::bigint, current_setting('block_size')::bigint
      FROM pg_catalog.pg_settings WHERE name = 'shared_buffers'"""
_PREWARM = "SELECT true FROM pg_catalog.pg_available_extensions WHERE name = 'pg_prewarm'"
_PLAIN = (
    # Names are qualified by what is printed of them.
    "SET search_path = pg_catalog",
    "SET enable_seqscan = off",
    "SET enable_bitmapscan = off",
    "SET enable_sort = off",
    "SET enable_tidscan = on",
    "SET enable_indexonlyscan = on",
    "SET max_parallel_workers_per_gather = 0",
    "SET jit = off",
)


@dataclass(frozen=True)
class PoolRelation:
    """A table or an index, as the server describes it."""

    oid: int
    is_index: bool
    blocks: int
    rows: int  # as the planner believes
    name: str
    relation: str  # the table, quoted and qualified; of an index the one it is on
    ordered: bool  # a B-tree
    condition: str | None  # of a partial index
    order_by: str | None  # of an index
    cut: bool = False  # only the beginning of it is meant

    def first(self, blocks: int) -> PoolRelation:
        """As many of its blocks, from its beginning."""
        if blocks >= self.blocks:
            return self
        return replace(self, blocks=blocks, rows=self.rows * blocks // self.blocks, cut=True)


def fill_pool(conninfo: str, version_number: int) -> PoolFill:
    """Read what fits of the database at `conninfo` into its server's pool; ServerError: it failed.

    Nothing is written, but for what creating an extension leaves that is rolled back.
    """
    import psycopg

    with connect(conninfo) as connection:
        try:
            for setting in _PLAIN:
                connection.execute(setting.encode())
            row = connection.execute(_POOL.encode()).fetchone()
            assert row is not None  # every server has the setting
            pool, block_bytes = row
            relations = read_relations(connection, version_number)
            by = _prewarm if connection.execute(_PREWARM.encode()).fetchone() else _query
            with connection.transaction(force_rollback=True):
                done = by(connection, relations_that_fit(relations, pool))
        except psycopg.Error as error:
            raise ServerError(
                "could not read the data into the buffer pool", detail=str(error).strip()
            ) from error
    read = block_bytes * sum(relation.blocks for relation in done)
    how = "pg_prewarm" if by is _prewarm else "queries"
    return PoolFill(pool_bytes=pool * block_bytes, read_bytes=read, by=how)


def read_relations(connection: Any, version_number: int) -> list[PoolRelation]:
    """Every relation that a load may use, but for the catalogs."""
    rows = connection.execute(query("relations", version_number).encode()).fetchall()
    return [PoolRelation(*row) for row in rows]


def relations_that_fit(relations: Sequence[PoolRelation], pool_blocks: int) -> list[PoolRelation]:
    """What is read of them, in order: together no more blocks than the pool has."""
    parts = []
    left = pool_blocks
    for relation in sorted(
        relations, key=lambda relation: (not relation.is_index, relation.blocks, relation.oid)
    ):
        part = relation.first(left)
        left -= part.blocks
        if part.blocks:
            parts.append(part)
    return parts[::-1]


def _prewarm(connection: Any, relations: Sequence[PoolRelation]) -> list[PoolRelation]:
    connection.execute("CREATE EXTENSION IF NOT EXISTS pg_prewarm")
    row = connection.execute(
        "SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace "
        "WHERE e.extname = 'pg_prewarm'"
    ).fetchone()
    connection.execute("SELECT set_config('search_path', %s, true)", (f'"{row[0]}"',))
    for relation in relations:
        connection.execute(
            "SELECT pg_prewarm(%s::oid::regclass, 'buffer', 'main', 0, %s)",
            (relation.oid, relation.blocks - 1),
        )
    return list(relations)


def _query(connection: Any, relations: Sequence[PoolRelation]) -> list[PoolRelation]:
    done = []
    for relation in relations:
        if relation.is_index:
            if not relation.ordered or not _read_index(connection, relation):
                continue
        else:
            for statement in _by_ctid(relation):
                connection.execute(statement.encode())
        done.append(relation)
    return done


def _by_ctid(table: PoolRelation) -> Iterator[str]:
    """Queries for the first row of every block. Whether there is one does not matter: a ctid's
    block is read to find out."""
    for first in range(0, table.blocks, BLOCKS_A_QUERY):
        last = min(first + BLOCKS_A_QUERY, table.blocks) - 1
        yield (
            f"SELECT count(*) FROM {table.relation} WHERE ctid = ANY (ARRAY("
            f"SELECT ('(' || block || ',1)')::tid FROM generate_series({first}, {last}) AS block))"
        )


def _read_index(connection: Any, index: PoolRelation) -> bool:
    """Read an index in its order; False where the planner would use another, or the table too."""
    where = f" WHERE {index.condition}" if index.condition else ""
    limit = str(max(1, index.rows)) if index.cut else "ALL"
    statement = (
        f"SELECT count(*) FROM (SELECT 1 FROM {index.relation}{where} "
        f"ORDER BY {index.order_by} OFFSET 0 LIMIT {limit}) AS entries"
    )
    row = connection.execute(f"EXPLAIN (FORMAT JSON) {statement}".encode()).fetchone()
    scans = list(_leaves(row[0][0]["Plan"]))
    if [(scan["Node Type"], scan.get("Index Name")) for scan in scans] != [
        ("Index Only Scan", index.name)
    ]:
        return False
    connection.execute(statement.encode())
    return True


def _leaves(plan: Any) -> Iterator[Any]:
    below = plan.get("Plans", ())
    if not below:
        yield plan
    for subplan in below:
        yield from _leaves(subplan)
