"""Reads the fields that the control file and the log of every version begin with.

The Rust reader knows the whole control file of 12 to 18. Identifier, versions and state stand at
its beginning in every version: enough to tell whether two builds share a layout, and whether a
cluster was stopped, for a server that is still being written.
"""

from __future__ import annotations

import errno
import stat
import struct
from dataclasses import dataclass
from pathlib import Path

from steelyard._core import read_control
from steelyard.engines.engine import UNPROTECTED
from steelyard.model.errors import EngineError
from steelyard.model.files.small_file import MOST_OF_LOCK, read_small

CONTROL_FILE = "global/pg_control"
KNOWN = frozenset({1201, 1300, 1700, 1800})
"""Values of pg_control_version that the Rust reader knows: PostgreSQL 12 to 18."""

CHECKSUMS = "checksums"
PROTECTIONS = (CHECKSUMS, UNPROTECTED)
"""Levels of page protection of a PostgreSQL cluster."""

SHUT_DOWN = 1  # DB_SHUTDOWNED of src/include/catalog/pg_control.h
_BEGINNING = struct.Struct("=QIII")


@dataclass(frozen=True)
class ControlBeginning:
    """The fields that stand at the beginning of every control file, in this order."""

    system_identifier: int
    control_version: int
    catalog_version: int
    state: int


def verifies(protection: str) -> bool:
    """Whether pages are verified at a level of protection; EngineError: there is none such."""
    if protection not in PROTECTIONS:
        raise EngineError(
            f'PostgreSQL has no page protection "{protection}"',
            detail=f"It has {' and '.join(PROTECTIONS)}.",
        )
    return protection == CHECKSUMS


def read_beginning(directory: Path) -> ControlBeginning:
    """Of the cluster in a directory. OSError: cannot be read; ValueError: too short."""
    with (directory / CONTROL_FILE).open("rb") as file:
        found = file.read(_BEGINNING.size)
    if len(found) < _BEGINNING.size:
        raise ValueError(f"control file is too short: {len(found)} bytes")
    return ControlBeginning(*_BEGINNING.unpack(found))


def read_layout(directory: Path) -> dict[str, int]:
    """What decides which builds can open a stopped cluster, as far as its files show it."""
    found = read_beginning(directory)
    segment = next(p for p in sorted((directory / "pg_wal").iterdir()) if len(p.name) == 24)
    with segment.open("rb") as file:
        (magic,) = struct.unpack("=H", file.read(2))  # XLOG_PAGE_MAGIC
    return {
        "pg_control": found.control_version,
        "catalogue": found.catalog_version,
        "write-ahead log": magic,
    }


def stopped_identifier(directory: Path) -> int | None:
    """The identifier of a cluster that was stopped cleanly with checksums on; None of another.

    Of a version that is not known yet, neither the checksums nor the file's own sum are verified.
    """
    try:
        beginning = read_beginning(directory)
        if beginning.control_version not in KNOWN:
            return beginning.system_identifier if beginning.state == SHUT_DOWN else None
        control = read_control(directory / CONTROL_FILE)
    except (OSError, ValueError):
        return None
    sound = control["crc_ok"] and control["state"] == "shut down"
    return beginning.system_identifier if sound and control["checksum_version"] == 1 else None


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
        lines = read_small(
            directory / "postmaster.pid", MOST_OF_LOCK, errors="replace"
        ).splitlines()
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
    """The text of a small file. OSError: it cannot be read, is a directory, a device or a pipe, or
    is too large."""
    return read_small(file, errors="replace")


def require_regular(file: Path, mode: int) -> None:
    """OSError: a file of this mode (st_mode) is not a regular one."""
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "not a regular file", str(file))
