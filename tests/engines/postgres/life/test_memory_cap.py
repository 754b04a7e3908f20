"""A real server under a memory cap: it reads from the device, is named when killed, and goes."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from engines.test_registry import owner_that_dies
from steelyard.engines.account import Account
from steelyard.engines.cache import Cache
from steelyard.engines.capabilities.memory import Capped, MemoryNeed, NeedsMemory
from steelyard.engines.engine import Slot
from steelyard.engines.local.processes import tree
from steelyard.engines.memory.group import MARKER
from steelyard.engines.memory.rights import choose_cap
from steelyard.engines.page_cache import evict
from steelyard.engines.postgres.libpq.connection_string import conninfo_of
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.postgres import Postgres
from steelyard.engines.registry import Run, open_run
from steelyard.model.errors import EngineError, ServerError

pytestmark = pytest.mark.postgres
MB = 1 << 20
Slots = Callable[[int], Slot]


@pytest.fixture
def capped(slot_of: Slots, run: Run) -> Callable[[int], Slot]:
    """Slot 0 under a cap of so many bytes."""

    def slot(size_bytes: int) -> Slot:
        try:
            cap = choose_cap(size_bytes, run.account, run.directory)
        except EngineError as refused:
            pytest.skip(f"no right to make a control group: {refused.detail}")
        return replace(slot_of(0), memory=cap)

    return slot


def group_of(cluster: Cluster) -> Path:
    assert cluster._group is not None
    assert cluster._group._path is not None
    return cluster._group._path


def ask(cluster: Cluster, query: str) -> None:
    with psycopg.connect(conninfo_of(cluster.address), autocommit=True) as connection:
        connection.execute(query.encode())


def own_group(pid: int) -> str:
    """The name of the memory group that a process is in; empty once it has ended."""
    try:
        lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    told = [line.split(":", 2) for line in lines]
    mine = (path for _, names, path in told if "memory" in names.split(",") or not names)
    return Path(next(mine, "")).name


def test_every_process_is_in_the_group_and_the_group_goes_with_the_server(
    cluster: Cluster, capped: Callable[[int], Slot]
) -> None:
    assert isinstance(cluster, Capped)
    cluster.start(capped(200 * MB), {"shared_buffers": "32MB"})
    group = group_of(cluster)
    groups = {member.pid: own_group(member.pid) for member in tree(cluster.pid)}
    # One that ended meanwhile, as a worker of autovacuum may, is in no group any more.
    assert {name for name in groups.values() if name} == {group.name}
    assert len(groups) > 4
    assert own_group(os.getpid()) != group.name
    used = cluster.memory_use()
    assert used is not None
    assert 0 < used.used_bytes <= 200 * MB
    cluster.stop()
    assert not group.exists()
    assert cluster.memory_use() is None
    cluster.start(capped(200 * MB), {"shared_buffers": "32MB"})
    group = group_of(cluster)
    cluster.crash()
    assert not group.exists()


@pytest.mark.long
def test_what_does_not_fit_under_the_cap_comes_from_the_device_again(
    cluster: Cluster, capped: Callable[[int], Slot]
) -> None:
    """A table of 100 MB, read again and again under 64 MB; under 400 MB it is read once."""
    requests = {}
    for size in (64 * MB, 400 * MB):
        cluster.stop()
        evict([cluster.directory], cluster.account)
        cluster.start(capped(size), {"shared_buffers": "16MB", "max_parallel_workers": "0"})
        if size == 64 * MB:
            rows = "SELECT repeat('x', 1000) FROM generate_series(1, 90000)"
            ask(cluster, f"CREATE TABLE t AS {rows}")
            ask(cluster, "CHECKPOINT")
        for _ in range(2):
            ask(cluster, "SELECT count(*) FROM t")
        before = cluster.use().read_bytes
        ask(cluster, "SELECT count(*) FROM t")
        requests[size] = cluster.use().read_bytes - before
        used = cluster.memory_use()
        assert used is not None
        assert (used.peak_bytes or 0) < size + MB, "a charge that is undone is counted, too"
        assert used.oom_kills == 0
    assert requests[64 * MB] > 50 * MB
    assert requests[400 * MB] < 4 * MB, "but for a read ahead"


def test_a_session_that_needs_more_than_the_cap_is_killed_and_counted(
    cluster: Cluster, capped: Callable[[int], Slot]
) -> None:
    cluster.start(capped(96 * MB), {"shared_buffers": "16MB", "work_mem": "1GB"})
    with pytest.raises(psycopg.OperationalError):
        ask(cluster, "SELECT count(*) FROM (SELECT g FROM generate_series(1, 9000000) g "
            "ORDER BY md5(g::text)) t")  # fmt: skip
    used = cluster.memory_use()
    assert used is not None
    assert used.oom_kills >= 1
    group = group_of(cluster)
    cluster.crash()
    assert not group.exists()


def test_a_server_that_cannot_start_under_its_cap_says_so(
    cluster: Cluster, capped: Callable[[int], Slot], run: Run
) -> None:
    with pytest.raises(ServerError) as caught:
        cluster.start(capped(4 * MB), {"shared_buffers": "16MB"})
    assert caught.value.primary.startswith("could not start PostgreSQL")
    assert caught.value.primary.endswith("the kernel's OOM killer struck at its cap of 4096 kB")
    assert not cluster.running
    assert not (run.directory / "slot0" / MARKER).exists()


@pytest.mark.long
def test_the_group_of_a_killed_owner_goes_at_the_next_start(
    cache: Cache, account: Account, engine: Postgres, tmp_path: Path
) -> None:
    note = tmp_path / "group"

    def start(run: Run) -> None:
        try:
            cap = choose_cap(200 * MB, account, run.directory)
        except EngineError:
            return
        cluster = engine.create(run.directory / "slot0" / "data0", protection="checksums")
        cluster.start(replace(run.slot(0), memory=cap), {"shared_buffers": "16MB"})
        note.write_text(str(group_of(cluster)))

    owner_that_dies(cache, account, start)
    if not note.exists():
        pytest.skip("no right to make a control group")
    group = Path(note.read_text())
    assert group.exists()
    with open_run(cache, account):
        assert not group.exists()


def test_what_a_server_needs_is_read_as_the_server_reads_it(engine: Postgres) -> None:
    assert isinstance(engine, NeedsMemory)
    assert engine.memory_need({}) == MemoryNeed(128 * MB, "try")
    told = engine.memory_need({"shared_buffers": "2GB", "huge_pages": "off"})
    assert told == MemoryNeed(2048 * MB, "off")
    assert engine.memory_need({"shared_buffers": "1000"}).pool_bytes == 1000 * 8192
