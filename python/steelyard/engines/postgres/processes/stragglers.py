"""Finds and kills the programs of PostgreSQL that work inside a directory.

Every server process has its data directory as working directory, and programs.py starts initdb
there too: what a killed owner left behind is found without any list of process ids.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.postgres.processes.processes import every_pid, sample

_PROGRAMS = ("postgres", "initdb", "pg_", "psql", "vacuumdb")


def programs_inside(directory: Path, account: Account) -> list[int]:
    """Processes of the account whose working directory lies in `directory`."""
    inside = os.path.realpath(directory)

    def scan() -> list[int]:
        return [pid for pid in every_pid() if _works_inside(pid, inside)]

    # Asked as the account: root without CAP_SYS_PTRACE may not read the link /proc/PID/cwd.
    found: list[int] = account.call(scan)
    return found


def kill_inside(directory: Path, account: Account, timeout_s: float = 10) -> list[int]:
    """SIGKILL them until none is left; the process ids that were killed."""
    killed: list[int] = []
    deadline = time.monotonic() + timeout_s
    while pids := programs_inside(directory, account):
        for pid in pids:
            if pid not in killed:
                killed.append(pid)
            kill(pid, signal.SIGKILL)
        if time.monotonic() > deadline:
            break
        time.sleep(0.01)
    return killed


def kill(pid: int, number: signal.Signals) -> None:
    """Send a signal; a process that has gone is no error."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def _works_inside(pid: int, inside: str) -> bool:
    try:
        working = os.readlink(f"/proc/{pid}/cwd").removesuffix(" (deleted)")
        program = os.path.basename(os.readlink(f"/proc/{pid}/exe"))
    except OSError:
        return False
    if working != inside and not working.startswith(inside + "/"):
        return False
    now = sample(pid)
    return program.startswith(_PROGRAMS) and now is not None and now.state != "Z"
