"""Judges each script of a mix by itself: its share, its mean time, how an arm changes it, and the
plans of its statements.

The intervals hold jointly over all scripts of an arm (max-T), so that the worst of many is no
accident of their number; they decide no verdict of the weighing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

from steelyard.analysis.decision.secondary import SecondaryContrast
from steelyard.evaluation.causes import Read, compared, epoch_contrasts
from steelyard.evaluation.plans.flips import flips
from steelyard.model.memoize import memoize_by_identity
from steelyard.model.readings import ArmTotals, EpochTotals
from steelyard.model.units import NS_PER_US
from steelyard.record.environment import Inspection
from steelyard.record.verdict import ScriptTime

_RANK = {"slower": 0, "inconclusive": 1, "equivalent": 2, "faster": 3, None: 1}


def script_times(
    epochs: Sequence[EpochTotals],
    inspection: Inspection,
    control: str,
    arm: str,
    margin: float,
) -> list[ScriptTime]:
    """A row for each script of an arm where several are driven: the slower ones first, by how much;
    then those that are not decided. None where each script is a slice of its own. `margin`: a share
    within which an arm is as good."""
    names = sorted({name for epoch in epochs for name in epoch.arms[control].latencies})
    by_slice = any(one.script for epoch in epochs for one in epoch.arms[control].slices)
    if len(names) < 2 or by_slice:
        return []
    reads = {name: _mean_us_of(name) for name in names}
    contrasts = {one.name: one for one in epoch_contrasts(epochs, control, arm, reads)}
    counts = {name: _sums(epochs, (control, arm), name)[0] for name in names}
    times = {name: _sums(epochs, (control,), name)[1] for name in names}
    all_counted, all_time = sum(counts.values()), sum(times.values())
    rows = [
        ScriptTime.model_validate(
            {
                "script": name,
                "share_percent": 100 * times[name] / all_time if all_time else 0.0,
                "executed_percent": 100 * counts[name] / all_counted,
                **_changed(epochs, control, arm, name, contrasts.get(name), margin),
                **_planned(inspection, control, arm, name),
            }
        )
        for name in names
        if counts[name]
    ]
    return sorted(rows, key=_worst_first)


def _worst_first(row: ScriptTime) -> tuple[int, float, str]:
    change = row.estimate_percent
    return _RANK[row.verdict], math.inf if change is None else -change, row.script


def _changed(
    epochs: Sequence[EpochTotals],
    control: str,
    arm: str,
    script: str,
    contrast: SecondaryContrast | None,
    margin: float,
) -> Mapping[str, object]:
    """Both means and the change; without one where an epoch has no execution in an arm."""
    if contrast is not None:
        return {
            "control_us": contrast.control_value,
            "arm_us": contrast.arm_value,
            "verdict": _verdict(contrast, margin),
            **compared(contrast, control, arm),
        }
    means = {}
    for name in (control, arm):
        count, sum_ns = _sums(epochs, (name,), script)
        means[name] = sum_ns / count / NS_PER_US if count else None
    return {
        "control_us": means[control],
        "arm_us": means[arm],
        "verdict": "inconclusive",
        "arm": arm,
        "control": control,
        **dict.fromkeys(("estimate_percent", "low_percent", "high_percent")),
        "confidence": 0.95,
    }


def _verdict(
    contrast: SecondaryContrast, margin: float
) -> Literal["slower", "faster", "equivalent", "inconclusive"]:
    """By the joint interval of the log ratio of mean times: more time is slower."""
    low, high = contrast.estimate.low, contrast.estimate.high
    if low >= math.log1p(-margin) and high <= math.log1p(margin):
        return "equivalent"
    if low > 0:
        return "slower"
    return "faster" if high < 0 else "inconclusive"


def _planned(
    inspection: Inspection, control: str, arm: str, script: str
) -> dict[str, tuple[str, ...]]:
    """The statements of a script that have a plan, and what flipped in these."""
    ours, theirs = (_of_script(inspection.plans.get(name, {}), script) for name in (control, arm))
    changed = [
        name for one in ours if one in theirs for name in flips(ours[one], theirs[one]).names
    ]
    planned = {"statements": tuple(ours), "flips": tuple(dict.fromkeys(changed))}
    return {key: some for key, some in planned.items() if some}


def _of_script(plans: Mapping[str, str], script: str) -> dict[str, str]:
    """Statement → its plan."""
    begin = f"{script}: "
    return {one.removeprefix(begin): plan for one, plan in plans.items() if one.startswith(begin)}


def _mean_us_of(script: str) -> Read:
    def read(epoch: EpochTotals, arm: str) -> float:
        count, sum_ns = _counted(epoch.arms[arm], script)
        return sum_ns / count / NS_PER_US if count else math.nan

    return read


def _sums(epochs: Sequence[EpochTotals], arms: Sequence[str], script: str) -> tuple[int, float]:
    """Executions in some arms, and the sum of their times in ns."""
    every = [_counted(epoch.arms[arm], script) for epoch in epochs for arm in arms]
    return sum(count for count, _ in every), sum(sum_ns for _, sum_ns in every)


@memoize_by_identity
def _counted(arm: ArmTotals, script: str) -> tuple[int, float]:
    """Executions of a script in an arm of an epoch, and the sum of their times in ns."""
    from steelyard._core import histogram_quantiles

    encoded = arm.latencies.get(script)
    if not encoded:
        return 0, 0.0
    read = histogram_quantiles([encoded], [])
    return read["count"], read["count"] * read["mean_ns"]
