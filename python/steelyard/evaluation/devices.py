"""Reads what the devices beneath the data did while each arm was driven, with contrasts.

Requests a second, requests a transaction, time of a request and mean queue are those of an epoch's
measured slices: the counts at their borders (telemetry/slice_counters.py) over their time. In turns
the CV of requests by the second is beside them. They decide no verdict.

The definitions are those of iostat(1): r/s, w/s, r_await, w_await, aqu-sz. Of several devices
beneath one file system the sum is taken.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from steelyard.analysis.decision.secondary import SecondaryContrast
from steelyard.analysis.turns.evenness import request_evenness
from steelyard.evaluation.causes import Read, compared, counted_rows
from steelyard.evaluation.turn_summary import turn_pairs
from steelyard.evaluation.workload_rows import NS_PER_MINUTE
from steelyard.model.readings import SLICES_NS, EpochTotals, device_names, device_reading
from steelyard.model.units import NS_PER_MS, NS_PER_S
from steelyard.record.environment import DiskFacts
from steelyard.record.plan import Plan
from steelyard.record.verdict import DeviceFigure, DeviceSummary

READ_RATE, WRITE_RATE = "read_iops", "write_iops"
ELSEWHERE = "the servers are reached at addresses, and their devices are not seen from here"
NOT_ALWAYS = "their counts are not known of every epoch"
_TRANSACTIONS = "transactions"


def device_summary(
    epochs: Sequence[EpochTotals], plan: Plan, disk: DiskFacts, arms: Sequence[str]
) -> DeviceSummary | None:
    """What a verdict says of the devices, or why it cannot; None where the record says neither.

    `epochs`: complete ones.
    """
    if plan.residency != "own servers":
        return DeviceSummary(missing=ELSEWHERE)
    control = plan.control
    every = device_names(name for epoch in epochs for name in epoch.readings.get(control, {}))
    # A volume above them is counted too, for what a probe got of it.
    names = [name for name in every if name in disk.devices] if disk.devices else every
    if not names:
        return DeviceSummary(missing=disk.unmapped) if disk.unmapped else None
    figures = [
        *(row for arm in arms for row in _counted(epochs, control, arm, names)),
        *(row for arm in arms for row in _variations(epochs, control, arm)),
    ]
    return DeviceSummary.model_validate(
        {
            "names": names,
            "figures": figures,
            **({"shared_with_record": True} if disk.holds_record else {}),
            **({} if figures else {"missing": NOT_ALWAYS}),
        }
    )


def _counted(
    epochs: Sequence[EpochTotals], control: str, arm: str, devices: Sequence[str]
) -> list[DeviceFigure]:
    """The figures of an arm that come from counts of whole epochs, with joint intervals."""
    reads, units = _reads_of(devices), dict(_UNITS)
    for work in _work(epochs, control):
        for side in ("reads", "writes"):
            name = f"{side}_per_{work.removesuffix('s')}"
            reads[name] = _per_work(_sum_of(devices, side), work)
            units[name] = "requests"
    rows = counted_rows(epochs, control, arm, reads, {name: (name, units[name]) for name in reads})
    return [DeviceFigure(**row.model_dump(exclude_unset=True)) for row in rows.values()]


_UNITS = {
    READ_RATE: "1/s",
    WRITE_RATE: "1/s",
    "reads_per_transaction": "requests",
    "writes_per_transaction": "requests",
    "read_latency_ms": "ms",
    "write_latency_ms": "ms",
    "queue_length": "requests",
}


def _reads_of(devices: Sequence[str]) -> dict[str, Read]:
    reads, writes = _sum_of(devices, "reads"), _sum_of(devices, "writes")
    return {
        READ_RATE: _per_second(reads),
        WRITE_RATE: _per_second(writes),
        "reads_per_transaction": _per_transaction(devices, "reads"),
        "writes_per_transaction": _per_transaction(devices, "writes"),
        "read_latency_ms": _ratio(_sum_of(devices, "read_ms"), reads),
        "write_latency_ms": _ratio(_sum_of(devices, "write_ms"), writes),
        "queue_length": _queue(_sum_of(devices, "queued_ms")),
    }


def _work(epochs: Sequence[EpochTotals], control: str) -> list[str]:
    """What the workload counts of its own work where transactions are of several kinds."""
    names = list(epochs[0].work_per_minute.get(control, {}))
    return [name for name in names if name != _TRANSACTIONS] if _TRANSACTIONS in names else []


def _sum_of(devices: Sequence[str], counted: str) -> Read:
    """Over the devices; NaN where one was not read."""
    return lambda epoch, arm: sum(
        epoch.amount(arm, device_reading(device, counted)) for device in devices
    )


def _seconds(epoch: EpochTotals, arm: str) -> float:
    return epoch.amount(arm, SLICES_NS) / NS_PER_S or math.nan


def _ratio(above: Read, below: Read) -> Read:
    return lambda epoch, arm: above(epoch, arm) / (below(epoch, arm) or math.nan)


def _per_second(counts: Read) -> Read:
    return _ratio(counts, _seconds)


def _per_transaction(devices: Sequence[str], counted: str) -> Read:
    return lambda epoch, arm: sum(
        epoch.per_transaction(arm, device_reading(device, counted)) for device in devices
    )


def _per_work(counts: Read, work: str) -> Read:
    """Of one unit of the workload's own work, whose rate is over the charged debt's time too."""

    def read(epoch: EpochTotals, arm: str) -> float:
        a_minute = epoch.work_per_minute.get(arm, {}).get(work, 0.0)
        minutes = (epoch.amount(arm, SLICES_NS) + epoch.arms[arm].debt_ns) / NS_PER_MINUTE
        return counts(epoch, arm) / (a_minute * minutes or math.nan)

    return read


def _queue(queued_ms: Read) -> Read:
    """Requests under way on average: their time over the time that went by."""
    seconds = _per_second(queued_ms)
    return lambda epoch, arm: seconds(epoch, arm) * NS_PER_MS / NS_PER_S


def _variations(epochs: Sequence[EpochTotals], control: str, arm: str) -> list[DeviceFigure]:
    """CV of requests by the second, in turns; the shorter turn limits both, so the control's is of
    the pair."""
    contrasts = request_evenness(turn_pairs(epochs, control, arm))
    return [_variation(contrast, control, arm) for contrast in contrasts]


def _variation(secondary: SecondaryContrast, control: str, arm: str) -> DeviceFigure:
    return DeviceFigure.model_validate(
        {
            "metric": secondary.name,
            "unit": "",
            **compared(secondary, control, arm),
            "control_value": secondary.control_value,
            "arm_value": secondary.arm_value,
            **({"note": secondary.note} if secondary.note else {}),
        }
    )
