"""Inspects a data directory before its pages are read: layout, server process, log to replay."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from steelyard.engines.postgres.life.control import (
    CONTROL_FILE,
    PidFile,
    read_pid_file,
    read_regular,
)
from steelyard.integrity.scrub.backup.archive_paths import manifest_end
from steelyard.integrity.scrub.backup.packed_backups import refuse_framed_pages
from steelyard.integrity.scrub.layout import ClusterLayout, read_error, read_layout, read_major
from steelyard.integrity.scrub.wal import log_end, parse_lsn
from steelyard.model.errors import UsageError

STOPPED = ("shut down", "shut down in recovery")
_CLOCKS_DIFFER_S = 300
_START = re.compile(r"START WAL LOCATION: ([0-9A-F]+/[0-9A-F]+)")


class RunState(Enum):
    """Whether a server runs in a data directory; it decides what a wrong page means."""

    STOPPED = "stopped"  # cleanly: a wrong page is damaged
    RUNNING = "running"  # a wrong page is read again
    POSSIBLY = "possibly running"  # its process is not visible from here: read again, too
    CRASHED = "crashed"  # replay of the log may heal torn pages
    BACKUP = "base backup"  # the same: restoring it replays the log


@dataclass(frozen=True)
class ClusterState:
    """A data directory as it was found."""

    directory: Path
    layout: ClusterLayout
    run_state: RunState
    pid: int | None = None  # of the server that runs there
    replay_from: int | None = None  # replay may heal pages from this LSN on
    replay_to: int | None = None  # the end of that log; None: unknown, or the log is missing
    heals_torn: bool = True  # the log holds whole pages (full_page_writes)
    tablespaces: tuple[int, ...] = ()  # from a backup's tablespace_map


def inspect_cluster(
    directory: Path, *, backup: bool = False, crashed: bool = False
) -> ClusterState:
    """The state of a data directory. UsageError: it cannot be read, and why.

    `backup` and `crashed`: the user states what the files do not show.
    """
    try:
        mode = directory.stat().st_mode
    except FileNotFoundError:
        raise UsageError(f'not a data directory: "{directory}" is missing') from None
    except OSError as error:
        raise read_error(directory, error) from error
    if not stat.S_ISDIR(mode):
        raise UsageError(f'not a data directory: "{directory}" is a file')
    refuse_framed_pages(directory)
    layout = read_layout(directory / CONTROL_FILE, read_major(directory))
    lock = None if backup else read_pid_file(directory)
    pid = _visible_pid(directory) if backup else _server_pid(directory, trust_pid_file=not crashed)
    if (backup or crashed) and pid is not None:
        option = "--base-backup" if backup else "--crashed"
        raise UsageError(
            f'a server runs in "{directory}": its process is {pid}',
            hint=f"Leave out {option}; what the server is just writing is looked at again.",
        )
    if backup or ((directory / "backup_label").is_file() and lock is None):
        return _directory_backup(directory, layout)
    if pid is not None:
        recovering = is_recovering(layout, lock)
        return _cluster(directory, layout, RunState.RUNNING, pid, recovering)
    if layout.state in STOPPED:
        consistent = not (layout.backup_start_point or layout.backup_end_required)
        run_state = RunState.STOPPED if consistent else RunState.CRASHED
        return _cluster(directory, layout, run_state, None, not consistent)
    if lock is not None and not crashed and not _is_of_earlier_boot(lock):
        return ClusterState(directory, layout, RunState.POSSIBLY)
    return _cluster(directory, layout, RunState.CRASHED, None, True)


def _cluster(
    directory: Path, layout: ClusterLayout, run_state: RunState, pid: int | None, recovering: bool
) -> ClusterState:
    if not recovering:
        return ClusterState(directory, layout, run_state, pid)
    if (directory / "backup_label").is_file():
        # A server restores this backup right now, or will when it is started: by this label, not
        # by the control file (read_backup_label of access/transam/xlogrecovery.c).
        return replace(_directory_backup(directory, layout), run_state=run_state, pid=pid)
    ends = [log_end(directory, layout.redo, layout.timeline, layout.wal_segment_bytes)]
    # Archive recovery may read its log from elsewhere; it is known to reach these LSNs.
    ends += [layout.min_recovery_point, layout.backup_end_point]
    if layout.backup_start_point:
        ends.append(manifest_end(directory / "backup_manifest"))
    return ClusterState(
        directory,
        layout,
        run_state,
        pid,
        replay_from=layout.redo,
        replay_to=_latest(*ends),
        # While a backup is taken, whole pages are logged regardless of full_page_writes.
        heals_torn=layout.full_page_writes or layout.backup_start_point != 0,
    )


def _directory_backup(directory: Path, layout: ClusterLayout) -> ClusterState:
    return backup_state(
        directory,
        layout,
        path=directory,
        label=_text(directory / "backup_label"),
        tablespace_map=_text(directory / "tablespace_map"),
        log_end_from=lambda start: log_end(
            directory, start, layout.timeline, layout.wal_segment_bytes
        ),
    )


def backup_state(
    directory: Path,
    layout: ClusterLayout,
    *,
    path: Path,
    label: str,
    tablespace_map: str,
    log_end_from: Callable[[int], int | None],
) -> ClusterState:
    """The state of a base backup from its backup_label and tablespace_map, "" where it has none.

    `log_end_from` gives the end of the log that continues from an LSN; `path` is the path from the
    command line. UsageError: it is an incremental backup.
    """
    _refuse_incremental(label, path)
    start = _backup_start(label) or layout.redo
    return ClusterState(
        directory,
        layout,
        RunState.BACKUP,
        replay_from=start,
        replay_to=_latest(log_end_from(start), manifest_end(directory / "backup_manifest")),
        tablespaces=_mapped_tablespaces(tablespace_map),
    )


def _latest(*ends: int | None) -> int | None:
    """The latest known end; 0 and None are unknown."""
    return max((end for end in ends if end), default=None)


def _text(file: Path) -> str:
    try:
        return read_regular(file)
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise read_error(file, error) from error


def _refuse_incremental(label: str, path: Path) -> None:
    """UsageError: by its backup_label, the backup holds only changes since another backup."""
    if "INCREMENTAL FROM LSN" in label:
        raise UsageError(
            f'an incremental backup cannot be scrubbed: "{path}"',
            detail="Most of its files hold only the blocks that changed since another backup.",
            hint="Make it whole by pg_combinebackup, and scrub what that writes.",
        )


def _mapped_tablespaces(text: str) -> tuple[int, ...]:
    """The OIDs of the tablespaces in a tablespace_map."""
    return tuple(int(oid) for oid in re.findall(r"^(\d+) ", text, re.MULTILINE))


def _backup_start(label: str) -> int | None:
    """The LSN at which replay of a base backup begins, from its backup_label."""
    match = _START.search(label)
    return parse_lsn(match[1]) if match else None


def is_recovering(layout: ClusterLayout, lock: PidFile | None) -> bool:
    """Whether a running server may not have reached a consistent state yet.

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
    """Whether the machine booted after the server started, so that its process is gone."""
    try:
        match = re.search(r"^btime (\d+)$", Path("/proc/stat").read_text(), re.MULTILINE)
    except OSError:
        return False
    return (
        match is not None
        and lock.started is not None
        and lock.started + _CLOCKS_DIFFER_S < int(match[1])
    )


def _visible_pid(directory: Path) -> int | None:
    """The process id of a server that surely runs there. A backup may hold a copy of the lock file
    of the server that it was taken of, or anything else in its place."""
    with suppress(OSError):
        return _server_pid(directory, trust_pid_file=False)
    return None


def _server_pid(directory: Path, *, trust_pid_file: bool = True) -> int | None:
    """The process id of the server in the directory, as far as this account can see it.

    `trust_pid_file`: accept postmaster.pid when the process belongs to another account, so that its
    working directory cannot be read.
    """
    lock = read_pid_file(directory)
    if lock is None:
        return None
    try:
        return lock.pid if os.path.samefile(f"/proc/{lock.pid}/cwd", directory) else None
    except PermissionError:
        return lock.pid if trust_pid_file else None
    except OSError:
        return None
