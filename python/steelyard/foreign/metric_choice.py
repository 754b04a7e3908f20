"""Chooses the metric on which arms are compared, and brings all files to it, in one unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from steelyard.foreign.metric import SECONDS, THROUGHPUT, Metric, metric_of
from steelyard.foreign.series import Series, Sheet
from steelyard.foreign.source import quoted
from steelyard.foreign.value_checks import (
    refuse_out_of_proportion,
    refuse_out_of_range,
    refuse_two_units,
)
from steelyard.model.errors import NumbersError, UsageError

Choice = tuple[Metric, tuple[Series, ...]]


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
        if name.lower() in named or (meant and meant.name == metric.name):
            return [(metric, series)]
    if len(sheet.metrics) == 1 and sheet.metrics[0][0].name == "value":
        unnamed, series = sheet.metrics[0]
        metric = meant or Metric(name)
        return [(metric.overridden(unnamed.unit or None, unnamed.higher_is_better), series)]
    held = ", ".join(quoted(metric.name) for metric, _ in sheet.metrics)
    raise UsageError(f'"{sheet.source}" has no metric {quoted(name)}', hint=f"It has {held}.")


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
