"""Finds how far the write-ahead log reaches that is there to be replayed.

Layout: access/xlog_internal.h of PostgreSQL. A segment that was recycled carries the name of a
time to come and the pages of an old one: every page says where it belongs.
"""

from __future__ import annotations

import os
import re
import zlib
from pathlib import Path
from typing import IO

from steelyard.engines.postgres.life.pidfile import require_regular

_NAME = re.compile(r"[0-9A-F]{24}")
_PAGE_BYTES = 8192
_HEADER_BYTES = 40
_RECORD_HEAD_BYTES = 24
_TAIL_BYTES = 1 << 16
_RANGE_END = re.compile(r'"End-LSN": *"([0-9A-F]+/[0-9A-F]+)"')


def parse_lsn(text: str) -> int:
    """`"1/2A000028"`, as pg_lsn prints it, as a number. ValueError: it is none."""
    high, low = text.split("/")
    return (int(high, 16) << 32) + int(low, 16)


def log_end(directory: Path, start: int, timeline: int, segment_bytes: int) -> int | None:
    """Where the log ends that leads on from `start` without a gap, on this timeline or later ones.

    None: not even the segment that holds `start` is there, or it cannot be read.
    """
    try:
        names = [entry.name for entry in (directory / "pg_wal").iterdir()]
    except OSError:
        return None
    by_number = _by_number(names, timeline, segment_bytes)
    end, number = None, start // segment_bytes
    while number in by_number:
        begin = number * segment_bytes
        reached = max(
            _written(directory / "pg_wal" / name, begin, segment_bytes)
            for name in by_number[number]
        )
        if not reached:
            break
        end = begin + reached
        if reached < segment_bytes:
            break
        number += 1
    return end


def named_end(names: list[str], start: int, timeline: int, segment_bytes: int) -> int | None:
    """The same by the names of segments alone: for a backup, where none was recycled."""
    by_number = _by_number(names, timeline, segment_bytes)
    number = start // segment_bytes
    while number in by_number:
        number += 1
    return number * segment_bytes if number > start // segment_bytes else None


def segment_begin(name: str, segment_bytes: int) -> int | None:
    """The LSN of the first byte of a segment, by its name; None: not the name of one."""
    if not _NAME.fullmatch(name):
        return None
    return (int(name[8:16], 16) << 32) + int(name[16:], 16) * segment_bytes


def _by_number(names: list[str], timeline: int, segment_bytes: int) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for name in names:
        begin = segment_begin(name, segment_bytes)
        if begin is not None and int(name[:8], 16) >= timeline:
            found.setdefault(begin // segment_bytes, []).append(name)
    return found


def _written(path: Path, begin: int, segment_bytes: int) -> int:
    """Bytes of a segment's pages that belong where they stand; the first that does not ends it."""
    try:
        with path.open("rb") as file:
            header = file.read(_HEADER_BYTES)
            if not _belongs(header, begin):
                return 0
            page_bytes = int.from_bytes(header[36:40], "little") or _PAGE_BYTES
            least, most = 1, segment_bytes // page_bytes
            while least < most:
                middle = (least + most + 1) // 2
                at = (middle - 1) * page_bytes
                if _belongs(_at(file, at), begin + at):
                    least = middle
                else:
                    most = middle - 1
            return least * page_bytes
    except OSError:
        return 0


def _at(file: IO[bytes], at: int) -> bytes:
    return os.pread(file.fileno(), _HEADER_BYTES, at)


def _belongs(header: bytes, lsn: int) -> bool:
    return len(header) == _HEADER_BYTES and int.from_bytes(header[8:16], "little") == lsn


def record_digest(directory: Path, lsn: int, timeline: int, segment_bytes: int) -> int:
    """A digest of the record at `lsn`, as far as its first page; 0: the log is no longer there.

    A checkpoint's record has its time, the record before it and a CRC of all: no other history has
    the same at the same place.
    """
    number = f"{lsn >> 32:08X}{(lsn & 0xFFFFFFFF) // segment_bytes:08X}"
    try:
        with (directory / "pg_wal" / f"{timeline:08X}{number}").open("rb") as file:
            if not _belongs(file.read(_HEADER_BYTES), lsn - lsn % segment_bytes):
                return 0
            left = _PAGE_BYTES - lsn % _PAGE_BYTES
            head = os.pread(file.fileno(), min(left, _RECORD_HEAD_BYTES), lsn % segment_bytes)
            if len(head) < _RECORD_HEAD_BYTES:
                return 0  # it goes on in the next page
            length = int.from_bytes(head[:4], "little")
            return zlib.crc32(os.pread(file.fileno(), min(left, length), lsn % segment_bytes)) or 1
    except OSError:
        return 0


def manifest_end(file: Path) -> int | None:
    """Where the log ends that a base backup needs, as its backup_manifest says (13 and later)."""
    try:
        require_regular(file, file.stat().st_mode)
        with file.open("rb") as opened:
            opened.seek(max(0, file.stat().st_size - _TAIL_BYTES))
            tail = opened.read().decode(errors="replace")
    except OSError:
        return None
    return max(map(parse_lsn, _RANGE_END.findall(tail)), default=None)
