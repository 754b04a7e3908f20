"""Fills one table: made and filled in one transaction by binary COPY, then counted and summed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from steelyard._core import COPY_HEADER, COPY_TRAILER, RowStream
from steelyard.model.errors import ServerError, UsageError
from steelyard.workloads.loading.execution import execute, named, source_of
from steelyard.workloads.loading.pace import Pace
from steelyard.workloads.loading.side_by_side import Halt
from steelyard.workloads.reading.workload import Table, Workload

if TYPE_CHECKING:
    import psycopg


@dataclass(frozen=True)
class Filled:
    """A table as it was filled."""

    rows: int
    digest: str
    """Of the bytes that were sent; "" where none were."""


def rows_of(workload: Workload, table: Table, scale: int) -> RowStream | None:
    """The rows that are generated for a table; None where it starts empty or SQL fills it."""
    if table.generator is None or table.rows_per_scale == 0:
        return None
    options = {name: str(value) for name, value in workload.loading.items()}
    try:
        return RowStream(table.generator, table.name, scale, options, workload.seed)
    except ValueError as error:
        raise UsageError(f'workload "{workload.name}" is wrong', detail=str(error)) from error


def require_generators(workload: Workload) -> None:
    """UsageError unless there is somebody who makes the rows of each table."""
    for table in workload.tables:
        rows_of(workload, table, 1)


def make(
    connection: psycopg.Connection, workload: Workload, table: Table, schema: Sequence[str]
) -> None:
    """Make a table by its statements; UsageError: they make another one."""
    source = source_of(workload, "schema.sql")
    execute(connection, schema, source)
    there = "SELECT to_regclass(%s) IS NOT NULL"
    if connection.execute(there.encode(), (table.name,)).fetchone() != (True,):
        raise UsageError(f'{source}: it makes no table "{table.name}"')


def fill(
    connection: psycopg.Connection,
    workload: Workload,
    table: Table,
    expected: int | None,
    schema: Sequence[str],
    stream: RowStream | None,
    pace: Pace,
    halt: Halt,
) -> Filled:
    """Make a table by its statements and send its rows; ServerError when not all of them arrive.

    FREEZE writes tuples that need no hint bits and no vacuum, with the visibility map beside
    them; PostgreSQL accepts it only from the transaction that made the table, and not for a
    partitioned one. What the server then counts and sums up must be what was sent.
    """
    with connection.transaction():
        make(connection, workload, table, schema)
        if stream is None:
            return Filled(0, "")
        arrived = _copy(connection, table, stream, pace, halt)
        expected = stream.rows if expected is None else expected
        if arrived != expected:
            raise ServerError(
                f'could not fill table "{table.name}": {arrived} rows arrived, not {expected}'
            )
    found = _counted(connection, table.name)
    if found != (stream.sent, stream.control_sum):
        raise ServerError(
            f'could not fill table "{table.name}": it does not hold what was sent',
            detail=f"Rows and sum of its integers are {found}, "
            f"but {(stream.sent, stream.control_sum)} were sent.",
        )
    return Filled(arrived, stream.digest)


def _copy(
    connection: psycopg.Connection, table: Table, stream: RowStream, pace: Pace, halt: Halt
) -> int:
    freeze = "" if _partitioned(connection, table.name) else ", FREEZE"
    columns = f" ({', '.join(table.columns)})" if table.columns else ""
    statement = f"COPY {table.name}{columns} FROM STDIN (FORMAT binary{freeze})"
    with named(f'could not fill table "{table.name}"', statement), connection.cursor() as cursor:
        with cursor.copy(statement.encode()) as copy:
            copy.write(COPY_HEADER)
            before = 0
            for chunk in stream:
                halt.check()
                copy.write(chunk)
                pace.add(stream.sent - before)
                before = stream.sent
            copy.write(COPY_TRAILER)
        return cursor.rowcount


def _partitioned(connection: psycopg.Connection, table: str) -> bool:
    kind = "SELECT relkind = 'p' FROM pg_class WHERE oid = %s::regclass"
    row = connection.execute(kind.encode(), (table,)).fetchone()
    return bool(row and row[0])


_INTEGERS = """
    SELECT attname FROM pg_attribute
     WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped
       AND atttypid IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype)
     ORDER BY attnum"""


def _counted(connection: psycopg.Connection, table: str) -> tuple[int, int]:
    """Rows of a table, and the sum of its integer columns as the generator wraps it."""
    from psycopg.sql import SQL, Composed, Identifier

    columns = connection.execute(_INTEGERS.encode(), (table,)).fetchall()
    terms = [SQL("coalesce({}::bigint, 0)").format(Identifier(name)) for (name,) in columns]
    total: Composed = SQL(" + ").join(terms) if terms else Composed([SQL("0::bigint")])
    query = SQL("SELECT count(*), coalesce(sum({}), 0) FROM {}").format(total, Identifier(table))
    row = connection.execute(query).fetchone()
    assert row is not None  # aggregates answer with one row
    return int(row[0]), (int(row[1]) + 2**63) % 2**64 - 2**63
