"""Reads version, page layout and recovery state of a cluster from PG_VERSION and pg_control."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from pathlib import Path

from steelyard._core import read_control
from steelyard.engines.postgres.life.control import (
    RESTORE,
    control_hint,
    impossible_size,
    read_regular,
)
from steelyard.integrity.scrub.backup.packed_backups import directory_hint
from steelyard.model.errors import UsageError

MAJORS = {
    1201: range(12, 13),
    1300: range(13, 17),
    1700: range(17, 18),
    1800: range(18, 19),
    1905: range(19, 20),
}
"""Major versions by the version of their control file (catalog/pg_control.h)."""
_READS = 20
_BETWEEN_READS_S = 0.05


@dataclass(frozen=True)
class ClusterLayout:
    """What the control file holds about a cluster."""

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
        """The LSN from which on pages on disk may be older than before, without a lost write.

        Replay begins at the latest restartpoint and restores every page from the first full-page
        image in the log, also over a newer page (XLogReadBufferForRedoExtended of
        access/transam/xlogutils.c). The older page may be written to disk, and need not be written
        again before the next restartpoint: a stop without one leaves it there. The control file has
        a minRecoveryPoint from the start of archive recovery to the first checkpoint of the
        server's own, which a promotion does not wait for (CreateEndOfRecoveryRecord of xlog.c).
        """
        return self.redo if self.min_recovery_point else None


def read_major(directory: Path) -> int:
    """The major version of a data directory. UsageError: not a data directory, or unsupported."""
    file = directory / "PG_VERSION"
    try:
        text = read_regular(file).strip()
    except FileNotFoundError:
        raise UsageError(
            f'not a data directory: "{directory}" has no file "PG_VERSION"',
            hint=directory_hint(directory),
        ) from None
    except OSError as error:
        raise read_error(file, error) from error
    return major_of(text)


def major_of(text: str) -> int:
    """18 of "18". UsageError: an unsupported version."""
    supported = sorted(major for majors in MAJORS.values() for major in majors)
    if not re.fullmatch(r"[1-9][0-9]", text) or int(text) not in supported:
        raise UsageError(
            f'cannot read a cluster of PostgreSQL "{text[:20]}"',
            detail=f"Known are {supported[0]} to {supported[-1]}.",
        )
    return int(text)


def read_layout(file: Path, major: int) -> ClusterLayout:
    """The content of a control file. UsageError: unreadable, damaged, or of another version.

    A running server may rewrite it at any moment, so a wrong CRC is retried for a second.
    """
    for _ in range(_READS):
        try:
            control = read_control(file)
        except OSError as error:
            raise read_error(file, error) from error
        except ValueError as error:
            raise UsageError(
                f'could not read control file "{file}": {error}', hint=control_hint(file, error)
            ) from error
        if control["crc_ok"]:
            break
        time.sleep(_BETWEEN_READS_S)
    else:
        raise UsageError(
            f'control file is damaged: "{file}" has a wrong CRC',
            detail="Without it neither the size of pages nor whether they have checksums is known.",
            hint=RESTORE,
        )
    if fault := impossible_size(control):
        raise UsageError(f'control file is damaged: "{file}": {fault}', hint=RESTORE)
    if major not in MAJORS[control["pg_control_version"]]:
        raise UsageError(
            f'control file "{file}" is of another version than PG_VERSION, which says {major}',
            detail=f"Its pg_control_version is {control['pg_control_version']}.",
        )
    return ClusterLayout(
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


def read_error(file: Path, error: OSError) -> UsageError:
    """The error for a file that the operating system refuses to read."""
    hint = None
    if isinstance(error, PermissionError):
        hint = "Run as the account that the data directory belongs to, or as root."
    return UsageError(f'could not read "{file}": {error.strerror or error}', hint=hint)
