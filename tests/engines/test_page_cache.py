"""Eviction drops what is clean, writes back what is dirty, and counts what stays."""

from __future__ import annotations

import mmap
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from own_cache import open_directory
from steelyard.engines import page_cache
from steelyard.engines.account import choose_account
from steelyard.engines.page_cache import evict

MB = 1 << 20


@pytest.fixture
def files() -> Iterator[Path]:
    """Of the servers' account."""
    with open_directory() as place:
        data = place / "data"
        (data / "base").mkdir(parents=True)
        (data / "base" / "1").write_bytes(os.urandom(8 * MB))
        (data / "empty").write_bytes(b"")
        (data / "odd").write_bytes(b"x" * 5001)
        os.symlink("1", data / "base" / "link")
        os.mkfifo(data / "pipe")
        choose_account().own_tree(data)
        yield data


def cached_bytes(path: Path) -> int:
    """By util-linux's fincore, another reader of the same thing."""
    done = subprocess.run(
        ["fincore", "--bytes", "--noheadings", "--output", "RES", str(path)],
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout)


def test_dirty_files_are_written_back_and_leave_the_page_cache(files: Path) -> None:
    assert cached_bytes(files / "base" / "1") == 8 * MB
    evicted = evict([files], choose_account())
    assert evicted.file_bytes == 8 * MB + 5001
    assert evicted.resident_bytes == 0
    assert cached_bytes(files / "base" / "1") == 0


def test_before_cachestat_mincore_counts_the_same(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (files / "base" / "1").open("rb") as file:
        file.read(3 * MB)
        size = os.fstat(file.fileno()).st_size
        by_either = page_cache._resident_bytes(file.fileno(), size)
        monkeypatch.setattr(page_cache, "_CACHESTAT", 9999)  # a number that no kernel has
        assert page_cache._by_cachestat(file.fileno()) is None
        assert page_cache._resident_bytes(file.fileno(), size) == by_either
        assert by_either == cached_bytes(files / "base" / "1")


def test_what_another_mapping_holds_stays_and_is_counted(files: Path) -> None:
    with (
        (files / "base" / "1").open("rb") as file,
        mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped,
    ):
        touched = sum(mapped[place] for place in range(0, 2 * MB, mmap.PAGESIZE))
        assert touched
        evicted = evict([files], choose_account())
        assert evicted.resident_bytes == cached_bytes(files / "base" / "1") >= 2 * MB


def test_files_in_memory_stay_and_are_counted() -> None:
    shared = Path("/dev/shm")
    if not shared.is_dir() or not os.access(shared, os.W_OK):
        pytest.skip("there is no file system in memory")
    place = shared / f"steelyard-test-{os.getpid()}"
    place.mkdir()
    try:
        (place / "one").write_bytes(b"x" * MB)
        assert evict([place], choose_account()).resident_bytes == MB
    finally:
        (place / "one").unlink()
        place.rmdir()
