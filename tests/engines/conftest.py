"""Gives the tests of engines a cache of their own, and clusters of both bundled versions.

Clones are made once a version and put back after every test: making a thousand files costs seconds
on ext4 where as many were removed a minute ago (it passes over inodes that it freed lately).
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from engines.mysql.fake_packages import FakeApt
from engines.published import FakeNpm
from own_cache import open_directory, own_run
from steelyard.engines.account import Account, choose_account
from steelyard.engines.builds import apt
from steelyard.engines.cache import Cache, open_cache
from steelyard.engines.engine import Slot
from steelyard.engines.local.processes import tree
from steelyard.engines.postgres.cleanup import segments_of
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.life.control import read_pid_file
from steelyard.engines.postgres.postgres import Postgres
from steelyard.engines.postgres.selection import find_postgres
from steelyard.engines.registry import Run

VERSIONS = ("18", "16")


@dataclass(frozen=True)
class Made:
    """An engine with a cluster that is never changed and two clones of it."""

    engine: Postgres
    template: Cluster
    clones: tuple[Cluster, Cluster]


@dataclass(frozen=True)
class Traces:
    """What a running server has on the machine, beside its directory."""

    processes: frozenset[int]
    posix: frozenset[str]
    system_v: frozenset[int]

    @classmethod
    def of(cls, cluster: Cluster) -> Traces:
        """Those of a cluster that runs now."""
        lock = read_pid_file(cluster.directory)
        assert lock is not None
        assert lock.shared_memory_id is not None
        return cls(
            processes=frozenset(member.pid for member in tree(cluster.pid)),
            posix=frozenset(segments_of(cluster.directory, cluster.account)),
            system_v=frozenset({lock.shared_memory_id}),
        )

    @property
    def left(self) -> list[str]:
        """Those that are still there; zombies count."""
        rows = [line.split() for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]]
        segments = {int(row[1]) for row in rows}
        return [
            *(f"process {pid}" for pid in self.processes if os.path.exists(f"/proc/{pid}")),
            *(path for path in self.posix if os.path.exists(path)),
            *(f"segment {number}" for number in self.system_v & segments),
        ]


@pytest.fixture
def place() -> Iterator[Path]:
    with open_directory() as made:
        yield made


@pytest.fixture
def cache(place: Path, monkeypatch: pytest.MonkeyPatch) -> Cache:
    """A cache root of its own, in use by whatever opens the cache."""
    monkeypatch.setenv("STEELYARD_CACHE", str(place / "cache"))
    return open_cache()


@pytest.fixture
def npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeNpm:
    """An npm of our own, the first on PATH: no test asks the real one through it."""
    fake = FakeNpm(tmp_path / "npm")
    fake.install()
    monkeypatch.setenv("PATH", f"{fake.home}:{os.environ['PATH']}")
    return fake


@pytest.fixture
def debian(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeApt:
    """An apt of our own, the first on PATH, on a Debian: no test asks the real one through it."""
    fake = FakeApt(tmp_path / "apt")
    fake.install()
    monkeypatch.setenv("PATH", f"{fake.home}:{os.environ['PATH']}")
    facts = {"ID": "debian", "NAME": "Debian GNU/Linux"}
    monkeypatch.setattr(apt, "distribution", facts.__getitem__)
    monkeypatch.setattr(apt, "DEBIAN", {})
    return fake


@pytest.fixture
def account() -> Account:
    return choose_account()


@pytest.fixture(scope="session")
def run() -> Iterator[Run]:
    """The place of all tests that start servers."""
    with own_run() as opened:
        yield opened


@pytest.fixture(scope="session")
def made_of(run: Run) -> Callable[[str], Made]:
    """An engine of a version with its clusters, all stopped; made when it is first asked for."""

    @functools.cache
    def make(version: str) -> Made:
        home = run.directory / version
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("STEELYARD_CACHE", str(run.directory.parent.parent))
            engine = find_postgres(version)
        template = engine.create(home / "template", protection="checksums")
        clones = (template.clone(home / "first"), template.clone(home / "second"))
        return Made(engine, template, clones)

    return make


@pytest.fixture(params=VERSIONS)
def made(request: pytest.FixtureRequest, made_of: Callable[[str], Made]) -> Made:
    """An engine of each bundled version."""
    return made_of(request.param)


@pytest.fixture
def engine(made: Made) -> Postgres:
    return made.engine


@pytest.fixture
def template(made: Made) -> Cluster:
    return made.template


@pytest.fixture
def cluster(made: Made) -> Iterator[Cluster]:
    """A stopped clone; whatever the test does to it is undone."""
    yield made.clones[0]
    _undo(made, made.clones[0])


@pytest.fixture
def second(made: Made) -> Iterator[Cluster]:
    """Another stopped clone."""
    yield made.clones[1]
    _undo(made, made.clones[1])


def _undo(made: Made, clone: Cluster) -> None:
    if clone.running:
        clone.crash()
    clone.stop()
    clone.restore(made.template.directory)


@pytest.fixture
def slot_of(run: Run) -> Callable[[int], Slot]:
    """The slot of a number in the tests' run."""

    def slot(number: int) -> Slot:
        return Slot(number, run.directory / f"slot{number}", run.sockets, 54320 + number)

    return slot


@pytest.fixture
def traces_of() -> Callable[[Cluster], Traces]:
    return Traces.of
