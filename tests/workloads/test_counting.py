"""Work is counted on a server whose background is held still, as between two slices."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from steelyard.engines.loading import DATABASE
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.postgres import Postgres
from steelyard.engines.postgres.sql.database import PostgresDatabase, connected
from steelyard.model.endpoint import Endpoint
from steelyard.workloads.checks import count_work
from steelyard.workloads.loading.template import template
from steelyard.workloads.reading.workload import Workload

Serve = Callable[[Cluster], AbstractContextManager[Endpoint]]

pytestmark = pytest.mark.postgres

LONGEST_S = 60


@contextmanager
def workers_stopped(address: Endpoint) -> Iterator[int]:
    """How many I/O workers a server has, which do nothing until the end."""
    query = b"SELECT pid FROM pg_stat_activity WHERE backend_type = 'io worker'"
    with connected(replace(address, database=DATABASE)) as connection:
        workers = [int(str(pid)) for (pid,) in connection.execute(query).fetchall()]
    for worker in workers:
        os.kill(worker, signal.SIGSTOP)
    try:
        yield len(workers)
    finally:
        for worker in workers:
            os.kill(worker, signal.SIGCONT)


def test_a_count_that_reads_pages_ends_where_io_workers_are_stopped(
    pgbench: Workload, engine18: Postgres, place: Path, serve: Serve
) -> None:
    counting = {"accounts": "SELECT count(*) FROM pgbench_accounts WHERE filler = ''"}
    workload = pgbench.model_copy(update={"counts": counting})
    with (
        serve(engine18.open(template(engine18, pgbench, 1)).clone(place / "clone")) as address,
        ThreadPoolExecutor(1) as pool,
        workers_stopped(address) as workers,
    ):
        assert workers > 0
        counts = pool.submit(count_work, workload, PostgresDatabase(address))
        assert counts.result(timeout=LONGEST_S) == {"accounts": 100_000}
