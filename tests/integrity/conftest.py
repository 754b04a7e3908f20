"""Gives the tests of integrity a small cluster of each bundled version, with known content."""

from __future__ import annotations

import functools
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from own_cache import engine_of, own_run
from steelyard.engines.engine import Settings, Slot
from steelyard.engines.postgres.libpq.connection_string import client_flags, conninfo_of
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.postgres import Postgres
from steelyard.engines.programs import run as run_program
from steelyard.engines.registry import Run
from steelyard.integrity.drill.test_cluster import TestCluster, make_test_cluster
from steelyard.integrity.scrub.layout import ClusterLayout

VERSIONS = ("18", "16")
LAYOUT = ClusterLayout(
    system_identifier=7,
    timeline=2,
    major=18,
    catalog_version=202506291,
    page_bytes=8192,
    segment_blocks=131072,
    wal_segment_bytes=1 << 20,
    checksums=True,
    state="in production",
    checkpoint=1000,
    redo=1000,
    full_page_writes=True,
    min_recovery_point=0,
    backup_start_point=0,
    backup_end_point=0,
    backup_end_required=False,
)
"""Of a cluster of 18 that runs or crashed, with its latest checkpoint at LSN 1000."""
CONTENT = """
CREATE TABLE plain (id int PRIMARY KEY, filler text);
INSERT INTO plain SELECT i, repeat(md5(i::text), 6) FROM generate_series(1, 4000) i;
CREATE TABLE wide (id int PRIMARY KEY, long text);
ALTER TABLE wide ALTER long SET STORAGE EXTERNAL;
INSERT INTO wide SELECT i, repeat(md5(i::text), 300) FROM generate_series(1, 60) i;
CREATE UNLOGGED TABLE passing (id int PRIMARY KEY);
INSERT INTO passing SELECT generate_series(1, 1000);
"""


@dataclass(frozen=True)
class Made:
    """An engine with a loaded cluster that is never changed, and a clone of it."""

    engine: Postgres
    template: Cluster
    clone: Cluster
    slot: Slot

    def program(self, name: str, *arguments: str) -> tuple[int, str]:
        """Status and words of one of the build's programs."""
        command = [f"{self.engine.identity.bindir}/{name}", *arguments]
        return run_program(self.engine.account, command, timeout_s=1200)


@pytest.fixture(scope="session")
def run() -> Iterator[Run]:
    with own_run() as opened:
        yield opened


@pytest.fixture(scope="session")
def made_of(run: Run) -> Callable[[str], Made]:
    """A loaded, cleanly stopped cluster of a version and a clone; made when first asked for."""

    @functools.cache
    def make(version: str) -> Made:
        slot = run.slot(int(version))
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("STEELYARD_CACHE", str(run.directory.parent.parent))
            engine = engine_of(version)
        template = engine.create(slot.path / "template", protection="checksums")
        template.start(slot, {"fsync": "off"})
        execute(template, *CONTENT.strip().split(";\n"), "VACUUM (FREEZE, ANALYZE) plain")
        template.stop()
        return Made(engine, template, template.clone(slot.path / "clone"), slot)

    return make


@pytest.fixture(params=VERSIONS)
def made(request: pytest.FixtureRequest, made_of: Callable[[str], Made]) -> Made:
    """Of each bundled version."""
    return made_of(request.param)


@pytest.fixture
def cluster(made: Made) -> Iterator[Cluster]:
    """A stopped clone; whatever the test does to it is undone."""
    yield made.clone
    if made.clone.running:
        made.clone.crash()
    made.clone.stop()
    _give_back(made.clone)
    made.clone.restore(made.template.directory)


def _give_back(clone: Cluster) -> None:
    """What a test made or changed as root, to the account by which it is put back."""
    clone.account.own_tree(clone.directory)
    for path in clone.directory.rglob("*"):
        if not path.is_symlink():
            path.chmod(0o700 if path.is_dir() else 0o600)


@contextmanager
def running(made: Made, settings: Settings | None = None) -> Iterator[Cluster]:
    """The clone while it runs."""
    made.clone.start(made.slot, {"fsync": "off", "autovacuum": "off", **(settings or {})})
    try:
        yield made.clone
    finally:
        if made.clone.running:
            made.clone.stop()


def execute(cluster: Cluster, *statements: str) -> list[tuple[Any, ...]]:
    """Rows of the last of these statements."""
    rows: list[tuple[Any, ...]] = []
    with psycopg.connect(conninfo_of(cluster.address), autocommit=True) as session:
        for statement in statements:
            cursor = session.execute(statement.encode())
            rows = cursor.fetchall() if cursor.description else []
    return rows


@pytest.fixture
def file_of(made: Made) -> Callable[..., Path]:
    """The file of a relation in the clone; asked once of the template's catalogue."""

    def found(name: str, fork: str = "main") -> Path:
        suffix = "" if fork == "main" else f"_{fork}"
        return made.clone.directory / (paths(made)[name] + suffix)

    return found


_PATHS: dict[str, dict[str, str]] = {}
_TOAST = "wide_toast"


def paths(made: Made) -> dict[str, str]:
    """Relative paths of the relations, by name."""
    version = made.engine.identity.version
    if version not in _PATHS:
        with running(made):
            rows = execute(
                made.clone,
                "SELECT relname, pg_relation_filepath(oid) FROM pg_class WHERE relname IN "
                "('plain', 'plain_pkey', 'wide', 'passing', 'pg_database')",
            )
            toast = execute(
                made.clone,
                "SELECT pg_relation_filepath(reltoastrelid) FROM pg_class WHERE relname = 'wide'",
            )
        _PATHS[version] = {**dict(rows), _TOAST: toast[0][0]}
        _give_back(made.clone)
        made.clone.restore(made.template.directory)
    return _PATHS[version]


def plant(path: Path, at: int, content: bytes) -> None:
    """Overwrite bytes of a file."""
    with path.open("r+b") as file:
        file.seek(at)
        file.write(content)


def page_of(path: Path, block: int) -> bytes:
    with path.open("rb") as file:
        file.seek(block * 8192)
        return file.read(8192)


def tree_marks(directory: Path) -> dict[str, tuple[int, int]]:
    """Size and time of change of every file: what a reader must not move."""
    marks = {}
    for folder, _, names in os.walk(directory):
        for name in names:
            status = os.lstat(os.path.join(folder, name))
            marks[os.path.join(folder, name)] = (status.st_size, status.st_mtime_ns)
    return marks


def back_up(made: Made, alive: Cluster, place: Path, *how: str) -> None:
    """A base backup of a running cluster in a new directory."""
    made.engine.account.make_directory(place)
    command = [*client_flags(alive.address), "-D", str(place), "--checkpoint=fast", *how]
    status, words = made.program("pg_basebackup", *command)
    assert status == 0, words


@contextmanager
def backed_up(made: Made, name: str, *how: str) -> Iterator[Path]:
    """A base backup of the clone, taken while it runs; gone at the end."""
    place = made.slot.path / name
    try:
        with running(made) as alive:
            back_up(made, alive, place, *how)
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def quiet(_: str) -> None:
    """Ignores the progress of a drill."""


def drilled_cluster(version: str, run: Run, slot: int, copies: int) -> TestCluster:
    """A drill's test cluster of a bundled version, made in the cache of a run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STEELYARD_CACHE", str(run.directory.parent.parent))
        engine = engine_of(version)
    return make_test_cluster(engine, run.slot(slot + int(version)), copies)
