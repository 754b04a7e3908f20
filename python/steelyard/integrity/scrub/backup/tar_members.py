"""Lists the members of a tar archive, continues behind broken parts, and reports those; says which
files of a cluster they are, and checks the relation maps (pg_filenode.map) among them.

The tarfile module stops silently at the first invalid header, so that one damaged header would hide
all members behind it. The layout is POSIX ustar (port/tar.c of PostgreSQL).

A map says which files hold the mapped catalogues. A server reads it before any catalogue and does
not start with a damaged one, so that without its map a restored backup cannot be read.
"""

from __future__ import annotations

import gzip
import os
import re
import tarfile
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from steelyard._core import read_relation_map
from steelyard.engines.postgres.sql.relation_files import DEFAULT_TABLESPACE, GLOBAL_TABLESPACE
from steelyard.integrity.scrub.backup.archive_paths import GZIP_SUFFIXES
from steelyard.integrity.scrub.finding import Damage

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
_LINKS = (tarfile.LNKTYPE, tarfile.SYMTYPE)
_SPARSE = "a sparse file (tar -S)"
_SPARSE_NAME = re.compile(r"GNUSparseFile\.\d+/")
"""What GNU tar puts before the last part of the name of a sparse file in the format of POSIX."""
_HOLES, _MOST_WORDS = b"GNU.sparse.", 1 << 20
"""Of a header in that format, which says more of the next member."""
_MORE_HOLES_AT, _MORE_HOLES_BEHIND = 482, 504
"""In a header of GNU's own format, and in each block that follows one: whether another block of
holes comes before the content (oldgnu_header and sparse_header of GNU tar's tar.h)."""


class BrokenArchiveError(Exception):
    """What is broken in an archive, raised after all readable members were yielded.

    `within`: the name of the member in which the archive ends, if it does.
    """

    def __init__(self, reason: str, within: str | None = None) -> None:
        super().__init__(reason)
        self.within = within


class _Stream:
    """The uncompressed bytes of an archive, read forwards."""

    def __init__(self, path: Path) -> None:
        try:
            # pg_basebackup may write several gzip members in a row, which GzipFile reads as one.
            self._file: IO[bytes] | gzip.GzipFile = (
                gzip.GzipFile(path) if path.suffix in GZIP_SUFFIXES else path.open("rb")
            )
        except OSError as error:
            raise BrokenArchiveError(error.strerror or str(error)) from error

    def close(self) -> None:
        self._file.close()

    def read(self, at: int, max_bytes: int) -> bytes:
        """Bytes from `at` on, fewer at the end.

        BrokenArchiveError: reading or decompressing failed.
        """
        try:
            if self._file.tell() != at:
                self._file.seek(at)
            return self._file.read(max_bytes)
        except (OSError, EOFError, zlib.error) as error:
            raise BrokenArchiveError(str(error)) from error

    def end(self) -> int:
        """Its length in bytes. BrokenArchiveError: reading or decompressing failed."""
        try:
            return self._file.seek(0, os.SEEK_END)
        except (OSError, EOFError, zlib.error) as error:
            raise BrokenArchiveError(str(error)) from error


@dataclass(frozen=True)
class Member:
    """A member of an archive; its content is readable until the next member is yielded."""

    name: str
    offset: int  # of its content in the uncompressed archive
    size: int  # of its content in bytes, from its header
    is_file: bool
    _stream: _Stream
    instead: str = ""
    """What it is where its bytes are not the whole content of a file: a link, a sparse file. "":
    they are, or it is no file."""
    extends: bool = False  # it only says more of the next member

    @property
    def end(self) -> int:
        """Where the next header begins."""
        return self.offset + -(-self.size // _BLOCK) * _BLOCK

    def read(self, max_bytes: int) -> bytes:
        """The first bytes of its content. BrokenArchiveError: some of them are missing."""
        return self._part(0, min(max_bytes, self.size))

    def pages(self, page_bytes: int) -> Iterator[bytes]:
        """Its content page by page; the last one may be short.

        BrokenArchiveError: it is incomplete.
        """
        for at in range(0, self.size, page_bytes):
            yield self._part(at, min(page_bytes, self.size - at))

    def _part(self, at: int, length: int) -> bytes:
        part = self._stream.read(self.offset + at, length)
        if len(part) < length:
            raise BrokenArchiveError("it ends within a file", self.name)
        return part


def members(path: Path) -> Iterator[Member]:
    """Every readable member.

    BrokenArchiveError, behind the last one: the archive is not complete.
    """
    reasons: list[str] = []
    within = None
    with closing(_Stream(path)) as stream:
        try:
            yield from _walk(stream, reasons)
        except BrokenArchiveError as broken:
            reasons.append(str(broken))
            within = broken.within
    if reasons:
        raise BrokenArchiveError("; ".join(reasons), within)


def _walk(stream: _Stream, reasons: list[str]) -> Iterator[Member]:
    """The members in their order; appends to `reasons` what is broken between and behind them."""
    at, lost, empty, holes = 0, -1, True, False
    previous: Member | None = None
    while block := _block_at(stream, at, previous if lost < 0 else None):
        current = _member(block, at, stream, after_loss=lost >= 0, holes=holes)
        if current is None:
            lost = at if lost < 0 else lost
            empty = empty and not block.strip(b"\0")
            at += len(block)
            continue
        if lost >= 0:
            reasons.append(f"bytes {lost} to {at - 1} belong to no member")
        lost, empty, previous = -1, True, current
        holes = current.extends and _HOLES in current.read(_MOST_WORDS)
        yield current
        at = current.end
    if lost < 0 or (empty and at - lost < 2 * _BLOCK):
        reasons.append(f"it ends at byte {at} without the blocks that end an archive")
    elif not empty:
        reasons.append(f"what stands from byte {lost} on belongs to no member")


def _block_at(stream: _Stream, at: int, before: Member | None) -> bytes:
    """The block at offset `at`, b"" at the end.

    BrokenArchiveError: the archive ends within the member before it.
    """
    name = before.name if before else None
    try:
        block = stream.read(at, _BLOCK)
        if not block and before is not None and stream.end() < before.offset + before.size:
            raise BrokenArchiveError("it ends within a file", name)
    except BrokenArchiveError as broken:
        raise BrokenArchiveError(str(broken), name) from broken
    return block


def _member(
    block: bytes, at: int, stream: _Stream, *, after_loss: bool, holes: bool
) -> Member | None:
    """The member of a header block; None: not a header.

    `after_loss`: the block may be any page of a lost member, so only the magic makes it a header.
    `holes`: the header before it says that it is a sparse file.
    """
    if len(block) < _BLOCK or (after_loss and block[_MAGIC_AT : _MAGIC_AT + 5] != _MAGIC):
        return None
    try:
        header = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except tarfile.HeaderError:
        return None
    if header.size < 0:
        return None
    name, begin, instead = header.name.removeprefix("./"), at + _BLOCK, ""
    if header.type in _LINKS:
        instead = f'a link to "{header.linkname}"'
    elif header.type == tarfile.GNUTYPE_SPARSE:
        begin, instead = _behind_holes(block, begin, stream), _SPARSE
    elif header.isreg() and (holes or _SPARSE_NAME.search(name)):
        instead = _SPARSE
    return Member(
        name=_SPARSE_NAME.sub("", name),
        offset=begin,
        size=0 if header.type in _NO_CONTENT else header.size,
        is_file=header.isreg() and not instead,
        _stream=stream,
        instead=instead,
        extends=header.type in (tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE),
    )


def _behind_holes(header: bytes, at: int, stream: _Stream) -> int:
    """Where the content of a sparse file begins, whose header ends at `at`."""
    more = header[_MORE_HOLES_AT]
    while more and len(block := stream.read(at, _BLOCK)) == _BLOCK:
        at, more = at + _BLOCK, block[_MORE_HOLES_BEHIND]
    return at


_MAIN_FILE = re.compile(r"(global|base/(\d+))/([^/]+)")
_TABLESPACE_FILE = re.compile(r"(?:pg_tblspc/(\d+)/)?(PG_\d+_\d+)/(\d+)/([^/]+)")
"""In base.tar behind the number of its tablespace: one that a tar of the directory followed."""


def place_of(path: Path, name: str) -> tuple[str, int, int] | None:
    """(label, tablespace, database) of a member; None: not a file of a database."""
    archive = path.name.partition(".")[0]
    if archive == "base" and (match := _MAIN_FILE.fullmatch(name)):
        database = int(match[2] or 0)
        label = f"{match[1]}/{match[3]}"
        return label, DEFAULT_TABLESPACE if database else GLOBAL_TABLESPACE, database
    match = _TABLESPACE_FILE.fullmatch(name)
    oid = match[1] if match is not None and archive == "base" else archive
    if match is None or oid is None or not oid.isdecimal():
        return None
    return f"pg_tblspc/{oid}/{match[2]}/{match[3]}/{match[4]}", int(oid), int(match[3])


@dataclass(frozen=True)
class StoredMap:
    """A pg_filenode.map as an archive holds it."""

    label: str
    tablespace: int
    database: int  # 0: of what all databases share
    content: bytes


def damaged_maps(maps: Iterable[StoredMap], major: int) -> list[Damage]:
    """A finding for each map that a server of a major version would refuse."""
    damages = []
    with tempfile.NamedTemporaryFile(prefix="steelyard-map-") as file:
        for each in maps:
            file.seek(0)
            file.truncate()
            file.write(each.content)
            file.flush()
            try:
                read_relation_map(Path(file.name), major)
            except ValueError as error:
                damages.append(_finding(each, str(error)))
    return damages


def _finding(stored: StoredMap, reason: str) -> Damage:
    return Damage(
        path=stored.label,
        block=0,
        fork="main",
        reason="relation map",
        database=stored.database,
        tablespace=stored.tablespace,
        guess_detail=reason,
    )
