"""Finds where the write-ahead log ends that recovery can replay, and formats LSNs.

Layout: access/xlog_internal.h of PostgreSQL. A recycled segment has the name of a future segment
and still holds old pages, so each page's own address (xlp_pageaddr) decides whether it belongs.
"""

from __future__ import annotations

import os
import re
import zlib
from pathlib import Path
from typing import IO

_NAME = re.compile(r"[0-9A-F]{24}")
_PAGE_BYTES = 8192
_HEADER_BYTES = 40
_RECORD_HEAD_BYTES = 24


def parse_lsn(text: str) -> int:
    """The number behind `"1/2A000028"`, the format of pg_lsn. ValueError: not an LSN."""
    high, low = text.split("/")
    return (int(high, 16) << 32) + int(low, 16)


def log_end(directory: Path, start: int, timeline: int, segment_bytes: int) -> int | None:
    """The LSN where the log that continues from `start` without a gap ends.

    Counts this timeline and later ones. None: the segment that holds `start` is missing, or cannot
    be read.
    """
    try:
        names = [entry.name for entry in (directory / "pg_wal").iterdir()]
    except OSError:
        return None
    by_number = _by_number(names, timeline, segment_bytes)
    end, number = None, start // segment_bytes
    while number in by_number:
        begin = number * segment_bytes
        written = max(
            _written_bytes(directory / "pg_wal" / name, begin, segment_bytes)
            for name in by_number[number]
        )
        if not written:
            break
        end = begin + written
        if written < segment_bytes:
            break
        number += 1
    return end


def named_end(names: list[str], start: int, timeline: int, segment_bytes: int) -> int | None:
    """The same by segment names alone: valid for a backup, which has no recycled segments."""
    by_number = _by_number(names, timeline, segment_bytes)
    number = start // segment_bytes
    while number in by_number:
        number += 1
    return number * segment_bytes if number > start // segment_bytes else None


def segment_begin(name: str, segment_bytes: int) -> int | None:
    """The LSN of the first byte of a segment, from its file name; None: not a segment name."""
    if not _NAME.fullmatch(name):
        return None
    return (int(name[8:16], 16) << 32) + int(name[16:], 16) * segment_bytes


def _by_number(names: list[str], timeline: int, segment_bytes: int) -> dict[int, list[str]]:
    names_by_number: dict[int, list[str]] = {}
    for name in names:
        begin = segment_begin(name, segment_bytes)
        if begin is not None and int(name[:8], 16) >= timeline:
            names_by_number.setdefault(begin // segment_bytes, []).append(name)
    return names_by_number


def _written_bytes(path: Path, begin: int, segment_bytes: int) -> int:
    """Bytes of a segment up to its first page whose address belongs elsewhere (binary search)."""
    try:
        with path.open("rb") as file:
            header = file.read(_HEADER_BYTES)
            if not _belongs(header, begin):
                return 0
            page_bytes = int.from_bytes(header[36:40], "little") or _PAGE_BYTES
            low, high = 1, segment_bytes // page_bytes
            while low < high:
                middle = (low + high + 1) // 2
                at = (middle - 1) * page_bytes
                if _belongs(_header_at(file, at), begin + at):
                    low = middle
                else:
                    high = middle - 1
            return low * page_bytes
    except OSError:
        return 0


def _header_at(file: IO[bytes], at: int) -> bytes:
    return os.pread(file.fileno(), _HEADER_BYTES, at)


def _belongs(header: bytes, lsn: int) -> bool:
    return len(header) == _HEADER_BYTES and int.from_bytes(header[8:16], "little") == lsn


def record_digest(directory: Path, lsn: int, timeline: int, segment_bytes: int) -> int:
    """A digest of the part of the record at `lsn` on its first page; 0: that log is gone.

    A checkpoint record holds its time, a link to the record before it and a CRC, so two histories
    differ at the same LSN.
    """
    number = f"{lsn >> 32:08X}{(lsn & 0xFFFFFFFF) // segment_bytes:08X}"
    try:
        with (directory / "pg_wal" / f"{timeline:08X}{number}").open("rb") as file:
            if not _belongs(file.read(_HEADER_BYTES), lsn - lsn % segment_bytes):
                return 0
            left = _PAGE_BYTES - lsn % _PAGE_BYTES
            head = os.pread(file.fileno(), min(left, _RECORD_HEAD_BYTES), lsn % segment_bytes)
            if len(head) < _RECORD_HEAD_BYTES:
                return 0  # the record continues on the next page
            length = int.from_bytes(head[:4], "little")
            return zlib.crc32(os.pread(file.fileno(), min(left, length), lsn % segment_bytes)) or 1
    except OSError:
        return 0
