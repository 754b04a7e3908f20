"""Records which files a scrub has read completely, so that an interrupted scrub can resume."""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Iterable
from pathlib import Path

from steelyard._core import Segment
from steelyard.engines.postgres.life.control import read_regular
from steelyard.model.errors import UsageError
from steelyard.model.files.own_directory import open_to_append

FORMAT = 1
_TIME = "%Y-%m-%d %H:%M:%S UTC"
_MOST_BYTES = 1 << 30


class StateFile:
    """A file with a line for every file that was read and found sound.

    Files with wrong blocks are not in it: the resumed scrub reads and reports them again.
    """

    def __init__(self, path: Path, system_identifier: int) -> None:
        """UsageError: it is of another cluster, not a state file, or cannot be written."""
        self.path = path
        self.done: dict[str, int] = {}  # label → bytes
        self._identity = {"format": FORMAT, "scrub_of": system_identifier}
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
