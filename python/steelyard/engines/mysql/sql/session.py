"""Opens control connections to MySQL and MariaDB; the load itself goes through the driver."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import ServerError

if TYPE_CHECKING:
    from pymysql.connections import Connection

CONNECT_S = 10
SQL_MODE = "STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,ANSI_QUOTES,PIPES_AS_CONCAT,NO_ZERO_DATE"
"""Of every control connection: a value that does not fit is an error, and || joins strings."""


def connect(address: Endpoint) -> Connection[Any]:
    """A control connection in autocommit, its time zone UTC. It waits for what it asked as long as
    that takes. Raises pymysql's own errors."""
    import pymysql

    socket = address.host if address.host.startswith("/") else None
    return pymysql.connect(
        unix_socket=socket,
        host=None if socket else address.host,
        port=address.port,
        user=address.user,
        password=address.password or "",
        database=address.database or None,
        charset="utf8mb4",
        autocommit=True,
        connect_timeout=CONNECT_S,
        local_infile=True,
        sql_mode=SQL_MODE,
        init_command="SET time_zone = '+00:00'",
    )


@contextmanager
def connected(address: Endpoint) -> Iterator[Connection[Any]]:
    """A control connection in autocommit; errors of the server become a ServerError."""
    import pymysql

    try:
        connection = connect(address)
        try:
            yield connection
        finally:
            connection.close()
    except pymysql.MySQLError as error:
        raise ServerError(
            f'could not work on database "{address.database}" at "{address.host}"',
            detail=words_of(error),
        ) from error


def words_of(error: Exception) -> str:
    """What the server said, behind its number: "1146: Table 'd.t' doesn't exist"."""
    return ": ".join(str(part) for part in error.args) or str(error)


def rows_of(connection: Connection[Any], query: str) -> list[tuple[Any, ...]]:
    """The rows of a query; pymysql's errors."""
    with connection.cursor() as cursor:
        cursor.execute(query)
        return list(cursor.fetchall())
