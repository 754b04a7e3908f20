"""What a server leaves unwritten with a warning is no debt that was paid."""

from __future__ import annotations

from typing import Any

import pytest

from driver.mysql_servers import PRODUCTS, started
from steelyard.engines.mysql.sql import innodb_status
from steelyard.engines.mysql.sql.innodb_status import WritingOut
from steelyard.engines.mysql.sql.session import connected, rows_of
from steelyard.engines.mysql.uri import read_uri
from steelyard.model.errors import ServerError

FTS = (1235, "This version of MySQL doesn't yet support 'FLUSH TABLES on tables that have an FTS'")
SYSTEM = (1809, "Table 'd.t' in system tablespace")


class Connection:
    """A server with one table, which warns of what it does not export."""

    open = True

    def __init__(self, *warnings: tuple[int, str]) -> None:
        self.warnings = warnings
        self.executed: list[str] = []
        self.warning_count = 0
        self._rows: list[tuple[Any, ...]] = []

    def cursor(self) -> Connection:
        return self

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def execute(self, statement: str) -> None:
        self.executed.append(statement)
        self.warning_count = len(self.warnings) if "FOR EXPORT" in statement else 0
        self._rows = [("t",)] if "engine = 'InnoDB'" in statement else []
        if statement == "SHOW WARNINGS":
            self._rows = [("Warning", *warning) for warning in self.warnings]

    def fetchall(self) -> list[tuple[Any, ...]]:
        return self._rows


def writing(monkeypatch: pytest.MonkeyPatch, connection: Connection) -> WritingOut:
    monkeypatch.setattr(innodb_status, "connect", lambda *_, **__: connection)
    return WritingOut(read_uri("mysql://u@h/d"), lambda: True)


def test_a_table_of_the_system_tablespace_is_an_error_and_no_lock_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connection = Connection(FTS, SYSTEM)
    with pytest.raises(ServerError, match="could not make the server write") as refused:
        writing(monkeypatch, connection).checkpoint()
    assert refused.value.detail == "1809: Table 'd.t' in system tablespace"
    assert "cost=foreground" in (refused.value.hint or "")
    assert connection.executed[-1] == "UNLOCK TABLES"


@pytest.mark.parametrize("warnings", [(), (FTS,)])
def test_a_table_in_a_file_of_its_own_is_written(
    monkeypatch: pytest.MonkeyPatch, warnings: tuple[tuple[int, str], ...]
) -> None:
    connection = Connection(*warnings)
    assert writing(monkeypatch, connection).checkpoint() > 0
    assert connection.executed[-1] == "FLUSH ENGINE LOGS"


@pytest.mark.long
@pytest.mark.parametrize("product", PRODUCTS)
def test_a_real_server_warns_of_its_system_tablespace(product: str) -> None:
    with started(product, "--innodb-file-per-table=OFF") as server:
        address = read_uri(server.uri(database="d"))
        with connected(read_uri(server.uri())) as connection:
            rows_of(connection, "CREATE DATABASE d")
            rows_of(connection, "CREATE TABLE d.t (a INT PRIMARY KEY) ENGINE=InnoDB")
        session = WritingOut(address, lambda: True)
        try:
            with pytest.raises(ServerError) as refused:
                session.checkpoint()
        finally:
            session.close()
        assert (refused.value.detail or "").startswith("1809: ")
