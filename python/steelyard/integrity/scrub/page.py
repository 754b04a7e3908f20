"""Reads a page of a segment once more, for what is to be said of it."""

from __future__ import annotations

import sys

from steelyard._core import Segment
from steelyard.integrity.scrub.archive import PACKED


def page_at(segment: Segment, offset: int, page_bytes: int) -> bytes:
    """The page at an offset of a segment, in bytes; b"" where it cannot be read again."""
    if segment.path.suffix in PACKED:
        return b""
    try:
        with segment.path.open("rb") as file:
            file.seek(segment.offset + offset)
            return file.read(page_bytes)
    except OSError:
        return b""


def lsn_of(page: bytes) -> int:
    """The LSN of a page (pd_lsn of storage/bufpage.h); 0: it is empty."""
    high, low = page[:4], page[4:8]
    return (int.from_bytes(high, sys.byteorder) << 32) + int.from_bytes(low, sys.byteorder)
