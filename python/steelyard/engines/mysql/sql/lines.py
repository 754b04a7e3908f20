"""Sends rows to MySQL and MariaDB: LOAD DATA of a stream, or INSERT of several rows at a time.

Rows come as `crates/datagen/src/text.rs` writes them, no row in two chunks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from steelyard.engines.mysql.sql.session import rows_of
from steelyard.model.errors import ServerError

if TYPE_CHECKING:
    from pymysql.connections import Connection

_PIECE = 1 << 16
"""Bytes of one packet of rows."""
_INSERT = 1 << 20
"""Bytes of one INSERT, about."""
_QUOTED_WARNINGS = 3
_AS_WRITTEN = (
    r"CHARACTER SET utf8mb4 FIELDS TERMINATED BY '\t' ESCAPED BY '\\' LINES TERMINATED BY '\n'"
)


def load_statement(table: str, columns: Sequence[str]) -> str:
    """The statement that asks for the rows of a table. What it names is no file of any machine."""
    column_list = f" ({', '.join(columns)})" if columns else ""
    return f"LOAD DATA LOCAL INFILE 'rows' INTO TABLE {table} {_AS_WRITTEN}{column_list}"


def load_lines(
    connection: Connection[Any], statement: str, chunks: Iterable[bytes], packet: int
) -> int:
    """Execute a `load_statement` and send the chunks, in packets of `packet` bytes at most; rows
    that arrived. pymysql's errors; a ServerError says what the server has made otherwise.

    PyMySQL itself opens whichever file the server names: here the server gets these rows only.
    """
    from pymysql.constants import COMMAND
    from pymysql.protocol import OKPacketWrapper

    wire: Any = connection  # its packets have no types
    wire._execute_command(COMMAND.COM_QUERY, statement)
    if not wire._read_packet().is_load_local_packet():
        raise ServerError("the server asked for no rows")
    size = min(_PIECE, packet)
    try:
        for chunk in chunks:
            for start in range(0, len(chunk), size):
                wire.write_packet(chunk[start : start + size])
    except BaseException:
        if connection.open:  # without an end and its answer it could not be worked with
            _end(wire)
        raise
    answer: Any = OKPacketWrapper(_end(wire))
    _refuse_warnings(connection, answer.warning_count)
    return int(answer.affected_rows)


def _end(wire: Any) -> Any:
    """End the rows; the server's answer to them."""
    wire.write_packet(b"")
    return wire._read_packet()


def insert_lines(
    connection: Connection[Any],
    table: str,
    columns: Sequence[str],
    chunks: Iterable[bytes],
    packet: int,
) -> int:
    """Insert the rows of the chunks by statements of `packet` bytes at most, where one row is no
    longer; rows that arrived. Errors as of `load_lines`."""
    column_list = f" ({', '.join(columns)})" if columns else ""
    head = f"INSERT INTO {table}{column_list} VALUES ".encode()
    arrived = 0
    with connection.cursor() as cursor:
        for statement in inserts(head, chunks, min(_INSERT, packet)):
            arrived += cursor.execute(statement)
            _refuse_warnings(connection, int(getattr(cursor, "warning_count", 0) or 0))
    return arrived


def inserts(head: bytes, chunks: Iterable[bytes], most: int) -> Iterator[bytes]:
    """Statements with as many rows as fit."""
    for chunk in chunks:
        rows: list[bytes] = []
        size = len(head)
        for line in chunk.split(b"\n")[:-1]:
            row = _row(line)
            if rows and size + len(row) + 1 > most:
                yield head + b",".join(rows)
                rows, size = [], len(head)
            rows.append(row)
            size += len(row) + 1
        if rows:
            yield head + b",".join(rows)


def _row(line: bytes) -> bytes:
    """A line as a row of VALUES: its escapes mean the same between quotes."""
    fields = (
        b"NULL" if field == b"\\N" else b"'" + field.replace(b"'", b"''") + b"'"
        for field in line.split(b"\t")
    )
    return b"(" + b",".join(fields) + b")"


def _refuse_warnings(connection: Connection[Any], count: int) -> None:
    """ServerError where a statement had warnings: LOAD DATA LOCAL makes them of all errors."""
    if count:
        warnings = rows_of(connection, f"SHOW WARNINGS LIMIT {_QUOTED_WARNINGS}")
        raise ServerError(
            f"the server took the rows with {count} warnings",
            detail="; ".join(f"{code}: {text}" for _, code, text in warnings),
        )
