"""Sends generated rows to a server as binary COPY."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from steelyard._core import COPY_HEADER, COPY_TRAILER, pgbench_rows
from steelyard.errors import ServerError

if TYPE_CHECKING:
    import psycopg

Told = Callable[[int], None]

_CHUNK_ROWS = 32_768
"""About a megabyte: the socket's buffer empties while the next chunk is made."""

_GENERATORS: dict[str, Callable[[str, int, int, int], bytes]] = {"pgbench": pgbench_rows}


def copy_rows(
    connection: psycopg.Connection, generator: str, table: str, scale: int, rows: int, told: Told
) -> None:
    """Fill a table that the open transaction has created; ServerError when not all rows arrive.

    FREEZE writes tuples that need no hint bits and no vacuum, with the visibility map beside
    them; PostgreSQL accepts it only from the transaction that made the table.
    """
    with connection.cursor() as cursor:
        statement = f"COPY {table} FROM STDIN (FORMAT binary, FREEZE)"
        with cursor.copy(statement.encode()) as copy:
            copy.write(COPY_HEADER)
            for first, chunk in _chunks(generator, table, scale, rows):
                copy.write(chunk)
                told(min(first + _CHUNK_ROWS, rows))
            copy.write(COPY_TRAILER)
        if cursor.rowcount != rows:
            raise ServerError(
                f'could not fill table "{table}": {cursor.rowcount} rows arrived, not {rows}'
            )


def _chunks(generator: str, table: str, scale: int, rows: int) -> Iterator[tuple[int, bytes]]:
    make = _GENERATORS[generator]
    for first in range(0, rows, _CHUNK_ROWS):
        yield first, make(table, scale, first, _CHUNK_ROWS)
