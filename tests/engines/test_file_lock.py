"""A lock is held by one process at a time, and goes with it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from steelyard.engines.file_lock import hold, is_held, locked, locked_if_free


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
        released.append(is_held(path))
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
    assert not is_held(path)
    command = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        held = is_held(path)
        holder.kill()
    assert held
    assert not is_held(path)
