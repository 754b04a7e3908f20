"""Removes the servers whose data directories lie below a directory, whoever started them."""

from __future__ import annotations

from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.postgres.processes.orphans import adopting_orphans, wait_for_orphans
from steelyard.engines.postgres.processes.shared_memory import remove_segments
from steelyard.engines.postgres.processes.stragglers import kill_inside


def remove_servers(directory: Path, account: Account) -> list[int]:
    """Kill every server below `directory` and its shared memory; the process ids killed.

    Those that we started ourselves, and were interrupted in stopping, are waited for too.
    """
    with adopting_orphans():
        killed = kill_inside(directory, account)
        wait_for_orphans(killed)
    for lock in directory.rglob("postmaster.pid"):
        remove_segments(lock.parent, account)
    return killed
