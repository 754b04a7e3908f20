"""Raises the threats of cycles: what was not alike for arms that took slices in their own time.

Blocks pair the arms within seconds, so that what the machine does by itself meets both alike.
What is left is what an arm did while it was to stand still, what its window was not (whole cycles
of its own, as old and as long as the other's), and what the kernel does for both: it writes the
dirty pages of one arm in the slices of the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from steelyard.evaluation.threats.turns import (
    ageing_threats,
    debt_threats,
    directories_threats,
    level_threats,
    pauses_threats,
    unequal_turns_threats,
    unfinished_threats,
)
from steelyard.model.threat import Threat, raise_threat
from steelyard.model.threat_kind import ThreatKind
from steelyard.model.units import format_bytes, format_duration
from steelyard.record.epoch import Epoch
from steelyard.record.plan import Plan
from steelyard.record.window import WindowLine

UNEQUAL_DIRTIED = 0.1
"""By how much bytes dirtied per transaction may differ between the arms before the device is held
against it."""
BUSY_QUEUE = 1.0
"""Requests under way on average in an arm's slices: from here on one waits for another."""


def cycle_threats(
    epochs: Sequence[Epoch], plan: Plan, control: str, arm: str
) -> tuple[Threat, ...]:
    """Every threat that the windows of one contrast show; epochs in which both arms had one."""
    both = [
        epoch for epoch in epochs if control in epoch.line.windows and arm in epoch.line.windows
    ]
    pairs = [(epoch.totals.turns[control], epoch.totals.turns[arm]) for epoch in both]
    if not pairs:
        return ()
    totals = [epoch.totals for epoch in both]
    return (
        *_not_held_still(both, (control, arm)),
        *unfinished_threats(pairs, plan),
        *unequal_turns_threats(pairs),
        *directories_threats(totals, plan, control, arm),
        *level_threats(pairs),
        *pauses_threats(pairs),
        *debt_threats(pairs),
        *_write_back(both, control, arm),
        *ageing_threats(totals, plan, control, arm),
    )


def _not_held_still(epochs: Sequence[Epoch], arms: tuple[str, str]) -> Iterator[Threat]:
    for arm in arms:
        used_ns = [epoch.line.windows[arm].suspended_use_ns for epoch in epochs]
        moved = sum(used > 0 for used in used_ns)
        if moved:
            yield raise_threat(
                ThreatKind.NOT_HELD_STILL,
                f"processes of {arm} used up to {format_duration(max(used_ns))} of processor time "
                f"while they were to stand still, in {moved} of {len(epochs)} epochs",
            )


def _write_back(epochs: Sequence[Epoch], control: str, arm: str) -> Iterator[Threat]:
    """Arms that dirty unequal amounts on a device that is busy."""
    each = {name: [_per_transaction(epoch, name) for epoch in epochs] for name in (control, arm)}
    dirtied = {name: float(np.nanmedian(own)) for name, own in each.items() if _known(own)}
    if len(dirtied) < 2 or max(dirtied.values()) <= 0:
        return
    apart = 1 - min(dirtied.values()) / max(dirtied.values())
    queues = [
        queue
        for epoch in epochs
        for name in (control, arm)
        if not math.isnan(queue := queue_length(epoch, name))
    ]
    if apart <= UNEQUAL_DIRTIED or not queues or float(np.median(queues)) < BUSY_QUEUE:
        return
    words = " and ".join(f"{name} {format_bytes(own)}" for name, own in dirtied.items())
    yield raise_threat(
        ThreatKind.WRITE_BACK_SHARED,
        f"a transaction dirtied {words}, and {float(np.median(queues)):.1f} requests were under "
        f"way on the devices: the difference may be understated by up to {100 * apart:.0f} % of "
        "the device's part",
    )


def _known(values: Sequence[float]) -> bool:
    return any(not math.isnan(value) for value in values)


def _per_transaction(epoch: Epoch, arm: str) -> float:
    """Bytes dirtied per transaction of a window; NaN: not had."""
    columns, done = epoch.line.windows[arm].seconds, epoch.totals.arms[arm].transactions
    known = [value for value in columns.dirtied_bytes if value is not None]
    return sum(known) / done if known and done else math.nan


def queue_length(epoch: Epoch, arm: str) -> float:
    """Requests under way on the devices beneath the data in an arm's measured slices, on average;
    NaN: no device is to be seen."""
    window: WindowLine = epoch.line.windows[arm]
    devices = window.seconds.devices
    took_ns = epoch.totals.turns[arm].loaded_ns
    if devices is None or not took_ns:
        return math.nan
    queued = [value for value in devices.queued_ms if value is not None]
    return sum(queued) * 1e6 / took_ns if queued else math.nan
