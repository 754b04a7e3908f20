"""Creates, updates and queries the tables that a drill damages in MySQL and MariaDB."""

from __future__ import annotations

from dataclasses import replace

from steelyard.engines.local.own_server import Reply
from steelyard.engines.mysql.sql.session import connect, connected, rows_of, words_of
from steelyard.model.endpoint import Endpoint

DATABASE = "drill"
_ROWS, _LONG_ROWS = 1200, 12
# Statistics that the server gathers by itself would write into its files, and read pages.
_TABLE = """
CREATE TABLE drill_{n} (id INT PRIMARY KEY, tag INT NOT NULL, words VARCHAR(120) NOT NULL,
 body LONGBLOB, KEY words (words)) ENGINE=InnoDB CHARACTER SET latin1
 STATS_PERSISTENT=1 STATS_AUTO_RECALC=0"""
_LONG_TEXT_REPEATS = 700  # 28 kB of each long row, which lie on pages of their own

DRILL_QUERIES = {
    "table": "SELECT COUNT(*), SUM(CRC32(CONCAT_WS('|', id, tag, words))), SUM(CRC32(body)) "
    "FROM drill_{n} FORCE INDEX (PRIMARY)",
    "index": "SELECT COUNT(*), SUM(CRC32(CONCAT_WS('|', id, tag, words))) "
    "FROM drill_{n} FORCE INDEX (words) WHERE words > ''",
    "index alone": "SELECT COUNT(*), SUM(CRC32(words)) FROM drill_{n} FORCE INDEX (words) "
    "WHERE words > ''",
}
"""Query by access path, with the number of a table as {n}."""
_READ_S = 5.0
"""Time after which a query counts as hanging."""


def create_tables(address: Endpoint, count: int) -> None:
    """Create and fill tables 0 to `count` - 1. ServerError: a statement failed."""
    with connected(address) as connection:
        rows_of(connection, f"CREATE DATABASE {DATABASE}")
    with connected(_inside(address)) as connection:
        for number in range(count):
            rows_of(connection, _TABLE.format(n=number))
            for first in range(0, _ROWS, 300):
                ids = range(first + 1, first + 301)
                rows = ", ".join(_row(key, number) for key in ids)
                rows_of(connection, f"INSERT INTO drill_{number} VALUES {rows}")


def _row(key: int, number: int) -> str:
    long = f"REPEAT(SHA1('{key * 7 + number}'), {_LONG_TEXT_REPEATS})"
    digests = f"CONCAT(MD5('{key + number}'), MD5('{key * 3 + number}'))"
    return f"({key}, {key}, {digests}, {long if key <= _LONG_ROWS else 'NULL'})"


def update_tables(address: Endpoint, count: int) -> None:
    """Change every third row of the tables 0 to `count` - 1. ServerError: a statement failed."""
    change = "SET tag = tag + 1, words = REVERSE(words) WHERE id % 3 = 0"
    with connected(_inside(address)) as connection:
        for number in range(count):
            rows_of(connection, f"UPDATE drill_{number} {change}")


def run_drill_query(address: Endpoint, access_path: str, number: int) -> Reply:
    """Query a drill's table of this number, in a connection of its own."""
    import pymysql

    try:
        connection = connect(_inside(address), read_s=_READ_S)
    except pymysql.MySQLError as error:
        return Reply(error=words_of(error), died=True)
    try:
        rows = rows_of(connection, DRILL_QUERIES[access_path].format(n=number))
        return Reply(repr(rows))
    except pymysql.MySQLError as error:
        message = words_of(error)
        if "timed out" in message:
            return Reply(hung=True)
        return Reply(
            error=message, died=not connection.open or error.args[:1] in ((2006,), (2013,))
        )
    finally:
        if connection.open:
            connection.close()


def _inside(address: Endpoint) -> Endpoint:
    return replace(address, database=DATABASE)
