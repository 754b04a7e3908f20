"""Reads where a server's log is (its end, and how far back its last checkpoint lies), and makes the
server write what it owes: the dirty pages of a database's tables, and its log.

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
from steelyard.engines.mysql.sql.session import connect, rows_of, words_of
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import EngineError, ServerError
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


class LogWatch:
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
