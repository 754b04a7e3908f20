"""Servers and loaded data for these tests, in a cache of their own that any account can reach."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from steelyard.engines.cache import open_cache
from steelyard.engines.engine import Slot
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.postgres import Postgres
from steelyard.engines.postgres.selection import find_postgres
from steelyard.engines.programs import run
from steelyard.engines.registry import open_run
from steelyard.model.endpoint import Endpoint
from steelyard.workloads.loading.template import template
from steelyard.workloads.reading.folder import find_workload
from steelyard.workloads.reading.workload import Workload

Serve = Callable[[Cluster], AbstractContextManager[Endpoint]]
Call = Callable[..., str]


@pytest.fixture(scope="session", autouse=True)
def cache() -> Iterator[Path]:
    """A cache root of this session: pytest's own directories are closed to other accounts."""
    root = Path(tempfile.mkdtemp(prefix="steelyard-test-"))
    root.chmod(0o711)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STEELYARD_CACHE", str(root))
        yield root
    shutil.rmtree(root)


@pytest.fixture(scope="session")
def pgbench() -> Workload:
    return find_workload("pgbench")


@pytest.fixture(scope="session", params=["18", pytest.param("16", marks=pytest.mark.long)])
def engine(request: pytest.FixtureRequest) -> Postgres:
    """Each bundled version."""
    return find_postgres(request.param)


@pytest.fixture(scope="session")
def engine18() -> Postgres:
    return find_postgres("18")


@pytest.fixture(scope="session")
def loaded(engine: Postgres, pgbench: Workload) -> Path:
    """A template at scale 1."""
    return template(engine, pgbench, 1)


@pytest.fixture
def place(engine18: Postgres) -> Iterator[Path]:
    """A directory the servers' account can reach, and where nothing of a server outlives a test."""
    with open_run(open_cache(), engine18.account) as registered:
        yield registered.directory


@pytest.fixture
def serve(engine18: Postgres) -> Serve:
    """Starts a cluster, gives its address, and stops it."""

    @contextmanager
    def started(cluster: Cluster) -> Iterator[Endpoint]:
        with open_run(open_cache(), cluster.account) as registered:
            slot = Slot(0, registered.directory / "slot0", registered.sockets, 5432)
            cluster.start(slot, {"fsync": "off"})
            try:
                yield cluster.address
            finally:
                cluster.stop()

    return started


@pytest.fixture(scope="session")
def call() -> Call:
    """Runs a program of an engine's build and gives what it says; it must succeed."""

    def called(engine: Postgres, program: str, *arguments: str) -> str:
        status, words = run(engine.account, [f"{engine.identity.bindir}/{program}", *arguments])
        assert status == 0, words
        return words

    return called
