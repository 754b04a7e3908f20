"""The database that workloads are loaded into: created, marked as Steelyard's, and opened."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.engines.loading import DATABASE, ServerDisk
from steelyard.engines.postgres.sql.control_connection import connected, on_this_machine
from steelyard.engines.postgres.sql.loader import MARKER, PostgresChecker, PostgresLoader, value
from steelyard.engines.postgres.sql.probes import PostgresProber
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import EngineError

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

    def create(self, *, replacing: bool = False) -> None:
        """Make it empty; EngineError: the server is a standby, or the one there is kept.

        What an interrupted load left is replaced, and a loaded one where `replacing`; a database of
        that name without our marker never.
        """
        with connected(self._address) as connection:
            if _truth(connection, "SELECT pg_is_in_recovery()"):
                raise EngineError(f'cannot load into the server at "{self.host}": it is a standby')
            if _truth(
                connection, f"SELECT count(*) > 0 FROM pg_database WHERE datname = '{DATABASE}'"
            ):
                self._require_replaceable(replacing=replacing)
                connection.execute(f"DROP DATABASE {DATABASE}".encode())
            connection.execute(f"CREATE DATABASE {DATABASE} TEMPLATE template0".encode())

    def _require_replaceable(self, *, replacing: bool) -> None:
        with connected(self._ours) as connection:
            marked = _truth(connection, f"SELECT to_regclass('public.{MARKER}') IS NOT NULL")
            empty = marked and _truth(connection, f"SELECT count(*) = 0 FROM public.{MARKER}")
        taken = (
            f'cannot load into the server at "{self.host}": it has a database "{DATABASE}" already'
        )
        if not marked:
            raise EngineError(
                taken,
                detail="It was not made by Steelyard, or its marker is gone.",
                hint="Steelyard writes only into a database that it has just made.",
            )
        if not empty and not replacing:
            raise EngineError(
                taken,
                hint="Steelyard writes only into a database that it has just made. "
                "`workloads load --replace` drops this one first.",
            )

    def disk(self) -> ServerDisk:
        """Where it would be, as the server says."""
        with connected(self._address) as connection:
            row = connection.execute(_SERVER.encode(), (DATABASE,)).fetchone()
            assert row is not None  # it is one row of scalars
            directory, process, log_limit, replaced = row
            # While it is connected: the process ends with the connection.
            here = on_this_machine(self.host) and directory and _seen(Path(directory), process)
        return ServerDisk(Path(directory) if here else None, log_limit, replaced)

    @contextmanager
    def loader(self) -> Iterator[PostgresLoader]:
        """A connection that fills it."""
        with connected(self._ours) as connection:
            yield PostgresLoader(connection)

    @contextmanager
    def checker(self) -> Iterator[PostgresChecker]:
        """A connection that reads it."""
        with connected(self._ours) as connection:
            yield PostgresChecker(connection)

    @contextmanager
    def prober(self) -> Iterator[PostgresProber]:
        """A connection that counts what statements cost."""
        with connected(self._ours) as connection:
            yield PostgresProber(connection)


def _seen(directory: Path, process: int) -> bool:
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
