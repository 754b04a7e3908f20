"""Judges the mean times of parts of the work, of scripts or statements, the worst first.

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
from steelyard.model.readings import ArmTotals, EpochTotals
from steelyard.model.units import NS_PER_US

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
