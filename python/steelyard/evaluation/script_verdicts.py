"""Judges each script of a mix by itself: its share, its mean time, and how an arm changes it.

The intervals hold jointly over all scripts of an arm (max-T), so that the worst of many is no
accident of their number; they decide no verdict of the weighing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

from steelyard.analysis.decision.secondary import SecondaryContrast
from steelyard.evaluation.causes import Read, compared, epoch_contrasts
from steelyard.model.once import once_each
from steelyard.model.readings import ArmTotals, EpochTotals
from steelyard.model.units import NS_PER_US
from steelyard.record.verdict import FlippedPlan, ScriptVerdict

_RANK = {"slower": 0, "inconclusive": 1, "equivalent": 2, "faster": 3}


def script_verdicts(
    epochs: Sequence[EpochTotals],
    control: str,
    arm: str,
    margin: float,
    plans: Sequence[FlippedPlan] = (),
) -> list[ScriptVerdict]:
    """A row for each script of an arm where several are driven: the slower ones first, by how much;
    then those that are not decided. `margin`: a share within which an arm is as good."""
    names = sorted({name for epoch in epochs for name in epoch.arms[control].latencies})
    if len(names) < 2:
        return []
    found = epoch_contrasts(epochs, control, arm, {name: _mean_us_of(name) for name in names})
    contrasts = {one.name: one for one in found}
    flips = _flips(plans, arm)
    counts = {name: _sums(epochs, (control, arm), name) for name in names}
    times = {name: _sums(epochs, (control,), name)[1] for name in names}
    all_counted = sum(count for count, _ in counts.values())
    all_time = sum(times.values())
    rows = [
        ScriptVerdict.model_validate(
            {
                "script": name,
                "share": counts[name][0] / all_counted,
                "time_share": times[name] / all_time if all_time else 0.0,
                **_changed(epochs, control, arm, name, contrasts.get(name), margin),
                **({"flips": flips[name]} if name in flips else {}),
            }
        )
        for name in names
        if counts[name][0]
    ]
    return sorted(rows, key=_worst_first)


def _worst_first(row: ScriptVerdict) -> tuple[int, float, str]:
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


def _flips(plans: Sequence[FlippedPlan], arm: str) -> dict[str, tuple[str, ...]]:
    """Script → what flipped in the plans of its statements."""
    flips: dict[str, tuple[str, ...]] = {}
    for plan in plans:
        if plan.arm == arm:
            script = plan.statement.partition(": ")[0]
            flips[script] = (*flips.get(script, ()), *plan.flips)
    return flips


def _mean_us_of(script: str) -> Read:
    def read(epoch: EpochTotals, arm: str) -> float:
        count, sum_ns = _counted(epoch.arms[arm], script)
        return sum_ns / count / NS_PER_US if count else math.nan

    return read


def _sums(epochs: Sequence[EpochTotals], arms: Sequence[str], script: str) -> tuple[int, float]:
    """Executions in some arms, and the sum of their times in ns."""
    every = [_counted(epoch.arms[arm], script) for epoch in epochs for arm in arms]
    return sum(count for count, _ in every), sum(sum_ns for _, sum_ns in every)


@once_each
def _counted(arm: ArmTotals, script: str) -> tuple[int, float]:
    """Executions of a script in an arm of an epoch, and the sum of their times in ns."""
    from steelyard._core import histogram_quantiles

    encoded = arm.latencies.get(script)
    if not encoded:
        return 0, 0.0
    read = histogram_quantiles([encoded], [])
    return read["count"], read["count"] * read["mean_ns"]
