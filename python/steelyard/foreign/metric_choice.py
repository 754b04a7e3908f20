"""Chooses the metric on which arms are compared, in one unit, and refuses what is not comparable.

Two units show as two tight clusters a thousand times apart.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from steelyard.foreign.metric import SECONDS, THROUGHPUT, Metric, metric_of, unit_of
from steelyard.foreign.series import Floats, Grain, Series, Sheet
from steelyard.foreign.source import quoted
from steelyard.model.errors import NumbersError, UsageError
from steelyard.model.units import MOST_RATIO

Choice = tuple[Metric, tuple[Series, ...]]
_MOST_NAMED = 16


def one_metric(
    sheets: Sequence[Sheet], name: str | None, unit: str | None, higher_is_better: bool | None
) -> tuple[Metric, list[tuple[Series, ...]]]:
    """The metric, and the series of every sheet on it; the other arguments as the user gave them.

    UsageError or NumbersError where there is no such metric, or numbers cannot be compared.
    """
    for sheet in sheets:
        refuse_out_of_range(sheet)
    chosen = [_chosen(sheet, name, unit) for sheet in sheets]
    metric, series = _in_one_unit(sheets, chosen)
    metric = metric.overridden(unit, higher_is_better)
    if metric.higher_is_better is None:
        raise UsageError(
            "cannot tell whether higher or lower numbers are better",
            detail=f"Nothing says what {quoted(metric.name)} is.",
            hint="Say --unit ms (or tps, ...), --lower-is-better or --higher-is-better.",
        )
    for sheet, own in zip(sheets, series, strict=True):
        if not all((one.values > 0).any() for one in own):
            raise NumbersError(f'"{sheet.source}" holds nothing but zeros of {metric.words}')
    refuse_out_of_proportion(sheets, series)
    if metric.name == THROUGHPUT:
        _refuse_connecting(sheets)
    if unit is None:
        refuse_two_units(sheets, series)
    return metric, series


def _chosen(sheet: Sheet, name: str | None, unit: str | None) -> Choice:
    """The metric of that name, or else the sheet's first that can be in the given unit."""
    requested = _requested(sheet, name)
    fitting = [one for one in requested if unit is None or one[0].accepts(unit)]
    if not fitting:
        held = " and ".join(metric.words for metric, _ in requested)
        raise UsageError(
            f'"{sheet.source}" holds {held}: not in {unit}',
            hint="Leave --unit out: it says what a file does not say itself.",
        )
    return fitting[0]


def _requested(sheet: Sheet, name: str | None) -> Sequence[Choice]:
    """The metrics of a sheet, or the one of that name."""
    if name is None:
        return sheet.metrics
    meant = metric_of(name)
    for metric, series in sheet.metrics:
        named = (metric.name.lower(), metric.unit.lower())
        alike = (meant and meant.name == metric.name) or unit_of(name) == metric.unit
        if name.lower() in named or alike:
            return [(metric, series)]
    if len(sheet.metrics) == 1 and sheet.metrics[0][0].name == "value":
        unnamed, series = sheet.metrics[0]
        metric = meant or Metric(name)
        return [(metric.overridden(unnamed.unit or None, unnamed.higher_is_better), series)]
    held = ", ".join(quoted(metric.name) for metric, _ in sheet.metrics[:_MOST_NAMED])
    more = len(sheet.metrics) - _MOST_NAMED
    raise UsageError(
        f'"{sheet.source}" has no metric {quoted(name)}',
        hint=f"It has {held}{f' and {more} more' if more > 0 else ''}.",
    )


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
        converted.append(tuple(replace(one, values=one.values * factor) for one in series))
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
_THOUSAND = np.log(500.0), np.log(2000.0)
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
    if len(values) < 2:
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


def refuse_out_of_range(sheet: Sheet) -> None:
    """Numbers that no unit of anything measured makes so small or so large."""
    for one in itertools.chain.from_iterable(series for _, series in sheet.metrics):
        row = _out_of_range(one.values)
        if row is not None:
            raise NumbersError(
                f"{_at(sheet, one, row)}: {one.values[row]:g} is no measurement",
                hint="Numbers from 1e-60 to 1e60 are judged.",
            )


def refuse_out_of_proportion(sheets: Sequence[Sheet], series: Sequence[tuple[Series, ...]]) -> None:
    """Numbers so far apart that a ratio of them means nothing."""
    every = np.concatenate([one.values for own in series for one in own])
    usual = float(np.median(every[every > 0]))
    for sheet, own in zip(sheets, series, strict=True):
        for one in own:
            row = _out_of_proportion(one.values, usual)
            if row is not None:
                raise NumbersError(
                    f"{_at(sheet, one, row)}: {one.values[row]:g} is out of all proportion: the "
                    f"median of all numbers is {usual:g}",
                    hint="Leave the row out if it is a slip; what lies more than a million times "
                    "above or below is not judged.",
                )


def refuse_two_units(sheets: Sequence[Sheet], series: Sequence[tuple[Series, ...]]) -> None:
    """Rows of one arm, or arms of one comparison, of which some are a thousand times the others."""
    hint = "If all numbers are in one unit, say which: --unit ms"
    for sheet, own in zip(sheets, series, strict=True):
        for one in own:
            other = in_two_units(one.values) if one.grain is Grain.REPETITION else None
            if other is not None and not sheet.row_names:
                first, far = f"{one.values[0]:g}", f"{one.values[other]:g}"
                raise NumbersError(
                    f"{_at(sheet, one, other)}: mixed units: {far} and {first} are about a "
                    "thousand times apart",
                    hint=hint,
                )
    arms = [one for own in series for one in own]
    levels = np.array([float(np.median(one.values)) for one in arms])
    odd = in_two_units(levels) if (levels > 0).all() else None
    if odd is not None:
        raise NumbersError(
            f"mixed units: {quoted(arms[odd].arm)} and {quoted(arms[0].arm)} are about a thousand "
            "times apart",
            detail=f"Their medians are {levels[odd]:g} and {levels[0]:g}.",
            hint=hint,
        )
