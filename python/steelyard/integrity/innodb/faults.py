"""Draws faults of storage in a page of an InnoDB table's file, drawn from a seed."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from steelyard.integrity.drill.faults import (
    PAGE_FAULTS,
    PageFault,
    Target,
    changed_blocks,
    other_relation,
)

PAGE = 16384
"""Bytes of a page of the servers that a drill makes."""
ROWS, INDEX, BLOB = "rows", "index", "BLOB"
PLACES = (ROWS, INDEX, BLOB)
"""The clustered index, which holds the rows; the secondary index; long values."""

_TYPE = slice(24, 26)  # FIL_PAGE_TYPE of fil0fil.h
_INDEX_PAGE, _BLOB_PAGE = 17855, 10
_INDEX_ID = slice(66, 74)  # PAGE_INDEX_ID of page0page.h, behind the header of 38 bytes
# Of an extent of 64 pages, a descriptor has two bits a page; the first says that it is free
# (fsp0fsp.h: XDES_ARR_OFFSET, XDES_BITMAP, XDES_FREE_BIT).
_EXTENT, _DESCRIPTORS, _DESCRIPTOR_BYTES, _BITMAP = 64, 150, 40, 24


def misdirected(page: bytes, target: Target, rng: random.Random) -> bytes:
    """Another written page of the file."""
    pages = [target.current[at : at + PAGE] for at in range(PAGE, len(target.current), PAGE)]
    others = [each for each in pages if any(each) and each != page]
    return rng.choice(others) if others else page


_SHARED = (
    *("one bit", "run of bits", "zeroed sector", "zeroed page", "torn page, 512 B"),
    *("torn page, 4 kB", "shifted page", "lost write"),
)
FAULTS: Mapping[str, PageFault] = {
    **{name: PAGE_FAULTS[name] for name in _SHARED},
    "misdirected write": misdirected,
    "from another tablespace": other_relation,
}
"""A page carries its number and its tablespace: a misdirected one keeps those it was written with,
and so a checksum that is right."""
MAX_DRAWS = 200
"""Of a page and a fault, until something changes: zeroing an empty sector changes nothing."""


def pages_by_place(file: bytes) -> dict[str, list[int]]:
    """The numbers of the pages in use, by place. Of two indexes the clustered one was made first,
    and has the lower number."""
    indexes: dict[bytes, list[int]] = {}
    pages: dict[str, list[int]] = {place: [] for place in PLACES}
    for number in range(len(file) // PAGE):
        page = file[number * PAGE : (number + 1) * PAGE]
        kind = int.from_bytes(page[_TYPE], "big")
        if _is_free(file, number):
            continue
        if kind == _INDEX_PAGE:
            indexes.setdefault(page[_INDEX_ID], []).append(number)
        elif kind == _BLOB_PAGE:
            pages[BLOB].append(number)
    for place, index in zip((ROWS, INDEX), sorted(indexes), strict=False):
        pages[place] = indexes[index]
    return pages


def _is_free(file: bytes, number: int) -> bool:
    at = _DESCRIPTORS + number // _EXTENT * _DESCRIPTOR_BYTES + _BITMAP
    bit = number % _EXTENT * 2
    return bool(file[at + bit // 8] >> bit % 8 & 1)


def damaged_page(
    fault: str,
    current: bytes,
    earlier: bytes,
    foreign: bytes,
    pages: Sequence[int],
    rng: random.Random,
) -> tuple[int, bytes] | None:
    """Where in a file a fault changes one of these pages, in bytes, and the page with it; None:
    nothing would change. `current`: the file; `earlier`: before its last writes; `foreign`: the
    same file of another table."""
    if fault.startswith(("torn", "lost")):
        older = pages_by_place(earlier)
        changed = set(changed_blocks(current, earlier, PAGE))
        pages = [
            number
            for number in pages
            if number in changed and any(number in p for p in older.values())
        ]
    for _ in range(MAX_DRAWS if pages else 0):
        number = rng.choice(pages)
        target = Target(current, earlier, foreign, foreign, number, PAGE)
        page = current[number * PAGE : (number + 1) * PAGE]
        damaged = FAULTS[fault](page, target, rng)
        if damaged != page:
            return number * PAGE, damaged
    return None
