"""What a server counted by the wall clock while it stood still ends nothing when it goes on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import psycopg
import pytest

from steelyard.driver.client import Driver
from steelyard.driver.plan import DriveArm, DrivePlan, DriveScript, SliceRequest
from steelyard.engines.capabilities.external import TCP
from steelyard.engines.engine import Slot
from steelyard.engines.postgres.libpq.connection_string import conninfo_of
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.loopback import listening
from steelyard.engines.postgres.sql.own_time import in_own_time

pytestmark = [pytest.mark.postgres, pytest.mark.long]

OF_STATEMENTS = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
LIMITS = {
    "idle_session_timeout": "2s",
    "deadlock_timeout": "1s",
    "log_lock_waits": "on",
    "autovacuum_naptime": "1s",
    "client_connection_check_interval": "500ms",
}
SUSPENDED_S = 2.5
"""Longer than each limit of one arm, shorter than that of two."""
TRANSFER = DriveScript(
    "transfer",
    "BEGIN;\nUPDATE t SET b = b + 1 WHERE a = :client_id;\nSELECT b FROM t;\nCOMMIT;",
)

Opens = Callable[[], psycopg.Connection]


@pytest.fixture(params=[2, 1], ids=["in own time", "by the wall clock"])
def arms(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def running(cluster: Cluster, slot_of: Callable[[int], Slot], arms: int) -> Cluster:
    """Its limits are those of so many arms."""
    cluster.start(slot_of(0), LIMITS)
    own = in_own_time(cluster.settings(), 1, arms).settings
    cluster.stop()
    limits = dict.fromkeys(OF_STATEMENTS, f"{2 * arms}s")
    cluster.start(slot_of(0), {**LIMITS, **own, **limits})
    return cluster


def test_no_limit_of_a_statement_is_met_since_none_is_under_way_while_its_arm_stands_still(
    cluster: Cluster, slot_of: Callable[[int], Slot]
) -> None:
    """The driver has every client back before: limits that are shorter than a suspension hold."""
    short = dict.fromkeys((*OF_STATEMENTS, "deadlock_timeout"), "1s")
    cluster.start(slot_of(0), short)
    with psycopg.connect(conninfo_of(cluster.address), autocommit=True) as session:
        session.execute("CREATE TABLE t AS SELECT a, 0 AS b FROM generate_series(0, 3) AS a")
    plan = DrivePlan(
        arms=(DriveArm("arm", cluster.address, clients=4),), scripts=(TRANSFER,), variables={}
    )
    with Driver.start(plan) as driver:
        for _ in range(4):
            [answer] = driver.run([SliceRequest(arm=0, length_ns=300_000_000)])
            assert (answer.errors, answer.lost, answer.capped) == ({}, 0, 0)
            assert answer.transactions > 0
            stand_still(cluster, 1.3)


@pytest.fixture
def opens(running: Cluster) -> Iterator[Opens]:
    opened: list[psycopg.Connection] = []

    def one() -> psycopg.Connection:
        opened.append(psycopg.connect(conninfo_of(running.address), autocommit=True))
        return opened[-1]

    yield one
    for each in opened:
        each.close()


@contextmanager
def meanwhile(connection: psycopg.Connection, statement: str) -> Iterator[Future[None]]:
    """A statement that is under way in the block."""

    def execute() -> None:
        connection.execute(statement.encode())

    with ThreadPoolExecutor(1) as pool:
        executed = pool.submit(execute)
        time.sleep(0.3)
        yield executed


def stand_still(cluster: Cluster, seconds: float = SUSPENDED_S) -> None:
    cluster.suspend()
    time.sleep(seconds)
    assert cluster.resume() == 0


def outcome(executed: Future[None]) -> type[BaseException] | None:
    error = executed.exception()
    return None if error is None else type(error)


def test_a_statement_is_not_ended_for_time_in_which_it_stood_still(
    running: Cluster, opens: Opens, arms: int
) -> None:
    with meanwhile(opens(), "SELECT pg_sleep(1.5)") as executed:
        stand_still(running)
    # Shorter than the suspension, it fires at the thaw: so none may be under way then.
    assert outcome(executed) == (None if arms == 2 else psycopg.errors.QueryCanceled)


def test_a_lock_is_waited_for_in_own_time_and_no_deadlock_is_seen_that_is_none(
    running: Cluster, opens: Opens, arms: int
) -> None:
    holder, waiter = opens(), opens()
    holder.execute("CREATE TABLE t AS SELECT 1 AS a")
    holder.execute("SET idle_in_transaction_session_timeout = 0")
    waiter.execute("SET statement_timeout = 0")
    holder.execute("BEGIN")
    holder.execute("LOCK TABLE t")
    with meanwhile(waiter, "SELECT a FROM t") as executed:
        stand_still(running)
        time.sleep(0.2)  # deadlock_timeout has fired, and found no deadlock
        holder.execute("COMMIT")
    assert outcome(executed) == (None if arms == 2 else psycopg.errors.LockNotAvailable)
    assert "deadlock detected" not in log_of(running)


def test_a_deadlock_across_a_suspension_is_still_one(running: Cluster, opens: Opens) -> None:
    one, other = opens(), opens()
    one.execute("CREATE TABLE t AS SELECT 1 AS a")
    one.execute("CREATE TABLE u AS SELECT 1 AS a")
    for session, own in ((one, b"t"), (other, b"u")):
        session.execute("SET lock_timeout = 0")
        session.execute("SET statement_timeout = 0")
        session.execute("BEGIN")
        session.execute(b"LOCK TABLE " + own)
    with meanwhile(one, "LOCK TABLE u") as first, meanwhile(other, "LOCK TABLE t") as second:
        stand_still(running)
    assert {outcome(first), outcome(second)} == {None, psycopg.errors.DeadlockDetected}


@pytest.mark.parametrize("within", [True, False], ids=["in a transaction", "idle"])
def test_a_session_is_not_ended_because_its_arm_stood_still(
    running: Cluster, opens: Opens, arms: int, within: bool
) -> None:
    session = opens()
    if within:
        session.execute("BEGIN")
        session.execute("SELECT 1")
    time.sleep(0.3)
    stand_still(running)
    time.sleep(0.2)
    if arms == 2:
        assert session.execute("SELECT 2").fetchone() == (2,)
    else:
        with pytest.raises(psycopg.Error, match="terminating connection"):
            session.execute("SELECT 2")


def test_background_rounds_that_fell_due_are_made_up_once(
    running: Cluster, opens: Opens, arms: int
) -> None:
    """The launcher has one round at the thaw, not one for each second that it missed; no
    checkpoint is asked for by a clock that went on."""
    session = opens()
    session.execute("SET idle_session_timeout = 0")
    checkpoints = log_of(running).count("checkpoint starting: time")
    stand_still(running, 4.0)
    session.execute("SELECT pg_sleep(0.3)")
    rounds = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'autovacuum worker'"
    assert int((session.execute(rounds).fetchone() or (99,))[0]) <= 3
    assert log_of(running).count("checkpoint starting: time") == checkpoints
    assert "terminating connection" not in log_of(running)


def test_clients_that_come_by_tcp_are_kept_by_the_kernel(
    cluster: Cluster, slot_of: Callable[[int], Slot]
) -> None:
    """It answers keepalives for a process that is stopped, on both sides."""
    eager = {
        "tcp_keepalives_idle": "1",
        "tcp_keepalives_interval": "1",
        "tcp_keepalives_count": "1",
        "tcp_user_timeout": "1s",
        "client_connection_check_interval": "500ms",
    }
    cluster.start(slot_of(0), {**listening(encrypted=False), **eager})
    address = cluster.way_in(TCP, "postgres")
    assert address.password is not None
    own = f"password={address.password.reveal()} tcp_user_timeout=1000"
    own += " keepalives_idle=1 keepalives_interval=1 keepalives_count=1"
    with psycopg.connect(f"{conninfo_of(address)} {own}", autocommit=True) as session:
        with meanwhile(session, "SELECT pg_sleep(0.6)") as executed:
            stand_still(cluster, 4.0)
        assert outcome(executed) is None
        assert session.execute("SELECT 1").fetchone() == (1,)


def log_of(cluster: Cluster) -> str:
    return cluster._required().words()  # of this life
