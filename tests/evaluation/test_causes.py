"""Causes are counts per transaction, each with an interval; a page's cost is their difference."""

from __future__ import annotations

import math

import pytest

from evaluation.made import MakeEpoch
from steelyard.evaluation.causes import cause_contrasts, cause_rows, complete, page_cost
from steelyard.report import tables


def epochs(
    make_epoch: MakeEpoch, number: int = 10, pages: float = 2800.0, wal: float = 0.0
) -> list:
    made = []
    for n in range(number):
        off = 27_000_000 + 100_000 * (-1) ** n * n
        counters = {
            "on": {"blocks_read": pages, "wal_bytes": wal * (1 + n / 100)},
            "off": {"blocks_read": pages, "wal_bytes": 0.0},
        }
        made.append(make_epoch(n, cpu_ns={"on": 30_000_000, "off": off}, counters=counters).totals)
    return made


def test_processor_time_is_read_per_measured_transaction(make_epoch: MakeEpoch) -> None:
    rows = {row.metric: row for row in cause_rows(epochs(make_epoch), "on", "off")}
    cpu = rows["server_cpu_us_per_transaction"]
    assert cpu.control_value == pytest.approx(30.0)
    assert cpu.low_percent < (27 / 30 - 1) * 100 < cpu.high_percent < 0


def test_counters_are_divided_by_all_transactions_of_the_epoch(make_epoch: MakeEpoch) -> None:
    rows = {row.metric: row for row in cause_rows(epochs(make_epoch), "on", "off")}
    assert rows["blocks_read_per_transaction"].control_value == pytest.approx(1.4)


def test_a_count_that_is_zero_has_no_ratio_and_says_so(make_epoch: MakeEpoch) -> None:
    rows = {row.metric: row for row in cause_rows(epochs(make_epoch), "on", "off")}
    assert rows["wal_bytes_per_transaction"].low_percent is None
    assert rows["wal_bytes_per_transaction"].note == "none in either arm"


def test_where_there_is_no_ratio_the_difference_stands_with_its_interval(
    make_epoch: MakeEpoch,
) -> None:
    made = epochs(make_epoch, wal=16_262_000.0)
    rows = {row.metric: row for row in cause_rows(made, "on", "off")}
    wal = rows["wal_bytes_per_transaction"]
    assert wal.difference == pytest.approx(-8131, rel=0.06)
    assert wal.difference_low < wal.difference < wal.difference_high < 0
    assert rows["blocks_read_per_transaction"].difference is None
    [shown] = tables.cause_rows([wal])
    assert shown["reading"].startswith("−8 ")
    assert " [−8 " in shown["reading"]


def test_a_page_that_is_logged_too_has_no_cost_of_its_verification(make_epoch: MakeEpoch) -> None:
    assert page_cost(epochs(make_epoch, wal=2800.0 * 50), "on", "off") is not None
    assert page_cost(epochs(make_epoch, wal=2800.0 * 8000), "on", "off") is None


def test_a_counter_that_was_not_read_is_left_out(make_epoch: MakeEpoch) -> None:
    rows = cause_rows([make_epoch(n).totals for n in range(9)], "on", "off")
    assert [row.metric for row in rows] == ["server_cpu_us_per_transaction"]


def test_a_page_costs_the_difference_of_processor_time_over_the_pages_read(
    make_epoch: MakeEpoch,
) -> None:
    cost = page_cost(epochs(make_epoch), "on", "off")
    assert cost is not None
    assert cost.verified_per_transaction == pytest.approx(1.4)
    assert cost.low < 3000 / 1.4 < cost.high
    assert math.isfinite(cost.low)


def test_without_pages_read_there_is_no_cost_of_a_page(make_epoch: MakeEpoch) -> None:
    assert page_cost(epochs(make_epoch, pages=1.0), "on", "off") is None
    assert page_cost([], "on", "off") is None


def test_lost_epochs_have_no_cause_to_tell(make_epoch: MakeEpoch) -> None:
    some = [make_epoch(0).totals, make_epoch(1, outcome="crashed: off").totals]
    assert [one.epoch for one in complete(some)] == [0]


@pytest.mark.parametrize(
    ("control", "arm", "compared"),
    [
        ({"blocks_extended": 90.0}, {"blocks_extended": 80.0}, True),  # PostgreSQL 16 to 19
        ({}, {}, True),  # two servers of 15, or another engine
        ({}, {"blocks_extended": 80.0}, False),  # 15 against 16: the former's hold extensions
        ({"blocks_extended": 90.0}, {}, False),
    ],
)
def test_blocks_that_arms_count_otherwise_are_not_compared(
    make_epoch: MakeEpoch, control: dict[str, float], arm: dict[str, float], compared: bool
) -> None:
    blocks = {"blocks_read": 1000.0, "blocks_written": 900.0, "wal_bytes": 5000.0}
    counters = {"on": {**blocks, **control}, "off": {**blocks, **arm}}
    made = [make_epoch(n, counters=counters).totals for n in range(9)]
    metrics = {row.metric.removesuffix("_per_transaction") for row in cause_rows(made, "on", "off")}
    assert metrics - {"blocks_read", "blocks_written"} == {"server_cpu_us", "wal_bytes"}
    assert ({"blocks_read", "blocks_written"} <= metrics) is compared
    assert ("blocks_read" in cause_contrasts(made, "on", "off")) is compared
