"""A fault changes one page of the place that it is planted in, and nothing else."""

from __future__ import annotations

import random

import pytest

from steelyard.integrity.innodb.faults import (
    BLOB,
    FAULTS,
    INDEX,
    PAGE,
    ROWS,
    damaged_page,
    pages_by_place,
)


def page(number: int, space: int, kind: int, index: int, seed: int) -> bytes:
    """A page of a type, with noise in it."""
    made = bytearray(random.Random(seed * 100 + number).randbytes(PAGE))
    made[4:8] = number.to_bytes(4, "big")
    made[24:26] = kind.to_bytes(2, "big")
    made[34:38] = space.to_bytes(4, "big")
    made[66:74] = index.to_bytes(8, "big")
    return bytes(made)


KINDS = [(3, 17855, 40), (4, 17855, 41), (5, 17855, 40), (6, 10, 0), (7, 17855, 40)]
"""Number, type and index of the pages behind the first three; the last one is free."""


def file_of(space: int, seed: int) -> bytes:
    """A table's file of one extent whose eighth page is free."""
    first = bytearray(page(0, space, 8, 0, seed))
    first[174:190] = bytes(16)
    first[174 + 14 // 8] |= 1 << 14 % 8
    pages = [bytes(first), page(1, space, 5, 0, seed), page(2, space, 3, 0, seed)]
    return b"".join([*pages, *(page(n, space, kind, index, seed) for n, kind, index in KINDS)])


NOW, OLD, OTHER = file_of(7, 1), file_of(7, 2), file_of(8, 3)


def drawn(fault: str, pages: list[int], seed: int) -> tuple[int, bytes]:
    damaged = damaged_page(fault, NOW, OLD, OTHER, pages, random.Random(seed))
    assert damaged is not None
    return damaged


def test_pages_in_use_are_told_by_their_type_and_index() -> None:
    assert pages_by_place(NOW) == {ROWS: [3, 5], INDEX: [4], BLOB: [6]}


@pytest.mark.parametrize("fault", FAULTS)
def test_one_page_of_the_place_is_changed(fault: str) -> None:
    at, planted = drawn(fault, [3, 5], 1)
    assert at in (3 * PAGE, 5 * PAGE)
    assert len(planted) == PAGE
    assert planted != NOW[at : at + PAGE]


def test_a_misdirected_page_keeps_the_number_and_tablespace_it_was_written_with() -> None:
    assert drawn("misdirected write", [3], 1)[1][4:8] != NOW[3 * PAGE :][4:8]
    assert drawn("from another tablespace", [3], 1)[1] == OTHER[3 * PAGE : 4 * PAGE]


@pytest.mark.parametrize("fault", ["lost write", "torn page, 512 B", "torn page, 4 kB"])
def test_what_was_not_written_again_is_neither_lost_nor_torn(fault: str) -> None:
    assert damaged_page(fault, NOW, NOW, OTHER, [3, 5], random.Random(1)) is None


def test_the_same_seed_draws_the_same_fault() -> None:
    assert drawn("run of bits", [3, 5], 3) == drawn("run of bits", [3, 5], 3)
    assert drawn("run of bits", [3, 5], 3) != drawn("run of bits", [3, 5], 4)
