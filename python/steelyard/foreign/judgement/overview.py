"""Describes a comparison before it is judged: what was read of the files (format, rows, arms,
column, direction, pairing, replicates), the numbers of every arm, and their level steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.analysis.decision.sign_flip import Floats
from steelyard.analysis.decision.t_interval import welch
from steelyard.analysis.two_samples.change_points import Segment
from steelyard.analysis.two_samples.pairing import Correlation, is_sorted, rank_correlation
from steelyard.analysis.two_samples.profile import Profile, profile_of
from steelyard.evaluation.threats.numbers import Step
from steelyard.foreign.comparison import Comparison
from steelyard.foreign.judgement.number_sets import RowOrder
from steelyard.foreign.series import Grain, Order, Rows, Series
from steelyard.foreign.source import MOST_QUOTED, quoted
from steelyard.model.errors import UsageError
from steelyard.model.files.printable import apart
from steelyard.model.units import percent_of_log

_MOST_NAMED = 5
_KINDS = {"latency_mean": "mean latency"}


@dataclass(frozen=True, eq=False)
class Overview:
    """Level, spread, steps, drift and outliers of every arm, and of all arms together."""

    comparison: Comparison
    logs: Mapping[str, Floats]
    """Arm → natural logs of its rows; a row without any work counts as the least there was."""
    profiles: Mapping[str, Profile]
    in_time: bool
    """Whether rows are in the order of measuring, as far as is known."""
    common_logs: Floats | None
    """Mean over the arms of the logs of every row, where rows belong together in time."""
    common: Profile | None

    @property
    def row_order(self) -> RowOrder:
        """What the order of the rows says of their independence."""
        if self.comparison.order is Order.RANDOM:
            return RowOrder.DRAWN
        return RowOrder.IN_TIME if self.in_time else RowOrder.LOST


def overview_of(comparison: Comparison) -> Overview:
    """The overview of a comparison."""
    logs = {arm.arm: logs_of(arm) for arm in comparison.arms}
    in_time = not comparison.no_order and not order_lost(comparison, logs)
    equal = len({len(arm.values) for arm in comparison.arms}) == 1
    aligned = comparison.rows is not Rows.APART and equal and in_time
    shared = np.mean([logs[arm.arm] for arm in comparison.arms], axis=0) if aligned else None
    return Overview(
        comparison=comparison,
        logs=logs,
        profiles={name: profile_of(values, in_time) for name, values in logs.items()},
        in_time=in_time,
        common_logs=shared,
        common=profile_of(shared) if shared is not None else None,
    )


_UNLIKE_SCATTER = 0.7
"""Of the rows' logs: twice and half."""
_UNLIKE_SHARE = 0.97
"""Of the scatter, common to all arms."""


def order_lost(comparison: Comparison, logs: Mapping[str, Floats]) -> bool:
    """Whether no order of measuring is in the rows: every arm is sorted, with five rows or more, as
    no measurement comes out; or rows are of different things, as the times of queries are."""
    return all(is_sorted(arm.values) for arm in comparison.arms) or unlike(comparison, logs)


def unlike(comparison: Comparison, logs: Mapping[str, Floats]) -> bool:
    """Whether rows that nothing names differ many times over, and alike in all arms: then they are
    different things, and no repetitions of one."""
    every = list(logs.values())
    if (
        comparison.rows is not Rows.BESIDE
        or len({len(arm_logs) for arm_logs in every}) > 1
        or len(every[0]) < 5
    ):
        return False
    table = np.array(every)
    scatter = float(table.mean(axis=0).var(ddof=1))
    within = float((table - table.mean(axis=0)).var(axis=1, ddof=1).mean())
    wide = scatter > _UNLIKE_SCATTER**2
    return wide and scatter / (scatter + within) > _UNLIKE_SHARE


def logs_of(series: Series) -> Floats:
    """Natural logs of the rows, shape (n,)."""
    least = float(series.values[series.values > 0].min())
    logs: Floats = np.log(np.maximum(series.values, least))
    return logs


@dataclass(frozen=True, slots=True)
class Pairing:
    """Whether rows are paired, why, and how the rows correlate."""

    paired: bool
    why: str
    """Continues "paired: " or "not paired: "."""
    correlation: Correlation


def pairing_of(comparison: Comparison, arm: Series, requested: bool | None) -> Pairing:
    """The pairing of an arm with the control; UsageError where --paired cannot be."""
    control = comparison.control
    sizes = len(control.values), len(arm.values)
    equal = sizes[0] == sizes[1]
    correlation = rank_correlation(control.values, arm.values) if equal else _NONE
    if requested is not None:
        if requested and not equal:
            raise UsageError(
                f"cannot pair rows: {control.arm} has {sizes[0]} of them, {arm.arm} {sizes[1]}",
                hint="Leave out --paired, or the rows without a partner.",
            )
        return Pairing(requested, "the user said so", correlation)
    if comparison.rows is Rows.BLOCKS and equal:
        return Pairing(True, "the file says which rows belong together", correlation)
    against = _against(comparison, arm)
    return Pairing(not against, against or _what_it_gains(correlation), correlation)


def _against(comparison: Comparison, arm: Series) -> str:
    """Why rows are not to be paired; empty where nothing speaks against it."""
    control = comparison.control
    if len(control.values) != len(arm.values):
        return f"{control.arm} has {len(control.values)} rows, {arm.arm} {len(arm.values)}"
    if comparison.rows is Rows.APART:
        return comparison.apart or "nothing connects row k of one arm with row k of the other"
    if is_sorted(control.values) and is_sorted(arm.values):
        return "the rows are sorted, so row numbers mean nothing"
    if comparison.order is Order.SEQUENTIAL:
        return "the arms were measured one after the other, so no row is of one time"
    return ""


def _what_it_gains(correlation: Correlation) -> str:
    if not correlation.known:
        return "they stand in one row"
    figures = f"{correlation.value:.2f} [{correlation.low:.2f}, {correlation.high:.2f}]".replace(
        "-", "−"
    )
    if correlation.clear:
        kind = "share something" if correlation.value > 0 else "oppose each other"
        return f"rows {kind}, their rank correlation is {figures}"
    return (
        f"they stand in one row; their rank correlation, {figures}, does not tell that they share "
        "anything, and then pairs cost little"
    )


_NONE = Correlation(float("nan"), float("nan"), float("nan"), 0)


@dataclass(frozen=True, slots=True)
class InputReading:
    """What was taken for what, as the first lines of an answer say it."""

    form: str
    rows: tuple[int, ...]
    """Of each arm."""
    arms: tuple[str, ...]
    column: str
    """The heading that is judged; empty where the file has none."""
    metric: str
    unit: str
    higher_is_better: bool | None
    others: tuple[str, ...]
    """Other numbers that the files hold."""
    paired: bool
    pairing: str
    """Why rows are paired, or not."""
    replicate: str
    """What counts as one measurement."""

    @property
    def lines(self) -> tuple[str, str]:
        """Two sentences: what was judged, and how."""
        direction = "higher" if self.higher_is_better else "lower"
        unit = f" in {self.unit}" if self.unit else ""
        label = quoted(self.column)[1:-1] if self.column else self.metric
        distinct = self.column and self.metric not in ("value", label)
        kind = f" ({self.metric})" if distinct else ""
        also = f"; also numbers: {_list(self.others)} (--metric)" if self.others else ""
        control, *others = apart(self.arms, MOST_QUOTED)
        arms = f"{_list(others)} against {_list([control])}"
        read = (
            f"read: {self.form}, {_rows(self.rows)}; {arms}; "
            f"judged: {label}{kind}{unit}, {direction} is better{also}"
        )
        pairing = f"{'paired by row' if self.paired else 'not paired'}: {self.pairing}"
        return read, f"{pairing}; a replicate is {self.replicate}"

    def to_json(self) -> dict[str, Any]:
        """As the command line prints it."""
        return {
            "format": self.form,
            "rows": list(self.rows),
            "arms": list(self.arms),
            "column": self.column or None,
            "metric": self.metric,
            "unit": self.unit,
            "higher_is_better": self.higher_is_better,
            "other_numbers": list(self.others),
            "paired": self.paired,
            "pairing": self.pairing,
            "replicate": self.replicate,
        }


def reading_of(comparison: Comparison, pairing: Pairing) -> InputReading:
    """The reading of a comparison; `pairing`: of its first arm with the control."""
    metric = comparison.metric
    return InputReading(
        form=comparison.form,
        rows=tuple(len(arm.values) for arm in comparison.arms),
        arms=tuple(arm.arm for arm in comparison.arms),
        column=metric.column,
        metric=_KINDS.get(metric.name, metric.name.replace("_", " ")),
        unit=metric.unit,
        higher_is_better=metric.higher_is_better,
        others=comparison.others,
        paired=pairing.paired,
        pairing=pairing.why,
        replicate=_replicate(comparison),
    )


def _replicate(comparison: Comparison) -> str:
    if any(arm.grain is Grain.SLICE for arm in comparison.arms):
        return "a run, of which every arm has one: its rows are slices"
    if comparison.row_names:
        return f"a row: {', '.join(quoted(n)[1:-1] for n in comparison.row_names[:2])} …"
    if len(comparison.sources) > len(comparison.arms):
        return "a file"
    return "a row"


def _rows(counts: Sequence[int]) -> str:
    """`30 rows an arm`, or `12 and 8 rows`."""
    if len(set(counts)) == 1:
        return f"{counts[0]} row{'s' if counts[0] > 1 else ''} an arm"
    numbers = [str(count) for count in counts[:_MOST_NAMED]]
    return f"{', '.join(numbers[:-1])} and {numbers[-1]} rows"


def _list(names: Sequence[str]) -> str:
    listed = ", ".join(quoted(name)[1:-1] for name in names[:_MOST_NAMED])
    more = len(names) - _MOST_NAMED
    return f"{listed} and {more} more" if more > 0 else listed


def steps_of(profile: Profile, logs: Floats) -> tuple[Step, ...]:
    """The segments of a series of logs, shape (n,), that differ clearly from its usual one,
    largest first."""
    usual = profile.usual
    steps = [_step(segment, usual, logs) for segment in profile.segments if segment is not usual]
    steps.sort(key=lambda step: -abs(step.percent))
    return tuple(step for step in steps if step.clear)


def _step(segment: Segment, usual: Segment, logs: Floats) -> Step:
    estimate = welch(logs[usual.first : usual.last + 1], logs[segment.first : segment.last + 1])
    ends = estimate.interval()
    return Step(
        segment.first + 1,
        segment.last + 1,
        usual.first + 1,
        usual.last + 1,
        *(percent_of_log(log) for log in (estimate.difference, ends.low, ends.high)),
    )
