"""Decides whether a scrub compares page LSNs with an earlier catalogue or begins a new one.

LSNs of another cluster, or from before a point-in-time recovery, pg_rewind or pg_resetwal, must not
be compared. They show by the system identifier, by the timeline, by a checkpoint before the
catalogue's, or by another log record at the catalogue's checkpoint.
"""

from __future__ import annotations

import os
import re
import secrets
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard._core import catalogue_origin
from steelyard.engines.postgres.life.control import require_regular
from steelyard.integrity.scrub.cluster_state import ClusterState, RunState
from steelyard.integrity.scrub.wal import log_end, record_digest
from steelyard.model.errors import UsageError
from steelyard.model.units import format_lsn

if TYPE_CHECKING:
    from steelyard._core import Origin


@dataclass(frozen=True)
class LsnCatalogue:
    """The catalogue that a scrub writes, after comparing with the one at the same path or not."""

    path: Path
    origin: Origin  # of the catalogue to be written
    compare: bool
    note: str
    max_lsn: int  # no page can have a higher one


DRAFT_SECONDS = 24 * 3600
RUNNING_GROWTH = 1 << 38
"""Bytes of log that a server may write during a scrub; higher LSNs are not catalogued."""


def open_catalogue(path: Path, state: ClusterState) -> LsnCatalogue:
    """The catalogue at a path. UsageError: not a catalogue, damaged, or of another cluster."""
    _require_writable(path)
    layout = state.layout
    origin: Origin = (
        layout.system_identifier,
        layout.timeline,
        layout.page_bytes,
        layout.segment_blocks,
        layout.checkpoint,
        int(time.time()),
        _digest(state, layout.checkpoint, layout.timeline),
    )
    max_lsn = _max_lsn(state)
    if not path.exists():
        return LsnCatalogue(
            path, origin, False, f'catalogue "{path}" is begun: the next scrub compares', max_lsn
        )
    try:
        before = catalogue_origin(path)
    except (OSError, ValueError) as error:
        raise UsageError(
            f'could not read catalogue "{path}": {getattr(error, "strerror", None) or error}',
            hint="Name another file, or remove it to begin anew.",
        ) from error
    if before[0] != layout.system_identifier or before[2:4] != origin[2:4]:
        raise UsageError(
            f'catalogue "{path}" is of another cluster: its system identifier is {before[0]}',
            detail=f"This cluster's is {layout.system_identifier}.",
            hint="Keep one catalogue for each cluster.",
        )
    if before[1] != layout.timeline:
        why = f"the cluster went from timeline {before[1]} to {layout.timeline}"
    elif before[4] > layout.checkpoint:
        why = (
            f"the whole cluster went back, from checkpoint {format_lsn(before[4])} to "
            f"{format_lsn(layout.checkpoint)} (pg_resetwal, or an old copy of all of it)"
        )
    elif (now := _digest(state, before[4], before[1])) and before[6] not in (0, now):
        why = (
            f"its log holds another past at {format_lsn(before[4])}: an old copy of all of it was "
            "brought back and ran on"
        )
    else:
        when = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(before[5]))
        return LsnCatalogue(path, origin, True, f"compared with the catalogue of {when}", max_lsn)
    return LsnCatalogue(path, origin, False, f"the catalogue is begun anew: {why}", max_lsn)


def _require_writable(path: Path) -> None:
    """UsageError: no catalogue can be written there. Checked before hours of reading."""
    trial = path.with_name(f"{path.name}.{secrets.token_hex(8)}.draft")
    try:
        if path.exists():
            require_regular(path, path.stat().st_mode)
        _remove_old_drafts(path)
        os.close(os.open(trial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644))
        trial.unlink()
    except OSError as error:
        raise UsageError(
            f'could not write catalogue "{path}": {error.strerror or error}',
            hint="Name a file in a directory that this account may write to.",
        ) from error


def _remove_old_drafts(path: Path) -> None:
    """What killed scrubs left, by the names of Writer in crates/pages: files that nothing was
    written to for a day."""
    name = re.compile(re.escape(path.name) + r"\.[0-9a-f]{16}\.draft")
    with os.scandir(path.parent) as entries:
        for entry in entries:
            if name.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                age = time.time() - entry.stat(follow_symlinks=False).st_mtime
                if age > DRAFT_SECONDS:
                    os.unlink(entry.path)


def _digest(state: ClusterState, lsn: int, timeline: int) -> int:
    return record_digest(state.directory, lsn, timeline, state.layout.wal_segment_bytes)


def _max_lsn(state: ClusterState) -> int:
    layout = state.layout
    recorded = max(layout.checkpoint, layout.min_recovery_point)
    if state.run_state is RunState.STOPPED:
        return recorded  # the shutdown checkpoint is the last record
    end = log_end(state.directory, layout.redo, layout.timeline, layout.wal_segment_bytes)
    return max(recorded, end or 0) + RUNNING_GROWTH
