"""Blocks follow one another for as long as the windows of an epoch need."""

from __future__ import annotations

from itertools import islice

from steelyard.running.cycles.epochs import BLOCKS_AT_ONCE, orders_of
from steelyard.study.design import draw_design
from steelyard.study.read import read_study


def test_blocks_have_no_end_and_are_those_of_one_long_draw() -> None:
    design = draw_design(read_study("wal-compression"), 7, "cycles")
    count = 3 * BLOCKS_AT_ONCE + 1
    orders = list(islice(orders_of(design, 3), count))
    assert orders == design.blocks(3, count)
    assert {frozenset(order) for order in orders} == {frozenset(range(len(design.arms)))}
