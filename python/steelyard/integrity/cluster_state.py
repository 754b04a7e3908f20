"""Looks at a data directory before its pages are read: version, layout, and what lives in it."""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from steelyard._core import read_control
from steelyard.engines.postgres.control import CONTROL_FILE
from steelyard.engines.postgres.pidfile import read_pid_file
from steelyard.errors import UsageError

MAJORS = {1201: range(12, 13), 1300: range(13, 17), 1700: range(17, 18), 1800: range(18, 19)}
"""Major versions by the version of their control file (catalog/pg_control.h)."""
STOPPED = ("shut down", "shut down in recovery")
_READS = 20
_BETWEEN_READS_S = 0.05


class Life(Enum):
    """What lives in a data directory; it decides what damage means."""

    STOPPED = "stopped"  # cleanly: what is wrong is damaged
    RUNNING = "running"  # what is wrong is looked at again
    CRASHED = "crashed"  # torn pages may be healed by its write-ahead log
    BACKUP = "base backup"  # the same; restoring replays the log


@dataclass(frozen=True)
class Layout:
    """What the control file says of a cluster."""

    system_identifier: int
    timeline: int
    major: int
    catalog_version: int
    page_bytes: int
    segment_blocks: int
    wal_segment_bytes: int
    checksums: bool
    state: str
    checkpoint: int
    redo: int

    @property
    def tablespace_version(self) -> str:
        """The name of this cluster's directory in every tablespace (common/relpath.h)."""
        return f"PG_{self.major}_{self.catalog_version}"


@dataclass(frozen=True)
class ClusterState:
    """A data directory as it was found."""

    directory: Path
    layout: Layout
    life: Life
    pid: int | None = None  # of the server that runs there
    replay_from: int | None = None  # pages from here on may be healed by replay
    replay_to: int | None = None  # where the write-ahead log that is there ends at the latest


def look_at(directory: Path, *, backup: bool = False) -> ClusterState:
    """The state of a data directory. UsageError says why it is none that can be read."""
    if not directory.is_dir():
        kind = "a file" if directory.exists() else "missing"
        raise UsageError(f'not a data directory: "{directory}" is {kind}')
    layout = read_layout(directory / CONTROL_FILE, read_major(directory))
    label = directory / "backup_label"
    pid = None if backup else living_pid(directory)
    if backup or (label.is_file() and pid is None):
        start = backup_start(label.read_text(errors="replace")) if label.is_file() else None
        return ClusterState(
            directory, layout, Life.BACKUP, None, start or layout.redo, last_wal(directory, layout)
        )
    if pid is not None:
        return ClusterState(directory, layout, Life.RUNNING, pid)
    if layout.state in STOPPED:
        return ClusterState(directory, layout, Life.STOPPED)
    end = last_wal(directory, layout)
    return ClusterState(directory, layout, Life.CRASHED, None, layout.redo, end)


def read_major(directory: Path) -> int:
    """The major version of a data directory. UsageError: it is none, or too old."""
    file = directory / "PG_VERSION"
    try:
        text = file.read_text(errors="replace").strip()
    except FileNotFoundError:
        raise UsageError(
            f'not a data directory: "{directory}" has no file "PG_VERSION"',
            hint="Name the directory that `SHOW data_directory` tells.",
        ) from None
    except OSError as error:
        raise _unreadable(file, error) from error
    return major_of(text)


def major_of(text: str) -> int:
    """18 of "18". UsageError: a version that is not known."""
    known = sorted(major for majors in MAJORS.values() for major in majors)
    if not text.isdigit() or int(text) not in known:
        raise UsageError(
            f'cannot read a cluster of PostgreSQL "{text[:20]}"',
            detail=f"Known are {known[0]} to {known[-1]}.",
        )
    return int(text)


def read_layout(file: Path, major: int) -> Layout:
    """What a control file says. UsageError: unreadable, damaged, or not of this version.

    A running server writes it at any moment: one that does not add up is read again for a second.
    """
    for _ in range(_READS):
        try:
            control = read_control(file)
        except OSError as error:
            raise _unreadable(file, error) from error
        except ValueError as error:
            raise UsageError(f'could not read control file "{file}": {error}') from error
        if control["crc_ok"]:
            break
        time.sleep(_BETWEEN_READS_S)
    else:
        raise UsageError(
            f'control file is damaged: "{file}" has a wrong CRC',
            detail="Without it neither the size of pages nor whether they have checksums is known.",
            hint="Restore it from a backup; pg_resetwal is the last resort.",
        )
    if major not in MAJORS[control["pg_control_version"]]:
        raise UsageError(
            f'control file "{file}" is of another version than PG_VERSION, which says {major}',
            detail=f"Its pg_control_version is {control['pg_control_version']}.",
        )
    return Layout(
        system_identifier=control["system_identifier"],
        timeline=control["timeline"],
        major=major,
        catalog_version=control["catalog_version"],
        page_bytes=control["block_size"],
        segment_blocks=control["segment_blocks"],
        wal_segment_bytes=control["wal_segment_size"],
        checksums=control["checksum_version"] == 1,
        state=control["state"],
        checkpoint=control["checkpoint"],
        redo=control["redo"],
    )


def _unreadable(file: Path, error: OSError) -> UsageError:
    hint = None
    if isinstance(error, PermissionError):
        hint = "Run as the account that the data directory belongs to, or as root."
    return UsageError(f'could not read "{file}": {error.strerror}', hint=hint)


def living_pid(directory: Path) -> int | None:
    """The process id of a server in the directory, as far as this account can see it."""
    lock = read_pid_file(directory)
    if lock is None:
        return None
    try:
        return lock.pid if os.path.samefile(f"/proc/{lock.pid}/cwd", directory) else None
    except PermissionError:
        return lock.pid  # somebody else's process: it is taken at the file's word
    except OSError:
        return None


_START = re.compile(r"START WAL LOCATION: ([0-9A-F]+)/([0-9A-F]+)")


def backup_start(label: str) -> int | None:
    """Where replay of a base backup begins, as its backup_label says."""
    found = _START.search(label)
    return (int(found[1], 16) << 32) + int(found[2], 16) if found else None


def last_wal(directory: Path, layout: Layout) -> int | None:
    """The end of the newest segment of write-ahead log that is there; None: there is none.

    An LSN behind it is no page that waits for replay: it is damage that hit the LSN.
    """
    try:
        names = [entry.name for entry in (directory / "pg_wal").iterdir()]
    except OSError:
        return None
    return wal_end([name for name in names if _WAL_NAME.fullmatch(name)], layout.wal_segment_bytes)


_WAL_NAME = re.compile(r"[0-9A-F]{24}")


def wal_end(names: list[str], segment_bytes: int) -> int | None:
    """The end of the last of these segments (XLogFileName of access/xlog_internal.h)."""
    ends = [(int(n[8:16], 16) << 32) + (int(n[16:], 16) + 1) * segment_bytes for n in names]
    return max(ends, default=None)


def format_lsn(lsn: int) -> str:
    """As pg_lsn prints it: `"1/2A000028"`."""
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"
