"""A probe works in a directory of its own, refuses what is none, and leaves nothing behind."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from steelyard.engines.file_lock import hold
from steelyard.model.errors import UsageError
from steelyard.model.units import format_bytes
from steelyard.telemetry.capacity import Space
from steelyard.tuning import probing
from steelyard.tuning.fio import LOG_BYTES
from steelyard.tuning.probing import (
    LEAST_ASKED_BYTES,
    MARKER,
    MOST_BYTES,
    PREFIX,
    private_place,
    require_directory,
    size_to_use,
    takes_direct,
)


def test_a_device_a_file_and_nothing_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a device: probing it would overwrite"):
        require_directory(Path("/dev/null"))
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="is no directory"):
        require_directory(tmp_path / "file")
    with pytest.raises(UsageError, match=r"could not probe .*No such file"):
        require_directory(tmp_path / "nowhere")


def test_memory_is_no_storage() -> None:
    if not Path("/dev/shm").is_dir():
        pytest.skip("there is no /dev/shm")
    with pytest.raises(UsageError, match="is in memory"):
        require_directory(Path("/dev/shm"))


def test_what_may_not_be_written_to_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probing.os, "access", lambda path, mode: False)
    mount = {"type": "ext4", "options": "ro,relatime"}
    monkeypatch.setattr(probing, "filesystem", lambda path: mount)
    with pytest.raises(UsageError, match="mounted read-only"):
        require_directory(tmp_path)
    mount["options"] = "rw"
    with pytest.raises(UsageError, match="may not be written to"):
        require_directory(tmp_path)


def test_a_tenth_of_what_is_free_and_at_most_4_gb(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = 100 << 30
    monkeypatch.setattr(probing, "space", lambda path: Space(free, 2 * free))
    assert size_to_use(tmp_path) + LOG_BYTES == MOST_BYTES
    assert size_to_use(tmp_path, 1 << 28) == 1 << 28
    assert size_to_use(tmp_path, 1 << 40) + LOG_BYTES == MOST_BYTES
    free = 20 << 30
    assert size_to_use(tmp_path) + LOG_BYTES == 2 << 30
    free = 5 << 30
    with pytest.raises(UsageError, match="has 5120 MB free, and a probe needs 11 GB"):
        size_to_use(tmp_path)


@pytest.mark.parametrize("free", [0, 100 << 20])
def test_a_full_file_system_is_refused_whatever_size_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int
) -> None:
    monkeypatch.setattr(probing, "space", lambda path: Space(free, 100 << 30))
    for asked in (LEAST_ASKED_BYTES, 1 << 30, None):
        with pytest.raises(UsageError) as refused:
            size_to_use(tmp_path, asked)
        assert f"has {format_bytes(free)} free, and a probe needs" in refused.value.primary
        assert "Free some" in (refused.value.hint or "")
    needed = "960 MB: its data file of at least 32 MB and its log of 64 MB take a tenth"
    assert needed in refusal_of(tmp_path, 1 << 30)
    free = 960 << 20
    assert size_to_use(tmp_path, 1 << 30) == 32 << 20


def refusal_of(directory: Path, asked: int) -> str:
    with pytest.raises(UsageError) as refused:
        size_to_use(directory, asked)
    return refused.value.primary


def test_a_file_too_small_for_the_workers_is_refused(tmp_path: Path) -> None:
    assert "1024 kB are too few to probe with: 32 MB are the least" in refusal_of(tmp_path, 1 << 20)


def test_nothing_is_left_and_nothing_else_is_touched(tmp_path: Path) -> None:
    mine = tmp_path / "data"
    mine.write_text("mine")
    with private_place(tmp_path) as own:
        assert own.parent == tmp_path
        (own / "data").write_bytes(b"x" * 1000)
    assert [one.name for one in tmp_path.iterdir()] == ["data"]
    assert mine.read_text() == "mine"
    with pytest.raises(RuntimeError), private_place(tmp_path):
        raise RuntimeError
    assert [one.name for one in tmp_path.iterdir()] == ["data"]


def test_what_a_killed_probe_left_is_removed_and_a_living_ones_stays(tmp_path: Path) -> None:
    killed, living, other = (tmp_path / f"{PREFIX}{name}" for name in ("dead", "alive", "other"))
    for one in (killed, living, other):
        one.mkdir()
        (one / "data").touch()
    script = f"import fcntl, time; f = open({str(killed / MARKER)!r}, 'w'); fcntl.flock(f, 2)"
    subprocess.run([sys.executable, "-c", script], check=True)
    with hold(living / MARKER), private_place(tmp_path):
        assert not killed.exists()
        assert (living / "data").exists()
        assert (other / "data").exists(), "it has no marker: it is not ours"
    shutil.rmtree(living)


def test_what_another_accounts_probe_left_is_left_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = tmp_path / f"{PREFIX}theirs"
    theirs.mkdir()
    (theirs / MARKER).touch()

    def refuse(path: Path) -> bool:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(probing, "is_locked", refuse)
    with private_place(tmp_path) as own:
        assert own.is_dir()
    assert [one.name for one in tmp_path.iterdir()] == [theirs.name]


def test_direct_is_tried_and_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = ["dd", "if=/dev/zero", f"of={tmp_path / 'other'}", "bs=1M", "count=1", "oflag=direct"]
    taken = subprocess.run(copy, check=False, capture_output=True).returncode == 0
    (tmp_path / "other").unlink(missing_ok=True)
    assert takes_direct(tmp_path) == taken
    assert not os.listdir(tmp_path)
    real = os.open

    def refuse(path: str, flags: int, mode: int = 0o777) -> int:
        if flags & os.O_DIRECT:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        return real(path, flags, mode)

    monkeypatch.setattr(probing.os, "open", refuse)
    assert takes_direct(tmp_path) is False
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize(("kind", "direct"), [("zfs", False), ("ext4", True)])
def test_what_is_answered_from_a_cache_of_the_file_system_is_not_past_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, direct: bool
) -> None:
    """ZFS takes O_DIRECT whatever it does with it."""
    monkeypatch.setattr(probing, "filesystem", lambda path: {"type": kind})
    monkeypatch.setattr(probing.os, "O_DIRECT", 0)
    assert takes_direct(tmp_path) is direct
    assert not os.listdir(tmp_path)
