"""Draws faults of storage in the files of a stopped cluster, from a seed.

Pages have the header that the fault would give them: a misdirected page has the checksum of the
block that it was written for.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from steelyard._core import page_checksum

PAGE = 8192
SECTOR = 512
TORN = {"torn page, 512 B": SECTOR, "torn page, 4 kB": PAGE // 2}
"""The size in bytes that is written atomically, by the fault's name."""


@dataclass(frozen=True)
class Target:
    """The page that a fault is planted in, and the files that stale or foreign pages come from."""

    current: bytes  # the file without damage
    earlier: bytes  # the file before its last writes
    foreign: bytes  # a file of another relation
    sibling: bytes  # the same file of another copy
    block: int  # the number of the page
    page_bytes: int = PAGE


def changed_blocks(current: bytes, earlier: bytes, size: int = PAGE) -> list[int]:
    """The blocks in which two versions of a file differ; `size`: of a page, in bytes."""
    blocks = range(0, len(current), size)
    return [at // size for at in blocks if current[at : at + size] != earlier[at : at + size]]


def with_checksum(page: bytes, block: int) -> bytes:
    """The page with the right checksum for a block number; an empty page stays empty."""
    if page[14:16] == b"\0\0":
        return page
    return page[:8] + page_checksum(page, block).to_bytes(2, "little") + page[10:]


def _flip(page: bytearray, bit: int) -> None:
    page[bit // 8] ^= 1 << bit % 8


def one_bit(page: bytes, target: Target, rng: random.Random) -> bytes:
    """One bit anywhere in the page."""
    changed = bytearray(page)
    _flip(changed, rng.randrange(len(page) * 8))
    return bytes(changed)


def bit_run(page: bytes, target: Target, rng: random.Random) -> bytes:
    """Each bit of a run of 3 to 64, with probability 1/2."""
    changed = bytearray(page)
    length = rng.randrange(3, 65)
    first = rng.randrange(len(page) * 8 - length)
    for bit in range(first, first + length):
        if rng.random() < 0.5:
            _flip(changed, bit)
    return bytes(changed)


def zeroed_sector(page: bytes, target: Target, rng: random.Random) -> bytes:
    """One of the sectors of 512 bytes."""
    at = SECTOR * rng.randrange(len(page) // SECTOR)
    return page[:at] + bytes(SECTOR) + page[at + SECTOR :]


def zeroed_page(page: bytes, target: Target, rng: random.Random) -> bytes:
    """The whole page: to the server, a page that was never used."""
    return bytes(len(page))


def torn_sector(page: bytes, target: Target, rng: random.Random) -> bytes:
    """The new page up to a sector, the old one behind it, or the other way round."""
    return _torn(page, target, rng, SECTOR)


def torn_half(page: bytes, target: Target, rng: random.Random) -> bytes:
    """The new page up to a file system block of 4 kB, the old one behind it, or the other way."""
    return _torn(page, target, rng, TORN["torn page, 4 kB"])


def _torn(page: bytes, target: Target, rng: random.Random, size: int) -> bytes:
    torn = torn_between(lost_write(page, target, rng), page, size)
    return rng.choice(torn) if torn else page


def torn_between(old: bytes, new: bytes, size: int) -> list[bytes]:
    """Every page that is new up to a multiple of `size` and old behind it, or the other way round.

    Without those equal to the old page: that is a lost write, and not a torn page.
    """
    cuts = range(size, len(new), size)
    both = [torn for at in cuts for torn in (new[:at] + old[at:], old[:at] + new[at:])]
    return [each for each in both if each not in (new, old)]


def shifted(page: bytes, target: Target, rng: random.Random) -> bytes:
    """The content rotated by less than a sector."""
    by = rng.randrange(1, SECTOR)
    return page[-by:] + page[:-by]


def misdirected(page: bytes, target: Target, rng: random.Random) -> bytes:
    """Another page of the fork; if the fork has one page, that of another copy."""
    other = _another(target, rng)
    return other if len(target.current) > PAGE else with_checksum(other, target.block + 7)


def _misdirected_by(distance: int) -> PageFault:
    def plant(page: bytes, target: Target, rng: random.Random) -> bytes:
        return with_checksum(_another(target, rng), target.block + distance)

    return plant


def _another(target: Target, rng: random.Random) -> bytes:
    """A page of the fork with other content, else one of another copy, else the page itself.

    A page with the same content is no damage, whatever its checksum.
    """
    page = _block(target.current, target.block)
    for file in (target.current, target.sibling):
        pages = (_block(file, block) for block in range(len(file) // PAGE))
        others = [each for each in pages if _content(each) != _content(page)]
        if others:
            return rng.choice(others)
    return page


def _content(page: bytes) -> bytes:
    """Everything but the checksum."""
    return page[:8] + page[10:]


def other_relation(page: bytes, target: Target, rng: random.Random) -> bytes:
    """The page of the same number from another relation."""
    return _block(target.foreign, target.block, target.page_bytes)


def lost_write(page: bytes, target: Target, rng: random.Random) -> bytes:
    """The earlier version of the page: its last write never arrived."""
    return _block(target.earlier, target.block, target.page_bytes)


def _block(file: bytes, block: int, page_bytes: int = PAGE) -> bytes:
    return file[block * page_bytes : (block + 1) * page_bytes].ljust(page_bytes, b"\0")


PageFault = Callable[[bytes, Target, random.Random], bytes]
PAGE_FAULTS: dict[str, PageFault] = {
    "one bit": one_bit,
    "run of bits": bit_run,
    "zeroed sector": zeroed_sector,
    "zeroed page": zeroed_page,
    "torn page, 512 B": torn_sector,
    "torn page, 4 kB": torn_half,
    "shifted page": shifted,
    "misdirected write": misdirected,
    "misdirected by 65,535 blocks": _misdirected_by(65_535),
    "misdirected by 65,536 blocks": _misdirected_by(65_536),
    "misdirected by 65,537 blocks": _misdirected_by(65_537),
    "from another relation": other_relation,
    "lost write": lost_write,
}
FILE_FAULTS = ("cluster of blocks", "stale file", "truncated segment")
FAULTS = (*PAGE_FAULTS, *FILE_FAULTS)
CLUSTER_BLOCKS = 8


def damaged_file(fault: str, target: Target, rng: random.Random) -> bytes | None:
    """The file with a fault; None: the content without the checksum would not change."""
    blocks = len(target.current) // PAGE
    if fault == "stale file":
        content = target.earlier
    elif fault == "truncated segment":
        content = target.current[: rng.randrange(blocks) * PAGE]
    elif fault == "cluster of blocks":
        first = max(0, min(target.block, blocks - CLUSTER_BLOCKS))
        last = min(blocks, first + CLUSTER_BLOCKS)
        middle = rng.randbytes((last - first) * PAGE)
        content = target.current[: first * PAGE] + middle + target.current[last * PAGE :]
    else:
        at = target.block * PAGE
        intact = target.current[at : at + PAGE]
        page = PAGE_FAULTS[fault](intact, target, rng)
        if "misdirected" in fault and _content(page) == _content(intact):
            return None
        content = target.current[:at] + page + target.current[at + PAGE :]
    return None if content == target.current else content
