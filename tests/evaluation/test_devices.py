"""What devices did is told by iostat's definitions, summed over devices, or why it is not told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from evaluation.made import make_plan
from steelyard.evaluation.devices import ELSEWHERE, NOT_ALWAYS, device_summary
from steelyard.model.readings import ArmTotals, EpochTotals, Reading
from steelyard.record.environment import DiskFacts
from steelyard.record.verdict import DeviceFigure, DeviceSummary

Counts = Mapping[str, float]
ONE: Counts = {"reads": 4000, "read_ms": 2000, "writes": 1000, "write_ms": 3000, "queued_ms": 6000}


def epoch(
    number: int, devices: Mapping[str, Counts], times: float = 2.0, **facts: Any
) -> EpochTotals:
    """Two arms of 500 transactions in 2 s of slices; "off" asks so many times as often."""

    def readings(factor: float) -> dict[str, Reading]:
        counted = {
            f"device_{device}_{name}": Reading("", "", factor * count, measured=True)
            for device, counts in devices.items()
            for name, count in counts.items()
        }
        return counted | {"slices_ns": Reading("", "ns", 2e9, measured=True)}

    return EpochTotals(
        epoch=number,
        slots={"on": 0, "off": 1},
        start_order=("on", "off"),
        arms={arm: ArmTotals(arm, slot, 4, 500, 1, 1) for slot, arm in enumerate(("on", "off"))},
        transactions_measured={"on": 500, "off": 500},
        readings={"on": readings(1.0), "off": readings(times)},
        **facts,
    )


def summary_of(epochs: Sequence[EpochTotals], **facts: object) -> DeviceSummary:
    found = device_summary(epochs, make_plan(), DiskFacts.model_validate(facts), ["off"])
    assert found is not None
    return found


def figures(epochs: Sequence[EpochTotals]) -> dict[str, DeviceFigure]:
    return {one.metric: one for one in summary_of(epochs).figures}


def test_a_volume_above_drives_is_not_added_to_them() -> None:
    epochs = [epoch(n, {"sda": ONE, "sdb": ONE, "dm-0": ONE}, 2 + n % 2 / 10) for n in range(8)]
    found = summary_of(epochs, devices=["sda", "sdb"])
    assert found.names == ("sda", "sdb")
    rates = {one.metric: one.control_value for one in found.figures}
    assert rates["read_iops"] == pytest.approx(4000)


def test_every_figure_is_by_the_definition_of_iostat() -> None:
    found = figures([epoch(n, {"vda": ONE}, 2 + n % 2 / 10) for n in range(8)])
    assert {name: one.control_value for name, one in found.items()} == pytest.approx(
        {
            "read_iops": 2000.0,
            "write_iops": 500.0,
            "reads_per_transaction": 8.0,
            "writes_per_transaction": 2.0,
            "read_latency_ms": 0.5,
            "write_latency_ms": 3.0,
            "queue_length": 3.0,  # by Little: 2000/s · 0.5 ms + 500/s · 3 ms = 2.5, and flushes
        }
    )
    assert found["read_iops"].estimate_percent == pytest.approx(105, abs=1)
    assert found["read_latency_ms"].estimate_percent == pytest.approx(0, abs=1e-6)
    assert {one.unit for one in found.values()} == {"1/s", "requests", "ms"}


def test_of_several_devices_the_sum_is_told_and_the_mean_time_of_all_requests() -> None:
    other = {**ONE, "reads": 1000, "read_ms": 3000}
    epochs = [epoch(n, {"sda": ONE, "sdb": other}) for n in range(8)]
    assert summary_of(epochs).names == ("sda", "sdb")
    assert figures(epochs)["read_iops"].control_value == pytest.approx(2500)
    assert figures(epochs)["read_latency_ms"].control_value == pytest.approx(1.0)


def test_requests_a_unit_of_work_are_told_where_transactions_are_of_several_kinds() -> None:
    rates = {"on": {"new_orders": 6000.0, "transactions": 15000.0}}
    rates["off"] = rates["on"]
    found = figures([epoch(n, {"vda": ONE}, work_per_minute=rates) for n in range(8)])
    assert found["reads_per_new_order"].control_value == pytest.approx(60 * 2000 / 6000)
    assert found["writes_per_new_order"].unit == "requests"
    assert found["reads_per_new_order"].arm_value == pytest.approx(2 * 60 * 2000 / 6000)
    alone = {arm: {"payments": 6000.0} for arm in ("on", "off")}
    one_kind = figures([epoch(n, {"vda": ONE}, work_per_minute=alone) for n in range(8)])
    assert not [name for name in one_kind if "payment" in name], "a payment is a transaction"


def test_work_whose_rate_is_over_the_debts_time_too_is_counted_as_often_as_it_was_done() -> None:
    rates = {arm: {"new_orders": 3000.0, "transactions": 7500.0} for arm in ("on", "off")}
    made = [epoch(n, {"vda": ONE}, work_per_minute=rates) for n in range(8)]
    paid = [
        replace(one, arms={arm: replace(own, debt_ns=2 * 10**9) for arm, own in one.arms.items()})
        for one in made
    ]
    assert figures(paid)["reads_per_new_order"].control_value == pytest.approx(4000 / 200)


def test_a_side_that_is_idle_has_no_time_of_a_request_and_its_rate_a_difference() -> None:
    found = figures([epoch(n, {"vda": {**ONE, "writes": 0, "write_ms": 0}}) for n in range(8)])
    assert "write_latency_ms" not in found
    assert found["write_iops"].note == "none in either arm"
    assert found["read_iops"].control_value == pytest.approx(2000)


def test_what_cannot_be_told_has_its_reason() -> None:
    nothing = [epoch(n, {}) for n in range(8)]
    reason = "a file system of type overlay has no block device to be seen"
    assert summary_of(nothing, unmapped=reason).to_json() == {"missing": reason}
    assert device_summary(nothing, make_plan(), DiskFacts(), ["off"]) is None, "an older record"
    assert device_summary([], make_plan(), DiskFacts(), ["off"]) is None
    reached = make_plan(residency="one server")
    elsewhere = device_summary([epoch(0, {"vda": ONE})], reached, DiskFacts(), ["off"])
    assert elsewhere == DeviceSummary(missing=ELSEWHERE), "these devices are the client's"
    late = summary_of([epoch(0, {}), *(epoch(n, {"vda": ONE}) for n in range(1, 8))])
    assert (late.figures, late.missing) == ((), NOT_ALWAYS)
