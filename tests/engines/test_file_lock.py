"""A lock is held by one process at a time, and goes with it."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steelyard.engines.file_lock import hold, is_locked, locked, locked_if_free
from steelyard.model.errors import EngineError


def test_a_lock_that_is_held_is_not_had_a_second_time(tmp_path: Path) -> None:
    path, waited = tmp_path / "lock", []
    with locked(path), locked_if_free(path) as had:
        assert not had
    with locked_if_free(path) as had:
        assert had
    with locked(path, lambda: waited.append(1)):
        assert waited == []


def test_waiting_is_reported_before_it_begins(tmp_path: Path) -> None:
    path, released = tmp_path / "lock", []
    holder = hold(path)

    def release() -> None:
        released.append(is_locked(path))
        holder.close()

    with locked(path, release):
        assert released == [True]


HOLDER = """
import sys, time
from pathlib import Path
from steelyard.engines.file_lock import hold
held = hold(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(60)
"""


def test_a_file_is_held_until_its_holder_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "owner"
    assert not is_locked(path)
    command = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        held = is_locked(path)
        holder.kill()
    assert held
    assert not is_locked(path)


def enter(context: Any) -> None:
    with context:
        pass


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EIO])
@pytest.mark.parametrize(
    "use",
    [
        hold,
        is_locked,
        lambda path: enter(locked(path)),
        lambda path: enter(locked_if_free(path)),
        lambda path: enter(locked(path, lambda: None)),
    ],
)
def test_a_file_system_that_locks_nothing_is_refused_with_what_to_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, use: Callable[[Path], object], number: int
) -> None:
    def refuse(file: object, how: int) -> None:
        raise OSError(number, os.strerror(number))

    path = tmp_path / "lock"
    path.touch()
    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(EngineError, match="could not lock") as refused:
        use(path)
    assert refused.value.primary == f'could not lock "{path}": {os.strerror(number)}'
    assert "STEELYARD_CACHE" in (refused.value.hint or "")
