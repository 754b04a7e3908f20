"""A fault changes the content of a page, and never only its checksum."""

from __future__ import annotations

import random

from steelyard._core import page_checksum
from steelyard.integrity.drill.faults import (
    PAGE,
    Target,
    changed_blocks,
    damaged_file,
    with_checksum,
)
from steelyard.integrity.drill.recovery import torn_pages_of


def page(number: int) -> bytes:
    """Content of its own, with a sane header."""
    head = bytes(12) + (100).to_bytes(2, "little") + (200).to_bytes(2, "little")
    head += (8192).to_bytes(2, "little") + (8196).to_bytes(2, "little") + bytes(4)
    return with_checksum(head + random.Random(number).randbytes(PAGE - 24), 0)


def test_a_misdirected_page_is_another_page_and_a_collision_counts() -> None:
    missed = 0
    for number in range(200):
        now, sibling = page(number), page(1000 + number)
        target = Target(now, now, b"", sibling, 0)
        read = damaged_file("misdirected by 65,537 blocks", target, random.Random(number))
        assert read is not None
        assert read == with_checksum(sibling, 65_537), (
            "a page of another copy, as there is no other"
        )
        missed += page_checksum(read, 0) == int.from_bytes(read[8:10], "little")
    # As block 0 half of them: the bits that differ are two that cancel in the remainder.
    assert 70 < missed < 130, "those that no checksum sees are planted like the others"


def test_the_blocks_that_were_written_are_those_that_differ() -> None:
    earlier = b"".join(page(number) for number in range(5))
    current = earlier[:PAGE] + page(90) + earlier[2 * PAGE : 4 * PAGE] + page(91)
    assert changed_blocks(current, earlier) == [1, 4]
    assert changed_blocks(earlier, earlier) == []
    assert changed_blocks(current, earlier, PAGE // 2) == [2, 3, 8, 9]
    assert changed_blocks(earlier + page(92), earlier) == [5]


def test_a_page_torn_at_a_crash_is_neither_the_old_one_nor_the_new() -> None:
    old, new = page(1) + page(2), page(3) + page(2)
    halves = torn_pages_of(old, new, PAGE // 2)
    assert [at for at, _ in halves] == [0, 0], "the second page did not change"
    assert {torn for _, torn in halves} == {
        new[:4096] + old[4096:PAGE],
        old[:4096] + new[4096:PAGE],
    }
    assert len(torn_pages_of(old, new, 512)) == 30
    assert torn_pages_of(old, old, 512) == []


def test_the_same_content_under_another_checksum_is_no_damage() -> None:
    now = page(1)
    target = Target(now, now, b"", now, 0)
    for fault in ("misdirected write", "misdirected by 65,536 blocks"):
        assert damaged_file(fault, target, random.Random(1)) is None
