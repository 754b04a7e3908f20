"""Judges the mean times of the scripts of a mix, and of statements where they were timed, each by
itself, the worst first: its share, its mean time, how an arm changes it, and its plans.

The intervals hold jointly over all parts of an arm (max-T), so that the worst of many is no
accident of their number; they decide no verdict of the weighing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from steelyard.analysis.decision.secondary import SecondaryContrast
from steelyard.evaluation.causes import Read, compared, epoch_contrasts
from steelyard.evaluation.plans.flips import flips
from steelyard.evaluation.plans.matching import match_times, statement_place
from steelyard.model.memoize import memoize_by_identity
from steelyard.model.readings import ArmTotals, EpochTotals
from steelyard.model.units import NS_PER_US
from steelyard.record.environment import Inspection
from steelyard.record.verdict import ScriptTime, Statement

Side = Literal["slower", "faster", "equivalent", "inconclusive"]
Counted = Callable[[ArmTotals, str], tuple[int, float]]
"""Executions of a part in an arm of an epoch, and the sum of their times in ns."""
_RANK = {"slower": 0, "inconclusive": 1, "equivalent": 2, "faster": 3}


@dataclass(frozen=True)
class MeanTime:
    """The mean time of a part of the work in both arms, and its change."""

    name: str
    share_percent: float
    """Of the time that the control spent on all parts."""
    executed_percent: float
    """Of the executions in both arms."""
    control_us: float | None
    """None: the arm did not execute it; so of the other arm."""
    arm_us: float | None
    verdict: Side
    change: Mapping[str, str | float | None]
    """As `compared` has it; without an estimate where an epoch has no execution in an arm."""


def mean_times(
    epochs: Sequence[EpochTotals],
    pair: tuple[str, str],
    names: Sequence[str],
    counted: Counted,
    margin: float,
) -> list[MeanTime]:
    """A part each that was executed: the slower ones first, by how much, then those that are not
    decided. `pair`: control and arm. `margin`: a share within which an arm is as good."""
    control, arm = pair
    reads = {name: _mean_us_of(name, counted) for name in names}
    rows = epoch_contrasts(epochs, control, arm, reads)
    contrasts = {row.name: row for row in rows}
    counts = {name: _sums(epochs, pair, name, counted)[0] for name in names}
    times = {name: _sums(epochs, (control,), name, counted)[1] for name in names}
    all_counted, all_time = sum(counts.values()), sum(times.values())
    times_of = [
        MeanTime(
            name,
            100 * times[name] / all_time if all_time else 0.0,
            100 * counts[name] / all_counted,
            *_change(epochs, pair, name, counted, contrasts.get(name), margin),
        )
        for name in names
        if counts[name]
    ]
    return sorted(times_of, key=_worst_first)


def _worst_first(row: MeanTime) -> tuple[int, float, str]:
    change = row.change["estimate_percent"]
    return _RANK[row.verdict], -change if isinstance(change, float) else math.inf, row.name


def _change(
    epochs: Sequence[EpochTotals],
    pair: tuple[str, str],
    name: str,
    counted: Counted,
    contrast: SecondaryContrast | None,
    margin: float,
) -> tuple[float | None, float | None, Side, Mapping[str, str | float | None]]:
    """Both means, the verdict and the change."""
    control, arm = pair
    if contrast is not None:
        return (
            contrast.control_value,
            contrast.arm_value,
            _verdict(contrast, margin),
            compared(contrast, control, arm),
        )
    means = []
    for side in pair:
        count, sum_ns = _sums(epochs, (side,), name, counted)
        means.append(sum_ns / count / NS_PER_US if count else None)
    unknown = dict.fromkeys(("estimate_percent", "low_percent", "high_percent"))
    change = {"arm": arm, "control": control, **unknown, "confidence": 0.95}
    return means[0], means[1], "inconclusive", change


def _verdict(contrast: SecondaryContrast, margin: float) -> Side:
    """By the joint interval of the log ratio of mean times: more time is slower."""
    low, high = contrast.estimate.low, contrast.estimate.high
    if low >= math.log1p(-margin) and high <= math.log1p(margin):
        return "equivalent"
    if low > 0:
        return "slower"
    return "faster" if high < 0 else "inconclusive"


def _mean_us_of(name: str, counted: Counted) -> Read:
    def read(epoch: EpochTotals, arm: str) -> float:
        count, sum_ns = counted(epoch.arms[arm], name)
        return sum_ns / count / NS_PER_US if count and sum_ns else math.nan

    return read


def _sums(
    epochs: Sequence[EpochTotals], arms: Sequence[str], name: str, counted: Counted
) -> tuple[int, float]:
    """Executions in some arms, and the sum of their times in ns."""
    every = [counted(epoch.arms[arm], name) for epoch in epochs for arm in arms]
    return sum(count for count, _ in every), sum(sum_ns for _, sum_ns in every)


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
        for time in mean_times(epochs, (control, arm), names, _script_executions, margin)
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
def _script_executions(arm: ArmTotals, script: str) -> tuple[int, float]:
    """Executions of a script in an arm of an epoch, and the sum of their times in ns."""
    from steelyard._core import histogram_quantiles

    encoded = arm.latencies.get(script)
    if not encoded:
        return 0, 0.0
    read = histogram_quantiles([encoded], [])
    return read["count"], read["count"] * read["mean_ns"]


def statement_rows(
    epochs: Sequence[EpochTotals],
    inspection: Inspection,
    control: str,
    arm: str,
    margin: float,
) -> list[Statement]:
    """A row for each command that was timed, jointly: statements, the worst first, then backslash
    commands, which are the client's own work and have no verdict. `margin`: a share within which an
    arm is as good."""
    names = list(dict.fromkeys(name for epoch in epochs for name in epoch.arms[control].statements))
    times = mean_times(epochs, (control, arm), names, _statement_executions, margin)
    sql = [time for time in times if not _is_client_side(time.name)]
    client_side = [time for time in times if _is_client_side(time.name)]
    all_time = sum(time.share_percent for time in sql) / 100 or 1.0
    all_executed = sum(time.executed_percent for time in sql) / 100 or 1.0
    rows = [
        _row(time)
        | {
            "share_percent": time.share_percent / all_time,
            "executed_percent": time.executed_percent / all_executed,
            "verdict": time.verdict,
        }
        for time in sql
    ]
    every = map(Statement.model_validate, [*rows, *map(_row, client_side)])
    return _with_plans(list(every), inspection, control, arm)


def _row(time: MeanTime) -> dict[str, object]:
    return {
        "statement": time.name,
        "script": statement_place(time.name)[0],
        "control_us": time.control_us,
        "arm_us": time.arm_us,
        **time.change,
    }


def _is_client_side(name: str) -> bool:
    """Whether `script:LINE words` is a backslash command."""
    return statement_place(name)[2].startswith("\\")


def _with_plans(
    rows: Sequence[Statement], inspection: Inspection, control: str, arm: str
) -> list[Statement]:
    """The rows, those that have a plan with the whole statement and what flipped in it."""
    ours, theirs = (inspection.plans.get(name, {}) for name in (control, arm))
    planned = {row.statement: name for name, row in match_times(ours, rows).items()}
    return [
        row.model_copy(
            update={
                "sql": name.partition(": ")[2],
                "flips": flips(ours[name], theirs[name]).names if name in theirs else (),
            }
        )
        if (name := planned.get(row.statement)) is not None
        else row
        for row in rows
    ]


def _statement_executions(arm: ArmTotals, statement: str) -> tuple[int, float]:
    return arm.statements.get(statement, (0, 0))
