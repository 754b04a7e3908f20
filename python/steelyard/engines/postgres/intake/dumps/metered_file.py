"""Reads a file of unknown length while the disk that it is unpacked on has room.

A few megabytes of gzip or of a custom archive can hold terabytes: how large a dump is when it is
restored is not known before.
"""

from __future__ import annotations

from pathlib import Path
from typing import IO, BinaryIO

from steelyard.engines.cache import free_bytes
from steelyard.model.errors import EngineError
from steelyard.model.units import format_bytes

RESERVE_BYTES = 256 << 20
"""What stays free on the disk."""
STEP_BYTES = 64 << 20
"""Between two looks at it."""


class MeteredFile:
    """A file that is read from; what it holds goes to the disk of `directory`."""

    def __init__(self, file: BinaryIO | IO[bytes], directory: Path) -> None:
        self._file = file
        self._directory = directory
        self._unchecked = 0

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes; none: the end. EngineError: the disk is nearly full."""
        chunk = self._file.read(size)
        self._unchecked += len(chunk)
        if self._unchecked >= STEP_BYTES:
            self._unchecked = 0
            free = free_bytes(self._directory)
            if free < RESERVE_BYTES:
                raise EngineError(
                    f"the disk is nearly full, and the dump goes on: {format_bytes(free)} are free",
                    hint="Free some room, or move the cache: STEELYARD_CACHE.",
                )
        return chunk
