"""Keeps what a scrub writes for later ones: which files it has read completely, so that it can
resume when it was interrupted, and the catalogue of page LSNs that it is compared with.

Whether a scrub compares page LSNs with an earlier catalogue or begins a new one is decided here.
LSNs of another cluster, or from before a point-in-time recovery, pg_rewind or pg_resetwal, must not
be compared. They show by the system identifier, by the timeline, by a checkpoint before the
catalogue's, or by another log record at the catalogue's checkpoint.
"""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard._core import Segment, catalogue_origin
from steelyard.engines.postgres.life.control import read_regular, require_regular
from steelyard.integrity.scrub.cluster_state import ClusterState, RunState
from steelyard.integrity.scrub.wal import log_end, record_digest
from steelyard.model.errors import UsageError
from steelyard.model.files.own_directory import open_to_append
from steelyard.model.units import format_lsn

if TYPE_CHECKING:
    from steelyard._core import Origin

FORMAT = 2
_TIME = "%Y-%m-%d %H:%M:%S UTC"
_MOST_BYTES = 1 << 30


def copy_marks(path: Path, state: ClusterState) -> dict[str, Any]:
    """By what a copy of a cluster is known: a standby and every backup share the identifier.

    Files that were read without checksums have not been verified; a backup may be replaced by the
    next one in its place.
    """
    backup_start = state.replay_from if state.run_state is RunState.BACKUP else None
    return {
        "path": os.path.realpath(path),
        "checksums": state.layout.checksums,
        "backup_start": backup_start,
    }


def _difference(first: object, identity: Mapping[str, Any]) -> str | None:
    """In what a state file is of another copy of the same cluster; None: it is of another one."""
    if not isinstance(first, dict) or first.get("scrub_of") != identity["scrub_of"]:
        return None
    if first.get("format") != identity["format"]:
        return "Another version of Steelyard wrote it."
    if first.get("path") != identity.get("path"):
        return f'It is of a scrub of "{first.get("path")}".'
    if first.get("checksums") != identity.get("checksums"):
        return "Checksums were turned on or off since: what was read then was not judged so."
    return "It is of an earlier backup in the same place."


class StateFile:
    """A file with a line for every file that was read and found sound.

    Files with wrong blocks are not in it: the resumed scrub reads and reports them again.
    """

    def __init__(
        self, path: Path, system_identifier: int, copy: Mapping[str, Any] | None = None
    ) -> None:
        """`copy`: by what this copy of the cluster is known, as `copy_marks` gives it.

        UsageError: it is of another cluster or copy, not a state file, or cannot be written.
        """
        self.path = path
        self.done: dict[str, int] = {}  # label → bytes
        self._identity = {"format": FORMAT, "scrub_of": system_identifier, **(copy or {})}
        self.began = time.strftime(_TIME, time.gmtime())
        """When the first of these files was read."""
        self.unwritten = ""
        """Why writing failed; the scrub continues without it."""
        try:
            if path.exists():
                self._load()
            self._stream = open_to_append(path)
            if self._stream.seek(0, os.SEEK_END) == 0:
                self._write({**self._identity, "began": self.began})
        except OSError as error:
            raise UsageError(
                f'could not write state file "{path}": {error.strerror or error}'
            ) from error

    def _load(self) -> None:
        lines = read_regular(self.path, _MOST_BYTES).splitlines()
        try:
            first = json.loads(lines[0]) if lines else dict(self._identity)
        except ValueError:
            first = None
        if isinstance(first, dict):
            self.began = first.pop("began", "an unknown time")
        if first != self._identity:
            raise UsageError(
                f'cannot resume from "{self.path}": it is not of a scrub of this cluster',
                detail=_difference(first, self._identity),
                hint="Name another file, or remove it to begin anew.",
            )
        for line in lines[1:]:
            try:
                label, size = json.loads(line)
            except (ValueError, TypeError):
                continue  # a partial last line: the scrub was killed, or the disk was full
            self.done[label] = size

    def remaining(self, segments: Iterable[Segment]) -> list[Segment]:
        """The segments that were not read yet, or have changed their size since."""
        return [s for s in segments if self.done.get(s.label) != s.bytes]

    def add(self, segments: Iterable[Segment]) -> None:
        """Record that these were read and are sound, unless writing has failed before."""
        try:
            for segment in segments:
                if not self.unwritten:
                    self._write([segment.label, segment.bytes])
        except OSError as error:
            self.unwritten = error.strerror or str(error)

    def remove(self) -> str:
        """Delete the file after a complete scrub. Returns why that failed, or ""."""
        self._stream.close()
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:
            return error.strerror or str(error)
        return ""

    def close(self) -> None:
        """Keep the file for the next scrub."""
        self._stream.close()

    def _write(self, line: object) -> None:
        content = (json.dumps(line) + "\n").encode()
        if self._stream.write(content) < len(content):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


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
