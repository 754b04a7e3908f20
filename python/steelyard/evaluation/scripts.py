"""Reads the mean time of each script of a mix in both arms, with its statements and their plans."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from steelyard.evaluation.causes import Read, compared, epoch_contrasts
from steelyard.evaluation.plans.flips import flips
from steelyard.model.once import once_each
from steelyard.model.readings import ArmTotals, EpochTotals
from steelyard.model.units import NS_PER_US
from steelyard.record.environment import Inspection
from steelyard.record.verdict import ScriptTime


def script_times(
    epochs: Sequence[EpochTotals], inspection: Inspection, control: str, arm: str
) -> list[ScriptTime]:
    """A row a script that every epoch has, those first whose time grew most; none of a mix of one,
    or where each script is a slice of its own."""
    names = sorted({name for epoch in epochs for name in epoch.arms[control].latencies})
    by_slice = any(one.script for epoch in epochs for one in epoch.arms[control].slices)
    if len(names) < 2 or by_slice:
        return []
    shares = _shares(epochs, control, names)
    found = epoch_contrasts(epochs, control, arm, {name: _mean_us_of(name) for name in names})
    rows = [
        ScriptTime.model_validate(
            {
                "script": one.name,
                "share_percent": shares[one.name],
                "control_us": one.control_value,
                "arm_us": one.arm_value,
                **_planned(inspection, control, arm, one.name),
                **compared(one, control, arm),
            }
        )
        for one in found
    ]
    return sorted(rows, key=lambda row: -(row.estimate_percent or 0.0))


def _planned(
    inspection: Inspection, control: str, arm: str, script: str
) -> dict[str, tuple[str, ...]]:
    """The statements of a script that have a plan, and what flipped in these."""
    ours, theirs = (_of_script(inspection.plans.get(name, {}), script) for name in (control, arm))
    changed = [
        name for one in ours if one in theirs for name in flips(ours[one], theirs[one]).names
    ]
    told = {"statements": tuple(ours), "flips": tuple(dict.fromkeys(changed))}
    return {key: some for key, some in told.items() if some}


def _of_script(plans: Mapping[str, str], script: str) -> dict[str, str]:
    """Statement → its plan."""
    begin = f"{script}: "
    return {one.removeprefix(begin): plan for one, plan in plans.items() if one.startswith(begin)}


def _shares(epochs: Sequence[EpochTotals], arm: str, names: Sequence[str]) -> dict[str, float]:
    """Script → percent of the time of all transactions of an arm."""
    spent = dict.fromkeys(names, 0.0)
    for epoch in epochs:
        for name in names:
            count, mean_ns = _count_and_mean(epoch.arms[arm], name)
            spent[name] += count * mean_ns if count else 0.0
    whole = sum(spent.values())
    return {name: 100 * ns / whole if whole else 0.0 for name, ns in spent.items()}


def _mean_us_of(script: str) -> Read:
    def read(epoch: EpochTotals, arm: str) -> float:
        count, mean_ns = _count_and_mean(epoch.arms[arm], script)
        return mean_ns / NS_PER_US if count else math.nan

    return read


@once_each
def _count_and_mean(arm: ArmTotals, script: str) -> tuple[int, float]:
    """Transactions of a script in an epoch, and their mean latency in ns."""
    from steelyard._core import histogram_quantiles

    latency = arm.latencies.get(script, "")
    found = histogram_quantiles([latency] if latency else [], [])
    return found["count"], found["mean_ns"]
