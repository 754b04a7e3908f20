"""Tests on real servers what is loaded, and what is refused in the server's own words."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from driver.mysql_servers import PRODUCTS, database_at, started
from driver.mysqld import Mysqld
from steelyard.engines.loading import LoadedData
from steelyard.engines.mysql.sql.database import MysqlDatabase, write_lock
from steelyard.engines.mysql.sql.session import connected, rows_of
from steelyard.engines.mysql.uri import read_uri
from steelyard.model.errors import EngineError, ServerError, UsageError

pytestmark = pytest.mark.long


@pytest.fixture(scope="module", params=PRODUCTS)
def server(request: pytest.FixtureRequest) -> Iterator[Mysqld]:
    with started(request.param) as running:
        yield running


@pytest.fixture
def database(server: Mysqld) -> Iterator[MysqlDatabase]:
    """The database of workloads, made and marked; removed afterwards."""
    found = database_at(server)
    execute(server, "DROP DATABASE IF EXISTS steelyard")
    found.create()
    with found.loader() as loader:
        loader.begin_mark()
    yield found
    execute(server, "DROP DATABASE IF EXISTS steelyard")


def execute(server: Mysqld, *statements: str) -> None:
    with connected(read_uri(server.uri())) as connection:
        for statement in statements:
            rows_of(connection, statement)


@contextmanager
def setting(server: Mysqld, name: str, value: str) -> Iterator[None]:
    execute(server, f"SET GLOBAL {name} = {value}")
    try:
        yield
    finally:
        execute(server, f"SET GLOBAL {name} = DEFAULT")


def test_what_an_interrupted_load_left_is_replaced_and_a_loaded_one_kept(
    database: MysqlDatabase,
) -> None:
    database.create()
    with database.loader() as loader:
        loader.begin_mark()
        assert loader.loaded() is None
        loader.mark(LoadedData("w", 3, 7, "abc"))
    with database.checker() as checker:
        assert checker.loaded() == LoadedData("w", 3, 7, "abc")
    with pytest.raises(EngineError, match="already") as caught:
        database.create()
    assert "--replace" in (caught.value.hint or "")
    database.create(replacing=True)
    with database.checker() as checker:
        assert checker.loaded() is None


def test_a_database_of_others_is_never_replaced(server: Mysqld, database: MysqlDatabase) -> None:
    execute(server, "DROP TABLE steelyard.steelyard_marker", "CREATE TABLE steelyard.t (n INT)")
    with pytest.raises(EngineError, match="already") as caught:
        database.create(replacing=True)
    assert "not made by Steelyard" in (caught.value.detail or "")
    with database.loader() as loader:
        assert loader.has_table("t")


def test_tables_of_a_workload_are_of_innodb_whatever_the_servers_default_engine_is(
    server: Mysqld, database: MysqlDatabase
) -> None:
    with setting(server, "default_storage_engine", "MyISAM"), database.loader() as loader:
        loader.execute(["CREATE TABLE t (n INT)"], "schema")
        query = "SELECT engine FROM information_schema.tables WHERE table_name = 't'"
        assert loader.rows(query, "engine") == [("InnoDB",)]


def test_a_database_that_is_not_there_is_said_to_be_missing(server: Mysqld) -> None:
    execute(server, "DROP DATABASE IF EXISTS steelyard")
    with pytest.raises(ServerError) as caught, database_at(server).checker():
        pass
    assert caught.value.detail == 'database "steelyard" does not exist'


@pytest.mark.parametrize("name", ["read_only", "super_read_only"])
def test_a_server_that_takes_no_writes_is_refused(
    server: Mysqld, database: MysqlDatabase, name: str
) -> None:
    if name == "super_read_only" and database.kind == "mariadb":
        pytest.skip("MariaDB has no such variable")
    refused = pytest.raises(EngineError, match=f"cannot load .*: {name} is on")
    with setting(server, name, "ON"), refused:
        database.create()
    # Switching off the stronger one leaves the weaker one on.
    execute(server, "SET GLOBAL read_only = OFF")
    database.create()


@pytest.mark.parametrize("name", ["", "'east'"])
def test_a_replica_is_refused_whatever_its_source_is_called(
    server: Mysqld, database: MysqlDatabase, name: str
) -> None:
    if database.kind == "mysql":
        pytest.skip("it would have to be started with a number of its own")
    execute(server, f"CHANGE MASTER {name} TO MASTER_HOST = '127.0.0.1', MASTER_USER = 'none'")
    try:
        with pytest.raises(EngineError, match=r"cannot load .*: it is a replica"):
            database.create()
    finally:
        execute(server, f"RESET SLAVE {name} ALL")
    database.create()


def test_a_server_that_takes_no_writes_any_more_ends_a_load_in_its_words(
    server: Mysqld, database: MysqlDatabase
) -> None:
    if database.kind == "mariadb":
        pytest.skip("its root may write in spite of read_only")
    with database.loader() as loader:
        loader.execute(["CREATE TABLE t (n INT)"], "schema")
        with setting(server, "super_read_only", "ON"), pytest.raises(ServerError, match="1290"):
            loader.copy("t", ("n",), [b"1\n"])
    execute(server, "SET GLOBAL read_only = OFF")


def test_the_disk_of_a_server_on_this_machine_is_seen(database: MysqlDatabase) -> None:
    disk = database.disk()
    assert disk.directory is not None
    assert (disk.directory / "steelyard").is_dir()
    assert disk.log_limit_bytes >= 48 << 20
    assert disk.replaced_bytes > 0


@pytest.mark.parametrize("local_infile", ["ON", "OFF"])
def test_rows_arrive_whole_and_are_summed(
    server: Mysqld, database: MysqlDatabase, local_infile: str
) -> None:
    rows = b"9223372036854775807\t1\tit's\\\\N\\t\n5\t0\t\\N\n\\N\t1\t\xc3\xa9\n"
    table = "CREATE TABLE t (n BIGINT, b BOOLEAN, s VARCHAR(20), m SMALLINT DEFAULT 2)"
    with setting(server, "local_infile", local_infile), database.loader() as loader:
        with loader.transaction():
            loader.execute([table], "schema")
            assert loader.copy("t", ("n", "b", "s"), [rows[:0], rows]) == 3
        loader.analyze("t")
        assert loader.count("t") == 3
        wrapped = (2**63 - 1 + 5 + 6) - 2**64
        assert loader.count_and_sum("t") == (3, wrapped)
        found = loader.rows("SELECT n, b, s FROM t ORDER BY n", "q")
        assert found == [(None, 1, "é"), (5, 0, None), (2**63 - 1, 1, "it's\\N\t")]
        assert loader.size_bytes() > 0


@pytest.mark.parametrize("local_infile", ["ON", "OFF"])
def test_a_value_that_does_not_fit_is_an_error_and_no_row_stays(
    server: Mysqld, database: MysqlDatabase, local_infile: str
) -> None:
    with setting(server, "local_infile", local_infile), database.loader() as loader:
        loader.execute(["CREATE TABLE t (n SMALLINT)"], "schema")
        refused = pytest.raises(ServerError, match='could not fill table "t"')
        with refused as caught, loader.transaction():
            loader.copy("t", (), [b"1\n", b"70000\n"])
        assert "1264: Out of range value for column 'n'" in f"{caught.value} {caught.value.detail}"
        assert "INTO TABLE t" in (caught.value.detail or "") or local_infile == "OFF"
        assert loader.count("t") == 0


def test_a_row_larger_than_a_packet_is_refused_in_the_servers_words(
    server: Mysqld, database: MysqlDatabase
) -> None:
    with setting(server, "max_allowed_packet", "65536"):
        with setting(server, "local_infile", "OFF"), database.loader() as loader:
            loader.execute(["CREATE TABLE t (s LONGTEXT)"], "schema")
            with pytest.raises(ServerError, match=r'fill table "t": .*(1153|2006|2013)'):
                loader.copy("t", (), [b"x" * 100_000 + b"\n"])
        with database.loader() as loader:  # packets of LOAD DATA are cut to that size
            loader.execute(["CREATE TABLE u (s LONGTEXT)"], "schema")
            assert loader.copy("u", (), [b"x" * 50_000 + b"\n"] * 9) == 9


def test_what_fails_between_two_chunks_leaves_no_row_and_a_connection_that_works(
    database: MysqlDatabase,
) -> None:
    def chunks() -> Iterator[bytes]:
        yield b"1\n"
        raise RuntimeError("halted")

    with database.loader() as loader:
        loader.execute(["CREATE TABLE t (n INT)"], "schema")
        with pytest.raises(RuntimeError, match="halted"), loader.transaction():
            loader.copy("t", (), chunks())
        assert loader.count("t") == 0
        with loader.transaction():
            loader.copy("t", (), [b"7\n"])
    with database.checker() as checker:
        assert checker.rows("SELECT n FROM t", "q") == [(7,)]


def test_an_error_says_where_and_quotes_the_statement(database: MysqlDatabase) -> None:
    with database.checker() as checker:
        with pytest.raises(ServerError, match=r"^error: here: 1146: .*nowhere") as caught:
            checker.execute(["DO 1", "SELECT  *\nFROM nowhere"], "here")
        assert caught.value.detail == "In: SELECT * FROM nowhere"
        statements = ["CREATE TABLE t (n INT)", "INSERT INTO t VALUES (1), (2)", "SELECT n FROM t"]
        assert checker.execute(statements, "here") == [0, 2, 2]


def test_a_statement_under_way_is_stopped_from_another_thread(database: MysqlDatabase) -> None:
    with database.loader() as loader:
        canceller = threading.Timer(0.5, loader.cancel)
        canceller.start()
        begun = time.monotonic()
        with pytest.raises(ServerError, match="sleeping: 1317"):
            loader.rows("SELECT SLEEP(60) FROM (SELECT 1 UNION SELECT 2) t", "sleeping")
        canceller.join()
        assert time.monotonic() - begun < 30
        assert loader.rows("SELECT 1", "after") == [(1,)]


def test_no_server_gets_a_file_of_this_machine(
    server: Mysqld, database: MysqlDatabase, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("1\n")
    with database.loader() as loader:
        loader.execute(["CREATE TABLE t (n INT)"], "schema")
    with database.loader() as loader, pytest.raises(ServerError, match="no server gets one"):
        loader.execute([f"LOAD DATA LOCAL INFILE '{secret}' INTO TABLE t"], "schema")
    with database.checker() as checker:
        assert checker.rows("SELECT COUNT(*) FROM t", "q") == [(0,)]


def test_probes_are_said_to_be_postgresqls(database: MysqlDatabase) -> None:
    with pytest.raises(UsageError, match="cannot explain probes"), database.prober():
        pass


@pytest.mark.parametrize(
    ("variables", "lock"),
    [
        ({}, None),
        ({"read_only": "OFF", "super_read_only": "OFF"}, None),
        ({"read_only": "0", "super_read_only": "0"}, None),
        ({"read_only": "off"}, None),
        ({"read_only": "ON", "super_read_only": "OFF"}, "read_only"),
        ({"read_only": "1", "super_read_only": "1"}, "super_read_only"),
        ({"read_only": "NO_LOCK"}, "read_only"),
    ],
)
def test_the_variable_that_refuses_writes_is_named(
    variables: dict[str, str], lock: str | None
) -> None:
    assert write_lock(variables) == lock
