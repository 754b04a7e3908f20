"""A suspended server of MySQL or MariaDB does nothing at all, and goes on with its limits."""

from __future__ import annotations

import math
import os
import re
import signal
import time
from contextlib import closing
from dataclasses import replace

import pymysql
import pytest

from engines.mysql.life.conftest import Made
from engines.mysql.thread_states import states_of
from steelyard.driver.client import Driver
from steelyard.driver.plan import DriveArm, DrivePlan, DriveScript, SliceRequest
from steelyard.engines.local.processes import every_pid
from steelyard.engines.mysql.life.instance import MysqlInstance
from steelyard.engines.mysql.sql.own_time import ROUND_NS, TIMERS, in_own_time
from steelyard.engines.mysql.sql.session import connected, rows_of
from steelyard.model.units import NS_PER_S

pytestmark = pytest.mark.long

TRANSFER = DriveScript(
    "transfer",
    "BEGIN;\nUPDATE t SET b = b + 1 WHERE a = :client_id;\nSELECT b FROM t;\nCOMMIT;",
)
OF_TIME = re.compile(
    "time|delay|interval|wait|second|lifetime|expire|period|sleep|freq|capacity|iops|usec|days"
)
"""Names of what may count time."""
NO_TIMERS = re.compile(
    r"_format$|_names$|time_zone$|_timestamps?|^performance_schema_|runtime|^wsrep_|^secure_"
    "|delay_key_write|delayed_insert_limit|delayed_queue_size|delayed_threads|_no_delay_count"
    "|spin_wait_delay|wait_count$|wait_no_slave|wait_point|delay_master|rollback_on_timeout"
    "|max_purge_lag_wait|truncate_frequency|status_frequency|compression_period|expired_password"
    "|have_statement_timeout|retry_errors|secondary|nodelay"
)
"""Names among them that count something else, or nothing."""


def test_every_thread_stands_still_and_none_uses_a_processor(server: MysqlInstance) -> None:
    with connected(server.address) as connection:
        server.suspend()
        server.suspend()
        assert states_of(server.pid) == {"T"}
        time.sleep(1.3)  # rounds of a second fall due meanwhile
        assert server.resume() == 0
        assert server.resume() == 0
        assert "T" not in states_of(server.pid)
        assert rows_of(connection, "SELECT 1") == [(1,)]


def test_a_server_that_ran_meanwhile_is_noticed(server: MysqlInstance) -> None:
    with connected(server.address) as connection:
        server.suspend()
        os.kill(server.pid, signal.SIGCONT)
        rows_of(connection, "SELECT benchmark(1000000, 1 + 1)")
        assert server.resume() > 1_000_000  # ns


@pytest.mark.parametrize("end", ["stop", "discard", "crash"])
def test_a_suspended_server_can_be_ended(made: Made, end: str) -> None:
    clone = made.clone(0)
    clone.start(made.slot(0), {})
    pid = clone.pid
    clone.suspend()
    getattr(clone, end)()
    assert not clone.running
    assert pid not in every_pid()


def test_a_server_that_something_else_suspended_stops_cleanly(made: Made) -> None:
    clone = made.clone(0)
    clone.start(made.slot(0), {})
    os.kill(clone.pid, signal.SIGSTOP)
    clone.begin_stop()
    clone.stop()
    assert not clone.running


def test_the_log_is_watched_to_its_end_and_back_to_the_last_checkpoint(
    server: MysqlInstance,
) -> None:
    with connected(server.address) as connection:
        rows_of(connection, "CREATE DATABASE steelyard")
        rows_of(connection, "CREATE TABLE steelyard.t (a int PRIMARY KEY, b char(200))")
        with closing(server.watch_checkpoints("steelyard", time.monotonic_ns)) as watch:
            before = watch.pulse()
            values = ", ".join(f"({number}, 'x')" for number in range(2000))
            rows_of(connection, f"INSERT INTO steelyard.t VALUES {values}")
            after = watch.pulse()
            assert before is not None
            assert after is not None
            written = after.wal_bytes - before.wal_bytes
            assert 2000 * 200 < written < 10 * 2000 * 200
            assert 0 <= after.owed_bytes - before.owed_bytes <= written
            assert math.isnan(after.images)
            assert watch.checkpoints == ()
            server.crash()
            assert watch.pulse() is None
            watch.close()


def test_every_variable_that_may_count_time_is_listed(server: MysqlInstance) -> None:
    """By the server's own variables: by name, and by what MariaDB says of each."""
    listed = {timer.name for timer in TIMERS}
    counting = set(filter(OF_TIME.search, server.settings()))
    if server.identity.kind == "mariadb":
        query = (
            "SELECT lower(variable_name) FROM information_schema.system_variables WHERE"
            " variable_comment RLIKE '[0-9#] seconds|(number of|in|few) ([a-z]+-?)?seconds'"
        )
        with connected(server.address) as connection:
            counting |= {str(name) for (name,) in rows_of(connection, query)}
    counting = {name for name in counting if not NO_TIMERS.search(name)}
    assert len(counting) > 25
    assert sorted(counting - listed) == []


@pytest.mark.parametrize("arms", [2, 8])
def test_a_server_takes_what_own_time_makes_of_its_settings(made: Made, arms: int) -> None:
    clone = made.clone(0)
    clone.start(made.slot(0), {})
    shipped = clone.settings()
    clone.stop()
    scale = made.engine.cycle(shipped).largest_scale
    spaced = in_own_time(shipped, scale, arms)
    assert scale >= 12
    clone.start(made.slot(0), spaced.settings)
    taken = clone.settings()
    clone.stop()
    assert {name: taken[name] for name in spaced.settings} == spaced.settings
    assert made.engine.cycle(taken).wal_bytes == spaced.cycle.wal_bytes


@pytest.mark.parametrize("arms", [2, 1], ids=["in own time", "by the wall clock"])
def test_a_session_is_not_ended_because_its_arm_stood_still(made: Made, arms: int) -> None:
    clone = made.clone(0)
    clone.start(made.slot(0), {"wait_timeout": "2"})
    own = in_own_time(clone.settings(), 1, arms).settings
    clone.stop()
    clone.start(made.slot(0), {"wait_timeout": "2", **own})
    try:
        with connected(clone.address) as session:
            clone.suspend()
            time.sleep(2.7)
            assert clone.resume() == 0
            time.sleep(0.3)
            if arms == 2:
                assert rows_of(session, "SELECT 1") == [(1,)]
            else:
                with pytest.raises(pymysql.MySQLError):
                    rows_of(session, "SELECT 1")
    finally:
        clone.discard()


def test_no_limit_of_a_statement_is_met_since_none_is_under_way_while_its_arm_stands_still(
    made: Made,
) -> None:
    """The driver has every client back before: limits that are shorter than a suspension hold."""
    clone = made.clone(0)
    limits = {"innodb_lock_wait_timeout": "1", "lock_wait_timeout": "1", "net_read_timeout": "1"}
    maria = made.engine.identity.kind == "mariadb"
    limits |= (
        {"max_statement_time": "1", "idle_transaction_timeout": "1"}
        if maria
        else {"max_execution_time": "1000"}
    )
    clone.start(made.slot(0), limits)
    try:
        with connected(clone.address) as session:
            rows_of(session, "CREATE DATABASE steelyard")
            rows_of(session, "CREATE TABLE steelyard.t (a int PRIMARY KEY, b int) ENGINE = InnoDB")
            rows_of(session, "INSERT INTO steelyard.t VALUES (0, 0), (1, 0), (2, 0), (3, 0)")
        plan = DrivePlan(
            arms=(DriveArm("arm", replace(clone.address, database="steelyard"), clients=4),),
            scripts=(TRANSFER,),
            variables={},
        )
        with Driver.start(plan) as driver:
            for _ in range(4):
                [answer] = driver.run([SliceRequest(arm=0, length_ns=300_000_000)])
                assert (answer.errors, answer.lost, answer.capped) == ({}, 0, 0)
                assert answer.transactions > 0
                clone.suspend()
                time.sleep(1.3)
                assert clone.resume() == 0
    finally:
        clone.discard()


def test_a_slice_holds_one_round_of_the_background_work(server: MysqlInstance) -> None:
    """Slices of a second would hold one or two, by chance."""
    with connected(server.address) as connection:
        server.suspend()
        server.resume()
        before, rounds = loops(server), 0
        for _ in range(5):
            server.suspend()
            time.sleep(1.1)
            server.resume()
            woken = time.monotonic_ns()
            while time.monotonic_ns() < woken + ROUND_NS - 50_000_000:
                rows_of(connection, "SELECT 1")
            rounds += math.ceil((time.monotonic_ns() - woken) / NS_PER_S)  # 1, if not held up
        seen = loops(server) - before
    assert 4 <= seen <= rounds + 1


def loops(server: MysqlInstance) -> int:
    """Rounds of the master thread so far."""
    with connected(server.address) as connection:
        [(_, _, report)] = rows_of(connection, "SHOW ENGINE INNODB STATUS")
    found = re.search(r"srv_master_thread loops: (\d+) srv_active, \d+ srv_shutdown, (\d+)", report)
    assert found is not None
    return int(found[1]) + int(found[2])
