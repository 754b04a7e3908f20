"""Waits name what backends stand still for: the WAL flush where commits must reach the disk."""

from __future__ import annotations

from typing import Any

import pytest

from steelyard.telemetry.waits import Waits, WaitSampler


def test_the_share_counts_flush_events_under_both_spellings() -> None:
    waits = Waits(
        samples=10,
        active=10,
        by_event={"IO:WALSync": 3, "IO:WalSync": 2, "LWLock:WALWrite": 1, "CPU:CPU": 4},
    )
    assert waits.wal_flush_share == pytest.approx(0.6)


def test_a_server_at_rest_waits_for_nothing() -> None:
    assert Waits(samples=5, active=0, by_event={}).wal_flush_share == 0


@pytest.mark.postgres
def test_durable_commits_wait_for_the_flush_and_reads_do_not(server: Any) -> None:
    server.pgbench("-i", "-s", "1", "-q")
    with WaitSampler(server.conninfo) as writing:
        server.pgbench("-n", "-N", "-c", "4", "-T", "1", "-M", "prepared")
    with WaitSampler(server.conninfo) as reading:
        server.pgbench("-n", "-S", "-c", "4", "-T", "1", "-M", "prepared")
    assert writing.waits.active > 0
    assert reading.waits.active > 0
    assert reading.waits.wal_flush_share < 0.02
    assert writing.waits.wal_flush_share > 5 * reading.waits.wal_flush_share
    assert writing.waits.wal_flush_share > 0
