"""The pool is filled by every index that queries can use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pymysql
import pytest

from driver.mysql_servers import started
from steelyard.engines.mysql.sql import variables
from steelyard.engines.mysql.sql.session import connected, rows_of
from steelyard.engines.mysql.sql.variables import fill_pool
from steelyard.engines.mysql.uri import read_uri

ADDRESS = read_uri("mysql://u@db.example/d")
HIDDEN = pymysql.OperationalError(1176, "Key 'hidden' doesn't exist in table 't'")
KILLED = pymysql.OperationalError(1317, "Query execution was interrupted")


def answering(monkeypatch: pytest.MonkeyPatch, refusal: Exception) -> list[str]:
    """A server with two indexes, of which it refuses one; the queries that it gets."""
    queries: list[str] = []

    def rows(_: object, query: str) -> list[tuple[Any, ...]]:
        queries.append(query)
        if "`hidden`" in query:
            raise refusal
        if query.startswith("SELECT @@"):
            return [(1 << 27, 16384)]
        if query.startswith("SHOW"):
            return [("Innodb_pages_read", str(len(queries)))]
        return [("t", "hidden"), ("t", "PRIMARY")] if "statistics" in query else [(7,)]

    @contextmanager
    def connection(*_: object, **__: object) -> Iterator[None]:
        yield

    monkeypatch.setattr(variables, "rows_of", rows)
    monkeypatch.setattr(variables, "connected", connection)
    return queries


def test_an_index_that_is_hidden_from_queries_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    queries = answering(monkeypatch, HIDDEN)
    fill = fill_pool(ADDRESS)
    assert fill.pool_bytes == 1 << 27
    assert fill.read_bytes == 4 * 16384  # read between the two looks at the counter
    assert "SELECT count(*) FROM `t` FORCE INDEX (`PRIMARY`)" in queries


def test_any_other_refusal_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, KILLED)
    with pytest.raises(pymysql.OperationalError):
        fill_pool(ADDRESS)


@pytest.mark.long
def test_a_real_servers_ignored_index_is_left_out() -> None:
    with started("mariadb") as server:
        with connected(read_uri(server.uri())) as connection:
            rows_of(connection, "CREATE DATABASE d")
            table = "(a INT PRIMARY KEY, b INT, KEY hidden (b) IGNORED) ENGINE=InnoDB"
            rows_of(connection, f"CREATE TABLE d.t {table}")
            rows_of(connection, "INSERT INTO d.t VALUES (1, 2)")
            hint = "SELECT count(*) FROM d.t FORCE INDEX (hidden)"
            with pytest.raises(pymysql.MySQLError, match="hidden"):
                rows_of(connection, hint)
        assert fill_pool(read_uri(server.uri(database="d"))).pool_bytes > 0
