"""Reads cumulative counters: WAL, blocks, transactions, checkpoints, failed page checks; and log
and blocks of every statement, by pg_stat_statements; and what an archive would take of the log.

The cumulative statistics lag: a backend flushes its own at most once a second and at its exit
(PGSTAT_MIN_INTERVAL in src/backend/utils/activity/pgstat.c). They are therefore read per epoch,
after the load's connections have closed.
Frozen background processes cannot flush: thaw them before reading.

An entry of pg_stat_statements is complete when its statement ends: no waiting for a flush. The
module comes with contrib and must be loaded at the start. Its extension is created in the database
"postgres", so that the data stays what it was; its view shows all databases. Statements of other
sessions than the load's are not counted: ours switch that off for themselves (`UNCOUNTED`). Source:
pgstatstatements.sgml of 14 to 18; wal_bytes and toplevel are in all of these.
"""

from __future__ import annotations

import os
import re
import time
import zlib
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from steelyard.engines.account import Account
from steelyard.engines.engine import Settings
from steelyard.engines.postgres.sql.queries import query
from steelyard.engines.postgres.sql.session import connect
from steelyard.model.errors import EngineError
from steelyard.model.readings import SESSION_LOG, Kind, Sample, StatementCount, StatementCounts

POLL_SECONDS = 0.005
KINDS = (
    Kind("wal_bytes", "bytes", per_transaction=True),
    Kind("wal_records", "records"),
    Kind("full_page_images", "images", per_transaction=True),
    Kind("blocks_hit", "blocks"),
    Kind("blocks_read", "blocks", per_transaction=True),
    Kind("blocks_written", "blocks", per_transaction=True),
    Kind("blocks_extended", "blocks"),
    Kind("commits", "transactions"),
    Kind("rollbacks", "transactions"),
    Kind("rows_changed", "rows"),
    Kind("deadlocks", "deadlocks"),
    Kind("temp_bytes", "bytes"),
    Kind("checksum_failures", "pages"),
    Kind("checkpoints_timed", "checkpoints"),
    Kind("checkpoints_requested", "checkpoints"),
    Kind("autovacuums", "tables"),
    Kind("autoanalyzes", "tables"),
    Kind("checkpoints_done", "checkpoints"),
    Kind("blocks_read_in_bulk", "blocks"),
    Kind("blocks_read_by_vacuum", "blocks"),
    Kind("blocks_evicted", "blocks"),
    Kind("blocks_written_by_sessions", "blocks"),
    Kind("blocks_written_by_checkpointer", "blocks"),
    Kind("blocks_written_by_background_writer", "blocks"),
    Kind("wal_writes", "writes"),
    Kind("wal_syncs", "syncs"),
    Kind("wal_write_us", "µs"),
    Kind("wal_sync_us", "µs"),
    Kind("block_read_us", "µs"),
    Kind("block_write_us", "µs"),
    Kind("slru_read", "pages"),
    Kind("slru_written", "pages"),
    Kind(SESSION_LOG, "µs"),
    Kind("full_page_image_bytes", "bytes", per_transaction=True),
    Kind("lock_waits", "waits"),
    Kind("lock_wait_us", "µs"),
    Kind("locks_beyond_fast_path", "locks"),
)
"""Cumulative counts of a whole cluster; a difference of two belongs to the time between.

`blocks_read` are relation blocks asked of the kernel by any process. With checksums on each of them
was verified: pages verified = blocks read (bufmgr.c, PageIsVerified), from 16 on. `blocks_written`
by backends, background writer and checkpointer. Before 16 both hold extensions, and are not
compared with those of later versions. `rows_changed`: inserted, updated and deleted, also
by what was rolled back. Autovacuums and autoanalyzes are those of the database that was read from.

`checkpoints_timed` counts those that were skipped on an idle server too; `checkpoints_done`, from
18 on, does not. `blocks_read_in_bulk` went through the small ring of a large scan,
`blocks_evicted` made room for others: with `blocks_written_by_sessions`, the sign of a pool that is
too small (from 16 on; who wrote, in 14 and 15 too). Times of the log need track_wal_io_timing,
those of blocks track_io_timing. `session_log_us` is what client sessions wrote and synced of the
log; before 18 it is not counted apart from what the log writer and the checkpointer did.

From 19 on `full_page_image_bytes` is the images' part of `wal_bytes`, and pg_stat_lock counts waits
for heavyweight locks that were longer than deadlock_timeout and ended with the lock, and locks that
found no room in a session's fast path. Sources: system_views.sql and monitoring.sgml of 14 to 19.
"""

MODULE = "pg_stat_statements"
_PRELOADED = "shared_preload_libraries"
UNCOUNTED = f"-c {MODULE}.track=none"
"""Options of a session that is not to be counted; only where the module is loaded, by a
superuser."""


def sample_counters(conninfo: str, version_number: int, *, limit_seconds: float = 10.0) -> Sample:
    """The counters once all client backends have flushed theirs and gone; missing where some are
    still there when the limit is over."""
    flushed = wait_until_flushed(conninfo, version_number, limit_seconds=limit_seconds)
    counted = read_counters(conninfo, version_number)
    unflushed = f"statistics were not flushed within {limit_seconds:g} s"
    return counted if flushed else Sample({}, unflushed)


def read_counters(
    conninfo: str, version_number: int, opened: Callable[[str], Any] = connect
) -> Sample:
    """What the server at `conninfo` counted so far, by the names of KINDS; EngineError when it
    cannot be reached. `opened`: how it is connected to."""
    import psycopg

    statement = query("counters", version_number)
    try:
        with opened(conninfo) as connection:
            cursor = connection.execute(statement.encode())
            values, names = cursor.fetchone(), [column.name for column in cursor.description]
    except psycopg.Error as reason:  # a view that a managed server hides, a right that is missing
        raise EngineError(f"could not read the server's counters: {reason}".strip()) from reason
    if values is None:
        raise EngineError("could not read the server's counters: it returned no row")
    row = dict(zip(names, values, strict=True))
    resets = tuple(row.pop("resets"))
    return Sample(
        {name: float(value) for name, value in row.items() if value is not None}, resets=resets
    )


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


def counting(settings: Settings) -> dict[str, str]:
    """What is to be set beside an arm's own settings for its statements to be counted."""
    loaded = settings.get(_PRELOADED, "")
    libraries = [name.strip() for name in loaded.split(",") if name.strip()]
    return {
        _PRELOADED: ",".join([*libraries, *([] if MODULE in libraries else [MODULE])]),
        f"{MODULE}.track": "top",
        f"{MODULE}.track_utility": "off",
        f"{MODULE}.track_planning": "off",
        f"{MODULE}.save": "off",
    }


def counts(settings: Mapping[str, str]) -> bool:
    """Whether a server with these settings counts statements."""
    return MODULE in settings.get(_PRELOADED, "")


def prepare_counting(conninfo: str) -> None:
    """Create the extension, if it is not there; EngineError: the server has none."""
    import psycopg

    try:
        with connect(conninfo) as connection:
            connection.execute(f"CREATE EXTENSION IF NOT EXISTS {MODULE}".encode())
    except psycopg.Error as reason:
        raise EngineError(
            "could not make the server count statements", detail=str(reason)
        ) from reason


def read_statements(conninfo: str, version_number: int, database: str) -> StatementCounts:
    """What each statement in a database did so far; EngineError: the server does not show it."""
    import psycopg

    try:
        with connect(conninfo) as connection:
            rows = connection.execute(
                query("statements", version_number).encode(), {"database": database}
            ).fetchall()
    except psycopg.Error as reason:
        raise EngineError("could not read what statements cost", detail=str(reason)) from reason
    return StatementCounts(
        {row[0]: StatementCount(row[0], *map(int, row[1:5])) for row in rows},
        forgotten=int(rows[0][5]) if rows else 0,
    )


MOST_SEGMENTS = 3
"""That are compressed: the newest, whose share stands for all."""
LEVEL = 6
"""gzip's own, which archive programs take where nothing else is said."""
_SEGMENT = re.compile(r"[0-9A-F]{24}")
_PIECE_BYTES = 1 << 20


def log_segment(conninfo: str) -> str:
    """The segment that the server writes now, by its name. EngineError: it does not tell."""
    import psycopg

    try:
        with connect(conninfo) as connection:
            query = b"SELECT pg_walfile_name(pg_current_wal_lsn())"
            row = connection.execute(query).fetchone()
    except psycopg.Error as reason:
        raise EngineError("could not read where the log stands", detail=str(reason)) from reason
    assert row is not None  # a SELECT without FROM
    return str(row[0])


def archive_share(account: Account, directory: Path, first: str, last: str) -> float | None:
    """Bytes that gzip makes of a byte of the log that was written behind segment `first` and before
    `last`; None: no whole segment of it is there. EngineError: the log cannot be read."""

    def compress() -> list[int]:
        log = directory / "pg_wal"
        segments = sorted(
            name for name in os.listdir(log) if first < name < last and _SEGMENT.fullmatch(name)
        )
        sizes = [0, 0]
        for name in segments[-MOST_SEGMENTS:]:
            squeezed = zlib.compressobj(LEVEL)
            with open(log / name, "rb") as file:
                while piece := file.read(_PIECE_BYTES):
                    sizes[0] += len(piece)
                    sizes[1] += len(squeezed.compress(piece))
            sizes[1] += len(squeezed.flush())
        return sizes

    try:
        whole, compressed = account.call(compress)
    except OSError as error:
        raise EngineError(f'could not read "{error.filename}": {error.strerror}') from error
    return compressed / whole if whole else None
