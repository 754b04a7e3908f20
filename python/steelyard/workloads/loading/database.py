"""The database that a workload is loaded into: made here, marked as ours, never anybody else's."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import EngineError, ServerError
from steelyard.workloads.reading.workload import DATABASE, Workload

if TYPE_CHECKING:
    import psycopg

# What psycopg ignores in closing a connection that broke is no second message to the user.
logging.getLogger("psycopg").addHandler(logging.NullHandler())

MARKER = "steelyard_marker"
"""A database with this table was made by Steelyard; no other one is ever written to."""


@dataclass(frozen=True)
class GivenAddress(Endpoint):
    """An address as somebody gave it: what else its connection string says is kept."""

    words: str = ""

    def conninfo(self) -> str:
        """The string as it was given, but for the database."""
        from psycopg.conninfo import make_conninfo

        return make_conninfo(self.words, dbname=self.database)


def on_this_machine(host: str) -> bool:
    """Whether a host of a connection string is this machine, or a socket on it."""
    return host in ("", "localhost", "127.0.0.1", "::1") or host.startswith("/")


@contextmanager
def connected(address: Endpoint) -> Iterator[psycopg.Connection]:
    """A control connection in autocommit; what the server says against it is a ServerError."""
    import psycopg

    # Even empty, "options" keep PGOPTIONS of the caller out of the session. Checks and probes of a
    # server of ours have all the time they need; on one of somebody else's its own limits hold.
    options = "" if isinstance(address, GivenAddress) else "-c statement_timeout=0"
    try:
        with psycopg.connect(address.conninfo(), options=options, autocommit=True) as connection:
            yield connection
    except psycopg.Error as error:
        raise ServerError(
            f'could not work on database "{address.database}" at "{address.host}"',
            detail=str(error).strip(),
        ) from error


def create_database(address: Endpoint, *, replacing: bool = False) -> Endpoint:
    """Make database "steelyard" and give its address; EngineError: a standby, or it is taken.

    What an interrupted load left is replaced, and a loaded one where `replacing`; a database of
    that name without our marker never.
    """
    ours = replace(address, database=DATABASE)
    with connected(address) as connection:
        if _truth(connection, "SELECT pg_is_in_recovery()"):
            raise EngineError(f'cannot load into the server at "{address.host}": it is a standby')
        if _truth(connection, f"SELECT count(*) > 0 FROM pg_database WHERE datname = '{DATABASE}'"):
            _require_replaceable(ours, replacing=replacing)
            connection.execute(f"DROP DATABASE {DATABASE}".encode())
        connection.execute(f"CREATE DATABASE {DATABASE} TEMPLATE template0".encode())
    return ours


def _require_replaceable(ours: Endpoint, *, replacing: bool) -> None:
    with connected(ours) as connection:
        marked = _truth(connection, f"SELECT to_regclass('public.{MARKER}') IS NOT NULL")
        empty = _truth(connection, f"SELECT count(*) = 0 FROM public.{MARKER}") if marked else False
    taken = f'cannot load into the server at "{ours.host}": it has a database "{DATABASE}" already'
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


def begin_mark(connection: psycopg.Connection) -> None:
    """Make the marker: empty as long as the load goes on."""
    columns = (
        "workload text NOT NULL, scale bigint NOT NULL, rows bigint NOT NULL, "
        "digest text NOT NULL, loaded timestamptz NOT NULL DEFAULT now()"
    )
    connection.execute(f"CREATE TABLE {MARKER} ({columns})".encode())


def mark(connection: psycopg.Connection, workload: Workload, scale: int, rows: int) -> None:
    """Say in the marker what is loaded, now that all of it is."""
    connection.execute(
        f"INSERT INTO {MARKER} (workload, scale, rows, digest) VALUES (%s, %s, %s, %s)".encode(),
        (workload.loaded_name, scale, rows, workload.digest()),
    )


def value(connection: psycopg.Connection, query: str) -> int:
    """The one number that a query answers with."""
    row = connection.execute(query.encode()).fetchone()
    assert row is not None  # only aggregates and functions are asked here: one row
    return int(row[0])


def _truth(connection: psycopg.Connection, query: str) -> bool:
    return bool(value(connection, query))
