"""Holding, placing and accounting the processes of real servers."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace

import psycopg
import pytest

from steelyard.engines.engine import Slot
from steelyard.engines.local.processes import ProcessSample, kill, sample, tree
from steelyard.engines.postgres import process_tree as freezing
from steelyard.engines.postgres.libpq.connection_string import conninfo_of
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.postgres import Postgres
from steelyard.engines.postgres.process_tree import CLIENT, POSTMASTER, kind_of
from steelyard.model.errors import EngineError
from steelyard.model.readings import SESSION_CPU, Kind, Reading
from steelyard.telemetry.source import REPLACED, reading
from steelyard.telemetry.sources.process_tree import SOURCE

pytestmark = pytest.mark.postgres

KIND = Kind(SESSION_CPU, "µs")
BURN = "SELECT count(*) FROM generate_series(1, 1500000)"  # a few hundred ms of processor time


@pytest.fixture
def running(cluster: Cluster, slot_of: Callable[[int], Slot]) -> Cluster:
    cluster.start(slot_of(0), {"autovacuum": "on"})
    return cluster


@pytest.fixture
def session(running: Cluster) -> Iterator[psycopg.Connection]:
    with psycopg.connect(conninfo_of(running.address), autocommit=True) as connection:
        yield connection


def states(cluster: Cluster) -> dict[str, set[str]]:
    """States by kind of process: {"checkpointer": {"T"}}; sleeping counts as running."""
    found: dict[str, set[str]] = {}
    for member in tree(cluster.pid):
        kind = POSTMASTER if member.pid == cluster.pid else kind_of(member.pid)
        found.setdefault(kind, set()).add("T" if member.state == "T" else "running")
    return found


def test_freezing_stops_the_background_and_leaves_clients_alone(
    running: Cluster, session: psycopg.Connection
) -> None:
    running.freeze()
    frozen = states(running)
    assert frozen.pop(POSTMASTER) == {"running"}
    assert frozen.pop(CLIENT) == {"running"}
    assert {"checkpointer", "background writer", "walwriter"} <= set(frozen)
    assert all(state == {"T"} for state in frozen.values()), frozen
    assert session.execute("SELECT 1").fetchone() == (1,)


def test_thawing_lets_everything_go_on_and_may_be_done_twice(
    running: Cluster, session: psycopg.Connection
) -> None:
    running.freeze()
    running.freeze()
    running.thaw()
    running.thaw()
    assert set().union(*states(running).values()) == {"running"}
    session.execute("CHECKPOINT")  # done by the checkpointer: it would hang if it were not


def test_a_frozen_server_stops_cleanly(running: Cluster, slot_of: Callable[[int], Slot]) -> None:
    running.freeze()
    running.stop()
    assert "database system is shut down" in (slot_of(0).path / "server.log").read_text()


def test_a_stop_that_is_still_pending_is_taken_back(
    running: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine a process that was told to stop has not done so yet when it is thawed."""
    running.freeze()
    now = freezing.sample

    def not_yet(pid: int) -> ProcessSample | None:
        found = now(pid)
        return None if found is None else replace(found, state="R")

    monkeypatch.setattr(freezing, "sample", not_yet)
    running.thaw()
    assert not [one for one in tree(running.pid) if one.state == "T"]


def test_a_server_stops_cleanly_although_something_else_froze_it(running: Cluster) -> None:
    for member in tree(running.pid)[1:]:
        kill(member.pid, signal.SIGSTOP)
    running.stop()
    assert not running.running


def test_backends_are_pinned_where_they_are_told(
    running: Cluster, session: psycopg.Connection
) -> None:
    pid = session.info.backend_pid
    for processor in sorted(os.sched_getaffinity(0)):
        running.place({pid: [processor]})
        assert os.sched_getaffinity(pid) == {processor}
    everywhere = sorted(os.sched_getaffinity(0))
    running.place({pid: everywhere, running.pid: everywhere})
    assert os.sched_getaffinity(pid) == set(everywhere)


def test_a_processor_that_does_not_exist_is_refused(running: Cluster) -> None:
    with pytest.raises(EngineError) as caught:
        running.place({running.pid: [1023]})
    assert "None of these processors" in (caught.value.detail or "")


def test_work_is_counted_once_while_its_process_lives_and_after_it_ended(
    running: Cluster,
) -> None:
    before = running.use().cpu_ns
    with psycopg.connect(conninfo_of(running.address), autocommit=True) as connection:
        connection.execute(BURN)
        pid = connection.info.backend_pid
        living = running.use()
        burnt = next(p.cpu_ns for p in living.processes if p.pid == pid)
        assert burnt > 20_000_000
        assert living.cpu_ns - before >= burnt
    while sample(pid) is not None:
        pass  # until the postmaster has waited for it
    ended = running.use()
    assert all(p.pid != pid for p in ended.processes)
    growth = ended.cpu_ns - living.cpu_ns
    assert 0 <= growth < burnt / 2 + 40_000_000  # counted twice, it would grow by all of it


def test_use_never_shrinks_while_connections_come_and_go(running: Cluster) -> None:
    last = running.use().cpu_ns
    for _ in range(15):
        with psycopg.connect(conninfo_of(running.address)) as connection:
            connection.execute("SELECT count(*) FROM generate_series(1, 20000)")
            now = running.use().cpu_ns
            assert now >= last
            last = now


def test_every_process_has_its_duty(
    running: Cluster, session: psycopg.Connection, engine: Postgres
) -> None:
    session.execute("SELECT count(*) FROM generate_series(1, 100000)")
    use = running.use()
    duties = {one.kind: one.duty for one in use.processes}
    assert duties["checkpointer"] == "checkpoint"
    assert duties["background writer"] == "background"
    assert duties[CLIENT] == "session"
    workers = {duty for kind, duty in duties.items() if kind == "io worker"}
    assert workers == ({"helper"} if engine.identity.version_number >= 180000 else set())
    each = [use.cpu_ns_for(duty) for duty in ("session", "helper", "checkpoint", "background")]
    assert 0 < use.session_cpu_ns == each[0] < sum(each) <= use.cpu_ns


def test_what_sessions_used_that_others_replaced_is_not_known(running: Cluster) -> None:
    """As with a connection for each transaction: those at the end are not those at the start."""

    def burnt_us(*, reconnects: bool) -> Reading:
        address = conninfo_of(running.address)
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("SELECT 1")
            before, pid = SOURCE.read(running), connection.info.backend_pid
            assert pid in before.summed[SESSION_CPU]
            connection.execute(BURN)
            if not reconnects:
                return reading(KIND, before, SOURCE.read(running))
        with psycopg.connect(address) as connection:
            connection.execute("SELECT 1")
            while sample(pid) is not None:
                pass  # until the postmaster has waited for it
            return reading(KIND, before, SOURCE.read(running))

    kept, replaced = (burnt_us(reconnects=each) for each in (False, True))
    assert kept.value is not None
    assert kept.value > 20_000
    assert (replaced.value, replaced.missing) == (None, REPLACED)


def test_every_process_is_named_and_written_bytes_are_counted(
    running: Cluster, session: psycopg.Connection
) -> None:
    before = running.use()
    session.execute("CREATE TABLE wide AS SELECT repeat('x', 100) FROM generate_series(1, 100000)")
    session.execute("CHECKPOINT")
    after = running.use()
    kinds = {process.kind for process in after.processes}
    assert {POSTMASTER, CLIENT, "checkpointer", "background writer", "walwriter"} <= kinds
    assert after.written_bytes - before.written_bytes > 10_000_000


def test_what_needs_a_running_server_says_that_none_runs(cluster: Cluster) -> None:
    for action in (cluster.use, cluster.freeze, cluster.settings, cluster.crash):
        with pytest.raises(EngineError, match="is not running"):
            action()
