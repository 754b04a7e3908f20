"""Damages pages of InnoDB files, in ways drawn by a seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

Pages = list[bytes]
"""A file, page by page."""


def _flip(page: bytes, at: int, bit: int) -> bytes:
    changed = bytearray(page)
    changed[at] ^= 1 << bit
    return bytes(changed)


def body_bit(pages: Pages, number: int, draw: random.Random) -> bytes:
    """One bit of the content."""
    return _flip(pages[number], draw.randrange(38, len(pages[number]) - 8), draw.randrange(8))


def header_bit(pages: Pages, number: int, draw: random.Random) -> bytes:
    """One bit of the header, without the eight bytes that no older checksum covers."""
    return _flip(pages[number], draw.choice([*range(16), *range(24, 26)]), draw.randrange(8))


def lsn_bit(pages: Pages, number: int, draw: random.Random) -> bytes:
    """One bit of the LSN's lower half in the header."""
    return _flip(pages[number], draw.randrange(20, 24), draw.randrange(8))


def trailer_bit(pages: Pages, number: int, draw: random.Random) -> bytes:
    """One bit of the last eight bytes."""
    return _flip(pages[number], len(pages[number]) - 1 - draw.randrange(8), draw.randrange(8))


def torn(pages: Pages, number: int, draw: random.Random) -> bytes:
    """The first half of one page and the second of another."""
    other = draw.choice([page for page in pages if any(page) and page != pages[number]])
    half = len(other) // 2
    return pages[number][:half] + other[half:]


def zeroed_half(pages: Pages, number: int, draw: random.Random) -> bytes:
    """A half of zeroes."""
    page = pages[number]
    half = len(page) // 2
    return bytes(half) + page[half:] if draw.random() < 0.5 else page[:half] + bytes(half)


def garbage(pages: Pages, number: int, draw: random.Random) -> bytes:
    """A sector of noise."""
    page = pages[number]
    at = draw.randrange(len(page) // 512) * 512
    return page[:at] + draw.randbytes(512) + page[at + 512 :]


def zeroed(pages: Pages, number: int, draw: random.Random) -> bytes:
    """A page of zeroes, as if it had never been written."""
    return bytes(len(pages[number]))


def misplaced(pages: Pages, number: int, draw: random.Random) -> bytes:
    """Another page of the file."""
    return draw.choice([page for page in pages if any(page) and page != pages[number]])


KINDS: dict[str, Callable[[Pages, int, random.Random], bytes]] = {
    kind.__name__: kind
    for kind in (
        *(body_bit, header_bit, lsn_bit, trailer_bit, torn, zeroed_half, garbage, zeroed),
        misplaced,
    )
}


def split(content: bytes, page_bytes: int) -> Pages:
    """The pages of a file."""
    return [content[at : at + page_bytes] for at in range(0, len(content), page_bytes)]


def damaged(
    pages: Pages, foreign: Sequence[bytes], seed: int, each: int
) -> tuple[Pages, dict[int, str]]:
    """The pages with `each` of every kind of damage, and what was done to which page.

    `foreign` are pages of another tablespace: one of them is put in the place of another. The
    first page is left as it is.
    """
    draw = random.Random(seed)
    done: dict[int, str] = {}
    changed = list(pages)
    written = [n for n, page in enumerate(pages) if n and any(page)]
    kinds = [*KINDS, "foreign"]
    chosen = draw.sample(written, each * len(kinds))
    for index, number in enumerate(chosen):
        kind = kinds[index % len(kinds)]
        if kind == "foreign":
            changed[number] = draw.choice(foreign)
        else:
            changed[number] = KINDS[kind](pages, number, draw)
        if changed[number] != pages[number]:
            # Where the other half is empty too, a zeroed half is a zeroed page.
            done[number] = kind if any(changed[number]) else "zeroed"
    return changed, done


def free_pages(pages: Pages, logical_bytes: int) -> set[int]:
    """The pages that the extent descriptors call free (XDES_FREE_BIT of fsp0fsp.h).

    Descriptors follow the tablespace's header in its first page, and again in every page whose
    number is a multiple of a page's bytes; in each are two bits for a page.
    """
    page_bytes = len(pages[0])
    extent = max(64, (1 << 20) // logical_bytes)
    free = set()
    for number in range(len(pages)):
        index = number % page_bytes
        at = 150 + index // extent * (24 + extent // 4) + 24
        bit = index % extent * 2
        byte = pages[number - index][at + bit // 8]
        if byte >> bit % 8 & 1:
            free.add(number)
    return free
