"""Directories that every account may pass through, with caches, runs and servers in them.

pytest's own directories are closed to the account that servers run as.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from steelyard.engines.account import choose_account
from steelyard.engines.cache import cache_root, open_cache, spread
from steelyard.engines.engine import Instance, Settings, Slot
from steelyard.engines.postgres.builds.find import discovered
from steelyard.engines.postgres.postgres import Postgres
from steelyard.engines.postgres.selection import find_postgres
from steelyard.engines.registry import Run, open_run
from steelyard.model.errors import EngineError

CONTRIB_VERSIONS = ("18", "17", "16", "15")

MACHINES = cache_root()
"""The cache that this machine has apart from the tests: builds that were added to it are used."""


def engine_of(version: str) -> Postgres:
    """The bundle's engine of a version; 19 is one that was added on this machine, else the test is
    skipped."""
    if version != "19":
        return find_postgres(version)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STEELYARD_CACHE", str(MACHINES))
        builds = [each for each in discovered() if each.answers(version)]
    if not builds:
        pytest.skip("no PostgreSQL 19 on this machine: `steelyard engines add 19` brings it")
    return Postgres(builds[0].build, builds[0].identity, choose_account())


@contextmanager
def open_directory() -> Iterator[Path]:
    """A new directory that is passable for everybody; removed at the end."""
    made = Path(tempfile.mkdtemp(prefix="sytest"))
    made.chmod(0o711)
    spread(made)
    try:
        yield made
    finally:
        shutil.rmtree(made)


@contextmanager
def own_cache() -> Iterator[Path]:
    """An open directory that is the cache root of this process while it is there."""
    with open_directory() as root, pytest.MonkeyPatch.context() as patch:
        patch.setenv("STEELYARD_CACHE", str(root))
        yield root


@contextmanager
def own_run() -> Iterator[Run]:
    """A run of servers in a cache that is nobody else's; the environment stays as it is."""
    with open_directory() as home:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("STEELYARD_CACHE", str(home / "cache"))
            opened = open_run(open_cache(), choose_account())
        with opened:
            yield opened


@contextmanager
def own_server(
    version: str,
    settings: Settings | None = None,
    *,
    port: int = 5432,
    files: Mapping[str, str] | None = None,
    counts: bool = False,
) -> Iterator[Instance]:
    """A running server with checksums in an open directory; `files` replace some of its own.
    `counts`: it has pg_stat_statements, or the test is skipped."""
    with open_directory() as home:
        engine = _with_contrib(version) if counts else engine_of(version)
        instance = engine.create(home / "data", protection="checksums")
        if counts:
            paths = dict(engine._build.settings)
            settings = {
                **paths,
                "shared_preload_libraries": "pg_stat_statements",
                **(settings or {}),
            }
        for name, text in (files or {}).items():
            (home / "data" / name).write_text(text)
        try:
            instance.start(Slot(0, home, home / "socket", port), settings or {})
            yield instance
        finally:
            instance.stop()


def _with_contrib(version: str) -> Postgres:
    """The version's build with contrib, else the first other one that has it; skips without."""
    refusals = []
    for wanted in (version, *(other for other in CONTRIB_VERSIONS if other != version)):
        try:
            return find_postgres(wanted, contrib=True)
        except EngineError as refused:
            refusals.append(refused.primary)
    pytest.skip(f"no build has pg_stat_statements: {'; '.join(refusals)}")
