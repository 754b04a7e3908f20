"""Records which files a scrub has read completely, so that an interrupted scrub can resume."""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from steelyard._core import Segment
from steelyard.engines.postgres.life.control import read_regular
from steelyard.integrity.scrub.cluster_state import ClusterState, RunState
from steelyard.model.errors import UsageError
from steelyard.model.files.own_directory import open_to_append

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
