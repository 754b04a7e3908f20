"""Judges each script of a mix by itself: its share, its mean time, how an arm changes it, and the
plans of its statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from steelyard.evaluation.plans.flips import flips
from steelyard.evaluation.scripts.mean_times import mean_times
from steelyard.model.memoize import memoize_by_identity
from steelyard.model.readings import ArmTotals, EpochTotals
from steelyard.record.environment import Inspection
from steelyard.record.verdict import ScriptTime


def script_times(
    epochs: Sequence[EpochTotals],
    inspection: Inspection,
    control: str,
    arm: str,
    margin: float,
) -> list[ScriptTime]:
    """A row for each script of an arm where several are driven, the worst first. None where each
    script is a slice of its own. `margin`: a share within which an arm is as good."""
    names = sorted({name for epoch in epochs for name in epoch.arms[control].latencies})
    by_slice = any(line.script for epoch in epochs for line in epoch.arms[control].slices)
    if len(names) < 2 or by_slice:
        return []
    return [
        ScriptTime.model_validate(
            {
                "script": time.name,
                "share_percent": time.share_percent,
                "executed_percent": time.executed_percent,
                "control_us": time.control_us,
                "arm_us": time.arm_us,
                "verdict": time.verdict,
                **time.change,
                **_planned(inspection, control, arm, time.name),
            }
        )
        for time in mean_times(epochs, (control, arm), names, _counted, margin)
    ]


def _planned(
    inspection: Inspection, control: str, arm: str, script: str
) -> dict[str, tuple[str, ...]]:
    """The statements of a script that have a plan, and what flipped in these."""
    ours, theirs = (_of_script(inspection.plans.get(name, {}), script) for name in (control, arm))
    changed = [
        name for sql in ours if sql in theirs for name in flips(ours[sql], theirs[sql]).names
    ]
    planned = {"statements": tuple(ours), "flips": tuple(dict.fromkeys(changed))}
    return {key: some for key, some in planned.items() if some}


def _of_script(plans: Mapping[str, str], script: str) -> dict[str, str]:
    """Statement → its plan."""
    begin = f"{script}: "
    return {
        name.removeprefix(begin): plan for name, plan in plans.items() if name.startswith(begin)
    }


@memoize_by_identity
def _counted(arm: ArmTotals, script: str) -> tuple[int, float]:
    """Executions of a script in an arm of an epoch, and the sum of their times in ns."""
    from steelyard._core import histogram_quantiles

    encoded = arm.latencies.get(script)
    if not encoded:
        return 0, 0.0
    read = histogram_quantiles([encoded], [])
    return read["count"], read["count"] * read["mean_ns"]
