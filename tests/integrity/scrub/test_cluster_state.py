"""The state of a cluster follows from its control file and from what postmaster.pid names."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from integrity.made_files import crc32c
from steelyard._core import read_control
from steelyard.integrity.scrub.cluster_state import RunState, inspect_cluster
from steelyard.model.errors import UsageError

MB = 1 << 20


def cluster(directory: Path, state: int, backup_start: int = 0) -> Path:
    """A directory with no more than what inspect_cluster() reads."""
    (directory / "global").mkdir(parents=True)
    (directory / "PG_VERSION").write_text("16\n")
    content = bytearray(8192)
    content[8:12] = (1300).to_bytes(4, "little")
    content[16:20] = state.to_bytes(4, "little")
    content[152:160] = backup_start.to_bytes(8, "little")
    content[216:220] = (8192).to_bytes(4, "little")
    content[220:224] = (131072).to_bytes(4, "little")
    content[228:232] = MB.to_bytes(4, "little")
    content[288:292] = crc32c(bytes(content[:288])).to_bytes(4, "little")
    (directory / "global" / "pg_control").write_bytes(content)
    assert read_control(directory / "global" / "pg_control")["crc_ok"]
    return directory


@pytest.mark.parametrize("at", [16, 220, 287, 288])
def test_a_control_file_that_is_damaged_is_not_believed(tmp_path: Path, at: int) -> None:
    directory = cluster(tmp_path / "a", 2)
    file = directory / "global" / "pg_control"
    content = bytearray(file.read_bytes())
    content[at] ^= 4
    file.write_bytes(content)
    with pytest.raises(UsageError, match="control file is damaged"):
        inspect_cluster(directory)


def test_a_standby_that_was_stopped_within_its_backup_is_not_at_rest(tmp_path: Path) -> None:
    consistent = inspect_cluster(cluster(tmp_path / "a", 2))
    assert (consistent.run_state, consistent.replay_from) == (RunState.STOPPED, None)
    before = inspect_cluster(cluster(tmp_path / "b", 2, backup_start=5))
    assert (before.run_state, before.replay_from) == (RunState.CRASHED, 0)
    assert before.heals_torn, "whole pages are logged while a backup is taken"
    after_crash = inspect_cluster(cluster(tmp_path / "c", 6))
    assert (after_crash.run_state, after_crash.heals_torn) == (RunState.CRASHED, False)


def test_a_process_that_may_not_be_looked_into_runs_unless_the_user_knows_better(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = cluster(tmp_path / "a", 6)
    (directory / "postmaster.pid").write_text(f"77\n{directory}\n4000000000\n")

    def forbidden(*_: object) -> bool:
        raise PermissionError

    monkeypatch.setattr("os.path.samefile", forbidden)
    assert (inspect_cluster(directory).run_state, inspect_cluster(directory).pid) == (
        RunState.RUNNING,
        77,
    )
    assert inspect_cluster(directory, crashed=True).run_state is RunState.CRASHED


def test_the_directory_of_a_server_that_runs_is_no_base_backup(tmp_path: Path) -> None:
    """Its pages would be judged by one look each, and excused by a log that goes on."""
    directory = cluster(tmp_path / "a", 6)
    lock = directory / "postmaster.pid"
    with subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.read()"],
        cwd=directory,
        stdin=subprocess.PIPE,
    ) as server:
        lock.write_text(f"{server.pid}\n{directory}\n4000000000\n")
        with pytest.raises(UsageError, match="a server runs in") as refused:
            inspect_cluster(directory, backup=True)
        assert "Leave out --base-backup" in (refused.value.hint or "")
        server.communicate()
    assert inspect_cluster(directory, backup=True).run_state is RunState.BACKUP


def test_a_base_backup_may_hold_the_lock_file_of_the_server_that_it_was_taken_of(
    tmp_path: Path,
) -> None:
    directory = cluster(tmp_path / "a", 6)
    lock = directory / "postmaster.pid"
    lock.write_text(f"{os.getpid()}\n/somewhere/else\n4000000000\n")
    assert inspect_cluster(directory, backup=True).run_state is RunState.BACKUP
    lock.unlink()
    lock.symlink_to("nowhere")
    assert inspect_cluster(directory, backup=True).run_state is RunState.BACKUP


@pytest.mark.parametrize("state", [6, 2])
def test_a_copy_with_label_and_lock_file_recovers_from_where_the_label_says(
    state: int, tmp_path: Path
) -> None:
    """As `rsync -a` of a directory makes it between the two calls of a backup."""
    directory = cluster(tmp_path / "a", state, backup_start=0 if state == 6 else 5)
    (directory / "postmaster.pid").write_text("4000000\n/somewhere/else\n4000000000\n")
    without = inspect_cluster(directory, crashed=True)
    assert (without.run_state, without.replay_from) == (RunState.CRASHED, 0)
    label = "START WAL LOCATION: 0/2000028 (file 000000010000000000000002)\n"
    (directory / "backup_label").write_text(label)
    found = inspect_cluster(directory, crashed=True)
    assert (found.run_state, found.replay_from) == (RunState.CRASHED, 0x2000028)
    assert found.heals_torn, "whole pages are logged while a backup is taken"
