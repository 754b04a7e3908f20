"""Builds that the server's account may not read, and builds of other people's machines."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from steelyard.engines.account import choose_account
from steelyard.engines.cache import Cache, entries
from steelyard.engines.engine import Slot
from steelyard.engines.postgres.builds.build import (
    Build,
    accessible_build,
    bundled_builds,
    parts_of_copy,
)
from steelyard.engines.postgres.selection import find_postgres
from steelyard.model.errors import EngineError

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can hide files from its servers"),
]


def link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)


@pytest.fixture(scope="module")
def hidden(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Build]:
    """The bundle as installed in a virtual environment under a directory only root can enter."""
    root = tmp_path_factory.mktemp("private")
    root.chmod(0o700)
    build = next(b for b in bundled_builds() if b.bindir.parent.name == "pginstall18")
    site = build.bindir.parent.parent.parent
    for part in parts_of_copy(build):
        shutil.copytree(part, root / part.relative_to(site), copy_function=link, symlinks=True)
    yield Build(root / build.bindir.relative_to(site), "bundle")
    shutil.rmtree(root)


def test_a_build_that_the_account_can_read_is_used_where_it_is(cache: Cache, place: Path) -> None:
    build = Build(place / "bin", "bindir")
    build.bindir.mkdir()
    for name in ("postgres", "initdb"):
        (build.bindir / name).write_text("#!/bin/sh\n")
        (build.bindir / name).chmod(0o755)
    assert accessible_build(build, choose_account(), cache) == build
    assert entries(cache.binaries) == []


@pytest.mark.long
def test_a_hidden_build_is_copied_once_and_its_servers_run(
    hidden: Build, cache: Cache, monkeypatch: pytest.MonkeyPatch, place: Path
) -> None:
    monkeypatch.setattr(
        "steelyard.engines.postgres.builds.find.bundled_builds", lambda: [hidden]
    )  # fmt: skip
    monkeypatch.setattr("steelyard.engines.postgres.builds.find.SYSTEM_PLACES", ())
    engine = find_postgres("18")
    assert Path(engine.identity.bindir).is_relative_to(cache.binaries)
    assert engine.identity.origin == "bundle"
    cluster = engine.create(place / "data", protection="checksums")
    cluster.start(Slot(0, place / "slot0", place / "s", 54320), {})
    assert cluster.settings()["data_checksums"] == "on"
    cluster.stop()
    assert find_postgres("18").identity == engine.identity
    assert len(entries(cache.binaries)) == 1


def test_one_hidden_file_is_enough_for_a_copy(hidden: Build, cache: Cache, place: Path) -> None:
    tree = place / "pg" / "pginstall18"
    (tree / "bin").mkdir(parents=True)
    for name in ("postgres", "initdb"):
        shutil.copy2(hidden.bindir / name, tree / "bin" / name)
    (tree / "share").mkdir()
    (tree / "share" / "postgres.bki").write_text("secret")
    (tree / "share" / "postgres.bki").chmod(0o600)
    copied = accessible_build(Build(tree / "bin", "bindir"), choose_account(), cache)
    assert copied.bindir.is_relative_to(cache.binaries)
    assert choose_account().call((copied.bindir.parent / "share/postgres.bki").read_text)


def test_a_hidden_directory_of_programs_alone_is_refused(cache: Cache, tmp_path: Path) -> None:
    for name in ("postgres", "initdb"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    with pytest.raises(EngineError, match='no "share" and "lib" beside them'):
        accessible_build(Build(tmp_path, "bindir"), choose_account(), cache)


def test_a_cluster_in_a_place_the_account_cannot_enter_is_refused(
    cache: Cache, tmp_path: Path
) -> None:
    tmp_path.chmod(0o700)
    with pytest.raises(EngineError, match="could not enter directory"):
        find_postgres("18").create(tmp_path / "data", protection="checksums")
