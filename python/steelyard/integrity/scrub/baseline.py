"""Decides whether an earlier catalogue of LSNs says anything about the cluster of today.

LSNs of another cluster, or from before a point-in-time recovery, pg_rewind or pg_resetwal, are no
yardstick: identifier and timeline tell, a checkpoint that lies before the catalogue's, and a log
that holds something else at the catalogue's checkpoint than it did.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard._core import catalogue_origin
from steelyard.engines.postgres.life.pidfile import require_regular
from steelyard.integrity.scrub.cluster_state import ClusterState, Life, format_lsn
from steelyard.integrity.scrub.wal import log_end, record_digest
from steelyard.model.errors import UsageError

if TYPE_CHECKING:
    from steelyard._core import Origin


@dataclass(frozen=True)
class Baseline:
    """A catalogue that is compared with, or only begun."""

    path: Path
    origin: Origin  # of the one that will be written
    compare: bool
    note: str
    most_lsn: int  # no page can have a higher one


RUNNING_GROWTH = 1 << 38
"""Bytes of log that a server may write during a scrub; pages beyond are not catalogued."""


def baseline(path: Path, state: ClusterState) -> Baseline:
    """What to do with the catalogue at a path. UsageError: it is none, damaged, or another's."""
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
    most = _most_lsn(state)
    if not path.exists():
        return Baseline(
            path, origin, False, f'catalogue "{path}" is begun: the next scrub compares', most
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
        return Baseline(path, origin, True, f"compared with the catalogue of {when}", most)
    return Baseline(path, origin, False, f"the catalogue is begun anew: {why}", most)


def _require_writable(path: Path) -> None:
    """UsageError: no catalogue can be put there, which is better known before hours of reading."""
    draft = path.with_name(f"{path.name}.draft")  # the name of Writer in crates/pages
    try:
        if path.exists():
            require_regular(path, path.stat().st_mode)
        os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC, 0o644))
        require_regular(draft, draft.stat().st_mode)
        draft.unlink()
    except OSError as error:
        raise UsageError(
            f'could not write catalogue "{path}": {error.strerror or error}',
            hint="Name a file in a directory that this account may write to.",
        ) from error


def _digest(state: ClusterState, lsn: int, timeline: int) -> int:
    return record_digest(state.directory, lsn, timeline, state.layout.wal_segment_bytes)


def _most_lsn(state: ClusterState) -> int:
    layout = state.layout
    known = max(layout.checkpoint, layout.min_recovery_point)
    if state.life is Life.STOPPED:
        return known  # the checkpoint of the shutdown is the last record
    end = log_end(state.directory, layout.redo, layout.timeline, layout.wal_segment_bytes)
    return max(known, end or 0) + RUNNING_GROWTH
