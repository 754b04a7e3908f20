"""Removes the servers whose data directories lie below a directory, whoever started them."""

from __future__ import annotations

import signal
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.postgres.shared_memory import posix_segments, remove_segments
from steelyard.engines.postgres.stragglers import kill, kill_inside, programs_inside


def remove_servers(directory: Path, account: Account) -> list[int]:
    """Kill every server below `directory` and its shared memory; the process ids killed."""
    pids = programs_inside(directory, account)
    for pid in pids:
        # Held first: none of them starts another or takes its shared memory down meanwhile.
        kill(pid, signal.SIGSTOP)
    segments = posix_segments(pids, account)
    killed = kill_inside(directory, account)
    data_directories = [lock.parent for lock in directory.rglob("postmaster.pid")]
    for data_directory in data_directories or [directory]:
        remove_segments(data_directory, account, segments)
    return killed
