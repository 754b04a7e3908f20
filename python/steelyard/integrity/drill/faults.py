"""Plants faults in the files of a stopped cluster: what may come back instead of what was written.

Each is drawn from a seed. The page keeps the header it would have: a page that was misdirected
carries the checksum of the block that it was meant for.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from steelyard._core import page_checksum

PAGE = 8192
SECTOR = 512
TORN = {"torn page, 512 B": SECTOR, "torn page, 4 kB": PAGE // 2}
"""Torn pages by the size of what is written at once."""


@dataclass(frozen=True)
class Spot:
    """Where a fault is planted: a file as it is now, and as it was before its last writes."""

    path: Path  # in the clone that is damaged
    now: bytes
    before: bytes
    foreign: bytes  # a file of another relation
    sibling: bytes  # the same file of another copy
    block: int  # the page that is hit


def changed_blocks(now: bytes, before: bytes) -> list[int]:
    """The blocks in which a file is not what it was."""
    blocks = range(0, len(now), PAGE)
    return [at // PAGE for at in blocks if now[at : at + PAGE] != before[at : at + PAGE]]


def resealed(page: bytes, block: int) -> bytes:
    """The page with the checksum that it has as this block; an empty one stays empty."""
    if page[14:16] == b"\0\0":
        return page
    return page[:8] + page_checksum(page, block).to_bytes(2, "little") + page[10:]


def _flip(page: bytearray, bit: int) -> None:
    page[bit // 8] ^= 1 << bit % 8


def one_bit(page: bytes, spot: Spot, draw: random.Random) -> bytes:
    """One bit anywhere in the page."""
    changed = bytearray(page)
    _flip(changed, draw.randrange(PAGE * 8))
    return bytes(changed)


def bit_run(page: bytes, spot: Spot, draw: random.Random) -> bytes:
    """Bits of a stretch of 3 to 64, each with probability a half."""
    changed = bytearray(page)
    length = draw.randrange(3, 65)
    first = draw.randrange(PAGE * 8 - length)
    for bit in range(first, first + length):
        if draw.random() < 0.5:
            _flip(changed, bit)
    return bytes(changed)


def zeroed_sector(page: bytes, spot: Spot, draw: random.Random) -> bytes:
    """One of the 16 sectors of 512 bytes."""
    at = SECTOR * draw.randrange(PAGE // SECTOR)
    return page[:at] + bytes(SECTOR) + page[at + SECTOR :]


def zeroed_page(page: bytes, spot: Spot, draw: random.Random) -> bytes:
    """All of it: to the server, a page that was never used."""
    return bytes(PAGE)


def torn_sector(page: bytes, spot: Spot, draw: random.Random) -> bytes:
    """The new page up to a sector, the old one behind it, or the other way round."""
    return _torn(page, spot, draw, SECTOR)


def torn_half(page: bytes, spot: Spot, draw: random.Random) -> bytes:
    """One of two file system blocks of 4 kB is old."""
    return _torn(page, spot, draw, PAGE // 2)


def _torn(page: bytes, spot: Spot, draw: random.Random, size: int) -> bytes:
    torn = torn_between(_block(spot.before, spot.block), page, size)
    return draw.choice(torn) if torn else page


def torn_between(old: bytes, new: bytes, size: int) -> list[bytes]:
    """Every page that is new up to a multiple of `size` and old behind it, or the other way round.

    Where all that had changed is old again, nothing is torn and a write is lost.
    """
    cuts = range(size, PAGE, size)
    both = [torn for at in cuts for torn in (new[:at] + old[at:], old[:at] + new[at:])]
    return [each for each in both if each not in (new, old)]


def shifted(page: bytes, spot: Spot, draw: random.Random) -> bytes:
    """Everything moved by up to a sector."""
    by = draw.randrange(1, SECTOR)
    return page[-by:] + page[:-by]


def misdirected(page: bytes, spot: Spot, draw: random.Random) -> bytes:
    """Another page of the fork, or, where it has but one, one of another copy as if from here."""
    other = _another(spot, draw)
    return other if len(spot.now) > PAGE else resealed(other, spot.block + 7)


def _away(distance: int) -> Plant:
    def plant(page: bytes, spot: Spot, draw: random.Random) -> bytes:
        return resealed(_another(spot, draw), spot.block + distance)

    return plant


def _another(spot: Spot, draw: random.Random) -> bytes:
    """A page of the fork, else of another copy's, with other content; else the page itself.

    Where the content is the same nothing is wrong, whatever a checksum says.
    """
    page = _block(spot.now, spot.block)
    for file in (spot.now, spot.sibling):
        pages = (_block(file, block) for block in range(len(file) // PAGE))
        others = [each for each in pages if _content(each) != _content(page)]
        if others:
            return draw.choice(others)
    return page


def _content(page: bytes) -> bytes:
    """Everything but the checksum."""
    return page[:8] + page[10:]


def other_relation(page: bytes, spot: Spot, draw: random.Random) -> bytes:
    """The page of the same number from another relation."""
    return _block(spot.foreign, spot.block)


def lost_write(page: bytes, spot: Spot, draw: random.Random) -> bytes:
    """The page as it was: its last write never arrived."""
    return _block(spot.before, spot.block)


def _block(file: bytes, block: int) -> bytes:
    return file[block * PAGE : (block + 1) * PAGE].ljust(PAGE, b"\0")


Plant = Callable[[bytes, Spot, random.Random], bytes]
PAGE_FAULTS: dict[str, Plant] = {
    "one bit": one_bit,
    "run of bits": bit_run,
    "zeroed sector": zeroed_sector,
    "zeroed page": zeroed_page,
    "torn page, 512 B": torn_sector,
    "torn page, 4 kB": torn_half,
    "shifted page": shifted,
    "misdirected write": misdirected,
    "misdirected by 65,535 blocks": _away(65_535),
    "misdirected by 65,536 blocks": _away(65_536),
    "misdirected by 65,537 blocks": _away(65_537),
    "from another relation": other_relation,
    "lost write": lost_write,
}
FILE_FAULTS = ("cluster of blocks", "stale file", "truncated segment")
FAULTS = (*PAGE_FAULTS, *FILE_FAULTS)
CLUSTER = 8  # blocks


def plant(fault: str, spot: Spot, draw: random.Random) -> bool:
    """Put a fault into the file; False when that leaves, but for a checksum, what was written."""
    blocks = len(spot.now) // PAGE
    if fault == "stale file":
        content = spot.before
    elif fault == "truncated segment":
        content = spot.now[: draw.randrange(blocks) * PAGE]
    elif fault == "cluster of blocks":
        first = max(0, min(spot.block, blocks - CLUSTER))
        last = min(blocks, first + CLUSTER)
        middle = draw.randbytes((last - first) * PAGE)
        content = spot.now[: first * PAGE] + middle + spot.now[last * PAGE :]
    else:
        at = spot.block * PAGE
        sound = spot.now[at : at + PAGE]
        page = PAGE_FAULTS[fault](sound, spot, draw)
        if "misdirected" in fault and _content(page) == _content(sound):
            return False
        content = spot.now[:at] + page + spot.now[at + PAGE :]
    if content == spot.now:
        return False
    with spot.path.open("r+b") as file:
        file.write(content)
        file.truncate()
    return True
