"""Slices add up to arms and epochs; what is not a finished, measured slice is left unseen."""

from __future__ import annotations

import math
from typing import Any

import pytest

from steelyard.record.epoch import EpochLine
from steelyard.record.slice import SliceLine
from steelyard.record.totals import arm_totals, epochs_of
from steelyard.record.turns.turn import TurnLine

Facts = dict[str, Any]


def line(**changes: Any) -> SliceLine:
    facts: Facts = {
        "epoch": 0, "attempt": 1, "kind": "measured", "arm": "on", "block": 0, "position": 0,
        "clients": 4, "transactions": 100, "busy_ns": 400_000_000, "latency_sum_ns": 400_000_000,
        "scripts": [{"name": "s", "latency": ""}],
    }  # fmt: skip
    return SliceLine.model_validate({**facts, **changes})


def epoch_line(epoch: int = 0, **changes: Any) -> EpochLine:
    facts: Facts = {"type": "epoch", "epoch": epoch, "attempt": 1, "slots": {"on": 0, "off": 1}}
    return EpochLine.model_validate({**facts, "start_order": ["off", "on"], **changes})


def turn_line(**changes: Any) -> TurnLine:
    read = {"driver_cpu_ns": 1, "transactions": 100, "all_transactions": 100}
    facts: Facts = {
        "epoch": 0, "arm": "on", "slot": 0, "position": 0, "end": "cycles", "level": True,
        "quiet": True, "waiting_bytes": 0, "phases_ns": {}, "read": read,
    }  # fmt: skip
    return TurnLine.model_validate({**facts, **changes})


def test_throughput_is_clients_times_work_over_busy_time() -> None:
    totals = arm_totals("on", 0, [line(), line(transactions=50, busy_ns=200_000_000)])
    assert totals.throughput == pytest.approx(4 * 150 / 0.6)
    assert totals.latency_mean_ns == pytest.approx(800_000_000 / 150)


def test_debt_is_time_that_every_client_spent_without_work() -> None:
    totals = arm_totals("on", 0, [line(debt_ns=100_000_000)])
    assert totals.busy_ns == 400_000_000 + 4 * 100_000_000
    assert totals.throughput == pytest.approx(4 * 100 / 0.8)


def test_an_arm_without_slices_did_nothing() -> None:
    totals = arm_totals("on", 0, [])
    assert (totals.throughput, totals.latency_mean_ns, totals.clients) == (0.0, 0.0, 0)


def test_errors_are_summed_by_sqlstate() -> None:
    totals = arm_totals("on", 0, [line(errors={"40001": 2}), line(errors={"40001": 1, "57P01": 4})])
    assert totals.errors == {"40001": 3, "57P01": 4}


def test_warm_up_and_pilot_are_no_readings() -> None:
    [epoch] = epochs_of([line(kind="warmup"), line(), line(epoch=-1, kind="pilot")], [epoch_line()])
    assert epoch.arms["on"].transactions == 100
    assert epoch.arms["off"].transactions == 0


def test_dropped_slices_are_counted_and_are_no_part_of_anything_else() -> None:
    slept = line(dropped="machine suspended", transactions=7, errors={"40001": 2})
    totals = arm_totals("on", 0, [line(), slept, line()])
    assert (totals.dropped, len(totals.slices), totals.transactions) == (1, 2, 200)
    assert totals.errors == {}


def test_rows_are_known_only_where_every_slice_tells_them() -> None:
    assert arm_totals("on", 0, [line(rows=3), line(rows=4)]).rows == 7
    assert arm_totals("on", 0, [line(rows=3), line()]).rows is None


MS = 1_000_000


@pytest.mark.parametrize(
    ("back_ms", "charged_ms", "uncharged_ms"),
    [
        (0, 0, 0),
        (200, 200, 0),  # one client stalled over the bell and was charged for it
        (200, 500, 0),  # three did
        (200, 3, 197),  # the stall is left out
        (1, -5, 6),  # all that was under way at the bell is left out
    ],
)
def test_time_after_the_bell_must_be_charged_to_somebody(
    back_ms: int, charged_ms: int, uncharged_ms: int
) -> None:
    times = {"start_ns": 5 * MS, "end_ns": (105 + back_ms) * MS, "length_ns": 100 * MS}
    told = line(**times, busy_ns=(400 + charged_ms) * MS)
    assert told.uncharged_ns == uncharged_ms * MS
    totals = arm_totals("on", 0, [told])
    assert (totals.uncharged_ns, totals.elapsed_ns) == (uncharged_ms * MS, (100 + back_ms) * MS)


def test_slices_of_a_torn_epoch_are_left_unseen() -> None:
    slices = [line(), line(epoch=1), line(epoch=1), line(epoch=1, attempt=2, transactions=7)]
    first, second = epochs_of(slices, [epoch_line(0), epoch_line(1, attempt=2)])
    assert first.arms["on"].transactions == 100
    assert second.arms["on"].transactions == 7
    assert len(epochs_of(slices, [epoch_line(0)])) == 1


def test_a_turn_of_a_torn_attempt_counts_only_where_the_epoch_kept_it() -> None:
    slices = [line(transactions=7), line(attempt=2, transactions=9)]
    kept = epoch_line(attempt=2, violations={"on": (), "off": ()})
    lost = epoch_line(attempt=2, violations={"off": ()}, outcome="crashed: on")
    [epoch] = epochs_of(slices[:1], [kept], [turn_line()])
    assert (set(epoch.turns), epoch.arms["on"].transactions) == ({"on"}, 7)
    [epoch] = epochs_of(slices, [lost], [turn_line()])
    assert (set(epoch.turns), epoch.arms["on"].transactions) == (set(), 9)
    [epoch] = epochs_of(slices, [kept], [turn_line(), turn_line(attempt=2)])
    assert (set(epoch.turns), epoch.arms["on"].transactions) == ({"on"}, 9)


def test_a_second_has_the_requests_of_its_own_slice_where_they_were_counted() -> None:
    slices = [line(), line(dropped="machine suspended"), line(), line()]
    kept = epoch_line(violations={"on": (), "off": ()})
    columns = {"reads": [1, 2, 3], "writes": [4, 5, None]}
    [epoch] = epochs_of(slices, [kept], [turn_line(seconds={"devices": columns})])
    first, second, last = epoch.turns["on"].seconds
    assert (first.device_reads, first.device_writes, second.device_reads) == (1, 4, 3)
    assert math.isnan(second.device_writes)
    assert math.isnan(last.device_reads), "the record has no number for it"
    [older] = epochs_of(slices, [kept], [turn_line()])
    assert all(math.isnan(one.device_reads) for one in older.turns["on"].seconds)


@pytest.mark.parametrize(
    ("own_borders", "cpu_us", "orders"), [(True, 30.0, 900.0), (False, 10.0, 300.0)]
)
def test_what_an_older_window_read_of_all_slices_is_of_all_their_transactions(
    own_borders: bool, cpu_us: float, orders: float
) -> None:
    """100 transactions in the window of 300 in the epoch."""
    readings = [
        {"name": "server_cpu_us", "unit": "µs", "value": 3000.0, "measured": True},
        {"name": "device_vda_reads", "unit": "requests", "value": 100.0, "measured": True},
    ]
    arm = {
        "transactions": 100,
        "all_transactions": 300,
        "readings": readings,
        "work_per_minute": {"orders": 900.0, "transactions": 600.0},
    }
    window = {
        **{"end": "cycles", "level": True, "at_checkpoint": True, "warmup_ns": 0},
        **({"own_borders": True} if own_borders else {}),
    }
    [totals] = epochs_of([line()], [epoch_line(arms={"on": arm}, windows={"on": window})])
    assert totals.per_transaction("on", "server_cpu_us") == cpu_us
    assert totals.per_transaction("on", "device_vda_reads") == 1.0, "read at borders of slices"
    assert totals.work_per_minute["on"] == {"orders": orders, "transactions": 600.0}
