"""Collects the runs of one arm that a tool's output holds, and reads rows of a tool's CSV.

A run has a label (which benchmark it is of), conditions (what was asked for) and figures.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from steelyard.foreign.metric import Metric
from steelyard.foreign.series import Factor, FactorKind, Grain, Series, Sheet, TransactionCounts
from steelyard.foreign.source import SourceText, TextPosition, quoted
from steelyard.foreign.vocabulary.units import SECONDS
from steelyard.model.errors import NumbersError

FIXED_RATE = "the load had a fixed rate, so latency is judged: throughput was given"


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """One measurement, from its beginning to its end, or a slice of one."""

    figures: Mapping[Metric, float]
    """What was measured, positive."""
    line: int = 1
    label: str = ""
    """Which benchmark, query or endpoint it is of; empty: there is one."""
    loads: Mapping[str, str] = field(default_factory=dict)
    """What explains a difference: clients, scale."""
    conditions: Mapping[str, str] = field(default_factory=dict)
    """What else was asked for."""


def sheet_of_runs(
    source: SourceText,
    form: str,
    runs: Sequence[MeasuredRun],
    *,
    label: str = "benchmark",
    slices: str = "",
    outcome: TransactionCounts | None = None,
    clients: float | None = None,
    notes: Sequence[str] = (),
    rated: bool = False,
) -> Sheet:
    """The sheet of runs in the order of the file; figures that not all runs have are left out.

    `slices`: why they are parts of one run, where they are. `rated`: the load was held to a rate,
    so rates come last. NumbersError where no figure is common, or none but rates that were given.
    """
    runs = _in_one_unit(runs)
    common = [m for m in runs[0].figures if all(m in run.figures for run in runs)] if runs else []
    judged = [m for m in common if all(run.figures[m] > 0 for run in runs)]
    if not judged:
        raise _nothing_common(source, form, runs)
    if rated:
        judged.sort(key=_is_rate)
        refuse_rates_alone(source, judged)
        notes = (FIXED_RATE, *notes)
    factors = _factors(runs, label)
    grain = Grain.SLICE if slices else Grain.REPETITION
    lines = tuple(run.line for run in runs)

    def series(metric: Metric) -> Series:
        values = np.array([run.figures[metric] for run in runs], dtype=np.float64)
        return Series(
            "",
            values,
            grain,
            weights=np.ones(len(values)) if slices and metric.higher_is_better is False else None,
            spot=lambda row: TextPosition(lines[row], 1),
            factors=factors,
            instead=slices,
        )

    labels = {run.label for run in runs}
    return Sheet(
        source=source.name,
        form=form,
        metrics=tuple((metric, (series(metric),)) for metric in judged),
        outcomes={"": outcome} if outcome is not None else {},
        clients={"": clients} if clients else {},
        lines=lines,
        ordered=len(labels) == 1 or len(labels) < len(runs),
        notes=tuple(notes),
    )


def refuse_rates_alone(source: SourceText, metrics: Sequence[Metric]) -> None:
    """NumbersError where a load that was held to a rate left nothing but rates."""
    if all(map(_is_rate, metrics)):
        raise source.error(
            "the load had a fixed rate, and there is no latency: throughput is what was asked for",
            TextPosition(1, 1),
            hint="Keep the latencies that the tool prints, or run without a rate.",
        )


def _is_rate(metric: Metric) -> bool:
    return metric.higher_is_better is True


def _in_one_unit(runs: Sequence[MeasuredRun]) -> Sequence[MeasuredRun]:
    """Runs with each time in the unit that the first run has it in."""
    first: dict[str, Metric] = {}
    converted = []
    for run in runs:
        names = [metric.name for metric in run.figures]
        figures: dict[Metric, float] = {}
        for metric, value in run.figures.items():
            target = first.setdefault(metric.name, metric)
            # Two figures of one run in two units are two things: a program may report its own.
            times = {metric.unit, target.unit} <= SECONDS.keys() and names.count(metric.name) == 1
            if times and metric.unit != target.unit:
                scale = SECONDS[metric.unit] / SECONDS[target.unit]
                figures[replace(metric, unit=target.unit)] = value * scale
            else:
                figures[metric] = value
        converted.append(replace(run, figures=figures))
    return converted


def _nothing_common(source: SourceText, form: str, runs: Sequence[MeasuredRun]) -> NumbersError:
    """The error for runs that share no figure; it names two that differ."""
    odd = next((run for run in runs if not runs[0].figures.keys() & run.figures.keys()), None)
    if odd is None or not (odd.figures and runs[0].figures):
        return source.error(
            f"no figure above zero that every run of this {form} has", TextPosition(1, 1)
        )
    words = [next(iter(run.figures)).words for run in (odd, runs[0])]
    return source.error(
        f"{words[0]}, and on line {runs[0].line} {words[1]}: the runs of this {form} have no "
        "figure in common",
        TextPosition(odd.line, 1),
        hint="Put what is measured alike in a file of its own, and judge one such file an arm.",
    )


def _factors(runs: Sequence[MeasuredRun], label: str) -> tuple[Factor, ...]:
    factors = []
    if any(run.label for run in runs):
        factors.append(Factor(label, FactorKind.LABEL, tuple(run.label for run in runs)))
    for kind, name_of in ((FactorKind.LOAD, "loads"), (FactorKind.PARAMETER, "conditions")):
        for name in getattr(runs[0], name_of):
            values = [getattr(run, name_of).get(name) for run in runs]
            if all(value is not None for value in values):
                factors.append(Factor(name, kind, tuple(map(str, values))))
    return tuple(factors)


Row = Mapping[str, str]


def csv_rows(
    source: SourceText,
    form: str,
    columns: Sequence[str],
    *,
    separator: str = ",",
    names: Sequence[str] = (),
    first: int = 0,
) -> Iterator[tuple[int, Row]]:
    """(line, cells by heading) of every row; `names`: headings, where the text has none; `first`:
    the line of the heading, counted from 0. NumbersError for a heading without `columns`, and for a
    row that is no CSV."""
    lines = source.text.rstrip("\n").split("\n")[first:]
    reader = csv.DictReader(lines, fieldnames=names or None, delimiter=separator)
    begin = first + (1 if names else 2)
    try:
        missing = [name for name in columns if name not in (reader.fieldnames or ())]
        if missing:
            reason = f"no column {quoted(missing[0])}: this is not {form}"
            raise source.error(reason, TextPosition(first + 1, 1))
        for number, row in enumerate(reader, start=begin):
            yield number, {key: value or "" for key, value in row.items() if key is not None}
    except csv.Error as error:
        raise source.error(
            f"this is not CSV: {error}", TextPosition(first + reader.line_num, 1)
        ) from None


def float_in(source: SourceText, row: Row, column: str, line: int) -> float:
    """The number in a column of a row; NumbersError with its line where there is none."""
    try:
        return float(row[column])
    except ValueError:
        cell = quoted(row[column])
        raise source.error(
            f"{cell} is no number of {quoted(column)}", TextPosition(line, 1)
        ) from None
