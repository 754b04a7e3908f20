"""Reads the fields that the control file and the log of every version begin with.

The Rust reader knows the whole control file of 12 to 19. Identifier, versions and state stand at
its beginning in every version: enough to tell whether two builds share a layout, and whether a
cluster was stopped, for a server that is still being written.
"""

from __future__ import annotations

import errno
import os
import stat
import struct
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal

from steelyard._core import read_control
from steelyard.engines.engine import UNPROTECTED
from steelyard.engines.local.owned_files import (
    names_below,
    opened_below,
    path_of,
    read_below,
    text_below,
)
from steelyard.model.errors import EngineError

if TYPE_CHECKING:
    from steelyard._core import Control

CONTROL_FILE = "global/pg_control"
KNOWN = frozenset({1201, 1300, 1700, 1800, 1905})
"""Values of pg_control_version that the Rust reader knows: PostgreSQL 12 to 19."""

CHECKSUMS = "checksums"
PROTECTIONS = (CHECKSUMS, UNPROTECTED)
"""Levels of page protection of a PostgreSQL cluster."""

SHUT_DOWN = 1  # DB_SHUTDOWNED of src/include/catalog/pg_control.h
SHUT_DOWN_IN_RECOVERY = 2  # DB_SHUTDOWNED_IN_RECOVERY: of a standby
IN_ARCHIVE_RECOVERY = 5  # DB_IN_ARCHIVE_RECOVERY: of a running standby
_BEGINNING = struct.Struct("=QIII")
_VERSION_AT = 8
_SAFE_BYTES = 512  # PG_CONTROL_MAX_SAFE_SIZE: any version's is padded beyond
_OTHER_ORDER: Literal["big", "little"] = "big" if sys.byteorder == "little" else "little"
_PAGE_BYTES = frozenset(1 << power for power in range(10, 16))
_LOG_SEGMENT_BYTES = frozenset(1 << power for power in range(20, 31))
RESTORE = "Restore it from a backup; pg_resetwal is the last resort."
_LATER = "A later PostgreSQL needs a later Steelyard; a cluster of a beta is made anew."
_SWAPPED = (
    "It is of a machine of the other byte order, and is read on one like it alone: there, or from "
    "a dump that was taken there (pg_dumpall)."
)


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
    beginning = read_below(directory, CONTROL_FILE)[: _BEGINNING.size]
    if len(beginning) < _BEGINNING.size:
        raise ValueError(f"control file is too short: {len(beginning)} bytes")
    return ControlBeginning(*_BEGINNING.unpack(beginning))


def read_layout(directory: Path) -> dict[str, int]:
    """What decides which builds can open a stopped cluster, as far as its files show it."""
    beginning = read_beginning(directory)
    segment = next(name for name in names_below(directory, "pg_wal") if len(name) == 24)
    with opened_below(directory, f"pg_wal/{segment}") as opened:
        (magic,) = struct.unpack("=H", os.read(opened, 2))  # XLOG_PAGE_MAGIC
    return {
        "pg_control": beginning.control_version,
        "catalogue": beginning.catalog_version,
        "write-ahead log": magic,
    }


def control_of(directory: Path) -> Control:
    """The whole control file of a cluster. OSError: cannot be read, or a link leads to it;
    ValueError: of an unknown version, or neither with checksums nor without."""
    with opened_below(directory, CONTROL_FILE) as opened:
        return read_control(path_of(opened))


LIMITS = (
    "max_connections", "max_worker_processes", "max_wal_senders", "max_prepared_transactions",
    "max_locks_per_transaction",
)  # fmt: skip
_LIMITS = struct.Struct("=5i")
_LIMITS_AT = {1905: 188}
_LIMITS_UNTIL_18_AT = 180  # behind wal_log_hints


def limits_of(directory: Path) -> dict[str, int]:
    """The LIMITS that the last server of a cluster had, of a standby its primary's: a standby needs
    as much (XLogReportParameters of xlog.c). Empty: they cannot be read."""
    try:
        content = read_below(directory, CONTROL_FILE)
    except OSError:
        return {}
    version = int.from_bytes(content[_VERSION_AT : _VERSION_AT + 4], sys.byteorder)
    if version not in KNOWN or len(content) < _SAFE_BYTES:
        return {}
    values = _LIMITS.unpack_from(content, _LIMITS_AT.get(version, _LIMITS_UNTIL_18_AT))
    return dict(zip(LIMITS, values, strict=True))


class DamagedControlError(ValueError):
    """A control file of a known version that no server wrote so."""


def sound_control(directory: Path) -> Control:
    """The control file of a stopped cluster, whose content is to be trusted. OSError, ValueError:
    as `control_of`; DamagedControlError."""
    control = control_of(directory)
    fault = impossible_size(control) if control["crc_ok"] else "its control file has a wrong CRC"
    if fault:
        raise DamagedControlError(fault)
    return control


def impossible_size(control: Control) -> str:
    """A size in a control file that no server was built with, in words; "": all are possible
    (configure's --with-blocksize and --with-segsize, initdb's --wal-segsize)."""
    page, log = int(control["block_size"]), int(control["wal_segment_size"])
    if page not in _PAGE_BYTES:
        return f"no server has pages of {page} bytes"
    if int(control["segment_blocks"]) == 0:
        return "no server has files of no pages"
    return "" if log in _LOG_SEGMENT_BYTES else f"no server has log segments of {log} bytes"


def unreadable_control(directory: Path, error: ValueError) -> EngineError:
    """The error where a cluster's control file is read or edited, and `error` is of its content."""
    hint = control_hint(directory / CONTROL_FILE, error)
    return EngineError(f'cannot use the cluster in "{directory}": {error}', hint=hint)


def control_hint(file: Path, error: ValueError) -> str:
    """What to do about a control file whose content is refused with `error`."""
    try:
        with open_regular(file) as stream:
            content = stream.read(_SAFE_BYTES)
    except OSError:
        content = b""
    if isinstance(error, DamagedControlError) or len(content) < _SAFE_BYTES:
        return RESTORE
    version = content[_VERSION_AT : _VERSION_AT + 4]
    return _SWAPPED if int.from_bytes(version, _OTHER_ORDER) in KNOWN else _LATER


def stopped_identifier(directory: Path) -> int | None:
    """The identifier of a cluster that was stopped cleanly with checksums on; None of another.

    Of a version that is not known yet, neither the checksums nor the file's own sum are verified.
    """
    try:
        beginning = read_beginning(directory)
        if beginning.control_version not in KNOWN:
            return beginning.system_identifier if beginning.state == SHUT_DOWN else None
        control = control_of(directory)
    except (OSError, ValueError):
        return None
    sound = control["crc_ok"] and control["state"] == "shut down"
    return beginning.system_identifier if sound and control["checksum_version"] == 1 else None


def stored_state(directory: Path) -> int | None:
    """The state in which a cluster's control file was last written; None: that cannot be read."""
    try:
        return read_beginning(directory).state
    except (OSError, ValueError):
        return None


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

    OSError: it cannot be read, or is a link or of another account.
    """
    try:
        lines = text_below(directory, "postmaster.pid").splitlines()
        pid = int(lines[_PID])
    except (FileNotFoundError, IndexError, ValueError):
        return None
    return PidFile(
        # A standalone backend (initdb, single-user mode) writes its pid with a minus sign.
        pid=abs(pid),
        shared_memory_id=_number(lines, _SHARED_MEMORY, 1),
        status=lines[_STATUS].strip() if len(lines) > _STATUS else "",
        started=_number(lines, _STARTED, 0),
    )


def _number(lines: Sequence[str], line: int, word: int) -> int | None:
    """A number in a lock file; None: the line is not there, or holds something else."""
    with suppress(IndexError, ValueError):
        return int(lines[line].split()[word])
    return None


def own_pid_file(directory: Path) -> PidFile | None:
    """The lock file of a cluster of ours; None also where something else has its name, which code
    of others may have put there: no server of ours lives by that."""
    try:
        return read_pid_file(directory)
    except OSError:
        return None


def read_regular(file: Path, most_bytes: int = 1 << 20) -> str:
    """The text of a regular file; anything else, or more than that, is an OSError, and no pipe
    blocks."""
    with open_regular(file) as stream:
        content = stream.read(most_bytes + 1)
    if len(content) > most_bytes:
        raise OSError(errno.EFBIG, f"longer than {most_bytes} bytes", str(file))
    return content.decode(errors="replace")


def open_regular(file: Path) -> BinaryIO:
    """A regular file, open for reading; anything else is an OSError, and no pipe blocks."""
    opened = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        require_regular(file, os.fstat(opened).st_mode)
    except OSError:
        os.close(opened)
        raise
    return os.fdopen(opened, "rb")


def require_regular(file: Path, mode: int) -> None:
    """OSError: a file of this mode (st_mode) is not a regular one."""
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "not a regular file", str(file))
