"""Pieces of a load that are done side by side end together, also in the middle of a statement."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from steelyard.engines.loading import Loader
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.postgres import Postgres
from steelyard.engines.postgres.sql.database import PostgresDatabase
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import ServerError
from steelyard.workloads.loading.tables import Halt, run_parallel

Serve = Callable[[Cluster], AbstractContextManager[Endpoint]]

_SLEEPERS = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
finished: list[str] = []


def sleep(loader: Loader) -> None:
    loader.execute(["SELECT pg_sleep(300)"], "sleep")
    finished.append("slept")


def await_sleeper(loader: Loader) -> None:
    while loader.rows(_SLEEPERS, "count") == [(0,)]:
        time.sleep(0.01)


def fail(loader: Loader) -> None:
    await_sleeper(loader)
    raise ServerError("could not go on")


def interrupt(loader: Loader) -> None:
    await_sleeper(loader)
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


@pytest.mark.postgres
def test_a_statement_under_way_is_cancelled_when_another_piece_fails_or_the_user_interrupts(
    engine18: Postgres, place: Path, serve: Serve
) -> None:
    with serve(engine18.create(place / "data", protection="checksums")) as address:
        database = PostgresDatabase(address)
        database.create()
        with pytest.raises(ServerError, match="could not go on"):
            run_parallel(database, [sleep, fail, sleep], 2, Halt())
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            with pytest.raises(KeyboardInterrupt):
                run_parallel(database, [sleep, interrupt], 2, Halt())
        finally:
            signal.signal(signal.SIGINT, before)
    assert finished == []
