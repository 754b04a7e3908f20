"""Refuses a metric that others contradict: a column as good as it that says the opposite, and a sum
over more calls in one arm than in another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steelyard.foreign.metric import TIME
from steelyard.foreign.metric_ranks import SheetMetric
from steelyard.foreign.series import FactorKind, Series, Sheet
from steelyard.foreign.source import quoted, shell_word
from steelyard.foreign.vocabulary.heading import Role, heading_of
from steelyard.foreign.vocabulary.tokens import split_words
from steelyard.model.errors import UsageError
from steelyard.model.units import format_digits

_CALLS = {
    *("calls", "call", "executions", "executed", "count", "counts", "cnt", "num", "number", "n"),
    *("samples", "iterations", "iters", "loops", "transactions", "txns", "queries", "requests"),
    *("operations", "ops", "statements", "events", "items", "invocations", "runs", "processed"),
    *("completed", "done", "rows", "records", "inserts", "updates", "deletes", "commits", "tries"),
}
"""What a sum can be over."""
_ALIKE = 1e-3
"""Means of counts of two arms that differ by less are the same work."""


def refuse_sums(sheets: Sequence[Sheet], chosen: Sequence[SheetMetric]) -> None:
    """UsageError where the judged time is a sum, and what it is a sum over differs between arms."""
    metric = chosen[0].metric
    column = metric.column
    timed = metric.name.startswith((TIME, "latency"))
    if not column or not timed or not heading_of(column).total:
        return
    for name, arms in _calls(sheets).items():
        (control, here), *others = arms.items()
        for arm, counts in others:
            differing = [
                label
                for label in counts.keys() & here.keys()
                if abs(counts[label] - here[label]) > _ALIKE * max(counts[label], here[label])
            ]
            if differing:
                label = min(differing)
                numbers = [format_digits(count[label], 6) for count in (here, counts)]
                raise UsageError(
                    f"{quoted(column)} is a sum over {quoted(name)}, which differ: "
                    f"{numbers[0]} in {control}, {numbers[1]} in {arm}",
                    hint=f"Add a column of the mean, {column} by {name}; or, if the work was the "
                    f"same: --metric {shell_word(column)}.",
                )


_Label = tuple[str, ...]


def _calls(sheets: Sequence[Sheet]) -> dict[str, dict[str, dict[_Label, float]]]:
    """Heading of a count → arm → what the rows are about → the mean count."""
    rows: dict[str, dict[str, dict[_Label, list[float]]]] = {}
    for metric, group in (choice for sheet in sheets for choice in sheet.metrics):
        words = set(split_words(metric.column))
        if heading_of(metric.column).role is not Role.COUNT or not words & _CALLS:
            continue
        for series in group:
            arm = rows.setdefault(metric.column, {}).setdefault(series.arm, {})
            for label, value in zip(_labels(series), series.values.tolist(), strict=True):
                arm.setdefault(label, []).append(value)
    return {
        name: {
            arm: {label: sum(values) / len(values) for label, values in labels.items()}
            for arm, labels in arms.items()
        }
        for name, arms in rows.items()
    }


def _labels(series: Series) -> list[_Label]:
    """What each row is about."""
    names = [factor.values for factor in series.factors if factor.kind is FactorKind.LABEL]
    if not names or any(len(values) != len(series.values) for values in names):
        return [()] * len(series.values)
    return list(zip(*names, strict=True))


def refuse_opposites(chosen: Sequence[SheetMetric], higher_is_better: bool) -> None:
    """UsageError where a column that could as well have been judged says the opposite.

    `chosen`: of all sheets; differences of less than two standard errors say nothing.
    """
    signs = _signs([choice.series for choice in chosen], higher_is_better)
    for metric, _ in chosen[0].rivals:
        rival = [
            next((series for other, series in choice.rivals if other.column == metric.column), None)
            for choice in chosen
        ]
        present = [series for series in rival if series is not None]
        if metric.higher_is_better is None or len(present) != len(chosen):
            continue
        against = _signs(present, metric.higher_is_better)
        arms = [arm for arm, sign in signs.items() if sign * against.get(arm, 0) < 0]
        if arms:
            both = [choice.column or choice.name for choice in (chosen[0].metric, metric)]
            names, words = [*map(quoted, both)], [*map(shell_word, both)]
            raise UsageError(
                f"{names[0]} and {names[1]} say the opposite of {arms[0]}: by the one it is "
                "better, by the other worse",
                hint=f"Say which was measured: --metric {words[0]}, or --metric {words[1]}.",
            )


def _signs(sheets: Sequence[Sequence[Series]], higher_is_better: bool) -> dict[str, int]:
    """Arm → 1 where it clearly is better than the first arm, −1 where worse, 0 where unclear."""
    logs: dict[str, list[float]] = {}
    for choice in (series for group in sheets for series in group):
        positive = choice.values[choice.values > 0]
        logs.setdefault(choice.arm, []).extend(np.log(positive).tolist())
    control, *_ = logs.values()
    signs = {}
    for arm, values in logs.items():
        if min(len(values), len(control)) < 2:
            signs[arm] = 0
            continue
        error = np.sqrt(
            np.var(values, ddof=1) / len(values) + np.var(control, ddof=1) / len(control)
        )
        gap = float(np.mean(values) - np.mean(control))
        clear = abs(gap) > 2 * error
        signs[arm] = int(np.sign(gap)) * (1 if higher_is_better else -1) if clear else 0
    return signs
