"""Machines that begin apart, unlike between arms, late, busy or slow are doubted; others not."""

from __future__ import annotations

import random
from typing import Any

import pytest

from steelyard.evaluation.threats.together import together_threats
from steelyard.model.readings import ENDED_TRANSACTIONS, ArmTotals, EpochTotals, Reading
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


def _seen(epochs: list[tuple[ArmTotals, ArmTotals]]) -> list[tuple[str, str]]:
    totals = [
        EpochTotals(epoch=n, slots={}, start_order=(), arms={"off": control, "on": arm})
        for n, (control, arm) in enumerate(epochs)
    ]
    return [(one.name, one.seen) for one in together_threats(totals, "off", "on")]


def _both(*machines: dict[str, Any], skew_ns: int = MS) -> list[tuple[ArmTotals, ArmTotals]]:
    arm = _arm(*[_line(skew_ns, list(machines))] * 20)
    return [(arm, arm)] * 10


def test_machines_that_begin_together_and_are_idle_enough_are_not_doubted() -> None:
    assert _seen(_both(_machine("a"), _machine("b"))) == []


def test_a_load_by_one_machine_is_none_of_several() -> None:
    alone = _line(0, []).model_copy(update={"together": None})
    assert _arm(alone).together is None
    assert _seen([(_arm(alone), _arm(alone))]) == []


@pytest.mark.parametrize(("apart", "doubted"), [(1, False), (2, True)])
def test_a_skew_beyond_two_percent_is_doubted_in_more_than_one_slice_of_twenty(
    apart: int, doubted: bool
) -> None:
    machines = [_machine("a"), _machine("b")]
    near, far = _line(3 * MS, machines), _line(4 * MS, machines)  # the bound takes it beyond
    arm = _arm(*[far] * apart, *[near] * (20 - apart))
    seen = _seen([(arm, _arm(*[near] * 20))] * 10)
    expected = (
        "load machines began apart",
        "in 20 of 200 slices of off the machines began up to 4.1 ms apart, more than 2% of the "
        "slice",
    )
    assert seen == ([expected] if doubted else [])


@pytest.mark.parametrize(("more_ns", "doubted"), [(MS // 2, False), (2 * MS, True)])
def test_a_skew_within_two_percent_is_doubted_where_it_is_unlike_between_the_arms(
    more_ns: int, doubted: bool
) -> None:
    draw, machines = random.Random(1), [_machine("a"), _machine("b")]

    def arm(extra_ns: int) -> ArmTotals:
        return _arm(*[_line(draw.randrange(MS) + extra_ns, machines) for _ in range(20)])

    seen = _seen([(arm(0), arm(more_ns)) for _ in range(10)])
    assert [name for name, _ in seen] == ["load machines began apart"] * doubted
    assert all("farther apart for on than for off" in words for _, words in seen)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"driver_cpu_ns": 700 * MS}, "the driver of b used 88% of that machine's processors"),
        ({"late_ns": 5 * MS}, "b began 100% of its slices late"),
        ({"transactions": 3000}, "a client of b did 38% of what one of the other machines did"),
    ],
)
def test_a_machine_that_holds_the_load_up_is_named(changes: dict[str, int], words: str) -> None:
    seen = _seen(_both(_machine("a"), _machine("b", **changes), _machine("c")))
    assert seen == [("a load machine is the bottleneck", words)]


def test_a_machine_that_is_slow_for_one_arm_alone_is_what_was_to_be_measured() -> None:
    machines = [_machine("a"), _machine("b")]
    slow = [_machine("a"), _machine("b", transactions=3000)]
    arms = _arm(*[_line(MS, machines)] * 20), _arm(*[_line(MS, slow)] * 20)
    assert _seen([arms] * 10) == []


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
    seen = [(one.name, one.seen) for one in together_threats(totals, "off", "on")]
    words = (
        "the machines counted 320,000 transactions of all arms, of which the servers ended 317,000"
    )
    assert seen == [("servers count fewer transactions", words)] * doubted


def test_what_lies_between_the_begins_of_machines_is_charged_to_no_client() -> None:
    line = _line(MS, [_machine("a"), _machine("b")])
    # 1 ms after the bell, all of it within the skew.
    assert line.uncharged_ns == 0
    assert line.model_copy(update={"together": None}).uncharged_ns == MS
