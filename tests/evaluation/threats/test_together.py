"""Machines that begin apart, unlike between arms, late, busy or slow are doubted; others not."""

from __future__ import annotations

import random
from typing import Any

import pytest

from steelyard.evaluation.threats.together import (
    ClientsSlow,
    DriverUsesProcessors,
    FewerEndedThanCounted,
    MachineLate,
    MachinesApart,
    MachinesFartherApart,
    together_threats,
)
from steelyard.model.readings import ENDED_TRANSACTIONS, ArmTotals, EpochTotals, Reading
from steelyard.model.threat import Observation
from steelyard.record.slice import SliceLine
from steelyard.record.totals import arm_totals

MS = 1_000_000


def _machine(name: str, **changes: int) -> dict[str, Any]:
    did = {
        "name": name, "processors": 4, "clients": 8, "transactions": 8000, "busy_ns": 1600 * MS,
        "driver_cpu_ns": 300 * MS, "start_ns": 5 * MS, "end_ns": 205 * MS, "late_ns": 20_000,
        "offset_ns": 77, "offset_bound_ns": 50_000,
    }  # fmt: skip
    return {**did, **changes}


def _line(skew_ns: int, machines: list[dict[str, Any]], bound_ns: int = 100_000) -> SliceLine:
    together = {"skew_ns": skew_ns, "skew_bound_ns": bound_ns, "machines": machines}
    return SliceLine.model_validate(
        {
            "epoch": 0, "arm": "on", "kind": "measured", "block": 0, "position": 0,
            "start_ns": 0, "end_ns": 201 * MS, "length_ns": 200 * MS,
            "clients": 16, "transactions": 16000, "busy_ns": 3200 * MS, "latency_sum_ns": 1,
            "together": together,
        }
    )  # fmt: skip


def _arm(*lines: SliceLine) -> ArmTotals:
    return arm_totals("on", 0, lines)


def _doubts(epochs: list[tuple[ArmTotals, ArmTotals]]) -> list[Observation]:
    totals = [
        EpochTotals(epoch=n, slots={}, start_order=(), arms={"off": control, "on": arm})
        for n, (control, arm) in enumerate(epochs)
    ]
    return list(together_threats(totals, "off", "on"))


def _both(*machines: dict[str, Any], skew_ns: int = MS) -> list[tuple[ArmTotals, ArmTotals]]:
    arm = _arm(*[_line(skew_ns, list(machines))] * 20)
    return [(arm, arm)] * 10


def test_machines_that_begin_together_and_are_idle_enough_are_not_doubted() -> None:
    assert _doubts(_both(_machine("a"), _machine("b"))) == []


def test_a_load_by_one_machine_is_none_of_several() -> None:
    alone = _line(0, []).model_copy(update={"together": None})
    assert _arm(alone).together is None
    assert _doubts([(_arm(alone), _arm(alone))]) == []


@pytest.mark.parametrize(("apart", "doubted"), [(1, False), (2, True)])
def test_a_skew_beyond_two_percent_is_doubted_in_more_than_one_slice_of_twenty(
    apart: int, doubted: bool
) -> None:
    machines = [_machine("a"), _machine("b")]
    near, far = _line(3 * MS, machines), _line(4 * MS, machines)  # the bound takes it beyond
    arm = _arm(*[far] * apart, *[near] * (20 - apart))
    doubts = _doubts([(arm, _arm(*[near] * 20))] * 10)
    assert doubts == [MachinesApart("off", 20, 200, 4_100_000)] * doubted


@pytest.mark.parametrize(("more_ns", "doubted"), [(MS // 2, False), (2 * MS, True)])
def test_a_skew_within_two_percent_is_doubted_where_it_is_unlike_between_the_arms(
    more_ns: int, doubted: bool
) -> None:
    draw, machines = random.Random(1), [_machine("a"), _machine("b")]

    def arm(extra_ns: int) -> ArmTotals:
        return _arm(*[_line(draw.randrange(MS) + extra_ns, machines) for _ in range(20)])

    starts = [(arm(0), arm(more_ns)) for _ in range(10)]
    share = pytest.approx(more_ns / (200 * MS), rel=0.1)
    assert _doubts(starts) == [MachinesFartherApart("on", "off", share)] * doubted
    swapped = _doubts([(slow, fast) for fast, slow in starts])
    assert swapped == [MachinesFartherApart("off", "on", share)] * doubted


@pytest.mark.parametrize(
    ("changes", "doubt"),
    [
        ({"driver_cpu_ns": 700 * MS}, DriverUsesProcessors("b", 0.875)),
        ({"late_ns": 5 * MS}, MachineLate("b", 1.0)),
        ({"transactions": 3000}, ClientsSlow("b", pytest.approx(0.375))),
    ],
)
def test_a_machine_that_holds_the_load_up_is_named(
    changes: dict[str, int], doubt: Observation
) -> None:
    assert _doubts(_both(_machine("a"), _machine("b", **changes), _machine("c"))) == [doubt]


def test_a_machine_that_is_slow_for_one_arm_alone_is_what_was_to_be_measured() -> None:
    machines = [_machine("a"), _machine("b")]
    slow = [_machine("a"), _machine("b", transactions=3000)]
    arms = _arm(*[_line(MS, machines)] * 20), _arm(*[_line(MS, slow)] * 20)
    assert _doubts([arms] * 10) == []


@pytest.mark.parametrize(("ended", "doubted"), [(40_000, False), (31_700, True), (None, False)])
def test_servers_that_ended_fewer_transactions_than_machines_counted_are_doubted(
    ended: int | None, doubted: bool
) -> None:
    """Two arms with 16,000 each: more may be of other users, and a server may not tell."""
    arm = _arm(_line(MS, [_machine("a"), _machine("b")]))
    totals = [
        EpochTotals(
            epoch=n,
            slots={},
            start_order=(),
            arms={"off": arm, "on": arm},
            machine={ENDED_TRANSACTIONS: Reading(ENDED_TRANSACTIONS, "transactions", ended)},
            transactions_all={"off": 16_000, "on": 16_000},
        )
        for n in range(10)
    ]
    doubts = list(together_threats(totals, "off", "on"))
    assert doubts == [FewerEndedThanCounted(320_000, 317_000)] * doubted


def test_what_lies_between_the_begins_of_machines_is_charged_to_no_client() -> None:
    line = _line(MS, [_machine("a"), _machine("b")])
    # 1 ms after the bell, all of it within the skew.
    assert line.uncharged_ns == 0
    assert line.model_copy(update={"together": None}).uncharged_ns == MS
