"""A server is known for a replica, or it is said that its user may not ask."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pymysql
import pytest

from driver.mysql_servers import PRODUCTS, started
from steelyard.engines.loading import Doubtful
from steelyard.engines.mysql.sql import database as module
from steelyard.engines.mysql.sql.database import MysqlDatabase
from steelyard.engines.mysql.sql.session import connected, rows_of
from steelyard.engines.mysql.uri import read_uri
from steelyard.model.errors import EngineError

MYSQL, MARIADB = "8.0.36", "10.11.19-MariaDB"
DENIED = pymysql.OperationalError(1227, "Access denied; you need REPLICATION CLIENT")
Answer = list[tuple[Any, ...]] | Exception


class Server:
    """Answers queries by how they begin; any other has no rows."""

    def __init__(self, version: str, answers: Mapping[str, Answer]) -> None:
        self._answers = {"SELECT VERSION()": [(version,)], **answers}
        self.queries: list[str] = []

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        self.queries.append(query)
        answer = next((self._answers[each] for each in self._answers if query.startswith(each)), [])
        if isinstance(answer, Exception):
            raise answer
        return answer


def database_of(monkeypatch: pytest.MonkeyPatch, server: Server) -> MysqlDatabase:
    @contextmanager
    def connection(*_: object, **__: object) -> Iterator[Server]:
        yield server

    monkeypatch.setattr(module, "connected", connection)
    monkeypatch.setattr(module, "rows_of", lambda wire, query: wire.rows(query))
    monkeypatch.setattr(module, "variables_of", lambda *_: {"read_only": "OFF"})
    return MysqlDatabase(read_uri("mysql://app@db.example/"))


@pytest.mark.parametrize(
    ("version", "question"),
    [
        (MYSQL, "SHOW SLAVE STATUS"),
        ("8.4.3", "SHOW REPLICA STATUS"),
        (MARIADB, "SHOW ALL SLAVES STATUS"),
    ],
)
def test_a_user_that_may_not_ask_is_said_to_be_one(
    monkeypatch: pytest.MonkeyPatch, version: str, question: str
) -> None:
    server = Server(version, {question: DENIED})
    database = database_of(monkeypatch, server)
    assert isinstance(database, Doubtful)
    [doubt] = database.doubts()
    assert doubt.startswith('whether the server at "db.example" is a replica could not be asked: ')
    assert "1227: Access denied" in doubt
    assert "REPLICATION CLIENT (in MariaDB SLAVE MONITOR)" in doubt
    database.create()
    assert any(query.startswith("CREATE DATABASE") for query in server.queries)


@pytest.mark.parametrize("version", [MYSQL, MARIADB])
def test_a_server_that_answers_leaves_no_doubt(
    monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    assert database_of(monkeypatch, Server(version, {})).doubts() == ()


@pytest.mark.parametrize(
    "states",
    [
        [("Slave_running", "ON")],
        [("Slave_running", "OFF"), ("Slaves_running", "1")],
    ],
)
def test_a_replica_that_runs_is_refused_though_its_user_may_not_ask(
    monkeypatch: pytest.MonkeyPatch, states: list[tuple[str, str]]
) -> None:
    answers: dict[str, Answer] = {"SHOW ALL SLAVES STATUS": DENIED, "SHOW GLOBAL STATUS": [*states]}
    database = database_of(monkeypatch, Server(MARIADB, answers))
    assert database.doubts() == ()
    with pytest.raises(EngineError, match=r"cannot load .*: it is a replica"):
        database.create()


def test_a_server_that_runs_no_replica_takes_a_load(monkeypatch: pytest.MonkeyPatch) -> None:
    states = [("Slave_running", "OFF"), ("Slaves_running", "0")]
    answers: dict[str, Answer] = {"SHOW ALL SLAVES STATUS": DENIED, "SHOW GLOBAL STATUS": states}
    database = database_of(monkeypatch, Server(MARIADB, answers))
    assert len(database.doubts()) == 1
    database.create()


@pytest.mark.long
@pytest.mark.parametrize("product", PRODUCTS)
def test_a_real_server_refuses_the_question_of_a_user_of_one_database(product: str) -> None:
    with started(product) as server:
        with connected(read_uri(server.uri())) as connection:
            rows_of(connection, "CREATE USER app@localhost")
            rows_of(connection, "GRANT ALL ON steelyard.* TO app@localhost")
        asked_by_root = MysqlDatabase(read_uri(server.uri()))
        asked_by_user = MysqlDatabase(read_uri(server.uri("app")))
        assert asked_by_root.doubts() == ()
        [doubt] = asked_by_user.doubts()
        assert "1227: " in doubt
        asked_by_user.create()
