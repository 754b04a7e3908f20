"""Servers of MySQL and MariaDB from their making to their end, on real builds."""

from __future__ import annotations

import os
import time
from contextlib import closing, suppress
from pathlib import Path

import pymysql
import pytest

from engines.mysql.life.conftest import Made
from engines.mysql.thread_states import states_of
from steelyard.engines.differences import compare
from steelyard.engines.engine import UNPROTECTED
from steelyard.engines.local.processes import every_pid
from steelyard.engines.mysql.life.instance import MysqlInstance
from steelyard.engines.mysql.sql import innodb_status
from steelyard.engines.mysql.sql.session import connected, rows_of, variables_of
from steelyard.model.errors import EngineError, ServerError, UsageError

pytestmark = pytest.mark.long

_POOL_LISTS = ("innodb_buffer_pool_dump_at_shutdown", "innodb_buffer_pool_load_at_startup")


def threads(instance: MysqlInstance) -> dict[int, frozenset[int]]:
    """Thread → the processors it may run on."""
    return {
        int(name): frozenset(os.sched_getaffinity(int(name)))
        for name in os.listdir(f"/proc/{instance.pid}/task")
    }


def test_a_server_reports_what_it_was_started_with(server: MysqlInstance) -> None:
    told = server.settings()
    assert told["innodb_buffer_pool_size"] == str(64 << 20)
    assert told["innodb_buffer_pool_load_at_startup"] == "OFF"


def test_a_server_of_threads_shares_our_session_and_no_signal_of_the_terminal(
    server: MysqlInstance,
) -> None:
    assert os.getsid(server.pid) == os.getsid(0), "else the scheduler sees two autogroups"
    assert os.getpgid(server.pid) == server.pid


def test_two_servers_differ_in_what_was_set_and_what_follows_alone(made: Made) -> None:
    one, two = made.clone(0), made.clone(1)
    one.start(made.slot(0), {})
    two.start(made.slot(1), {"innodb_buffer_pool_size": "2G", "max_connections": "500"})
    try:
        declared = {"innodb_buffer_pool_size", "max_connections"}
        rules = made.engine.setting_rules
        found = compare(one.settings(), two.settings(), declared, rules)
        assert not found.undeclared
        assert {name for name, _, _ in found.declared} == declared
    finally:
        one.stop()
        two.stop()


def test_a_stopped_server_has_an_identifier_that_a_start_changes(made: Made) -> None:
    clone = made.clone(0)
    before = made.engine.stopped_identifier(clone.directory)
    assert before is not None
    assert before == made.engine.stopped_identifier(made.template.directory)
    clone.start(made.slot(0), {})
    clone.stop()
    assert made.engine.stopped_identifier(clone.directory) != before
    clone.restore(made.template.directory)
    assert made.engine.stopped_identifier(clone.directory) == before


def test_a_crash_leaves_nothing_and_the_next_start_recovers(made: Made) -> None:
    clone = made.clone(0)
    clone.start(made.slot(0), {})
    with connected(clone.address) as connection:
        rows_of(connection, "CREATE DATABASE d")
        rows_of(connection, "CREATE TABLE d.t (a int PRIMARY KEY)")
        rows_of(connection, "INSERT INTO d.t VALUES (7)")
    pid = clone.pid
    clone.crash()
    assert pid not in every_pid()
    assert not clone.running
    clone.start(made.slot(0), {})
    with connected(clone.address) as connection:
        assert rows_of(connection, "SELECT a FROM d.t") == [(7,)]
    clone.stop()


def test_sessions_are_placed_by_their_connections(server: MysqlInstance) -> None:
    every = sorted(os.sched_getaffinity(0))
    with connected(server.address) as connection:
        number = int(rows_of(connection, "SELECT connection_id()")[0][0])
        before = threads(server)
        server.place({number: [every[-1]]})
        after = threads(server)
    moved = [one for one in after if after[one] != before.get(one, after[one])]
    assert len(moved) == (1 if len(every) > 1 else 0)
    assert all(after[one] == {every[-1]} for one in moved)
    assert sum(one.duty == "session" for one in server.use().processes) >= 1


def test_a_connection_whose_thread_is_not_reported_is_not_left_where_it_is(made: Made) -> None:
    """Half of the sessions placed, and the others free, would be a placement that none chose."""
    hidden = {"performance_schema": "OFF"}
    if made.engine.identity.kind == "mariadb":
        hidden = {"thread_handling": "pool-of-threads"}
    clone = made.clone(0)
    clone.start(made.slot(0), hidden)
    try:
        with connected(clone.address) as connection:
            number = int(rows_of(connection, "SELECT connection_id()")[0][0])
            with pytest.raises(EngineError, match="does not tell which threads") as refused:
                clone.place({number: [0], 10**6: [0]})
        assert "Of 2 connections 1 are there" in (refused.value.detail or "")
        assert 'placement = "free"' in (refused.value.hint or "")
    finally:
        clone.discard()


def test_a_connection_that_has_ended_is_left_out(server: MysqlInstance) -> None:
    with connected(server.address) as connection:
        number = int(rows_of(connection, "SELECT connection_id()")[0][0])
        server.place({number: [0], 10**6: [0]})


def written_at(file: Path) -> int | None:
    return file.stat().st_mtime_ns if file.exists() else None


def test_clones_have_server_ids_of_their_own_and_keep_no_list_of_their_pools(made: Made) -> None:
    one, two = made.clone(0), made.clone(1)
    told = []
    for number, each in enumerate((one, two)):
        before = written_at(each.directory / "ib_buffer_pool")
        each.start(made.slot(number), {})
        with connected(each.address) as connection:
            told.append(variables_of(connection, "server_uuid", *_POOL_LISTS))
        each.stop()
        assert written_at(each.directory / "ib_buffer_pool") == before
    assert all(found[name] == "OFF" for found in told for name in _POOL_LISTS)
    if made.engine.identity.kind == "mysql":  # MariaDB's servers have none
        assert told[0]["server_uuid"] != told[1]["server_uuid"]


def test_the_sessions_of_a_server_that_stands_still_are_known(server: MysqlInstance) -> None:
    """With cost "whole" it does whenever its use is read."""
    with connected(server.address) as connection:
        rows_of(connection, "SELECT sum(a.ordinal_position) FROM information_schema.columns a")
        server.freeze()
        use = server.use()
        server.thaw()
        assert rows_of(connection, "SELECT 1") == [(1,)]
    assert use.session_cpu_ns > 0


def test_a_frozen_server_stands_still_and_goes_on(server: MysqlInstance) -> None:
    server.freeze()
    assert states_of(server.pid) == {"T"}
    first = server.use().cpu_ns
    time.sleep(0.05)
    assert server.use().cpu_ns == first
    server.thaw()
    server.thaw()
    with connected(server.address) as connection:
        assert rows_of(connection, "SELECT 1") == [(1,)]


def test_a_frozen_server_tells_what_its_workload_did_and_is_held_still_again(
    server: MysqlInstance,
) -> None:
    database = server.workload_database()
    database.create()
    server.freeze()
    with database.checker() as checker:
        assert checker.rows("SELECT 1", "a test") == [(1,)]
    assert states_of(server.pid) == {"T"}
    with pytest.raises(ServerError), database.checker() as checker:
        checker.rows("SELECT nothing", "a test")
    assert states_of(server.pid) == {"T"}
    server.thaw()
    with database.checker() as checker:
        assert checker.rows("SELECT 1", "a test") == [(1,)]
    assert "T" not in states_of(server.pid)


def test_a_frozen_server_can_be_stopped(made: Made) -> None:
    clone = made.clone(0)
    clone.start(made.slot(0), {})
    clone.freeze()
    clone.begin_stop()
    clone.stop()
    assert not clone.running


def test_work_is_counted_written_out_and_planned(server: MysqlInstance) -> None:
    with connected(server.address) as connection:
        rows_of(connection, "CREATE DATABASE steelyard")
        rows_of(connection, "CREATE TABLE steelyard.t (a int PRIMARY KEY, b char(200))")
        before = server.counters("steelyard").values
        rows_of(connection, "BEGIN")
        for number in range(500):
            rows_of(connection, f"INSERT INTO steelyard.t VALUES ({number}, 'x')")
        rows_of(connection, "COMMIT")
        after = server.counters("steelyard").values
    assert after["rows_changed"] - before["rows_changed"] >= 500
    assert after["commits"] - before["commits"] == 1
    assert after["wal_bytes"] - before["wal_bytes"] > 500 * 200
    with closing(server.checkpointer("steelyard")) as writing:
        assert writing.checkpoint() > 0
        written = server.counters("steelyard").values
        assert written["blocks_written"] > after["blocks_written"]
        server.crash()
        assert writing.checkpoint() == 0
        assert writing.checkpoint() == 0


def test_a_debt_that_was_not_written_out_is_an_error_and_not_nothing(
    server: MysqlInstance,
) -> None:
    with connected(server.address) as connection:
        rows_of(connection, "CREATE DATABASE steelyard")
        for name in ("t", "u"):
            rows_of(connection, f"CREATE TABLE steelyard.{name} (a int PRIMARY KEY)")
        with closing(server.checkpointer("steelyard")) as writing:
            rows_of(connection, "DROP TABLE steelyard.u")
            with pytest.raises(ServerError, match="could not make the server write") as refused:
                writing.checkpoint()
            assert (refused.value.detail or "").startswith("1146: ")
        with closing(server.checkpointer("steelyard")) as writing:
            for number, *_ in rows_of(connection, "SHOW PROCESSLIST"):
                if number != connection.thread_id():
                    with suppress(pymysql.MySQLError):
                        rows_of(connection, f"KILL {number}")
            for _ in range(2):  # the server lives: its debt is not known
                with pytest.raises(ServerError, match="could not make the server write"):
                    writing.checkpoint()


def test_a_connection_that_cannot_be_used_is_closed(server: MysqlInstance) -> None:
    with connected(server.address) as connection:
        before = len(rows_of(connection, "SHOW PROCESSLIST"))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(innodb_status, "_LOCK_WAIT_S", "'no number'")
            with pytest.raises(EngineError, match="could not connect"):
                server.checkpointer("mysql")
        deadline = time.monotonic() + 10
        while len(rows_of(connection, "SHOW PROCESSLIST")) > before:
            assert time.monotonic() < deadline, "a connection is left"
            time.sleep(0.01)


def test_plans_are_those_of_the_servers(server: MysqlInstance) -> None:
    with connected(server.address) as connection:
        rows_of(connection, "CREATE DATABASE steelyard")
        rows_of(connection, "CREATE TABLE steelyard.t (a int PRIMARY KEY, b char(200))")
        rows_of(connection, "INSERT INTO steelyard.t VALUES (1, 'x'), (2, 'y')")
    found = server.plans("steelyard", {"s": "SELECT b FROM t WHERE a = :a;\nSELECT c FROM t;"})
    assert "PRIMARY" in found["s: SELECT b FROM t WHERE a = :a"]
    assert found["s: SELECT c FROM t"].startswith("cannot be planned: 1054")


def test_the_pool_is_filled_by_reading(made: Made) -> None:
    clone = made.clone(0)
    clone.start(made.slot(0), {})
    with connected(clone.address) as connection:
        rows_of(connection, "CREATE DATABASE steelyard")
        rows_of(connection, "CREATE TABLE steelyard.t (a int PRIMARY KEY, b char(250))")
        numbers = ", ".join(f"({number}, 'x')" for number in range(5000))
        rows_of(connection, f"INSERT INTO steelyard.t VALUES {numbers}")
    clone.stop()
    clone.start(made.slot(0), {})
    filled = clone.fill_pool("steelyard")
    assert filled.read_bytes > 1 << 20
    assert filled.pool_bytes == int(clone.settings()["innodb_buffer_pool_size"])
    clone.stop()


def test_pages_can_be_left_unverified_where_the_product_allows(made: Made) -> None:
    clone = made.clone(0)
    if made.engine.identity.kind == "mariadb":
        with pytest.raises(EngineError, match="cannot leave pages unverified"):
            clone.protect(UNPROTECTED)
        return
    clone.protect(UNPROTECTED)
    clone.start(made.slot(0), {})
    assert clone.settings()["innodb_checksum_algorithm"] == "none"
    clone.stop()
    clone.restore(made.template.directory)
    clone.start(made.slot(0), {})
    assert clone.settings()["innodb_checksum_algorithm"] == "crc32"
    clone.stop()


@pytest.mark.parametrize(
    ("settings", "kind", "words"),
    [
        ({"innodb_buffer_pool_sise": "1"}, UsageError, 'unrecognized setting: "innodb_buffer_pool'),
        ({"max_connections": "many"}, ServerError, "max_connections"),
        ({"innodb_doublewrite": "maybe"}, ServerError, "innodb.doublewrite"),
        ({"innodb_io_capacity": "1"}, ServerError, "would be taken as 100"),
        ({"datadir": "/elsewhere"}, EngineError, "belongs to the slot"),
    ],
)
def test_settings_that_a_build_does_not_take_are_refused(
    made: Made, settings: dict[str, str], kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words):
        made.engine.validate(settings)


def test_a_server_that_cannot_start_says_why_and_is_gone(made: Made) -> None:
    clone = made.clone(0)
    with pytest.raises(ServerError, match="page size") as caught:
        clone.start(made.slot(0), {"innodb_page_size": "4k"})
    assert "could not start" in caught.value.primary
    assert not clone.running


def test_defaults_are_told_with_what_cannot_be_set(made: Made) -> None:
    found = made.engine.build_defaults(made.slot(2))
    assert found.layout["innodb_page_size"] == 16384
    assert found.settings["innodb_buffer_pool_size"].context == "startup"
    assert found.settings["protocol_version"].context == "internal"


def test_memory_is_what_the_pool_takes(made: Made) -> None:
    need = made.engine.memory_need({"innodb_buffer_pool_size": "96M"})
    assert need.pool_bytes == 96 << 20
    assert need.huge_pages == "off"


def test_what_another_series_made_is_not_opened(made: Made) -> None:
    clone = made.clone(0)
    (clone.directory / "steelyard.version").write_text("mysql 8.0\n")
    with pytest.raises(EngineError, match=r"it was made by mysql 8\.0"):
        made.engine.open(clone.directory)
