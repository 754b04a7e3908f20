"""Creates, updates and reads the tables of a drill, and computes the rows they should hold."""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.engines.local.own_server import Reply
from steelyard.engines.postgres.libpq.connection_string import conninfo_of
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import ServerError

Row = tuple[str, ...]
PLACES = ("heap", "index", "TOAST", "FSM", "VM")
_ROWS, _LONG_ROWS = 400, 12
_TABLE = """
CREATE TABLE drill_{n} (id int, tag int, filler text, long text) WITH (fillfactor = 100)
ALTER TABLE drill_{n} ALTER long SET STORAGE EXTERNAL
INSERT INTO drill_{n} SELECT i, i, repeat(md5((i + {n})::text), 4),
 CASE WHEN i <= {long} THEN repeat(md5((i * 7 + {n})::text), 150) END
 FROM generate_series(1, {rows}) i
CREATE INDEX drill_{n}_id ON drill_{n} (id)
VACUUM (ANALYZE) drill_{n}
"""
_PATHS = """
SELECT c.relname, pg_relation_filepath(c.oid), pg_relation_filepath(c.reltoastrelid)
FROM pg_class c WHERE c.relname LIKE 'drill_%'
"""


def create_table(address: Endpoint, number: int) -> None:
    """Create and fill one table, with an index, TOAST and maps."""
    text = _TABLE.format(n=number, rows=_ROWS, long=_LONG_ROWS).replace("\n ", " ")
    run_statements(address, text.strip().splitlines())


def update_tables(address: Endpoint, count: int) -> None:
    """Update every third row of the tables 0 to `count` - 1."""
    statements = [
        f"UPDATE drill_{n} SET tag = tag + 1, long = reverse(long) WHERE mod(id, 3) = 0"
        for n in range(count)
    ]
    run_statements(address, statements)


def update_behind_checkpoint(address: Endpoint, number: int) -> int:
    """Update every fifth row of a table right behind a checkpoint; the LSN behind the commit."""
    update = f"UPDATE drill_{number} SET tag = tag + 1000 WHERE id % 5 = 1"
    end = "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint"
    ((lsn,),) = run_statements(address, ["CHECKPOINT", update, end])
    return int(lsn)


def file_paths(address: Endpoint) -> dict[tuple[int, str], str]:
    """Paths relative to the data directory, by number of the table and place."""
    paths: dict[tuple[int, str], str] = {}
    for name, path, toast in run_statements(address, [_PATHS]):
        number = int(name.split("_")[1])
        if name.endswith("_id"):
            paths[number, "index"] = path
            continue
        paths |= {(number, "heap"): path, (number, "TOAST"): toast}
        paths |= {(number, "FSM"): f"{path}_fsm", (number, "VM"): f"{path}_vm"}
    return paths


def expected_rows(number: int) -> list[Row]:
    """The rows of a table after `update_tables`, as COPY writes them."""
    rows: list[Row] = []
    for i in range(1, _ROWS + 1):
        changed = i % 3 == 0
        filler = hashlib.md5(str(i + number).encode()).hexdigest() * 4
        long = hashlib.md5(str(i * 7 + number).encode()).hexdigest() * 150
        long = "\\N" if i > _LONG_ROWS else long[::-1] if changed else long
        rows.append((str(i), str(i + changed), filler, long))
    return rows


@dataclass(frozen=True)
class TableCopy:
    """The rows that a reader of a table got, and whether the server warned."""

    rows: list[Row] | None = None  # None: an error
    warned: bool = False


def copy_rows(address: Endpoint) -> TableCopy:
    """All rows of table 0, by a sequential scan."""
    import psycopg

    severities: list[str | None] = []
    try:
        with psycopg.connect(conninfo_of(address), autocommit=True) as session:
            session.add_notice_handler(lambda n: severities.append(n.severity_nonlocalized))
            with session.cursor().copy("COPY drill_0 TO STDOUT") as copy:
                content = b"".join(bytes(part) for part in copy)
    except psycopg.Error:
        return TableCopy()
    lines = content.decode(errors="replace").split("\n")[:-1]
    return TableCopy(sorted_rows(lines), "WARNING" in severities)


def sorted_rows(lines: Iterable[str]) -> list[Row]:
    """The rows of COPY's text, sorted by their first column, then the others."""
    rows = [tuple(line.split("\t")) for line in lines]
    return sorted(rows, key=lambda row: (len(row[0]), row))


@dataclass(frozen=True)
class RowUpdate:
    """The result of an UPDATE of one row."""

    rows: int | None = None  # updated; None: an error
    warned: bool = False


def update_row(address: Endpoint, row_id: int) -> RowUpdate:
    """Update one row of table 0, found by the index: it changes the page that holds the row."""
    import psycopg

    severities: list[str | None] = []
    try:
        with psycopg.connect(conninfo_of(address), autocommit=True) as session:
            session.add_notice_handler(lambda n: severities.append(n.severity_nonlocalized))
            session.execute("SET enable_seqscan = off")
            cursor = session.execute(
                "UPDATE drill_0 SET tag = tag + 1 WHERE id = %s", (row_id,), prepare=False
            )
    except psycopg.Error:
        return RowUpdate()
    return RowUpdate(cursor.rowcount, "WARNING" in severities)


DRILL_QUERIES = {
    "table": ("SET enable_indexscan = off; SET enable_bitmapscan = off; "
              "SET enable_indexonlyscan = off; SET enable_seqscan = on",
              "SELECT count(*), sum(hashtextextended(t::text, 0)) FROM drill_{n} t"),
    "index": ("SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_indexscan = on",
              "SELECT count(*), sum(hashtextextended(s.r, 0)) FROM "
              "(SELECT t::text AS r FROM drill_{n} t WHERE id > 0 ORDER BY id) s"),
    "index alone": ("SET enable_seqscan = off; SET enable_bitmapscan = off; "
                    "SET enable_indexonlyscan = on",
                    "SELECT count(id), sum(id) FROM drill_{n} WHERE id > 0"),
    "insert": ("SET enable_seqscan = on",
               "INSERT INTO drill_{n} SELECT i, i, repeat('z', 128) FROM "
               "generate_series(100001, 100020) i RETURNING 1"),
}  # fmt: skip
"""(settings, query) by access path, with the number of a table as {n}."""
_CONNECT_TIMEOUT_S = 20.0
_STATEMENT_TIMEOUT = "2s"
_KILLED_AFTER_S = 3.0
"""A damaged index may link in a circle, and not every loop of a server can be cancelled. On an
intact copy a query takes milliseconds."""
_CANCELLED = "57014"  # SQLSTATE query_canceled


def run_statements(address: Endpoint, texts: Sequence[str]) -> list[tuple[Any, ...]]:
    """Execute statements as superuser; rows of the last one. ServerError: one of them failed."""
    import psycopg

    rows: list[tuple[Any, ...]] = []
    try:
        with psycopg.connect(conninfo_of(address), autocommit=True) as session:
            for text in texts:
                cursor = session.execute(text.encode())
                rows = cursor.fetchall() if cursor.description else []
    except psycopg.Error as error:
        raise ServerError("a statement failed", detail=str(error).strip()) from error
    return rows


def run_drill_query(address: Endpoint, access_path: str, number: int) -> Reply:
    """Query a drill's table of this number. What it inserts is rolled back."""
    settings, query = DRILL_QUERIES[access_path]
    return _run_query(address, settings, query.format(n=number))


def _run_query(address: Endpoint, settings: str, query: str) -> Reply:
    """Run one query in a connection and transaction of its own; waits for a restarting server."""
    import psycopg

    deadline = time.monotonic() + _CONNECT_TIMEOUT_S
    while True:
        try:
            session = psycopg.connect(conninfo_of(address), autocommit=True)
            break
        except psycopg.Error:
            if time.monotonic() > deadline:
                return Reply(hung=True, died=True)
            time.sleep(0.05)
    killed = threading.Event()
    killer = threading.Timer(_KILLED_AFTER_S, _kill, (session.info.backend_pid, killed))
    killer.start()
    try:
        with session:
            session.execute(f"SET statement_timeout = '{_STATEMENT_TIMEOUT}'; {settings}".encode())
            session.execute(b"BEGIN")
            rows = session.execute(query.encode()).fetchall()
            session.execute(b"ROLLBACK")
            return Reply(repr(rows))
    except psycopg.Error as error:
        if killed.is_set() or error.sqlstate == _CANCELLED:
            return Reply(hung=True, died=killed.is_set())
        died = error.sqlstate is None or session.closed
        message = f"{error.sqlstate or 'connection lost'}: {str(error).strip()}"
        return Reply(error=message, died=died)
    finally:
        killer.cancel()


def _kill(pid: int, killed: threading.Event) -> None:
    killed.set()
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def detect_by_amcheck(address: Endpoint, numbers: Iterable[int]) -> set[int] | None:
    """The tables in which amcheck raises or reports something; None: the build has no amcheck.

    A timeout does not count. verify_heapam came with 14.
    """
    try:
        (count,) = run_statements(
            address,
            [
                "CREATE EXTENSION IF NOT EXISTS amcheck",
                "SELECT count(*) FROM pg_proc WHERE proname='verify_heapam'",
            ],
        )
    except ServerError:
        return None
    noticed = set()
    for number in numbers:
        index = f"SELECT bt_index_check('drill_{number}_id', heapallindexed => true)"
        heap = f"SELECT count(*) FROM verify_heapam('drill_{number}', check_toast => true)"
        for query in (index, heap) if count != (0,) else (index,):
            reply = _run_query(address, "SET enable_seqscan = on", query)
            reports = query is heap and not reply.hung and reply.answer != "[(0,)]"
            if reply.error or reports:
                noticed.add(number)
    return noticed


def checkpoint(address: Endpoint) -> None:
    """Write all changed pages. ServerError: the server could not."""
    run_statements(address, ["CHECKPOINT"])


def flushed_lsn(address: Endpoint) -> str:
    """The LSN up to which everything logged so far is on disk. ServerError: the query failed."""
    # A commit record flushes what was logged without one, so that it is sent to a standby.
    commit = "SELECT pg_logical_emit_message(true, 'drill', '')"
    ((lsn,),) = run_statements(address, [commit, "SELECT pg_current_wal_flush_lsn()::text"])
    return str(lsn)


def has_replayed(standby: Endpoint, lsn: str) -> bool:
    """Whether a standby has replayed the log up to an LSN. ServerError: the query failed."""
    reached = f"SELECT pg_last_wal_replay_lsn() >= '{lsn}'::pg_lsn"
    return run_statements(standby, [reached]) == [(True,)]
