"""Reads postmaster.pid: who serves a data directory, and whether it accepts connections.

Layout: src/include/utils/pidfile.h of PostgreSQL.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from steelyard.engines.postgres.life.regular import read_regular

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
