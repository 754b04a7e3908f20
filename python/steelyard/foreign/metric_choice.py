"""Chooses the metric on which arms are compared, in one unit, and refuses what is not comparable.

Two units show as two tight clusters a thousand times apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from steelyard.foreign.fixed_rates import refuse_requested_rates
from steelyard.foreign.metric import THROUGHPUT, Metric
from steelyard.foreign.metric_doubts import (
    refuse_longer_runs,
    refuse_opposites,
    refuse_run_lengths,
    refuse_sums,
)
from steelyard.foreign.metric_ranks import Choice, SheetMetric, choose
from steelyard.foreign.series import Floats, Grain, Series, Sheet
from steelyard.foreign.source import quoted
from steelyard.foreign.vocabulary.heading import key_of
from steelyard.foreign.vocabulary.units import SECONDS
from steelyard.model.errors import NumbersError, UsageError
from steelyard.model.units import MOST_RATIO

_MIXED = "If all numbers are in one unit, say which: --unit ms"
_THOUSANDS_POINT = (
    "Numbers with three decimals beside whole numbers look like points between thousands: write "
    "them without separators, 1006 for 1.006."
)


@dataclass(frozen=True, eq=False)
class MetricChoice:
    """The metric on which arms are compared."""

    metric: Metric
    series: list[tuple[Series, ...]]
    """Of every sheet."""
    others: tuple[str, ...]
    """Names of the other numbers that the sheets hold."""
    notes: tuple[str, ...] = ()
    """Which files are judged by a column with another heading, in words."""


def choose_metric(
    sheets: Sequence[Sheet], name: str | None, unit: str | None, higher_is_better: bool | None
) -> MetricChoice:
    """The metric, and the series of every sheet on it; the other arguments as the user gave them.

    UsageError or NumbersError where there is no such metric, or numbers cannot be compared.
    """
    chosen = _by_one_heading(sheets, [choose(sheet, name, unit) for sheet in sheets], unit)
    for sheet, choice in zip(sheets, chosen, strict=True):
        refuse_out_of_range(sheet, choice.series)
    metric, series = _in_one_unit(sheets, [(choice.metric, choice.series) for choice in chosen])
    metric = metric.overridden(unit, higher_is_better)
    if metric.higher_is_better is None:
        raise UsageError(
            "cannot tell whether higher or lower numbers are better",
            detail=f"Nothing says what {quoted(metric.column or metric.name)} is.",
            hint="Say --unit ms (or tps, ...), --lower-is-better or --higher-is-better."
            if not metric.unit
            else "Say --lower-is-better or --higher-is-better.",
        )
    if name is None:
        refuse_sums(sheets, chosen)
        refuse_longer_runs(sheets, chosen, unit)
        refuse_run_lengths(sheets, chosen)
        refuse_requested_rates(sheets, metric, series)
    refuse_opposites(chosen, metric.higher_is_better)
    for sheet, group in zip(sheets, series, strict=True):
        if not all((arm.values > 0).any() for arm in group):
            raise NumbersError(f'"{sheet.source}" holds nothing but zeros of {metric.words}')
    refuse_out_of_proportion(sheets, series)
    if metric.name == THROUGHPUT:
        _refuse_connecting(sheets)
    refuse_two_units(sheets, series, unit_given=unit is not None)
    others = dict.fromkeys(other for choice in chosen for other in choice.others)
    return MetricChoice(metric, series, tuple(others), tuple(_other_headings(sheets, chosen)))


def _by_one_heading(
    sheets: Sequence[Sheet], chosen: Sequence[SheetMetric], unit: str | None
) -> Sequence[SheetMetric]:
    """The choices of all files by one heading, where all have one of those that were chosen: a file
    may have its columns in another order, or one value throughout in that which the others vary in.
    """
    headings = {key_of(choice.metric.column) for choice in chosen}
    if len(headings) < 2 or "" in headings:
        return chosen
    shared = set.intersection(
        *({key_of(metric.column) for metric, _ in sheet.metrics} for sheet in sheets)
    )
    for metric, _ in sheets[0].metrics:  # the surest first, as their headings have it
        if key_of(metric.column) in headings & shared:
            pairs = zip(sheets, chosen, strict=True)
            return [_in_place_of(choice, sheet, metric, unit) for sheet, choice in pairs]
    return chosen


def _in_place_of(
    choice: SheetMetric, sheet: Sheet, metric: Metric, unit: str | None
) -> SheetMetric:
    """The choice of the column with a metric's heading; what was chosen is a rival of it."""
    named = choose(sheet, metric.column, unit)
    every = ((choice.metric, choice.series), *choice.rivals)
    rivals = tuple(rival for rival in every if rival[0].column != named.metric.column)
    return replace(named, rivals=rivals)


def _other_headings(sheets: Sequence[Sheet], chosen: Sequence[SheetMetric]) -> Iterator[str]:
    """The files whose judged column has another heading than that of the first file, in words."""
    first = chosen[0].metric.column
    for sheet, choice in zip(sheets, chosen, strict=True):
        column = choice.metric.column
        if first and column and key_of(column) != key_of(first):
            yield f'column {quoted(column)} of "{sheet.source}" is compared with {quoted(first)}'


def _in_one_unit(
    sheets: Sequence[Sheet], choices: Sequence[Choice]
) -> tuple[Metric, list[tuple[Series, ...]]]:
    """All series on the first one's metric; times are converted, other units must agree."""
    first = choices[0][0]
    converted = []
    for sheet, (metric, series) in zip(sheets, choices, strict=True):
        factor = 1.0
        if metric.name != first.name or metric.unit != first.unit:
            if not {metric.unit, first.unit} <= SECONDS.keys() or metric.name != first.name:
                raise NumbersError(
                    f'"{sheet.source}" holds {metric.words}, "{sheets[0].source}" {first.words}',
                    hint="Arms are compared on one metric in one unit: see --metric.",
                )
            factor = SECONDS[metric.unit] / SECONDS[first.unit]
        converted.append(tuple(replace(arm, values=arm.values * factor) for arm in series))
    return first, converted


def _refuse_connecting(sheets: Sequence[Sheet]) -> None:
    """Throughput with the time to connect beside throughput without it: two metrics."""
    with_it = [sheet.source for sheet in sheets if sheet.connecting is True]
    without = [sheet.source for sheet in sheets if sheet.connecting is False]
    if with_it and without:
        raise NumbersError(
            f'"{with_it[0]}" counts the time to connect in its tps, "{without[0]}" does not',
            hint="Run both alike (pgbench -C, or not), or compare latencies: --metric latency.",
        )


_TIGHT = np.log(4.0)
_LEAST_APART = 500.0
_THOUSAND = np.log(_LEAST_APART), np.log(2000.0)
"""A unit is a thousand of the next; the effect and the noise come on top."""

SMALLEST, LARGEST = 1e-60, 1e60
"""No unit makes a measurement smaller or larger, and sums of squares still have room beyond."""


def _out_of_range(values: Floats) -> int | None:
    """The first row that is neither 0 nor between the smallest and the largest number that is
    judged; None where none is. Values of shape (n,)."""
    wrong = (values != 0) & ~((values >= SMALLEST) & (values <= LARGEST))
    return int(np.argmax(wrong)) if wrong.any() else None


def _out_of_proportion(values: Floats, usual: float) -> int | None:
    """The row that is farthest from the usual value, where it is more than 10¹² times smaller or
    larger; None where none is. Values of shape (n,), positive or 0."""
    positive = values > 0
    away = np.abs(np.log(np.where(positive, values, usual) / usual))
    farthest = int(np.argmax(away))
    return farthest if away[farthest] > np.log(MOST_RATIO) / 2 else None


def in_two_units(values: Floats) -> int | None:
    """The first row that is in another unit than the first row; None where none is.

    Values of shape (n,), positive. Both clusters must be tight, so that a thousandfold stall in a
    series that is wide anyhow is no other unit.
    """
    if len(values) < 2 or values.max() < _LEAST_APART * values.min():
        return None
    logs = np.sort(np.log(values))
    gaps = np.diff(logs)
    cut = int(np.argmax(gaps)) + 1
    low, high = logs[:cut], logs[cut:]
    apart = float(np.median(high) - np.median(low))
    if not _THOUSAND[0] < apart < _THOUSAND[1] or max(np.ptp(low), np.ptp(high)) > _TIGHT:
        return None
    border = (logs[cut - 1] + logs[cut]) / 2
    above = np.log(values) > border
    return int(np.argmax(above != above[0]))


def _at(sheet: Sheet, series: Series, row: int) -> str:
    """A row's place as an error names it: its line and column, or else its arm."""
    spot = series.spot(row) if series.spot else None
    at = f" line {spot.line}, column {spot.column}" if spot else f", arm {series.arm}"
    return f'"{sheet.source}"{at}'


def refuse_out_of_range(sheet: Sheet, series: Sequence[Series]) -> None:
    """Numbers that no unit of anything measured makes so small or so large."""
    for arm in series:
        row = _out_of_range(arm.values)
        if row is not None:
            raise NumbersError(
                f"{_at(sheet, arm, row)}: {arm.values[row]:g} is no measurement",
                hint="Numbers from 1e-60 to 1e60 are judged.",
            )


def refuse_out_of_proportion(sheets: Sequence[Sheet], series: Sequence[tuple[Series, ...]]) -> None:
    """Numbers so far apart that a ratio of them means nothing."""
    every = np.concatenate([arm.values for group in series for arm in group])
    usual = float(np.median(every[every > 0]))
    for sheet, group in zip(sheets, series, strict=True):
        for arm in group:
            row = _out_of_proportion(arm.values, usual)
            if row is not None:
                raise NumbersError(
                    f"{_at(sheet, arm, row)}: {arm.values[row]:g} is out of all proportion: the "
                    f"median of all numbers is {usual:g}",
                    hint="Leave the row out if it is a slip; what lies more than a million times "
                    "above or below is not judged.",
                )


def refuse_two_units(
    sheets: Sequence[Sheet], series: Sequence[tuple[Series, ...]], *, unit_given: bool
) -> None:
    """Rows of one arm, or arms of one comparison, of which some are a thousand times the others.

    `unit_given`: the user said the unit, so that they are right, unless a point stands between
    thousands.
    """
    arms = [arm for group in series for arm in group]
    for sheet, group in zip(sheets, series, strict=True):
        for arm in group:
            other = in_two_units(arm.values) if arm.grain is Grain.REPETITION else None
            if other is not None and not sheet.row_names:
                first, far = f"{arm.values[0]:g}", f"{arm.values[other]:g}"
                _refuse_units(
                    f"{_at(sheet, arm, other)}: mixed units: {far} and {first} are about a "
                    "thousand times apart",
                    arms,
                    unit_given=unit_given,
                )
    levels = np.array([float(np.median(arm.values)) for arm in arms])
    odd = in_two_units(levels) if (levels > 0).all() else None
    if odd is not None:
        _refuse_units(
            f"mixed units: {quoted(arms[odd].arm)} and {quoted(arms[0].arm)} are about a thousand "
            "times apart",
            arms,
            f"Their medians are {levels[odd]:g} and {levels[0]:g}.",
            unit_given=unit_given,
        )


def _refuse_units(
    primary: str, arms: Sequence[Series], detail: str | None = None, *, unit_given: bool
) -> None:
    """NumbersError, but for arms whose unit was said; what points between thousands do is clear
    even then."""
    points = _thousands_points([arm.values for arm in arms])
    if points or not unit_given:
        raise NumbersError(primary, detail=detail, hint=_THOUSANDS_POINT if points else _MIXED)


def _thousands_points(arms: Sequence[Floats]) -> bool:
    """Whether numbers are whole ones below 1000 and ones with at most three decimals: as 997 and
    1.006 are where a point separates thousands. Values of shapes (n,)."""
    values = np.concatenate(arms)
    whole = values == np.round(values)
    thousandths = np.abs(values * 1000 - np.round(values * 1000)) < 1e-6 * np.maximum(values, 1)
    broken = values[~whole]
    in_thousands = len(broken) > 0 and bool(((broken * 1000) % 10 > 1e-6).any())
    return bool(whole.any() and thousandths.all() and (values < 1000).all() and in_thousands)
