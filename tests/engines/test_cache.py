"""The cache root: where it is, who may enter, what clearing removes."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest

from steelyard.engines.cache import (
    Cache,
    cache_root,
    clear,
    entries,
    free_bytes,
    spread,
    tree_bytes,
)
from steelyard.engines.cache import open_cache as open_it
from steelyard.engines.copying import write_back
from steelyard.telemetry.capacity import filesystem


def test_root_has_its_cache_where_other_accounts_reach_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STEELYARD_CACHE", raising=False)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache_root() == Path("/var/cache/steelyard")


def test_an_ordinary_user_has_its_cache_where_the_desktop_standard_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("STEELYARD_CACHE", raising=False)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache_root() == Path("/somewhere/steelyard")
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    monkeypatch.setenv("HOME", "/elsewhere")
    assert cache_root() == Path("/elsewhere/.cache/steelyard")


def test_the_environment_decides_which_disk_is_weighed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELYARD_CACHE", "/another/disk")
    assert cache_root() == Path("/another/disk")


def test_an_account_may_pass_through_but_not_look_around(cache: Cache) -> None:
    for directory in (cache.root, cache.templates, cache.runs):
        assert stat.S_IMODE(directory.stat().st_mode) == 0o711
    assert stat.S_IMODE(cache.binaries.stat().st_mode) == 0o755
    assert open_it() == cache


def test_free_space_is_asked_of_the_nearest_directory_that_exists(tmp_path: Path) -> None:
    status = os.statvfs(tmp_path)
    free = free_bytes(tmp_path / "not" / "made" / "yet")
    assert 0 < free <= status.f_blocks * status.f_frsize


def test_clearing_removes_what_is_kept_and_leaves_the_locks(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "file").write_bytes(b"x" * 100_000)
    (tmp_path / ".half").mkdir()
    (tmp_path / ".lock").touch()
    for settings in ("settings-0a1b.json", "settings-0a1b.json.77", "backup-2026-db.conf"):
        (tmp_path / settings).touch()
    assert [entry.name for entry in entries(tmp_path)] == ["one"]
    occupied = tree_bytes(tmp_path / "one")
    assert occupied >= 100_000
    assert clear(tmp_path) == occupied
    assert [entry.name for entry in tmp_path.iterdir()] == [".lock"]


def test_writing_back_is_asked_of_a_file_system_that_exists(tmp_path: Path) -> None:
    write_back(tmp_path)
    with pytest.raises(FileNotFoundError):
        write_back(tmp_path / "none")


def flags_of(directory: Path) -> str:
    """As lsattr prints them; the test is skipped on file systems that have others."""
    if filesystem(directory).get("type") != "ext4":
        pytest.skip("no ext4")
    command = ["lsattr", "-d", directory]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[0]


def test_a_directory_is_marked_as_the_top_of_hierarchies(tmp_path: Path) -> None:
    before = flags_of(tmp_path)
    for _ in range(2):
        spread(tmp_path)
        assert set(flags_of(tmp_path)) - set(before) == {"T"}


def test_runs_of_the_cache_lie_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path))
    assert "T" in flags_of(open_it().runs)


@pytest.mark.parametrize("place", ["/proc/self", "/dev/shm", "/nowhere"])
def test_where_it_cannot_be_nothing_happens(place: str) -> None:
    spread(Path(place))
