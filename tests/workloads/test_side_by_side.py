"""Pieces of a load that are done side by side end together, also in the middle of a statement."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.postgres import Postgres
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import ServerError
from steelyard.workloads.loading.database import value
from steelyard.workloads.loading.side_by_side import Halt, side_by_side

if TYPE_CHECKING:
    import psycopg

Serve = Callable[[Cluster], AbstractContextManager[Endpoint]]

_SLEEPERS = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
finished: list[str] = []


def sleep(connection: psycopg.Connection) -> None:
    connection.execute(b"SELECT pg_sleep(300)")
    finished.append("slept")


def await_sleeper(connection: psycopg.Connection) -> None:
    while not value(connection, _SLEEPERS):
        time.sleep(0.01)


def fail(connection: psycopg.Connection) -> None:
    await_sleeper(connection)
    raise ServerError("could not go on")


def interrupt(connection: psycopg.Connection) -> None:
    await_sleeper(connection)
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


@pytest.mark.postgres
def test_a_statement_under_way_is_cancelled_when_another_piece_fails_or_the_user_interrupts(
    engine18: Postgres, place: Path, serve: Serve
) -> None:
    with serve(engine18.create(place / "data", protection="checksums")) as address:
        with pytest.raises(ServerError, match="could not go on"):
            side_by_side(address, [sleep, fail, sleep], 2, Halt())
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            with pytest.raises(KeyboardInterrupt):
                side_by_side(address, [sleep, interrupt], 2, Halt())
        finally:
            signal.signal(signal.SIGINT, before)
    assert finished == []
