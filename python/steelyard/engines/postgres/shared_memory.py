"""Removes what a killed server leaves in shared memory: it cannot do so itself any more.

A server that stops cleanly removes its System V segment (the guard of its data directory) and its
POSIX segments (/dev/shm/PostgreSQL.NUMBER). After SIGKILL both stay, until the next start on the
same data directory; a throw-away data directory has no next start.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterable
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.postgres.pidfile import read_pid_file

_SEGMENT = re.compile(r"/dev/shm/PostgreSQL\.\d+")
_IPC_RMID = 0  # bits/ipc.h


def posix_segments(pids: Iterable[int], account: Account) -> list[str]:
    """The POSIX segments that these processes have mapped."""
    wanted = list(pids)

    def read_all() -> list[str]:
        return sorted({path for pid in wanted for path in _mapped(pid)})

    try:
        return read_all()
    except PermissionError:
        found: list[str] = account.call(read_all)
        return found


def remove_segments(directory: Path, account: Account, posix: Iterable[str]) -> None:
    """Remove the segments of a dead server: the System V one by its lock file, `posix` by name."""
    for path in posix:
        if _SEGMENT.fullmatch(path):
            Path(path).unlink(missing_ok=True)
    lock = read_pid_file(directory)
    if lock is None or lock.shared_memory_id is None:
        return
    if _abandoned(lock.shared_memory_id, account.uid):
        ctypes.CDLL(None).shmctl(lock.shared_memory_id, _IPC_RMID, None)


def _mapped(pid: int) -> list[str]:
    try:
        maps = Path(f"/proc/{pid}/maps").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return []
    return _SEGMENT.findall(maps)


def _abandoned(segment: int, uid: int) -> bool:
    """Whether a System V segment exists, belongs to the account, and nobody is attached."""
    try:
        lines = Path("/proc/sysvipc/shm").read_text().splitlines()
    except FileNotFoundError:
        return False
    names = lines[0].split()
    for line in lines[1:]:
        values = dict(zip(names, line.split(), strict=False))
        if values["shmid"] == str(segment):
            return values["nattch"] == "0" and values["uid"] == str(uid)
    return False
