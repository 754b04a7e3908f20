"""Loads a workload into a running server: tables, rows, keys, statistics, and a marker."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from steelyard.engines.engine import Address
from steelyard.errors import EngineError, ServerError
from steelyard.workloads.rows import copy_rows
from steelyard.workloads.workload import DATABASE, Table, Workload

if TYPE_CHECKING:
    import psycopg

MARKER = "steelyard_marker"
"""A database with this table was made by Steelyard; no other one is ever written to."""

Progress = Callable[[str], None]


@dataclass(frozen=True)
class LoadReport:
    """What a load made."""

    rows: int
    seconds: float
    bytes: int
    tables: dict[str, int]
    """Rows by table."""


def load(
    workload: Workload, address: Address, scale: int, progress: Progress | None = None
) -> LoadReport:
    """Make database "steelyard" on the server and fill it, as `pgbench -i` leaves its own.

    Tables and rows come in one transaction (COPY FREEZE); then VACUUM ANALYZE; then the keys.
    EngineError: the database is there already, or the server is a standby. ServerError: the
    server's words, or a row count that is wrong.
    """
    workload.check_scale(scale)
    told = progress or (lambda _: None)
    started = time.monotonic()
    _create_database(address)
    with connected(replace(address, database=DATABASE)) as connection:
        with connection.transaction():
            _run(connection, workload.statements("schema.sql", scale))
            for table in workload.tables:
                _fill(connection, table, scale, told)
            _run(connection, workload.statements("load.sql", scale))
            counted = {table.name: _count(connection, table, scale) for table in workload.tables}
            _mark(connection, workload, scale, sum(counted.values()))
        told("vacuum")
        for table in workload.tables:
            connection.execute(f"VACUUM (ANALYZE) {table.name}".encode())
        told("make keys")
        _run(connection, workload.statements("keys.sql", scale))
        size = _value(connection, "SELECT pg_database_size(current_database())")
    seconds = time.monotonic() - started
    return LoadReport(sum(counted.values()), seconds, size, counted)


@contextmanager
def connected(address: Address) -> Iterator[psycopg.Connection]:
    """A control connection in autocommit; what the server says against it is a ServerError."""
    import psycopg

    try:
        # An empty "options" keeps PGOPTIONS of the caller out of the session.
        with psycopg.connect(address.conninfo(), options="", autocommit=True) as connection:
            yield connection
    except psycopg.Error as error:
        raise ServerError(
            f'could not work on database "{address.database}" at "{address.host}"',
            detail=str(error).strip(),
        ) from error


def _create_database(address: Address) -> None:
    with connected(address) as connection:
        if _value(connection, "SELECT pg_is_in_recovery()::int"):
            raise EngineError(f'cannot load into the server at "{address.host}": it is a standby')
        taken = f"SELECT count(*) FROM pg_database WHERE datname = '{DATABASE}'"
        if _value(connection, taken):
            raise EngineError(
                f'cannot load into the server at "{address.host}": '
                f'it has a database "{DATABASE}" already',
                hint="Steelyard writes only into a database that it has just made.",
            )
        connection.execute(f"CREATE DATABASE {DATABASE} TEMPLATE template0".encode())


def _run(connection: psycopg.Connection, statements: list[str]) -> None:
    for statement in statements:
        connection.execute(statement.encode())


def _value(connection: psycopg.Connection, query: str) -> int:
    row = connection.execute(query.encode()).fetchone()
    assert row is not None  # aggregates and functions answer with one row
    return int(row[0])


def _fill(connection: psycopg.Connection, table: Table, scale: int, told: Progress) -> None:
    if table.generator is None or not table.rows_per_scale:
        return
    rows = table.rows_per_scale * scale
    tenths_told = 0

    def so_far(done: int) -> None:
        nonlocal tenths_told
        tenths = 10 * done // rows
        if tenths > tenths_told:
            tenths_told = tenths
            told(f"load {table.name}: {done:,} of {rows:,} rows")

    copy_rows(connection, table.generator, table.name, scale, rows, so_far)


def _count(connection: psycopg.Connection, table: Table, scale: int) -> int:
    """Rows of a table; those that COPY has just counted are not counted again."""
    if table.generator is not None and table.rows_per_scale:
        return table.rows_per_scale * scale
    found = _value(connection, f"SELECT count(*) FROM {table.name}")
    if table.rows_per_scale is not None and found != table.rows_per_scale * scale:
        raise ServerError(
            f'could not fill table "{table.name}": '
            f"it has {found} rows, not {table.rows_per_scale * scale}"
        )
    return found


def _mark(connection: psycopg.Connection, workload: Workload, scale: int, rows: int) -> None:
    columns = (
        "workload text NOT NULL, scale bigint NOT NULL, rows bigint NOT NULL, "
        "digest text NOT NULL, loaded timestamptz NOT NULL DEFAULT now()"
    )
    connection.execute(f"CREATE TABLE {MARKER} ({columns})".encode())
    connection.execute(
        f"INSERT INTO {MARKER} (workload, scale, rows, digest) VALUES (%s, %s, %s, %s)".encode(),
        (workload.name, scale, rows, workload.digest()),
    )
