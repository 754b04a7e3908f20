"""Walks the members of a tar archive, past what is broken in it, and says what that is.

tarfile ends without a word at the first header that is none: a member that lost its header takes
all that follow with it. The layout is that of POSIX ustar (port/tar.c of
PostgreSQL).
"""

from __future__ import annotations

import gzip
import os
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO

PACKED = (".gz", ".tgz")
_BLOCK = 512
_MAGIC = b"ustar"
_MAGIC_AT = 257
_NO_CONTENT = (
    tarfile.LNKTYPE,
    tarfile.SYMTYPE,
    tarfile.DIRTYPE,
    tarfile.FIFOTYPE,
    tarfile.CHRTYPE,
    tarfile.BLKTYPE,
)


class BrokenArchiveError(Exception):
    """Why an archive is not whole; what can be reached of it was given before.

    `within` is the name of the member in which it ends, if it does.
    """

    def __init__(self, reason: str, within: str | None = None) -> None:
        super().__init__(reason)
        self.within = within


class _Source:
    """The unpacked bytes of an archive, read forwards."""

    def __init__(self, path: Path) -> None:
        try:
            # pg_basebackup may write several gzip members in a row, which GzipFile reads as one.
            self._file: IO[bytes] | gzip.GzipFile = (
                gzip.GzipFile(path) if path.suffix in PACKED else path.open("rb")
            )
        except OSError as error:
            raise BrokenArchiveError(error.strerror or str(error)) from error

    def close(self) -> None:
        self._file.close()

    def read(self, at: int, most: int) -> bytes:
        """Bytes from `at` on, fewer where it ends.

        BrokenArchiveError: it cannot be read, or not be unpacked.
        """
        try:
            if self._file.tell() != at:
                self._file.seek(at)
            return self._file.read(most)
        except (OSError, EOFError, zlib.error) as error:
            raise BrokenArchiveError(str(error)) from error

    def end(self) -> int:
        """Its length in bytes."""
        try:
            return self._file.seek(0, os.SEEK_END)
        except (OSError, EOFError, zlib.error) as error:
            raise BrokenArchiveError(str(error)) from error


@dataclass(frozen=True)
class Member:
    """A member of an archive; its content can be read while it is the latest."""

    name: str
    offset: int  # of its content in the unpacked archive
    size: int  # of its content in bytes, as its header says
    is_file: bool
    _source: _Source

    @property
    def end(self) -> int:
        """Where the next header begins."""
        return self.offset + -(-self.size // _BLOCK) * _BLOCK

    def read(self, most: int) -> bytes:
        """The first bytes of its content. BrokenArchiveError: they are not all there."""
        return self._part(0, min(most, self.size))

    def pages(self, page_bytes: int) -> Iterator[bytes]:
        """Its content page by page; the last one may be short.

        BrokenArchiveError: it is not whole.
        """
        for done in range(0, self.size, page_bytes):
            yield self._part(done, min(page_bytes, self.size - done))

    def _part(self, at: int, wanted: int) -> bytes:
        part = self._source.read(self.offset + at, wanted)
        if len(part) < wanted:
            raise BrokenArchiveError("it ends within a file", self.name)
        return part


def members(path: Path) -> Iterator[Member]:
    """Every member that can be reached.

    BrokenArchiveError, at the end: the archive is not whole.
    """
    reasons: list[str] = []
    within = None
    with closing(_Source(path)) as source:
        try:
            yield from _walk(source, reasons)
        except BrokenArchiveError as broken:
            reasons.append(str(broken))
            within = broken.within
    if reasons:
        raise BrokenArchiveError("; ".join(reasons), within)


def _walk(source: _Source, reasons: list[str]) -> Iterator[Member]:
    """Members as they follow each other; `reasons` gets what stands between and behind them."""
    at, lost, empty = 0, -1, True
    member: Member | None = None
    while block := _next(source, at, member if lost < 0 else None):
        found = _member(block, at, source, after_loss=lost >= 0)
        if found is None:
            lost = at if lost < 0 else lost
            empty = empty and not block.strip(b"\0")
            at += len(block)
            continue
        if lost >= 0:
            reasons.append(f"bytes {lost} to {at - 1} belong to no member")
        lost, empty, member = -1, True, found
        yield found
        at = found.end
    if lost < 0 or (empty and at - lost < 2 * _BLOCK):
        reasons.append(f"it ends at byte {at} without the blocks that end an archive")
    elif not empty:
        reasons.append(f"what stands from byte {lost} on belongs to no member")


def _next(source: _Source, at: int, before: Member | None) -> bytes:
    """The block at a place, b"" at the end.

    BrokenArchiveError: the archive ends within the member before it.
    """
    name = before.name if before else None
    try:
        block = source.read(at, _BLOCK)
        if not block and before is not None and source.end() < before.offset + before.size:
            raise BrokenArchiveError("it ends within a file", name)
    except BrokenArchiveError as broken:
        raise BrokenArchiveError(str(broken), name) from broken
    return block


def _member(block: bytes, at: int, source: _Source, *, after_loss: bool) -> Member | None:
    """The member whose header this is; None: it is none.

    Among what was lost only a header with its magic is one: pages are searched there.
    """
    if len(block) < _BLOCK or (after_loss and block[_MAGIC_AT : _MAGIC_AT + 5] != _MAGIC):
        return None
    try:
        header = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except tarfile.HeaderError:
        return None
    if header.size < 0:
        return None
    size = 0 if header.type in _NO_CONTENT else header.size
    # The content of a sparse file is not what it says.
    is_file = header.isreg() and header.type != tarfile.GNUTYPE_SPARSE
    return Member(header.name.removeprefix("./"), at + _BLOCK, size, is_file, source)
