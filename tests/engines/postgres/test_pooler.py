"""A pooler in front of a server passes the work on, and leaves nothing behind."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import psycopg
import pytest

from steelyard.engines.capabilities.external import POOLED, SOCKET, TLS, PoolerPlan
from steelyard.engines.engine import Slot
from steelyard.engines.postgres import pooler
from steelyard.engines.postgres.libpq.connection_string import conninfo_of
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.model.errors import EngineError
from thinned import thinned

pytestmark = pytest.mark.postgres


def running() -> set[int]:
    return {
        process.pid
        for process in psutil.process_iter(["name"])
        if process.info["name"] in ("pgbouncer", "pgpool")
    }


@pytest.fixture
def pgpool() -> PoolerPlan:
    """Where it is installed, or where `.ci/interop` has unpacked it."""
    unpacked = Path(os.environ.get("STEELYARD_INTEROP", "/none"), "pgpool/usr/sbin/pgpool")
    if pooler.program("pgpool") is not None:
        return PoolerPlan("pgpool", clients=4)
    if not unpacked.is_file():
        pytest.skip("pgpool-II is not installed (Debian: apt-get install pgpool2)")
    return PoolerPlan("pgpool", str(unpacked), clients=4)


def shared_memory(creators: set[int]) -> list[str]:
    """System V segments that these processes made."""
    rows = [row.split() for row in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]]
    return [row[1] for row in rows if int(row[4]) in creators]


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


@thinned("end", ["stop", "crash", "discard"], 1)
@pytest.mark.usefixtures("installed")
def test_a_pooler_stands_still_with_its_server_and_goes_on_or_ends_with_it(
    end: str, cluster: Cluster, slot_of: Callable[[int], Slot]
) -> None:
    before = running()
    cluster.start(slot_of(0), {})
    address = cluster.way_in(POOLED, "postgres")
    [own] = running() - before
    with psycopg.connect(conninfo_of(address), autocommit=True) as connection:
        connection.execute("SELECT 1")
        cluster.suspend()
        assert psutil.Process(own).status() == psutil.STATUS_STOPPED
        assert cluster.resume() == 0
        assert connection.execute("SELECT 2").fetchone() == (2,)
    cluster.suspend()
    getattr(cluster, end)()
    assert running() <= before


def test_a_pooler_that_is_not_there_is_named_with_how_to_get_it(
    cluster: Cluster, slot_of: Callable[[int], Slot], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pooler, "program", lambda _: None)
    cluster.start(slot_of(0), {})
    with pytest.raises(EngineError, match='"pgbouncer" is not installed') as refused:
        cluster.way_in(POOLED, "postgres")
    assert "apt-get install pgbouncer" in str(refused.value.hint)
    assert "pooler.program=" in str(refused.value.hint), "or where it is"
    cluster.stop()


@pytest.mark.parametrize("end", ["stop", "crash"])
def test_pgpool_has_a_connection_for_each_client_and_leaves_nothing(
    end: str, pgpool: PoolerPlan, cluster: Cluster, slot_of: Callable[[int], Slot]
) -> None:
    before = running()
    cluster.start(slot_of(0), {})
    address = cluster.way_in(SOCKET, "postgres", pgpool)
    conninfo = conninfo_of(address)
    with psycopg.connect(conninfo) as first, psycopg.connect(conninfo) as second:
        rows = [c.execute("SELECT pg_backend_pid()").fetchone() for c in (first, second)]
        assert rows[0] != rows[1]
    own = running() - before
    assert len(own) > 4
    assert shared_memory(own)
    getattr(cluster, end)()
    assert running() <= before
    assert not (Path(address.host) / f".s.PGSQL.{address.port}").exists()
    assert shared_memory(own) == []


@pytest.mark.long
@pytest.mark.usefixtures("installed")
def test_clients_of_pgbouncer_are_encrypted_and_need_the_password_of_this_life(
    cluster: Cluster, slot_of: Callable[[int], Slot]
) -> None:
    cluster.start(slot_of(0), {})
    address = cluster.way_in(TLS, "postgres", PoolerPlan(clients=4))
    assert address.password is not None
    words = f"host=127.0.0.1 port={address.port} user={address.user} dbname=postgres"
    secret = f"password={address.password.reveal()}"
    with psycopg.connect(f"{words} {secret} sslmode=require") as connection:
        assert connection.info.pgconn.ssl_in_use
        assert connection.execute("SELECT 1").fetchone() == (1,)
    for refused in (f"{words} password=wrong sslmode=require", f"{words} {secret} sslmode=disable"):
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(refused)
    users = slot_of(0).path / "pooler" / "users"
    assert users.stat().st_mode & 0o777 == 0o600


def test_a_program_that_is_not_there_is_named(
    cluster: Cluster, slot_of: Callable[[int], Slot]
) -> None:
    cluster.start(slot_of(0), {})
    with pytest.raises(EngineError, match='no program "/none/pgbouncer" that can be executed'):
        cluster.way_in(SOCKET, "postgres", PoolerPlan(program="/none/pgbouncer"))
    with pytest.raises(EngineError, match="does not tell its version"):
        cluster.way_in(SOCKET, "postgres", PoolerPlan(program="/bin/dash"))


@pytest.mark.long
@pytest.mark.usefixtures("installed")
@pytest.mark.skipif(
    0 <= resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 6000,
    reason="this account may not have as many open files",
)
@pytest.mark.parametrize("more", [(), ("-C",)])
def test_five_thousand_clients_come_through_pgbouncer(
    more: tuple[str, ...], cluster: Cluster, slot_of: Callable[[int], Slot]
) -> None:
    cluster.start(slot_of(0), {})
    address = cluster.way_in(SOCKET, "postgres", PoolerPlan(clients=5000))
    script = slot_of(0).path / "one.sql"
    script.write_text("SELECT 1;\n")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "steelyard", "drive", conninfo_of(address), "-f", str(script)),
            *("-c", "5000", "-j", "2", "-T", "2", "-M", "extended", "--json", *more),
        ],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert '"transactions"' in done.stdout
