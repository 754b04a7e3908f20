"""Reads postmaster.pid: process id, state and shared memory of a data directory's server.

Layout: src/include/utils/pidfile.h of PostgreSQL.
"""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass
from pathlib import Path

_PID, _STARTED, _SHARED_MEMORY, _STATUS = 0, 2, 6, 7


@dataclass(frozen=True)
class PidFile:
    """The lines of postmaster.pid that matter here."""

    pid: int
    shared_memory_id: int | None  # of the System V segment that guards the data directory
    status: str  # "starting", "ready", "stopping", "standby", "" when not yet written
    started: int | None = None  # seconds since 1970


def read_pid_file(directory: Path) -> PidFile | None:
    """The lock file of a data directory; None when there is none or it is being written.

    OSError: it cannot be read.
    """
    try:
        lines = read_regular(directory / "postmaster.pid").splitlines()
        pid = int(lines[_PID])
    except (FileNotFoundError, IndexError, ValueError):
        return None
    started = lines[_STARTED].strip() if len(lines) > _STARTED else ""
    segment = lines[_SHARED_MEMORY].split() if len(lines) > _SHARED_MEMORY else []
    return PidFile(
        # A standalone backend (initdb, single-user mode) writes its pid with a minus sign.
        pid=abs(pid),
        shared_memory_id=int(segment[1]) if len(segment) == 2 else None,
        status=lines[_STATUS].strip() if len(lines) > _STATUS else "",
        started=int(started) if started.isdigit() else None,
    )


def read_regular(file: Path) -> str:
    """The text of a file. OSError: it cannot be read, or is a directory, a device or a pipe."""
    # Without O_NONBLOCK opening a pipe waits for a writer.
    opened = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(opened, encoding="utf-8", errors="replace") as stream:
        require_regular(file, os.fstat(opened).st_mode)
        return stream.read()


def require_regular(file: Path, mode: int) -> None:
    """OSError: a file of this mode (st_mode) is not a regular one."""
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "not a regular file", str(file))
