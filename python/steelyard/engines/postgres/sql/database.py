"""The database that workloads are loaded into: created, marked as Steelyard's, and opened; its
tables are loaded and checked by SQL: statements, COPY, statistics, the marker.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard._core import COPY_HEADER, COPY_TRAILER
from steelyard.engines.loading import (
    DATABASE,
    LoadedData,
    RowEncoding,
    ServerDisk,
    require_replaceable,
)
from steelyard.engines.postgres.guarded.connection import ANSWER_S, answered_soon, guarded
from steelyard.engines.postgres.libpq.client_encoding import connect_in_utf8
from steelyard.engines.postgres.libpq.connection_string import GivenAddress, OwnAddress, conninfo_of
from steelyard.engines.postgres.sql.plans import PostgresProber
from steelyard.model.endpoint import POSTGRES, Endpoint, on_this_machine
from steelyard.model.errors import EngineError, ServerError

if TYPE_CHECKING:
    import psycopg

# The directory is shown only to roles that may read all settings; max_wal_size is in megabytes.
_SERVER = """
    SELECT CASE WHEN pg_has_role('pg_read_all_settings', 'MEMBER')
                THEN current_setting('data_directory') END,
           pg_backend_pid(),
           (SELECT setting::bigint * 1024 * 1024 FROM pg_settings WHERE name = 'max_wal_size'),
           coalesce((SELECT pg_database_size(oid) FROM pg_database WHERE datname = %s), 0)"""


class PostgresDatabase:
    """Database "steelyard" of a server that is reached through another one; a WorkloadDatabase."""

    def __init__(self, address: Endpoint) -> None:
        self._address = address
        self._ours = replace(address, database=DATABASE)

    @property
    def host(self) -> str:
        """The server, as messages name it."""
        return self._address.host

    @property
    def kind(self) -> str:
        """PostgreSQL, whose files are the generic ones."""
        return POSTGRES

    @property
    def encoding(self) -> RowEncoding:
        """Binary COPY."""
        return "copy"

    @property
    def session(self) -> tuple[str, ...]:
        """None: what a statement means does not depend on the server's settings."""
        return ()

    def create(self, *, replacing: bool = False) -> None:
        """Make it empty; EngineError: the server is a standby, or the one there is kept.

        What an interrupted load left is replaced, and a loaded one where `replacing`; a database of
        that name without our marker never.
        """
        with connected(self._address) as connection:
            if _truth(connection, "SELECT pg_is_in_recovery()"):
                raise EngineError(f'cannot load into the server at "{self.host}": it is a standby')
            there = _truth(
                connection, f"SELECT count(*) > 0 FROM pg_database WHERE datname = '{DATABASE}'"
            )
        if there:
            self._require_replaceable(replacing=replacing)
        with connected(self._address, answer_s=None) as connection:
            if there:
                connection.execute(f"DROP DATABASE {DATABASE}".encode())
            connection.execute(f"CREATE DATABASE {DATABASE} TEMPLATE template0".encode())

    def _require_replaceable(self, *, replacing: bool) -> None:
        with connected(self._ours) as connection:
            marked = _truth(connection, f"SELECT to_regclass('public.{MARKER}') IS NOT NULL")
            empty = marked and _truth(connection, f"SELECT count(*) = 0 FROM public.{MARKER}")
        require_replaceable(self.host, marked=marked, loaded=not empty, replacing=replacing)

    def disk(self) -> ServerDisk:
        """Where it would be, as the server says."""
        with connected(self._address) as connection:
            row = connection.execute(_SERVER.encode(), (DATABASE,)).fetchone()
            assert row is not None  # it is one row of scalars
            directory, process, log_limit, replaced = row
            # While it is connected: the process ends with the connection.
            here = on_this_machine(self.host) and directory and _is_local(Path(directory), process)
        return ServerDisk(Path(directory) if here else None, log_limit, replaced)

    @contextmanager
    def loader(self) -> Iterator[PostgresLoader]:
        """A connection that fills it."""
        with connected(self._ours, answer_s=None) as connection:
            yield PostgresLoader(connection)

    @contextmanager
    def checker(self) -> Iterator[PostgresChecker]:
        """A connection that reads it."""
        with connected(self._ours, answer_s=None) as connection:
            yield PostgresChecker(connection)

    @contextmanager
    def counter(self) -> Iterator[PostgresChecker]:
        """A connection that reads it by itself: I/O workers (PostgreSQL 18) are held still too, and
        a read that were theirs would never end (read_stream.c: 0 reads synchronously)."""
        with self.checker() as checker:
            checker.execute(["SET effective_io_concurrency = 0"], "effective_io_concurrency")
            yield checker

    @contextmanager
    def prober(self) -> Iterator[PostgresProber]:
        """A connection that counts what statements cost."""
        with connected(self._ours, answer_s=None) as connection:
            yield PostgresProber(connection)


def _is_local(directory: Path, process: int) -> bool:
    """Whether a server's directory is one of this machine's, as this process of the server is.

    A port of this machine may lead into a container or to another one.
    """
    try:
        name = Path(f"/proc/{process}/comm").read_text().strip()
        return name == "postgres" and directory.is_dir()
    except OSError:
        return False


def _truth(connection: psycopg.Connection, query: str) -> bool:
    return bool(value(connection, query))


# What psycopg ignores in closing a connection that broke is no second message to the user.
logging.getLogger("psycopg").addHandler(logging.NullHandler())


@contextmanager
def connected(
    address: Endpoint, *, answer_s: float | None = ANSWER_S
) -> Iterator[psycopg.Connection]:
    """A control connection in autocommit; errors of the server become a ServerError.

    To a server that is not ours it is guarded: LimitError where the server goes beyond a limit;
    `answer_s`: how long an answer may take, None for work on whole tables."""
    import psycopg

    # Even empty, "options" keep PGOPTIONS of the caller out of the session. Checks and probes of a
    # server of ours have all the time they need; on one of a user its own limits hold.
    options = "" if isinstance(address, GivenAddress) else "-c statement_timeout=0"
    conninfo = conninfo_of(address)
    session: Any  # of psycopg, or guarded: the same as far as it is used
    try:
        if isinstance(address, OwnAddress):
            session = connect_in_utf8(conninfo, options=options)
        else:
            session = guarded(conninfo, where=address.host, answer_s=answer_s, options=options)
        with session as connection:
            yield connection
    except psycopg.Error as error:
        raise ServerError(
            f'could not work on database "{address.database}" at "{address.host}"',
            detail=str(error).strip(),
        ) from error


MARKER = "steelyard_marker"
"""A database with this table was made by Steelyard; no other one is ever written to."""

_QUOTED = 200
"""Characters of a statement that are quoted."""
_CANCEL_S = 5.0
"""How long a server may take to accept that a statement is to be cancelled."""

_INTEGERS = """
    SELECT attname FROM pg_attribute
     WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped
       AND atttypid IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype)
     ORDER BY attnum"""


class PostgresChecker:
    """A connection to the loaded database; implements Checker."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection

    def execute(self, statements: Sequence[str], source: str) -> list[int]:
        """Rows of each statement by its command tag, -1 where it has none.

        ServerError begins with `source`, which names workload and file, and quotes the statement.
        """
        rows = []
        for statement in statements:
            with _attributed(source, statement):
                rows.append(self._connection.execute(statement.encode()).rowcount)
        return rows

    def rows(self, query: str, source: str) -> list[tuple[Any, ...]]:
        """The rows of a query; ServerError as of `execute`."""
        with _attributed(source, query):
            return self._connection.execute(query.encode()).fetchall()

    def loaded(self) -> LoadedData | None:
        """What the marker holds; None: there is none, or it is still empty."""
        with answered_soon(self._connection):
            return self._loaded()

    def _loaded(self) -> LoadedData | None:
        there = "SELECT to_regclass(%s) IS NOT NULL"
        marked = self._connection.execute(there.encode(), (f"public.{MARKER}",)).fetchone()
        if marked != (True,):
            return None
        row = self._connection.execute(f"SELECT * FROM public.{MARKER}".encode()).fetchone()
        if row is None:
            return None
        return LoadedData.read([*row[:4], *row[5:]])  # those of an older Steelyard lack options


class PostgresLoader(PostgresChecker):
    """A connection that fills the database; implements Loader."""

    @property
    def session(self) -> int:
        """The process id of its backend."""
        return self._connection.info.backend_pid

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """What is done within is committed together, or not at all."""
        with (
            _attributed("could not complete a transaction", "BEGIN ... COMMIT"),
            self._connection.transaction(),
        ):
            yield

    def has_table(self, table: str) -> bool:
        """Whether there is a table of this name on the search path."""
        there = "SELECT to_regclass(%s) IS NOT NULL"
        return self._connection.execute(there.encode(), (table,)).fetchone() == (True,)

    def copy(self, table: str, columns: Sequence[str], chunks: Iterable[bytes]) -> int:
        """Append rows in COPY's binary format, without its header and trailer.

        FREEZE writes tuples that need no hint bits and no vacuum, with the visibility map beside
        them; PostgreSQL accepts it only from the transaction that made the table, and not for a
        partitioned one.
        """
        option = "" if self._partitioned(table) else ", FREEZE"
        return self._copied(table, columns, chunks, option)

    def append(self, table: str, columns: Sequence[str], chunks: Iterable[bytes]) -> int:
        """The same without FREEZE, which is for the transaction that made the table."""
        return self._copied(table, columns, chunks, "")

    def _copied(
        self, table: str, columns: Sequence[str], chunks: Iterable[bytes], option: str
    ) -> int:
        column_list = f" ({', '.join(columns)})" if columns else ""
        statement = f"COPY {table}{column_list} FROM STDIN (FORMAT binary{option})"
        with (
            _attributed(f'could not fill table "{table}"', statement),
            self._connection.cursor() as cursor,
        ):
            with cursor.copy(statement.encode()) as copy:
                copy.write(COPY_HEADER)
                for chunk in chunks:
                    copy.write(chunk)
                copy.write(COPY_TRAILER)
            return cursor.rowcount

    def _partitioned(self, table: str) -> bool:
        kind = "SELECT relkind = 'p' FROM pg_class WHERE oid = %s::regclass"
        row = self._connection.execute(kind.encode(), (table,)).fetchone()
        return bool(row and row[0])

    def count_and_sum(self, table: str) -> tuple[int, int]:
        """Rows of a table, and the sum of its integer columns as a signed 64-bit number wraps."""
        from psycopg.sql import SQL, Composed, Identifier

        columns = self._connection.execute(_INTEGERS.encode(), (table,)).fetchall()
        terms = [SQL("coalesce({}::bigint, 0)").format(Identifier(name)) for (name,) in columns]
        total: Composed = SQL(" + ").join(terms) if terms else Composed([SQL("0::bigint")])
        query = SQL("SELECT count(*), coalesce(sum({}), 0) FROM {}")
        row = self._connection.execute(query.format(total, Identifier(table))).fetchone()
        assert row is not None  # aggregates answer with one row
        return int(row[0]), (int(row[1]) + 2**63) % 2**64 - 2**63

    def count(self, table: str) -> int:
        """Rows of a table."""
        return value(self._connection, f"SELECT count(*) FROM {table}")

    def analyze(self, table: str) -> None:
        """Statistics of a table whose rows were copied."""
        self._connection.execute(f"VACUUM (ANALYZE) {table}".encode())

    def freeze(self, table: str) -> None:
        """Statistics of a table that SQL or several connections have filled; its tuples need no
        later vacuum, and its visibility map is set."""
        self._connection.execute(f"VACUUM (FREEZE, ANALYZE) {table}".encode())

    def begin_mark(self) -> None:
        """Make the marker: empty until everything is loaded."""
        columns = (
            "workload text NOT NULL, scale bigint NOT NULL, rows bigint NOT NULL, "
            "digest text NOT NULL, loaded timestamptz NOT NULL DEFAULT now(), "
            "options text"
        )
        self._connection.execute(f"CREATE TABLE {MARKER} ({columns})".encode())

    def mark(self, loaded: LoadedData) -> None:
        """Write into the marker what was loaded."""
        columns = "workload, scale, rows, digest, options"
        self._connection.execute(
            f"INSERT INTO {MARKER} ({columns}) VALUES (%s, %s, %s, %s, %s)".encode(),
            (loaded.workload, loaded.scale, loaded.rows, loaded.digest, loaded.options),
        )

    def size_bytes(self) -> int:
        """Size of the database."""
        return value(self._connection, "SELECT pg_database_size(current_database())")

    def cancel(self) -> None:
        """Cancel the statement under way; called from another thread."""
        with suppress(self._connection.Error):
            self._connection.cancel_safe(timeout=_CANCEL_S)


@contextmanager
def _attributed(source: str, statement: str) -> Iterator[None]:
    """An error of the server about a statement becomes a ServerError that says which it was."""
    import psycopg

    try:
        yield
    except psycopg.Error as error:
        message = error.diag.message_primary or str(error).strip()
        excerpt = " ".join(statement.split())
        excerpt = excerpt if len(excerpt) <= _QUOTED else f"{excerpt[:_QUOTED]} ..."
        more = [text for text in (error.diag.message_detail, f"In: {excerpt}") if text]
        raise ServerError(
            f"{source}: {message}", detail=" ".join(more), hint=error.diag.message_hint
        ) from error


def value(connection: psycopg.Connection, query: str) -> int:
    """The one number that a query of aggregates or functions answers with."""
    row = connection.execute(query.encode()).fetchone()
    assert row is not None  # such a query answers with one row
    return int(row[0])
