"""Counts what one execution of a statement costs in buffers and log, by EXPLAIN.

EXPLAIN (ANALYZE, BUFFERS, WAL) counts exactly and times badly, so counts come from here and times
from plain executions on other rows. Source: the manual on EXPLAIN; commands/explain.c,
show_wal_usage.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import psycopg

COUNTED = {
    "wal_records": "WAL Records",
    "wal_full_page_images": "WAL FPI",
    "wal_bytes": "WAL Bytes",
    "blocks_hit": "Shared Hit Blocks",
    "blocks_read": "Shared Read Blocks",
    "blocks_dirtied": "Shared Dirtied Blocks",
}
_PLAIN = (
    # The only way to these rows is their key: whatever reads a page at once would touch all rows.
    "SET enable_seqscan = off",
    "SET enable_bitmapscan = off",
    "SET enable_hashjoin = off",
    "SET enable_mergejoin = off",
    "SET enable_memoize = off",
    "SET max_parallel_workers_per_gather = 0",
    "SET jit = off",
)


class PostgresProber:
    """A connection on which statements are explained; implements Prober."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection
        for setting in _PLAIN:
            connection.execute(setting.encode())

    def explain(self, settings: Sequence[str], query: str) -> dict[str, int]:
        """Counter → amount of one execution, with settings that hold for it alone."""
        explained = f"EXPLAIN (ANALYZE, BUFFERS, WAL, FORMAT JSON) {query}"
        with self._connection.transaction():
            for setting in settings:
                self._connection.execute(setting.encode())
            row = self._connection.execute(explained.encode()).fetchone()
        assert row is not None  # EXPLAIN answers with one row of JSON
        return _counts(row[0][0]["Plan"])


def _counts(plan: Mapping[str, object]) -> dict[str, int]:
    return {name: int(str(plan.get(key, 0))) for name, key in COUNTED.items()}
