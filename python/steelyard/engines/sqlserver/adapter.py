"""Adapts SQL Server to engines/adapters.py: it is reached at an address, and nowhere else; an arm
is the database of ours that it is given there.

Nothing of the server is set, and of its databases only ours. Everything that is read of an arm
concerns its database: options, counters, checkpoints.

A checkpoint rewrites the tables of the database, and writes out its pages.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import NoReturn

from steelyard.engines.account import Account
from steelyard.engines.builds.same_builder import BuildRequest
from steelyard.engines.capabilities.checkpoints import CheckpointSession
from steelyard.engines.capabilities.external import OwnDatabase, answers
from steelyard.engines.differences import SettingRules
from steelyard.engines.engine import Instance, Settings
from steelyard.engines.intake import SettingsPlace
from steelyard.engines.server_uri import hidden
from steelyard.engines.sqlserver import owned
from steelyard.engines.sqlserver.database import SqlServerDatabase
from steelyard.engines.sqlserver.licence import BENCHMARKS, EXPERIMENTAL
from steelyard.engines.sqlserver.owned import OwnedDatabase
from steelyard.engines.sqlserver.session import (
    ANSWER_S,
    RefusedError,
    Session,
    bracketed,
    connected,
    literal,
    open_session,
)
from steelyard.engines.sqlserver.uri import is_sqlserver, read_uri
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import EngineError, ServerError, UsageError
from steelyard.model.identity import Identity
from steelyard.model.readings import Kind, Sample

ROUND_TRIPS = 20
_SHORTEST = "SELECT 1;"
OLDEST = 12
"""SQL Server 2014, the first with delayed durability."""
_NOT_AN_INSTANCE = frozenset({"5", "6", "8", "9", "11", "12"})
"""Values of EngineEdition: Azure's services, managed instances (8) among them, and Edge. Their
databases are not set alone; a service holds the rate of the log, takes backups beside the load, and
says version 12 whatever it is of. Source: "SERVERPROPERTY (Transact-SQL)"."""
_PRODUCT = """
SELECT CONVERT(nvarchar(128), SERVERPROPERTY('ProductVersion')),
       CONVERT(nvarchar(128), SERVERPROPERTY('Edition')),
       CONVERT(nvarchar(11), SERVERPROPERTY('EngineEdition'));
"""
_SERVER = """
SELECT CONVERT(nvarchar(128), @@SERVERNAME), CONVERT(nvarchar(23), create_date, 121)
  FROM sys.databases WHERE database_id = 2;
"""
"""tempdb is created at each start."""

NEVER_BACKED_UP = (
    "Databases made for a weighing are never backed up: until its first backup one in recovery "
    "FULL or BULK_LOGGED frees its log at each checkpoint, as in SIMPLE, so that keeping the log "
    "for backups is not part of what is weighed"
)
"""Goes with arms that set their recovery. Source: "The transaction log (SQL Server)", auto-truncate
mode."""
CHECKPOINT = "CHECKPOINT;"
_TABLES = """
SELECT s.name, t.name, CONVERT(nvarchar(11), i.index_id)
  FROM sys.tables t JOIN sys.schemas s ON s.schema_id = t.schema_id
  JOIN sys.indexes i ON i.object_id = t.object_id AND i.index_id IN (0, 1)
 WHERE t.is_ms_shipped = 0 ORDER BY s.name, t.name;
"""
"""With 0 for a heap, whose indexes are rebuilt with it; 1 for a table in its clustered index."""
_HEAP = "0"
PAGE_BYTES = 8192

KINDS = (
    Kind("wal_bytes", "bytes", per_transaction=True),
    Kind("wal_writes", "writes", per_transaction=True),
    Kind("blocks_read", "blocks", per_transaction=True),
    Kind("blocks_written", "blocks", per_transaction=True),
    Kind("data_writes", "writes", per_transaction=True),
    Kind("data_stall_us", "µs"),
    Kind("wal_stall_us", "µs"),
)
"""Cumulative counts of one database; a difference of two belongs to the time between.

`wal_bytes`, `wal_writes`: "Log Bytes Flushed/sec" and "Log Flushes/sec" of
sys.dm_os_performance_counters, which are cumulative in spite of their names. The others are of
sys.dm_io_virtual_file_stats: `blocks_*` are bytes of its data files over 8 kB, a page each, also
where several were read at once; `*_stall_us`: how long sessions waited for them.
Sources: "SQL Server, Databases object"; "sys.dm_io_virtual_file_stats (Transact-SQL)".
"""

_COUNTER = """
(SELECT CONVERT(nvarchar(20), MAX(cntr_value)) FROM sys.dm_os_performance_counters
  WHERE object_name LIKE N'%:Databases%' AND counter_name = N'{counter}'
    AND instance_name = {name}) AS {alias}"""
_FILES = """
SELECT CONVERT(nvarchar(20), SUM(CASE WHEN f.type = 0 THEN v.num_of_bytes_read END)) AS bytes_read,
       CONVERT(nvarchar(20), SUM(CASE WHEN f.type = 0 THEN v.num_of_bytes_written END))
         AS bytes_written,
       CONVERT(nvarchar(20), SUM(CASE WHEN f.type = 0 THEN v.num_of_writes END)) AS data_writes,
       CONVERT(nvarchar(20), SUM(CASE WHEN f.type = 0 THEN v.io_stall END)) AS data_stall_ms,
       CONVERT(nvarchar(20), SUM(CASE WHEN f.type = 1 THEN v.io_stall END)) AS wal_stall_ms
  FROM sys.dm_io_virtual_file_stats(DB_ID({name}), NULL) v
  JOIN {database}.sys.database_files f ON f.file_id = v.file_id;
"""


class DatabaseCheckpoints:
    """A connection that requests checkpoints of a database of ours; a CheckpointSession."""

    def __init__(self, database: OwnedDatabase, answers: Callable[[], bool]) -> None:
        """`answers`: whether the server does, now. EngineError: the database is no longer ours."""
        self._stack = ExitStack()
        self._session = self._stack.enter_context(database.opened())
        self._answers = answers

    def checkpoint(self) -> int:
        """CHECKPOINT; nanoseconds it took, 0 when the server died, which the load reports too.
        RefusedError: it was refused, or the connection alone was lost."""
        began = time.monotonic_ns()
        try:
            self._session.execute(CHECKPOINT)
        except RefusedError as error:
            if error.number is not None or self._answers():
                raise
            return 0
        return time.monotonic_ns() - began

    def close(self) -> None:
        """Close the connection; safe to call twice."""
        self._stack.close()


class SqlServerArm:
    """Implements Housed, Reached, Noticed, Tunable, Countable, Checkpointer, Freezable and
    HoldsWorkload."""

    setting_rules = SettingRules()
    counter_kinds: Sequence[Kind] = KINDS

    def __init__(self, server: Endpoint, settings: Mapping[str, str]) -> None:
        """`settings`: options of its database. UsageError: there are no such."""
        self._server = server
        self._options = owned.complete_options(settings)
        self._sets_recovery = "recovery" in settings
        self._given: OwnedDatabase | None = None
        self._pulse: Session | None = None

    @property
    def notices(self) -> tuple[str, ...]:
        """What goes with every figure of it."""
        never = (NEVER_BACKED_UP,) if self._sets_recovery else ()
        return (f"SQL Server is {EXPERIMENTAL}", f'Its licence: "{BENCHMARKS}"', *never)

    @property
    def address(self) -> Endpoint:
        """That of its database; before it has one, of the server."""
        return self._server if self._given is None else self._given.address

    @cached_property
    def identity(self) -> Identity:
        """Version and edition as the server reports them. EngineError: it cannot be weighed."""
        with connected(self._server, within_s=ANSWER_S) as session:
            [(version, edition, engine)] = session.rows(_PRODUCT)
        parts = [int(part) for part in str(version).split(".")[:3] if part.isdigit()]
        major, minor, build = (*parts, 0, 0, 0)[:3]
        if engine in _NOT_AN_INSTANCE or major < OLDEST:
            raise EngineError(
                f'cannot weigh the server at "{self._server.host}": {edition}, {version}',
                detail=f"Instances of SQL Server can be weighed, from version {OLDEST} (2014) on.",
            )
        number = major * 1_000_000 + minor * 10_000 + build
        return Identity.at_address("sqlserver", str(version), number, builder=str(edition))

    @property
    def running(self) -> bool:
        """Whether the server answers now."""
        return answers(self)

    def ping(self) -> None:
        """Send the shortest statement. A connection stays open for that: it is checked after each
        slice. ServerError: no answer, or the server's refusal of a connection."""
        try:
            self._ask()
        except ServerError:  # the connection may be old, and the server there again
            self._ask()

    def _ask(self) -> None:
        try:
            self._pulse = self._pulse or open_session(self._server)
            self._pulse.execute(_SHORTEST)
        except ServerError:
            self._pulse = None
            raise

    def server(self) -> Sequence[str]:
        """The instance by its name, its start and its version. EngineError: it cannot be
        weighed."""
        with connected(self._server, within_s=ANSWER_S) as session:
            [row] = session.rows(_SERVER)
        return (*(str(value) for value in row), self.identity.version)

    def round_trip_ns(self) -> int:
        """Of the shortest statement, the fastest of 20."""
        with connected(self._server, within_s=ANSWER_S) as session:
            return min(_round_trip_ns(session) for _ in range(ROUND_TRIPS))

    def draw_database(self) -> OwnedDatabase:
        """A database with a name of its own, which is not made yet."""
        return OwnedDatabase.draw(self._server)

    def work_in(self, database: OwnDatabase) -> None:
        """Its sessions go there from now on."""
        if not isinstance(database, OwnedDatabase):
            raise EngineError(f'database "{database.name}" is not one of SQL Server')
        self._given = database

    def settle(self) -> None:
        """Set the database, rebuild its tables, write out its pages. EngineError: it is no longer
        ours; ServerError: the server refused."""
        database = self._database
        with database.opened() as session:
            session.execute(owned.setting(database.name, self._options))
            rebuild(session)

    def settings(self) -> dict[str, str]:
        """The options of its database."""
        with connected(self._server, within_s=ANSWER_S) as session:
            results = session.execute(owned.READ.format(literal(self._database.name)))
        [result] = results
        [row] = result.rows
        return {
            name: value
            for name, value in zip(result.columns, row, strict=True)
            if value is not None
        }

    def counters(self, database: str) -> Sample:
        """What the server counted of its database so far; a reason where it does not show it."""
        try:
            with connected(self._server, within_s=ANSWER_S) as session:
                return read_counters(session, self._database.name)
        except RefusedError as error:
            return Sample({}, error.detail or error.primary)

    def checkpointer(self, database: str) -> CheckpointSession:
        """A session in its database that writes out what is only in memory."""
        return DatabaseCheckpoints(self._database, lambda: self.running)

    def freeze(self) -> None:
        """Nothing: of a database that has no load and has been written out, the server has nothing
        left to do in the background."""

    def thaw(self) -> None:
        """Nothing: it was not held."""

    def workload_database(self) -> SqlServerDatabase:
        """Its database."""
        return SqlServerDatabase(self._database)

    @property
    def _database(self) -> OwnedDatabase:
        if self._given is None:
            raise EngineError("an arm at a SQL Server that was given no database yet")
        return self._given


def _round_trip_ns(session: Session) -> int:
    began = time.monotonic_ns()
    session.execute(_SHORTEST)
    return time.monotonic_ns() - began


def rebuild(session: Session) -> None:
    """Rewrite every table and index of the session's database, and write all of it out: a page
    keeps the protection it has until it is written anew. ServerError."""
    statements = []
    for schema, table, kind in session.rows(_TABLES):
        name = f"{bracketed(str(schema))}.{bracketed(str(table))}"
        what = f"TABLE {name}" if kind == _HEAP else f"INDEX ALL ON {name}"
        statements.append(f"ALTER {what} REBUILD;")
    for statement in (*statements, CHECKPOINT):
        session.execute(statement)


def read_counters(session: Session, database: str) -> Sample:
    """What was counted of a database so far; what the server hides is left out. RefusedError:
    this login may see none of it."""
    name = literal(database)
    log = ",".join(
        _COUNTER.format(counter=counter, name=name, alias=alias)
        for counter, alias in (
            ("Log Bytes Flushed/sec", "wal_bytes"),
            ("Log Flushes/sec", "wal_writes"),
        )
    )
    logged = _first(session, f"SELECT {log};")
    files = _first(session, _FILES.format(name=name, database=bracketed(database)))
    for before, after, factor in (
        ("bytes_read", "blocks_read", 1 / PAGE_BYTES),
        ("bytes_written", "blocks_written", 1 / PAGE_BYTES),
        ("data_stall_ms", "data_stall_us", 1000),
        ("wal_stall_ms", "wal_stall_us", 1000),
    ):
        if before in files:
            files[after] = files.pop(before) * factor
    return Sample({**logged, **files})


def _first(session: Session, query: str) -> dict[str, float]:
    """Column → number of the one row, without those that are NULL."""
    [result] = session.execute(query)
    [row] = result.rows
    cells = zip(result.columns, row, strict=True)
    return {name: float(value) for name, value in cells if value is not None}


_HINT = 'Say where one runs: --address "sqlserver://user@host".'


def find_arms(requests: Sequence[BuildRequest], account: str | None, *, contrib: bool) -> NoReturn:
    """UsageError: none is started here."""
    raise UsageError("SQL Server is weighed at an address only: none is started here", hint=_HINT)


def reach(
    common: str | None, own: str | None, settings: Settings, database: str | None
) -> SqlServerArm:
    """An arm on the server that the study names; its database is made later. UsageError."""
    if own is not None or common is None:
        raise UsageError("the arms of SQL Server are databases on one server", hint=_HINT)
    if not is_sqlserver(common):
        raise UsageError(f'no address of a SQL Server: "{hidden(common)}"', hint=_HINT)
    return SqlServerArm(read_uri(common), settings)


def count_alone(instance: Instance) -> Instance:
    """The same: what is counted is of its database in any case."""
    return instance


def inspect_source(path: Path) -> NoReturn:
    """Data of others are not taken in."""
    raise UsageError(
        f'cannot take in "{path}": on SQL Server only workloads that Steelyard loads are weighed'
    )


def read_server_settings(place: SettingsPlace) -> NoReturn:
    """Nor are their settings."""
    inspect_source(place.data)


def remove_servers(directory: Path, account: Account) -> list[int]:
    """None is started here."""
    return []
