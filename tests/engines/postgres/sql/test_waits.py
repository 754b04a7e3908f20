"""Waits name what backends stand still for: the WAL flush where commits must reach the disk."""

from __future__ import annotations

import time
from typing import Any

import pytest

from steelyard.engines.postgres.sql.waits import WaitEvents, WaitSampler, part_of

pytestmark = pytest.mark.by_version


def test_the_share_counts_flush_events_under_both_spellings() -> None:
    waits = WaitEvents(
        samples=10,
        active=10,
        by_event={"IO:WALSync": 3, "IO:WalSync": 2, "LWLock:WALWrite": 1, "CPU:CPU": 4},
    )
    assert waits.wal_flush_share == pytest.approx(0.6)


def test_a_server_at_rest_waits_for_nothing() -> None:
    assert WaitEvents(samples=5, active=0, by_event={}).wal_flush_share == 0


@pytest.mark.postgres
def test_durable_commits_are_seen_to_wait_for_the_flush(server: Any) -> None:
    server.pgbench("-i", "-s", "1", "-q")
    with WaitSampler(server.conninfo) as sampler:
        for _ in range(50):
            server.pgbench("-n", "-N", "-c", "4", "-t", "200", "-M", "prepared")
            if sampler.waits.wal_flush_share > 0:
                break
    assert 0 < sampler.waits.wal_flush_share <= 1


@pytest.mark.postgres
def test_a_backend_that_sleeps_is_at_work_and_does_not_wait_for_the_flush(server: Any) -> None:
    with WaitSampler(server.conninfo) as sampler, server.connect() as connection:
        for _ in range(100):
            connection.execute("SELECT pg_sleep(0.1)")
            if "Timeout:PgSleep" in sampler.waits.by_event:
                break
    assert "Timeout:PgSleep" in sampler.waits.by_event
    assert sampler.waits.wal_flush_share == 0


@pytest.mark.postgres
def test_a_client_that_thinks_inside_a_transaction_is_not_at_work(server: Any) -> None:
    with WaitSampler(server.conninfo) as sampler, server.connect() as connection:
        connection.execute("BEGIN")
        _await_samples(sampler, 2)  # the first of them may have begun before BEGIN had ended
        begun = sampler.waits.active
        _await_samples(sampler, 5)
        thought = sampler.waits.active
        connection.execute("ROLLBACK")
    assert thought == begun


def _await_samples(sampler: WaitSampler, count: int) -> None:
    goal = sampler.waits.samples + count
    for _ in range(3000):
        if sampler.waits.samples >= goal:
            return
        time.sleep(0.01)
    pytest.fail("the sampler has stopped")


TYPES = {"Activity", "BufferPin", "Buffer", "Client", "Extension", "InjectionPoint", "IO", "IPC"}
TYPES |= {"Lock", "LWLock", "Timeout"}


@pytest.mark.postgres
def test_every_wait_that_a_server_can_report_has_a_part(server: Any) -> None:
    """19 calls the type Buffer, which was BufferPin: waits for pages that others hold are locks."""
    if server.version_number < 170000:
        pytest.skip("pg_wait_events is of 17")
    with server.connect() as connection:
        events = connection.execute("SELECT type, name FROM pg_wait_events").fetchall()
    assert {kind for kind, _ in events} <= TYPES
    buffers = [(kind, name) for kind, name in events if kind.startswith("Buffer")]
    assert buffers
    assert {part_of(kind, name) for kind, name in buffers} == {"locks"}
    read = {name for kind, name in events if kind == "IO" and part_of(kind, name) == "read"}
    assert {"DataFileRead", "AioIoCompletion"} <= read
    logged = {name for kind, name in events if kind == "IO" and part_of(kind, name) == "wal"}
    assert {"WalSync", "WalWrite"} <= logged
