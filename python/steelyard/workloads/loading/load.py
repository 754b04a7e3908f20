"""Loads a workload into a running server: tables, rows, keys, statistics, and a marker."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import ServerError
from steelyard.workloads.checking.checks import counted, violations_after_load
from steelyard.workloads.loading.database import begin_mark, connected, create_database, mark, value
from steelyard.workloads.loading.execution import execute, source_of
from steelyard.workloads.loading.filling import Filled, fill, require_generators, rows_of
from steelyard.workloads.loading.pace import Pace, Progress
from steelyard.workloads.loading.side_by_side import Halt, Piece, side_by_side
from steelyard.workloads.loading.statements import by_creation, by_table, inserted
from steelyard.workloads.reading.workload import DATABASE, Table, Workload

if TYPE_CHECKING:
    import psycopg


@dataclass(frozen=True)
class LoadReport:
    """What a load made."""

    rows: int
    seconds: float
    bytes: int
    tables: dict[str, int]
    """Rows by table."""
    digests: dict[str, str] = field(default_factory=dict)
    """Of the bytes that were sent, by table: equal loads have equal ones."""


def load(
    workload: Workload,
    address: Endpoint,
    scale: int,
    progress: Progress | None = None,
    *,
    replacing: bool = False,
) -> LoadReport:
    """Make database "steelyard" on the server, fill it, and prove by its checks that it is right.

    Tables side by side, each made and filled in one transaction (COPY FREEZE), then VACUUM ANALYZE;
    then the keys, side by side too; then what must come in order. EngineError: the database is
    there already, or the server is a standby. ServerError: the server's words, or rows that are
    not those that were sent. UsageError: what the folder says cannot be loaded.
    """
    workload.check_scale(scale)
    require_generators(workload)
    told = progress or (lambda _: None)
    started = time.monotonic()
    ours = create_database(address, replacing=replacing)
    with connected(ours) as connection:
        begin_mark(connection)
        filled = _fill_tables(connection, ours, workload, scale, told)
        with connection.transaction():
            _execute(connection, workload, "load.sql", scale)
        rows = {t.name: _count(connection, workload, t, scale, filled) for t in workload.tables}
        _finish(connection, ours, workload, scale, told)
        for table, more in _insert_last(connection, workload, scale, told).items():
            rows[table] += more
        mark(connection, workload, scale, sum(rows.values()))
        size = value(connection, "SELECT pg_database_size(current_database())")
    seconds = time.monotonic() - started
    digests = {name: one.digest for name, one in filled.items() if one.digest}
    return LoadReport(sum(rows.values()), seconds, size, rows, digests)


def before_clients(workload: Workload, address: Endpoint, scale: int) -> None:
    """Run `before.sql` in the loaded database of a server that has just been started."""
    if statements := workload.statements("before.sql", scale):
        with connected(replace(address, database=DATABASE)) as connection:
            execute(connection, statements, source_of(workload, "before.sql"))


def _fill_tables(
    connection: psycopg.Connection,
    ours: Endpoint,
    workload: Workload,
    scale: int,
    told: Progress,
) -> dict[str, Filled]:
    names = [table.name for table in workload.tables]
    before, groups = by_creation(workload.statements("schema.sql", scale), names)
    execute(connection, before, source_of(workload, "schema.sql"))
    pace, halt = Pace(told), Halt()
    filled: dict[str, Filled] = {}

    streams = {table.name: rows_of(workload, table, scale) for table in workload.tables}
    pace.expect(sum(stream.rows for stream in streams.values() if stream))

    def piece(table: Table, connection: psycopg.Connection) -> None:
        stream = streams[table.name]
        expected = workload.rows_at(table, scale)
        schema = groups.get(table.name, [])
        filled[table.name] = fill(connection, workload, table, expected, schema, stream, pace, halt)
        connection.execute(f"VACUUM (ANALYZE) {table.name}".encode())

    told("load")
    pieces = [partial(piece, table) for table in workload.tables]
    side_by_side(ours, pieces, _at_once(), halt)
    return filled


def _finish(
    connection: psycopg.Connection, ours: Endpoint, workload: Workload, scale: int, told: Progress
) -> None:
    """Statistics of what SQL has filled, keys, constraints, routines; then checks and counts."""
    if workload.statements("load.sql", scale):
        told("vacuum")
        for table in workload.tables:
            connection.execute(f"VACUUM (FREEZE, ANALYZE) {table.name}".encode())
    told("make keys")
    groups = by_table(workload.statements("keys.sql", scale))
    source, halt = source_of(workload, "keys.sql"), Halt()

    def piece(group: Sequence[str], connection: psycopg.Connection) -> None:
        execute(connection, group, source, halt)

    pieces: list[Piece] = [partial(piece, group) for group in groups]
    side_by_side(ours, pieces, _at_once(), halt)
    for file in ("constraints.sql", "routines.sql"):
        _execute(connection, workload, file, scale)
    told("check")
    counted(connection, workload)
    wrong = violations_after_load(connection, workload, scale)
    if wrong:
        raise ServerError(
            f'could not load workload "{workload.name}": its checks find it wrong',
            detail="; ".join(wrong[:5]),
        )


def _insert_last(
    connection: psycopg.Connection, workload: Workload, scale: int, told: Progress
) -> dict[str, int]:
    """Run `last.sql`; the rows it inserted by table, as its command tags tell: nobody looks."""
    statements = workload.statements("last.sql", scale)
    if statements:
        told("insert")
    found = inserted(statements, execute(connection, statements, source_of(workload, "last.sql")))
    for table in workload.tables:
        expected = workload.last_rows_at(table, scale)
        if expected is not None and found.get(table.name, 0) != expected:
            raise ServerError(
                f'could not fill table "{table.name}": '
                f"last.sql inserted {found.get(table.name, 0)} rows, not {expected}"
            )
    return {table.name: found.get(table.name, 0) for table in workload.tables}


def _execute(connection: psycopg.Connection, workload: Workload, file: str, scale: int) -> None:
    execute(connection, workload.statements(file, scale), source_of(workload, file))


def _at_once() -> int:
    """Tables loaded at once: one a processor; two on one, for the server works while rows come."""
    return max(2, len(os.sched_getaffinity(0)))


def _count(
    connection: psycopg.Connection,
    workload: Workload,
    table: Table,
    scale: int,
    filled: dict[str, Filled],
) -> int:
    """Rows of a table; those that have just been counted are not counted again."""
    if filled[table.name].digest:
        return filled[table.name].rows
    found = value(connection, f"SELECT count(*) FROM {table.name}")
    expected = workload.rows_at(table, scale)
    if expected is not None and found != expected:
        raise ServerError(
            f'could not fill table "{table.name}": it has {found} rows, not {expected}'
        )
    return found
