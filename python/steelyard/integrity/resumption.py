"""Remembers which files a scrub has read to the end, so that one that was ended can go on."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import IO

from steelyard._core import Segment
from steelyard.errors import RecordError, UsageError

FORMAT = 1
_TIME = "%Y-%m-%d %H:%M:%S UTC"


class Resumption:
    """A file with a line for every file that was read and found sound.

    What was wrong is not in it: it is read and told again.
    """

    def __init__(self, path: Path, system_identifier: int) -> None:
        """UsageError: the file is of another cluster, or is something else."""
        self.path = path
        self.done: dict[str, int] = {}  # label → bytes
        self._identity = {"format": FORMAT, "scrub_of": system_identifier}
        self.began = time.strftime(_TIME, time.gmtime())
        """When the first of these files was read."""
        if path.exists():
            self._recall()
        try:
            self._stream: IO[str] = path.open("a", encoding="utf-8")
        except OSError as error:
            raise UsageError(f'could not write "{path}": {error.strerror}') from error
        if self._stream.tell() == 0:
            self._write({**self._identity, "began": self.began})

    def _recall(self) -> None:
        lines = self.path.read_text(encoding="utf-8", errors="replace").splitlines()
        try:
            first = json.loads(lines[0]) if lines else dict(self._identity)
        except ValueError:
            first = None
        if isinstance(first, dict):
            self.began = first.pop("began", "an unknown time")
        if first != self._identity:
            raise UsageError(
                f'cannot go on with "{self.path}": it is not of a scrub of this cluster',
                hint="Name another file, or remove it to begin anew.",
            )
        for line in lines[1:]:
            try:
                label, size = json.loads(line)
            except ValueError:
                continue  # the last line of a scrub that was killed
            self.done[label] = size

    def left(self, segments: Iterable[Segment]) -> list[Segment]:
        """The segments that were not read yet, or have changed their size since."""
        return [s for s in segments if self.done.get(s.label) != s.bytes]

    def add(self, segments: Iterable[Segment]) -> None:
        """Remember that these were read and are sound. RecordError: it cannot be written."""
        for segment in segments:
            self._write([segment.label, segment.bytes])

    def finish(self) -> None:
        """All is read: nothing is left to go on with."""
        self._stream.close()
        self.path.unlink(missing_ok=True)

    def close(self) -> None:
        """Keep it for another time."""
        self._stream.close()

    def _write(self, line: object) -> None:
        try:
            self._stream.write(json.dumps(line) + "\n")
            self._stream.flush()
        except OSError as error:
            raise RecordError(f'could not write "{self.path}": {error.strerror}') from error
