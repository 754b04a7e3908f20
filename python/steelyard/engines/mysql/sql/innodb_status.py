"""Reads InnoDB's status: cumulative counters, and where a server's log is (its end, and how far
back its last checkpoint lies); and makes the server write what it owes: the dirty pages of a
database's tables, and its log.

Counters are exact at once: a session adds to them as it works (SHOW GLOBAL STATUS sums over
threads). The log is counted by its sequence number, which has no padding, and Innodb_os_log_written
has.

InnoDB has no CHECKPOINT. `FLUSH TABLES ... FOR EXPORT` writes all dirty pages of the named tables
and syncs their files at once, where switching innodb_max_dirty_pages_pct to 0 waits for a page
cleaner that looks once a second. What stays in memory are undo pages and those of the system
tablespace: they are written while the same arm works, since an idle arm is held still.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from steelyard.engines.capabilities.checkpoints import WalCounters
from steelyard.engines.mysql.builds.build import MARIADB
from steelyard.engines.mysql.sql.session import connect, connected, rows_of, words_of
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import EngineError, ServerError
from steelyard.model.readings import Kind, Sample
from steelyard.model.turn import Checkpoint

if TYPE_CHECKING:
    from pymysql.connections import Connection

_END, _CHECKPOINT = "innodb_lsn_current", "innodb_lsn_last_checkpoint"
_VARIABLES = f"SHOW GLOBAL STATUS WHERE Variable_name IN ('{_END}', '{_CHECKPOINT}')"
_REPORT = re.compile(r"(Log sequence number|Last checkpoint at)\s+(\d+)")
_NAMES = {"Log sequence number": _END, "Last checkpoint at": _CHECKPOINT}
_TABLES = """
    SELECT table_name FROM information_schema.tables
     WHERE table_schema = database() AND table_type = 'BASE TABLE' AND engine = 'InnoDB'
     ORDER BY table_name"""
_OTHERS = """
    SELECT table_name FROM information_schema.tables
     WHERE table_schema = database() AND table_type = 'BASE TABLE' AND engine <> 'InnoDB'
     ORDER BY table_name"""
_LOCK_WAIT_S = 60
_WRITE_S = 3600.0
"""How long a server may write what it owes."""
_IN_SYSTEM_TABLESPACE = 1809
"""ER_TABLE_IN_SYSTEM_TABLESPACE."""
_LOST = ((2006,), (2013,))
"""CR_SERVER_GONE_ERROR, CR_SERVER_LOST."""
_ENDS_S = 5.0
"""Time within which a process that closed its sockets has ended."""


class RedoLogWatch:
    """A connection that reads the log's positions; implements CheckpointWatch."""

    def __init__(self, address: Endpoint, kind: str) -> None:
        """EngineError: it takes no connection."""
        import pymysql

        self._kind = kind
        try:
            self._connection = connect(address)
        except pymysql.MySQLError as error:
            raise EngineError(
                "could not connect to the server to watch its log", detail=words_of(error)
            ) from error

    @property
    def checkpoints(self) -> tuple[Checkpoint, ...]:
        """None: InnoDB checkpoints all the time, and none begins or ends."""
        return ()

    def pulse(self) -> WalCounters | None:
        """The positions now; None when the server died. It logs no images of pages."""
        import pymysql

        try:
            positions = _positions(self._connection, self._kind)
        except (pymysql.OperationalError, pymysql.InterfaceError):
            return None
        end = positions[_END]
        return WalCounters(wal_bytes=end, images=math.nan, owed_bytes=end - positions[_CHECKPOINT])

    def close(self) -> None:
        """Close the connection; safe to call twice."""
        if self._connection.open:
            self._connection.close()


def _positions(connection: Connection[Any], kind: str) -> Mapping[str, float]:
    if kind == MARIADB:
        rows = rows_of(connection, _VARIABLES)
        return {str(name).lower(): float(value) for name, value in rows}
    [(_, _, report)] = rows_of(connection, "SHOW ENGINE INNODB STATUS")
    return {_NAMES[name]: float(value) for name, value in _REPORT.findall(report)}


class WritingOut:
    """A connection that makes a server write; implements CheckpointSession."""

    def __init__(self, address: Endpoint, alive: Callable[[], bool]) -> None:
        """`alive`: whether the server's process runs. EngineError: it takes no connection."""
        import pymysql

        self._alive = alive
        try:
            self._connection = connect(address, read_s=_WRITE_S)
            try:
                self._execute(f"SET SESSION lock_wait_timeout = {_LOCK_WAIT_S}")
                self._tables = self._named(_TABLES)
                self._others = self._named(_OTHERS)
            except BaseException:
                self.close()
                raise
        except pymysql.MySQLError as error:
            raise EngineError(
                "could not connect to the server to make it write what it owes",
                detail=words_of(error),
            ) from error

    def checkpoint(self) -> int:
        """Nanoseconds it took; 0 when the server died, which the load reports too. ServerError: it
        refused, or the connection alone was lost."""
        import pymysql

        started = time.monotonic_ns()
        try:
            if self._others:
                self._execute(f"FLUSH TABLES {self._others}")
            if self._tables:
                warned = self._execute(f"FLUSH TABLES {self._tables} FOR EXPORT")
                warnings = rows_of(self._connection, "SHOW WARNINGS") if warned else []
                self._execute("UNLOCK TABLES")
                _require_written(warnings)
            self._execute("FLUSH ENGINE LOGS")
        except pymysql.MySQLError as error:
            # InterfaceError: the connection was lost before.
            lost = isinstance(error, pymysql.InterfaceError) or error.args[:1] in _LOST
            if lost and self._ends():
                return 0
            raise ServerError(
                "could not make the server write what it owes", detail=words_of(error)
            ) from error
        return time.monotonic_ns() - started

    def _ends(self) -> bool:
        """Whether the server's process ends now: its sockets are closed a little before."""
        deadline = time.monotonic() + _ENDS_S
        while self._alive():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.01)
        return True

    def close(self) -> None:
        """Close the connection; safe to call twice."""
        if self._connection.open:
            self._connection.close()

    def _named(self, query: str) -> str:
        names: list[tuple[Any, ...]] = rows_of(self._connection, query)
        return ", ".join(f"`{name}`" for (name,) in names)

    def _execute(self, statement: str) -> int:
        """How many warnings it gave."""
        with self._connection.cursor() as cursor:
            cursor.execute(statement)
            return int(getattr(cursor, "warning_count", 0) or 0)


def _require_written(warnings: Sequence[tuple[Any, ...]]) -> None:
    """ServerError: a table is in the system tablespace, whose pages FOR EXPORT leaves unwritten
    with a warning (row_quiesce_set_state of row0quiesce.cc)."""
    for _, code, text in warnings:
        if int(code) == _IN_SYSTEM_TABLESPACE:
            raise ServerError(
                "could not make the server write what it owes",
                detail=f"{code}: {text}",
                hint="Make the table in a file of its own: innodb_file_per_table = ON, then ALTER "
                "TABLE ... ENGINE=InnoDB; or leave the debt unpaid: --set cost=foreground.",
            )


KINDS = (
    Kind("wal_bytes", "bytes", per_transaction=True),
    Kind("blocks_hit", "blocks"),
    Kind("blocks_read", "blocks", per_transaction=True),
    Kind("blocks_written", "blocks", per_transaction=True),
    Kind("commits", "transactions"),
    Kind("rollbacks", "transactions"),
    Kind("rows_changed", "rows"),
    Kind("deadlocks", "deadlocks"),
    Kind("doublewrite_pages", "pages", per_transaction=True),
    Kind("data_syncs", "syncs", per_transaction=True),
    Kind("wal_writes", "writes"),
    Kind("wal_syncs", "syncs", per_transaction=True),
    Kind("row_lock_waits", "waits"),
    Kind("row_lock_us", "µs"),
    Kind("pool_waits", "waits"),
    Kind("log_waits", "waits"),
)
"""Cumulative counts of a whole server; a difference of two belongs to the time between.

`wal_bytes`: InnoDB's redo log, by its sequence number. `blocks_*`: pages of the buffer pool, hit
without a read, read from files and written to them; each page that was read was verified where the
algorithm is not "none". `doublewrite_pages`: of those written, those that went to the doublewrite
buffer first. `data_syncs`: fsync(2) of all files, the log's among them; `wal_syncs`: of the log.
`pool_waits`: for a free page, `log_waits`: for room in the log's buffer. `commits` and
`rollbacks` are statements that said so: autocommitted ones are in neither.
Sources: "Server Status Variables" of MySQL 5.7's and MariaDB's manuals.
"""

_SUMS: Mapping[str, tuple[str, ...]] = {
    "blocks_read": ("innodb_pages_read",),
    "blocks_written": ("innodb_pages_written",),
    "commits": ("com_commit",),
    "rollbacks": ("com_rollback",),
    "rows_changed": ("innodb_rows_inserted", "innodb_rows_updated", "innodb_rows_deleted"),
    "deadlocks": ("innodb_deadlocks",),
    "doublewrite_pages": ("innodb_dblwr_pages_written",),
    "data_syncs": ("innodb_data_fsyncs",),
    "wal_writes": ("innodb_log_writes",),
    "wal_syncs": ("innodb_os_log_fsyncs",),
    "row_lock_waits": ("innodb_row_lock_waits",),
    "pool_waits": ("innodb_buffer_pool_wait_free",),
    "log_waits": ("innodb_log_waits",),
}
_INSTEAD: Mapping[str, tuple[str, ...]] = {
    # MariaDB counts InnoDB's rows no more from 10.6 on; these are of all storage engines.
    "rows_changed": ("handler_write", "handler_update", "handler_delete"),
}
_MILLISECONDS = "innodb_row_lock_time"
_REQUESTS, _MISSES = "innodb_buffer_pool_read_requests", "innodb_buffer_pool_reads"
_LSN = "innodb_lsn_current"
_LSN_WORDS = re.compile(r"Log sequence number\s+(\d+)")


def read_counters(address: Endpoint) -> Sample:
    """What the server counted so far, by the names of KINDS; what it does not count is left out.
    ServerError when it cannot be reached."""
    with connected(address) as connection:
        status = {
            str(name).lower(): float(value)
            for name, value in rows_of(connection, "SHOW GLOBAL STATUS")
            if _number(value)
        }
        counts = {**_sums(status, _INSTEAD), **_sums(status, _SUMS)}
        counts["wal_bytes"] = status[_LSN] if _LSN in status else float(log_position(connection))
        if "deadlocks" not in counts:
            counts |= _metrics(connection)
    if _REQUESTS in status and _MISSES in status:
        counts["blocks_hit"] = status[_REQUESTS] - status[_MISSES]
    if _MILLISECONDS in status:
        counts["row_lock_us"] = status[_MILLISECONDS] * 1000
    return Sample(counts)


def _sums(status: Mapping[str, float], sums: Mapping[str, tuple[str, ...]]) -> dict[str, float]:
    return {
        name: sum(status[part] for part in parts)
        for name, parts in sums.items()
        if all(part in status for part in parts)
    }


def log_position(connection: Connection[Any]) -> int:
    """The log's sequence number; MySQL has it in InnoDB's status report alone."""
    [(_, _, report)] = rows_of(connection, "SHOW ENGINE INNODB STATUS")
    match = _LSN_WORDS.search(report)
    return int(match[1]) if match else 0


def _metrics(connection: Connection[Any]) -> dict[str, float]:
    """Deadlocks, which MySQL counts among InnoDB's metrics, switched on by default."""
    query = (
        "SELECT count FROM information_schema.innodb_metrics"
        " WHERE name = 'lock_deadlocks' AND status = 'enabled'"
    )
    rows = rows_of(connection, query)
    return {"deadlocks": float(rows[0][0])} if rows else {}


def _number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True
