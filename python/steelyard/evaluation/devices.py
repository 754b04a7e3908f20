"""Reads what the devices beneath the data did while each arm was driven, with contrasts, and
compares the health of drives before and after the work.

Requests a second, requests a transaction, time of a request and mean queue are those of an epoch's
measured slices: the counts at their borders (telemetry/slice_counters.py) over their time. In turns
the CV of requests by the second is beside them. They decide no verdict. The definitions are those
of iostat(1): r/s, w/s, r_await, w_await, aqu-sz. Of several devices beneath one file system the sum
is taken.

A drive that has used p % of its endurance for W bytes lasts for about W ÷ p in all, if it is
written to as it was so far. The counter goes up by whole percents: p may be half a percent off.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from steelyard.analysis.decision.secondary import SecondaryContrast
from steelyard.analysis.turns.evenness import request_evenness
from steelyard.evaluation.causes import Read, compared, counted_rows
from steelyard.evaluation.turn_summary import turn_pairs
from steelyard.evaluation.workload_rows import NS_PER_MINUTE
from steelyard.model.readings import SLICES_NS, EpochTotals, device_names, device_reading
from steelyard.model.units import NS_PER_MS, NS_PER_S
from steelyard.record.environment import DiskFacts
from steelyard.record.machine.drive_health import DriveHealth
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


LEAST_USED_PERCENT = 3
"""Below it half a percent is more than a sixth of what is known."""
FEW_STEPS = 20
"""A counter that moved by fewer of its steps gives the amount to no better than 5 %."""
SECONDS_PER_HOUR = 3600
_HALF_STEP_PERCENT = 0.5


@dataclass(frozen=True)
class AmountRange:
    """An amount, and what it is at least and at most."""

    low: float
    likely: float
    high: float

    def times(self, factor: float) -> AmountRange:
        """The amount and its ends multiplied."""
        return AmountRange(self.low * factor, self.likely * factor, self.high * factor)


@dataclass(frozen=True)
class DriveChange:
    """A drive before and after; None: it was not read, or is another one by then."""

    before: DriveHealth
    after: DriveHealth | None

    @property
    def latest(self) -> DriveHealth:
        """The later reading, unless it lacks the written bytes that the earlier one has."""
        unread = self.after is None or (
            self.after.written_bytes is None and self.before.written_bytes is not None
        )
        return self.before if unread or self.after is None else self.after

    def grew(self, counter: str) -> int | None:
        """By how much a counter grew; None where it is not known at both times."""
        if self.after is None:
            return None
        first, last = getattr(self.before, counter), getattr(self.after, counter)
        return None if first is None or last is None else last - first

    @property
    def new_warnings(self) -> tuple[str, ...]:
        """Critical warnings that were not there before."""
        now = self.after.warnings if self.after else ()
        return tuple(warning for warning in now if warning not in self.before.warnings)


def drive_changes(
    before: Sequence[DriveHealth], after: Sequence[DriveHealth]
) -> Iterator[DriveChange]:
    """Every drive that was read before, with itself afterwards."""
    later = {drive.device: drive for drive in after}
    for drive in before:
        last = later.get(drive.device)
        yield DriveChange(drive, last if last is not None and _is_same(drive, last) else None)


_ONLY_GROW = (
    *("read_bytes", "written_bytes", "media_errors", "power_on_h"),
    *("warning_temperature_min", "critical_temperature_min"),
)


def _is_same(first: DriveHealth, last: DriveHealth) -> bool:
    """Whether it is the same drive, its counters in the same unit: names are given anew at a
    start of the machine, and no serial number is kept. Programs may spell a model differently."""
    if first.source == last.source and first.model != last.model:
        return False
    if None not in (first.step_bytes, last.step_bytes) and first.step_bytes != last.step_bytes:
        return False
    change = DriveChange(first, last)
    return all((change.grew(counter) or 0) >= 0 for counter in _ONLY_GROW)


@dataclass(frozen=True)
class Endurance:
    """What a drive can be written to in all, and how long the rest lasts."""

    total_bytes: AmountRange
    left_at_lifetime_rate_h: AmountRange | None
    """At the mean rate of its power-on hours."""
    left_at_this_rate_h: AmountRange | None
    """At the rate of this load."""


def endurance_unknown(health: DriveHealth) -> str:
    """Why a drive's endurance cannot be reckoned; empty where it can."""
    used = health.used_percent
    if used is None or not health.written_bytes:
        return "it does not say how much of it is used, or how much was written so far"
    if used < LEAST_USED_PERCENT:
        return (
            f"only {used} % of it is used: the counter goes up by whole percents, and below "
            f"{LEAST_USED_PERCENT} % one of them is too much of what is known"
        )
    return "all of it is used, by its maker's estimate" if used >= 100 else ""


def endurance(health: DriveHealth, bytes_per_s: float | None) -> Endurance | None:
    """What is left of a drive's life; `bytes_per_s`: what this load writes, None: not known."""
    used, written = health.used_percent, health.written_bytes
    if used is None or written is None or endurance_unknown(health):
        return None
    shares = [(used + side * _HALF_STEP_PERCENT) / 100 for side in (1, 0, -1)]
    total = AmountRange(*(written / share for share in shares))
    left = AmountRange(total.low - written, total.likely - written, total.high - written)
    hours, hourly = health.power_on_h, (bytes_per_s or 0) * SECONDS_PER_HOUR
    return Endurance(
        total_bytes=total,
        left_at_lifetime_rate_h=left.times(hours / written) if hours else None,
        left_at_this_rate_h=left.times(1 / hourly) if hourly else None,
    )


def too_few_steps(health: DriveHealth, grown_bytes: int) -> bool:
    """Whether a counter of bytes moved by so few of its steps that the amount is imprecise."""
    return grown_bytes < FEW_STEPS * (health.step_bytes or 0)
