"""Looks at a data directory before its pages are read: version, layout, and what lives in it."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from steelyard._core import read_control
from steelyard.engines.postgres.life.control import CONTROL_FILE
from steelyard.engines.postgres.life.pidfile import PidFile, read_pid_file, read_regular
from steelyard.integrity.scrub.wal import log_end, manifest_end, parse_lsn
from steelyard.model.errors import UsageError

MAJORS = {1201: range(12, 13), 1300: range(13, 17), 1700: range(17, 18), 1800: range(18, 19)}
"""Major versions by the version of their control file (catalog/pg_control.h)."""
STOPPED = ("shut down", "shut down in recovery")
_READS = 20
_BETWEEN_READS_S = 0.05
_CLOCKS_DIFFER_S = 300


class Life(Enum):
    """What lives in a data directory; it decides what damage means."""

    STOPPED = "stopped"  # cleanly: what is wrong is damaged
    RUNNING = "running"  # what is wrong is looked at again
    POSSIBLY = "possibly running"  # its process cannot be seen: the same
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
    full_page_writes: bool  # at the latest checkpoint
    min_recovery_point: int
    backup_start_point: int  # of the backup whose end is still to be replayed; 0: none
    backup_end_point: int
    backup_end_required: bool

    @property
    def tablespace_version(self) -> str:
        """The name of this cluster's directory in every tablespace (common/relpath.h)."""
        return f"PG_{self.major}_{self.catalog_version}"

    @property
    def replayed_from(self) -> int | None:
        """From which LSN on pages on disk may be older than they were, without a lost write.

        Replay begins at the latest restartpoint and puts every page back to what it was when the
        log first held it whole, also over a newer one (XLogReadBufferForRedoExtended of
        access/transam/xlogutils.c). It may be written like that, and need not be written again
        before the next restartpoint: a stop without one leaves it so. The control file has a
        minRecoveryPoint from the start of archive recovery to the first checkpoint of the server's
        own, which a promotion does not wait for (CreateEndOfRecoveryRecord of xlog.c).
        """
        return self.redo if self.min_recovery_point else None


@dataclass(frozen=True)
class ClusterState:
    """A data directory as it was found."""

    directory: Path
    layout: Layout
    life: Life
    pid: int | None = None  # of the server that runs there
    replay_from: int | None = None  # pages from here on may be healed by replay
    replay_to: int | None = None  # where that log ends; None: it is not known, or not there
    heals_torn: bool = True  # the log holds whole pages (full_page_writes)
    tablespaces: tuple[int, ...] = ()  # that a backup's tablespace_map names


def look_at(directory: Path, *, backup: bool = False, crashed: bool = False) -> ClusterState:
    """The state of a data directory. UsageError says why it is none that can be read.

    `backup` and `crashed` are the user's word for what the files do not tell.
    """
    if not directory.is_dir():
        kind = "a file" if directory.exists() else "missing"
        raise UsageError(f'not a data directory: "{directory}" is {kind}')
    layout = read_layout(directory / CONTROL_FILE, read_major(directory))
    lock = None if backup else read_pid_file(directory)
    pid = None if backup else living_pid(directory, at_its_word=not crashed)
    if crashed and pid is not None:
        raise UsageError(
            f'a server runs in "{directory}": its process is {pid}',
            hint="Leave out --crashed; what the server is just writing is looked at again.",
        )
    if backup or ((directory / "backup_label").is_file() and lock is None):
        return _backup(directory, layout)
    if pid is not None:
        return _open(directory, layout, Life.RUNNING, pid, is_recovering(layout, lock))
    if layout.state in STOPPED:
        consistent = not (layout.backup_start_point or layout.backup_end_required)
        life = Life.STOPPED if consistent else Life.CRASHED
        return _open(directory, layout, life, None, not consistent)
    if lock is not None and not crashed and not _is_of_earlier_boot(lock):
        return ClusterState(directory, layout, Life.POSSIBLY)
    return _open(directory, layout, Life.CRASHED, None, True)


def _open(
    directory: Path, layout: Layout, life: Life, pid: int | None, recovering: bool
) -> ClusterState:
    if not recovering:
        return ClusterState(directory, layout, life, pid)
    if pid is not None and (directory / "backup_label").is_file():
        return replace(_backup(directory, layout), life=life, pid=pid)  # it is just restored
    ends = [log_end(directory, layout.redo, layout.timeline, layout.wal_segment_bytes)]
    # The log of archive recovery may come from elsewhere: that it reaches here is known.
    ends += [layout.min_recovery_point, layout.backup_end_point]
    if layout.backup_start_point:
        ends.append(manifest_end(directory / "backup_manifest"))
    return ClusterState(
        directory,
        layout,
        life,
        pid,
        replay_from=layout.redo,
        replay_to=_latest(*ends),
        # While a backup is taken whole pages are logged in any case.
        heals_torn=layout.full_page_writes or layout.backup_start_point != 0,
    )


def _backup(directory: Path, layout: Layout) -> ClusterState:
    return backup_state(
        directory,
        layout,
        named=directory,
        label=_text(directory / "backup_label"),
        tablespace_map=_text(directory / "tablespace_map"),
        log_end_from=lambda start: log_end(
            directory, start, layout.timeline, layout.wal_segment_bytes
        ),
    )


def backup_state(
    directory: Path,
    layout: Layout,
    *,
    named: Path,
    label: str,
    tablespace_map: str,
    log_end_from: Callable[[int], int | None],
) -> ClusterState:
    """The state of a base backup by its backup_label and tablespace_map, "" where it has none.

    `log_end_from` tells where the log ends that leads on from an LSN. UsageError: what the user
    `named` is an incremental backup.
    """
    _refuse_incremental(label, named)
    start = backup_start(label) or layout.redo
    return ClusterState(
        directory,
        layout,
        Life.BACKUP,
        replay_from=start,
        replay_to=_latest(log_end_from(start), manifest_end(directory / "backup_manifest")),
        tablespaces=_mapped_tablespaces(tablespace_map),
    )


def _latest(*ends: int | None) -> int | None:
    """The latest of the ends that are known; 0 says as little as None."""
    return max((end for end in ends if end), default=None)


def _text(file: Path) -> str:
    try:
        return read_regular(file)
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise unreadable(file, error) from error


def _refuse_incremental(label: str, path: Path) -> None:
    """UsageError: backup_label says that only what changed since another backup is here."""
    if "INCREMENTAL FROM LSN" in label:
        raise UsageError(
            f'an incremental backup cannot be scrubbed: "{path}"',
            detail="Most of its files hold only the blocks that changed since another backup.",
            hint="Make it whole by pg_combinebackup, and scrub what that writes.",
        )


def _mapped_tablespaces(text: str) -> tuple[int, ...]:
    """The tablespaces of a backup, as its tablespace_map names them."""
    return tuple(int(found) for found in re.findall(r"^(\d+) ", text, re.MULTILINE))


def is_recovering(layout: Layout, lock: PidFile | None) -> bool:
    """Whether a server that lives may not have come to a consistent state yet.

    A standby accepts connections ("ready") as soon as it has.
    """
    status = lock.status if lock is not None else ""
    if layout.state == "in archive recovery":
        unfinished = layout.backup_start_point != 0 or layout.backup_end_required
        return unfinished or status != "ready"
    if layout.state in STOPPED:
        return False
    return status == "starting" or layout.state in ("in crash recovery", "starting up")


def _is_of_earlier_boot(lock: PidFile) -> bool:
    """Whether the machine was started after the server: then no process of it is left."""
    try:
        found = re.search(r"^btime (\d+)$", Path("/proc/stat").read_text(), re.MULTILINE)
    except OSError:
        return False
    return (
        found is not None
        and lock.started is not None
        and lock.started + _CLOCKS_DIFFER_S < int(found[1])
    )


def read_major(directory: Path) -> int:
    """The major version of a data directory. UsageError: it is none, or too old."""
    file = directory / "PG_VERSION"
    try:
        text = read_regular(file).strip()
    except FileNotFoundError:
        raise UsageError(
            f'not a data directory: "{directory}" has no file "PG_VERSION"',
            hint="Name the directory that `SHOW data_directory` tells.",
        ) from None
    except OSError as error:
        raise unreadable(file, error) from error
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
            raise unreadable(file, error) from error
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
        full_page_writes=control["full_page_writes"],
        min_recovery_point=control["min_recovery_point"],
        backup_start_point=control["backup_start_point"],
        backup_end_point=control["backup_end_point"],
        backup_end_required=control["backup_end_required"],
    )


def unreadable(file: Path, error: OSError) -> UsageError:
    """What to say of a file that the operating system does not let be read."""
    hint = None
    if isinstance(error, PermissionError):
        hint = "Run as the account that the data directory belongs to, or as root."
    return UsageError(f'could not read "{file}": {error.strerror or error}', hint=hint)


def living_pid(directory: Path, *, at_its_word: bool = True) -> int | None:
    """The process id of a server in the directory, as far as this account can see it.

    `at_its_word`: a process of another account, into which it cannot look, is the one it names.
    """
    lock = read_pid_file(directory)
    if lock is None:
        return None
    try:
        return lock.pid if os.path.samefile(f"/proc/{lock.pid}/cwd", directory) else None
    except PermissionError:
        return lock.pid if at_its_word else None
    except OSError:
        return None


_START = re.compile(r"START WAL LOCATION: ([0-9A-F]+/[0-9A-F]+)")


def backup_start(label: str) -> int | None:
    """Where replay of a base backup begins, as its backup_label says."""
    found = _START.search(label)
    return parse_lsn(found[1]) if found else None


def format_lsn(lsn: int) -> str:
    """As pg_lsn prints it: `"1/2A000028"`."""
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"
