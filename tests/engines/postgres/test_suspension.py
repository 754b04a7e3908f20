"""A suspended server does nothing at all, and goes on as if no time had passed."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator

import psycopg
import pytest

from engines.conftest import Traces
from steelyard.engines.engine import Slot
from steelyard.engines.local.processes import kill, tree
from steelyard.engines.postgres.libpq.connection_string import conninfo_of
from steelyard.engines.postgres.life.cluster import Cluster
from thinned import thinned

pytestmark = pytest.mark.postgres


@pytest.fixture
def running(cluster: Cluster, slot_of: Callable[[int], Slot]) -> Cluster:
    cluster.start(slot_of(0), {"autovacuum": "on"})
    return cluster


@pytest.fixture
def session(running: Cluster) -> Iterator[psycopg.Connection]:
    with psycopg.connect(conninfo_of(running.address), autocommit=True) as connection:
        yield connection


def states(cluster: Cluster) -> list[str]:
    return [member.state for member in tree(cluster.pid)]


def test_every_process_stands_still_sessions_and_the_first_one_too(
    running: Cluster, session: psycopg.Connection
) -> None:
    running.suspend()
    assert len(states(running)) > 4
    assert set(states(running)) == {"T"}
    time.sleep(0.3)  # its timers would fire meanwhile
    assert running.resume() == 0
    assert session.execute("SELECT 1").fetchone() == (1,)
    session.execute("CHECKPOINT")


def test_it_may_be_suspended_and_resumed_twice(running: Cluster) -> None:
    running.suspend()
    running.suspend()
    assert running.resume() == 0
    assert running.resume() == 0
    assert "T" not in states(running)


def test_a_process_that_ran_meanwhile_is_noticed(
    running: Cluster, session: psycopg.Connection
) -> None:
    running.suspend()
    os.kill(session.info.backend_pid, signal.SIGCONT)
    session.execute("SELECT count(*) FROM generate_series(1, 200000)")
    assert running.resume() > 1_000_000  # ns


@thinned("end", ["stop", "discard", "crash"], 1)
def test_a_suspended_server_can_be_ended(
    end: str, running: Cluster, traces_of: Callable[[Cluster], Traces]
) -> None:
    traces = traces_of(running)
    running.suspend()
    getattr(running, end)()
    assert not running.running
    assert traces.left == []


def test_one_that_was_ended_while_it_stood_still_can_be_suspended_in_its_next_life(
    running: Cluster, slot_of: Callable[[int], Slot]
) -> None:
    running.suspend()
    running.stop()
    running.start(slot_of(0), {})
    running.suspend()
    assert set(states(running)) == {"T"}
    assert running.resume() == 0


def test_a_server_that_something_else_suspended_stops_cleanly(running: Cluster) -> None:
    for member in tree(running.pid):
        kill(member.pid, signal.SIGSTOP)
    running.stop()
    assert not running.running
