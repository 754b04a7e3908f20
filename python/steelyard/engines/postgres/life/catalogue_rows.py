"""Reads rows of system catalogues from their files, without a server, as far as they surely count.

A row counts where its transaction committed and no other deleted it, by the hints on the row or by
pg_xact. What cannot be decided does not count: nothing is expected that may not be there.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from steelyard._core import Segment, read_relation_map
from steelyard.engines.local.owned_files import opened_below, path_of, read_below
from steelyard.engines.postgres.life.control import open_regular

PG_DATABASE, PG_CLASS, PG_TABLESPACE = 1262, 1259, 1213
"""OIDs of catalogues that only a map names (catalog/pg_database.h and so on)."""
NAMES = {PG_DATABASE: "pg_database", PG_CLASS: "pg_class", PG_TABLESPACE: "pg_tablespace"}
_HEADER_BYTES, _POINTER_BYTES = 24, 4
_NORMAL = 1
_ROW = struct.Struct("=II4x6xHHB")
"""t_xmin, t_xmax, t_infomask2, t_infomask, t_hoff (access/htup_details.h)."""
_LOCK_ONLY, _MULTI = 0x0080, 0x1000
_XMIN_COMMITTED, _XMIN_INVALID = 0x0100, 0x0200
_XMAX_COMMITTED, _XMAX_INVALID = 0x0400, 0x0800
_FIRST_NORMAL_XID = 3
_COMMITTED, _ABORTED = 1, 2
"""States of a transaction, two bits each (access/clog.h)."""
_XIDS_A_BYTE, _PAGES_A_SEGMENT = 4, 32
_OID_NAME = struct.Struct("=I64s")
"""Both pg_database and pg_tablespace begin so."""
_NAMES_AT, _PROVIDER_AT, _COLLATE_AT = 76, 76, 96
"""Of datcollate as a name, of datlocprovider, and of datcollate as a text (pg_database.h, 12 to
19)."""
_IS_TEMPLATE_AT, _IS_TEMPLATE_AT_15 = 204, 77
"""Of datistemplate, before locales became texts and since."""
_PG_CLASS = struct.Struct("=I64s4x4x4x4xIII")
"""oid, relname, then relam, relfilenode and reltablespace (catalog/pg_class.h, 12 to 19)."""
HEAP = 2
"""OID of PostgreSQL's own access method for tables (catalog/pg_am.dat)."""
_PERSISTENCE_AT = 114
"""Of relpersistence and relkind behind it; four bytes further from 18 on, by relallfrozen."""
_CHUNK_PAGES = 128
_SHARED_MAP = "global/pg_filenode.map"


@dataclass(frozen=True)
class Database:
    """A row of pg_database."""

    oid: int
    name: str
    tablespace: int
    valid: bool  # False: DROP DATABASE was interrupted


@dataclass(frozen=True)
class DatabaseLocale:
    """The locale in a row of pg_database."""

    name: str
    provider: str  # datlocprovider: "c" (libc), "i" (ICU), "b" (built in)
    collate: str  # of libc, whatever the provider
    ctype: str


@dataclass(frozen=True)
class StoredRelation:
    """A row of pg_class whose relation has a file that it names itself."""

    oid: int
    name: str
    filenode: int
    tablespace: int  # 0: that of the database
    persistence: str  # "p", "u" or "t"
    kind: str  # relkind
    method: int  # relam


class Commits:
    """What became of transactions, from pg_xact."""

    def __init__(self, directory: Path, page_bytes: int) -> None:
        self._directory = directory / "pg_xact"
        self._xids = page_bytes * _XIDS_A_BYTE * _PAGES_A_SEGMENT
        self._segment = lru_cache(maxsize=8)(self._read)

    def state(self, xid: int) -> int:
        """1: it committed; 2: it was rolled back; 0: neither is known."""
        if xid < _FIRST_NORMAL_XID:
            return _COMMITTED
        number, inside = divmod(xid, self._xids)
        segment, byte = self._segment(number), inside // _XIDS_A_BYTE
        return segment[byte] >> 2 * (inside % _XIDS_A_BYTE) & 3 if byte < len(segment) else 0

    def _read(self, number: int) -> bytes:
        try:
            with open_regular(self._directory / f"{number:04X}") as file:
                return file.read(self._xids // _XIDS_A_BYTE)
        except OSError:
            return b""


@dataclass(frozen=True)
class CatalogueReader:
    """Reads catalogues of one cluster; `damaged`: (label, block) of pages that are not read."""

    major: int
    page_bytes: int
    segment_blocks: int
    commits: Commits
    damaged: Collection[tuple[str, int]]

    def databases(self, segments: Sequence[Segment]) -> list[Database]:
        """The rows of pg_database, whose file these segments are. OSError: it cannot be read."""
        # datconnlimit and dattablespace moved when datcollate and datctype became text.
        limit, tablespace = (208, 224) if self.major < 15 else (80, 92)
        databases = []
        for row in self._rows(segments, tablespace + 4):
            oid, name = _OID_NAME.unpack_from(row)
            (connections,) = struct.unpack_from("=i", row, limit)
            (tablespace_oid,) = struct.unpack_from("=I", row, tablespace)
            databases.append(Database(oid, _name(name), tablespace_oid, connections != -2))
        return databases

    def tablespaces(self, segments: Sequence[Segment]) -> dict[int, str]:
        """Names by OID in pg_tablespace, whose file these segments are. OSError."""
        rows = [_OID_NAME.unpack_from(row) for row in self._rows(segments, _OID_NAME.size)]
        return {oid: _name(name) for oid, name in rows}

    def relations(self, segments: Sequence[Segment]) -> list[StoredRelation]:
        """The rows of pg_class that name a file, whose file these segments are. OSError."""
        at = _PERSISTENCE_AT + (4 if self.major >= 18 else 0)
        relations = []
        for row in self._rows(segments, at + 2):
            oid, name, method, filenode, tablespace = _PG_CLASS.unpack_from(row)
            persistence, kind = chr(row[at]), chr(row[at + 1])
            if filenode and kind in "riStm":
                relations.append(
                    StoredRelation(
                        oid, _name(name), filenode, tablespace, persistence, kind, method
                    )
                )
        return relations

    def _rows(self, segments: Sequence[Segment], least_bytes: int) -> Iterator[bytes]:
        """The data of rows that count and have so many bytes at least."""
        page_bytes = self.page_bytes
        for segment in sorted(segments, key=lambda s: s.segment):
            first = segment.segment * self.segment_blocks
            with open_regular(segment.path) as file:
                file.seek(segment.offset)
                block, end = first, first + segment.bytes // page_bytes
                while block < end and (chunk := file.read(page_bytes * _CHUNK_PAGES)):
                    for start in range(0, len(chunk) - page_bytes + 1, page_bytes):
                        if (segment.label, block) not in self.damaged:
                            page = chunk[start : start + page_bytes]
                            yield from _page_rows(page, least_bytes, self.commits)
                        block += 1


def shared_catalogue(directory: Path, oid: int, major: int) -> bytes:
    """The content of the file of a catalogue that all databases share: `PG_DATABASE`. OSError,
    ValueError, KeyError: it, or the map that names it, cannot be read."""
    with opened_below(directory, _SHARED_MAP) as descriptor:
        files = dict(read_relation_map(path_of(descriptor), major))
    return read_below(directory, f"global/{files[oid]}")


def database_names(content: bytes, directory: Path, page_bytes: int) -> list[str]:
    """The names in the rows of pg_database that count, whose file has this content."""
    return [name for _, name in _named_rows(content, directory, page_bytes)]


def tablespace_names(content: bytes, directory: Path, page_bytes: int) -> dict[int, str]:
    """The names by OID in the rows of pg_tablespace that count, whose file has this content."""
    return dict(_named_rows(content, directory, page_bytes))


def _named_rows(content: bytes, directory: Path, page_bytes: int) -> Iterator[tuple[int, str]]:
    commits = Commits(directory, page_bytes)
    for start in range(0, len(content), page_bytes):
        page = content[start : start + page_bytes]
        for row in _page_rows(page, _OID_NAME.size, commits):
            oid, name = _OID_NAME.unpack_from(row)
            yield oid, _name(name)


def ordinary_names(content: bytes, directory: Path, page_bytes: int, major: int) -> list[str]:
    """Likewise, of databases that are no templates."""
    commits, starts = Commits(directory, page_bytes), range(0, len(content), page_bytes)
    at = _IS_TEMPLATE_AT if major < 15 else _IS_TEMPLATE_AT_15
    pages = (content[start : start + page_bytes] for start in starts)
    rows = (row for page in pages for row in _page_rows(page, at + 1, commits))
    return [_name(_OID_NAME.unpack_from(row)[1]) for row in rows if not row[at]]


def database_locales(
    content: bytes, directory: Path, page_bytes: int, major: int
) -> list[DatabaseLocale]:
    """Of the rows of pg_database that count, whose file has this content. Before 15 locales are
    names of 64 bytes, and all are of libc; from then on they are texts behind dattablespace."""
    commits, starts = Commits(directory, page_bytes), range(0, len(content), page_bytes)
    pages = (content[start : start + page_bytes] for start in starts)
    rows = [row for page in pages for row in _page_rows(page, _COLLATE_AT, commits)]
    locales = []
    for row in rows:
        _, database = _OID_NAME.unpack_from(row)
        if major < 15:
            texts = [row[at : at + 64] for at in (_NAMES_AT, _NAMES_AT + 64)]
            provider, collate, ctype = "c", _name(texts[0]), _name(texts[1])
        else:
            provider = chr(row[_PROVIDER_AT])
            collate, after = _short_text(row, _COLLATE_AT)
            ctype, _ = _short_text(row, after)
        locales.append(DatabaseLocale(_name(database), provider, collate, ctype))
    return locales


def _short_text(row: bytes, at: int) -> tuple[str, int]:
    """A text with a header of one byte, which holds its length with itself, shifted by one; and
    where it ends (SET_VARSIZE_1B of varatt.h). Another header is of a text that is no locale."""
    length = row[at] >> 1 if at < len(row) and row[at] & 1 else 1
    return row[at + 1 : at + length].decode(errors="replace"), at + length


def _page_rows(page: bytes, least_bytes: int, commits: Commits) -> Iterator[bytes]:
    lower = min(int.from_bytes(page[12:14], "little"), len(page))
    for at in range(_HEADER_BYTES, lower - _POINTER_BYTES + 1, _POINTER_BYTES):
        pointer = int.from_bytes(page[at : at + _POINTER_BYTES], "little")
        start, flags, length = pointer & 0x7FFF, pointer >> 15 & 3, pointer >> 17
        row = page[start : start + length]
        if flags != _NORMAL or len(row) < _ROW.size:
            continue
        xmin, xmax, _, mask, data_at = _ROW.unpack_from(row)
        if len(row) - data_at >= least_bytes and _counts(xmin, xmax, mask, commits):
            yield row[data_at:]


def _counts(xmin: int, xmax: int, mask: int, commits: Commits) -> bool:
    """Whether a row is surely there (HeapTupleSatisfiesMVCC of access/heap/heapam_visibility.c)."""
    if not mask & _XMIN_COMMITTED and (mask & _XMIN_INVALID or commits.state(xmin) != _COMMITTED):
        return False
    if xmax == 0 or mask & (_XMAX_INVALID | _LOCK_ONLY):
        return True
    if mask & (_MULTI | _XMAX_COMMITTED):
        return False
    return commits.state(xmax) == _ABORTED


def _name(raw: bytes) -> str:
    return raw.partition(b"\0")[0].decode(errors="replace")
