"""A PgBouncer in front of a server passes the work on, and leaves nothing behind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import psutil
import psycopg
import pytest

from steelyard.engines.capabilities.external import POOLED
from steelyard.engines.engine import Slot
from steelyard.engines.postgres.access import pooler
from steelyard.engines.postgres.libpq.connection_string import conninfo_of
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.model.errors import EngineError

pytestmark = pytest.mark.postgres


def running() -> set[int]:
    return {one.pid for one in psutil.process_iter(["name"]) if one.info["name"] == "pgbouncer"}


@pytest.fixture
def installed() -> None:
    if pooler.program() is None:
        pytest.skip("PgBouncer is not installed (Debian: apt-get install pgbouncer)")


@pytest.mark.usefixtures("installed")
def test_clients_share_the_poolers_connections_until_the_server_stops(
    cluster: Cluster, slot_of: Callable[[int], Slot]
) -> None:
    before = running()
    cluster.start(slot_of(0), {})
    address = cluster.way_in(POOLED, "postgres")
    assert address.port != cluster.address.port
    pids = set()
    for _ in range(3):
        with psycopg.connect(conninfo_of(address), autocommit=True) as connection:
            row = connection.execute("SELECT pg_backend_pid()").fetchone()
            assert row is not None
            pids.add(row[0])
    assert len(pids) == 1, "a connection to the server serves one client after the other"
    assert cluster.way_in(POOLED, "steelyard").port == address.port
    assert len(running() - before) == 1
    cluster.stop()
    assert running() <= before
    assert not (Path(address.host) / f".s.PGSQL.{address.port}").exists()


@pytest.mark.usefixtures("installed")
def test_a_crash_ends_the_pooler_too(cluster: Cluster, slot_of: Callable[[int], Slot]) -> None:
    before = running()
    cluster.start(slot_of(0), {})
    cluster.way_in(POOLED, "postgres")
    cluster.crash()
    assert running() <= before


def test_a_pooler_that_is_not_there_is_named_with_how_to_get_it(
    cluster: Cluster, slot_of: Callable[[int], Slot], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pooler, "program", lambda: None)
    cluster.start(slot_of(0), {})
    with pytest.raises(EngineError, match='"pgbouncer" is not installed') as refused:
        cluster.way_in(POOLED, "postgres")
    assert refused.value.hint == "apt-get install pgbouncer."
    cluster.stop()
