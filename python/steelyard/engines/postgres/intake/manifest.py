"""Reads a backup manifest file by file, however many it lists.

PostgreSQL writes one object a line (backup/backup_manifest.c, AddFileToBackupManifest), so neither
a manifest of a million files nor a line that never ends takes memory. One that another program has
formatted is read whole, up to a size.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from steelyard.engines.postgres.life.control import open_regular
from steelyard.model.files.bounded_json import JsonError, parse_json

WHOLE_BYTES = 16 << 20
LINE_BYTES = 64 << 10
"""Of a line: the longest path, escaped, takes half of it."""
MOST_BYTES = 256 << 20
"""Of a million and a half files."""
_ENTRY = b'{ "'


class Manifest:
    """What a manifest lists. JsonError: it is not one, or beyond a limit."""

    def __init__(self, opened: IO[bytes]) -> None:
        self._opened = opened
        size = os.fstat(opened.fileno()).st_size
        if size > MOST_BYTES:
            raise JsonError(f"it has more than {MOST_BYTES >> 20} MB")
        self._whole = size <= WHOLE_BYTES

    def entries(self) -> Iterator[dict[str, Any]]:
        """The objects of its files: "Path", or "Encoded-Path", and "Size" are theirs."""
        self._opened.seek(0)
        listed = self._listed() if self._whole else self._by_lines()
        for entry in listed:
            size = entry.get("Size") if isinstance(entry, dict) else None
            if not isinstance(size, int) or isinstance(size, bool):
                raise JsonError("an entry is no file with its size")
            name = entry.get("Path")
            if name is not None and not _names_file(name):
                raise JsonError("an entry has no name that a file can have")
            yield entry

    def _listed(self) -> Iterator[Any]:
        value = parse_json(self._opened.read(WHOLE_BYTES + 1))
        files = value.get("Files") if isinstance(value, dict) else None
        if not isinstance(files, list):
            raise JsonError('it has no list "Files"')
        yield from files

    def _by_lines(self) -> Iterator[Any]:
        within = False
        while line := self._opened.readline(LINE_BYTES + 1):
            if len(line) > LINE_BYTES:
                raise JsonError(f"a line is longer than {LINE_BYTES >> 10} kB")
            if within and line.startswith(_ENTRY):
                yield parse_json(line.rstrip().removesuffix(b","))
            elif within and line.startswith(b"]"):
                return  # the end of the list
            elif within:
                raise JsonError("an entry is no file with its size")
            else:
                within = line.startswith(b'"Files": [')
                if within and (rest := line.removeprefix(b'"Files": [').strip()):
                    yield parse_json(rest.removesuffix(b","))
        raise JsonError("its list of files does not end")


def _names_file(name: object) -> bool:
    """Whether it is text in UTF-8: JSON can also spell half of a letter."""
    if not isinstance(name, str) or "\0" in name:
        return False
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def manifest_sizes(file: Path) -> dict[str, int]:
    """Size in bytes by path, of names in UTF-8. OSError: it cannot be read; JsonError."""
    with open_regular(file) as opened:
        entries = Manifest(opened).entries()
        return {entry["Path"]: entry["Size"] for entry in entries if "Path" in entry}
