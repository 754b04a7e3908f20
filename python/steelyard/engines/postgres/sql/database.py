"""The database that workloads are loaded into: created, marked as Steelyard's, and opened."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.engines.loading import DATABASE, RowEncoding, ServerDisk, require_replaceable
from steelyard.engines.postgres.guarded.connection import ANSWER_S, guarded
from steelyard.engines.postgres.libpq.client_encoding import connect_in_utf8
from steelyard.engines.postgres.libpq.connection_string import (
    GivenAddress,
    OwnAddress,
    conninfo_of,
)
from steelyard.engines.postgres.sql.loader import MARKER, PostgresChecker, PostgresLoader, value
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
