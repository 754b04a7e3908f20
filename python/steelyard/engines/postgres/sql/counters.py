"""Reads cumulative counters: WAL, blocks, transactions, checkpoints, failed page checks.

The cumulative statistics lag: a backend flushes its own at most once a second and at its exit
(PGSTAT_MIN_INTERVAL in src/backend/utils/activity/pgstat.c). They are therefore read per epoch,
after the load's connections have closed.
Frozen background processes cannot flush: thaw them before reading.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from typing import Any

from steelyard.engines.counters import CounterSample
from steelyard.engines.postgres.sql.queries import query
from steelyard.engines.postgres.sql.session import connect
from steelyard.model.errors import EngineError

POLL_SECONDS = 0.005

UNITS = {
    "wal_bytes": "bytes",
    "temp_bytes": "bytes",
    "blocks_hit": "blocks",
    "blocks_read": "blocks",
    "blocks_written": "blocks",
    "blocks_extended": "blocks",
}
"""Every other counter is a plain count.

`blocks_read` are relation blocks asked of the kernel by any process. With checksums on each of them
was verified: pages verified = blocks read (bufmgr.c, PageIsVerified), from 16 on. `blocks_written`
are those of backends, background writer and checkpointer. `rows_changed` counts rows inserted,
updated and deleted, also by what was rolled back. Autovacuums and autoanalyzes are those of the
database that was read from.
"""


def sample_counters(
    conninfo: str, version_number: int, *, limit_seconds: float = 10.0
) -> CounterSample:
    """The counters once all client backends have flushed theirs and gone, or the limit is over."""
    flushed = wait_until_flushed(conninfo, version_number, limit_seconds=limit_seconds)
    return read_counters(conninfo, version_number, flushed=flushed)


def read_counters(conninfo: str, version_number: int, *, flushed: bool = True) -> CounterSample:
    """What the server at `conninfo` counted so far; EngineError when it cannot be asked."""
    from psycopg.rows import dict_row

    statement = query("counters", version_number)
    with connect(conninfo) as connection, connection.cursor(row_factory=dict_row) as cursor:
        row: dict[str, Any] | None = cursor.execute(statement.encode()).fetchone()
    if row is None:
        raise EngineError("could not read the server's counters: it returned no row")
    resets = tuple(row.pop("resets"))
    return CounterSample({n: int(v or 0) for n, v in row.items()}, UNITS, flushed, resets)


def wait_until_flushed(
    conninfo: str,
    version_number: int = 140000,
    *,
    apart_from: Collection[int] = (),
    limit_seconds: float = 10.0,
) -> bool:
    """Wait until no client backend but this one and `apart_from` (pids) is left.

    A backend leaves pg_stat_activity only after it flushed its statistics. False: some were
    still there at the limit, and what is read next may lack their last second.
    """
    statement = query("client_backends", version_number).encode()
    limit = time.monotonic() + limit_seconds
    with connect(conninfo) as connection:
        while True:
            others = {row[0] for row in connection.execute(statement)} - set(apart_from)
            if not others:
                return True
            if time.monotonic() >= limit:
                return False
            time.sleep(POLL_SECONDS)
