"""Refuses a metric that other columns contradict: one as good that says the opposite, a sum over
more calls in one arm than in another, an amount that a longer run made larger, and the length of
the runs themselves."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import numpy as np

from steelyard.foreign.metric import THROUGHPUT, TIME, Metric
from steelyard.foreign.metric_ranks import SheetMetric
from steelyard.foreign.series import FactorKind, Series, Sheet
from steelyard.foreign.source import quoted, shell_word
from steelyard.foreign.vocabulary import words as known
from steelyard.foreign.vocabulary.heading import Role, heading_of
from steelyard.foreign.vocabulary.tokens import split_words
from steelyard.foreign.vocabulary.units import SECONDS, TIME_UNITS, is_rate, unit_of
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
    for name, figures in _columns(sheets, lambda metric: _counts(metric, _CALLS)).items():
        for arm, control, label in _differing(figures, _ALIKE):
            numbers = [format_digits(_means(figures[a])[label], 6) for a in (control, arm)]
            raise UsageError(
                f"{quoted(column)} is a sum over {quoted(name)}, which differ: "
                f"{numbers[0]} in {control}, {numbers[1]} in {arm}",
                hint=f"Add a column of the mean, {column} by {name}; or, if the work was the "
                f"same: --metric {shell_word(column)}.",
            )


_Label = tuple[str, ...]
_Figures = dict[str, dict[_Label, list[float]]]
"""Arm → what the rows are about → their numbers."""


def _counts(metric: Metric, words: Collection[str]) -> bool:
    """Whether the heading of a metric says that it is a count of what one of the words names."""
    own = set(split_words(metric.column))
    return heading_of(metric.column).role is Role.COUNT and not own.isdisjoint(words)


def _means(labels: Mapping[_Label, Sequence[float]]) -> dict[_Label, float]:
    return {label: sum(values) / len(values) for label, values in labels.items()}


def _columns(sheets: Sequence[Sheet], fits: Callable[[Metric], bool]) -> dict[str, _Figures]:
    """Heading → the numbers under it, of all metrics that fit."""
    columns: dict[str, _Figures] = {}
    for metric, group in (choice for sheet in sheets for choice in sheet.metrics):
        if not fits(metric):
            continue
        for series in group:
            arm = columns.setdefault(metric.column, {}).setdefault(series.arm, {})
            for label, value in zip(_labels(series), series.values.tolist(), strict=True):
                arm.setdefault(label, []).append(value)
    return columns


def _labels(series: Series) -> list[_Label]:
    """What each row is about."""
    names = [factor.values for factor in series.factors if factor.kind is FactorKind.LABEL]
    if not names or any(len(values) != len(series.values) for values in names):
        return [()] * len(series.values)
    return list(zip(*names, strict=True))


_ALIKE_RUNS = 1e-2
"""Runs of two arms that differ by less in length are alike."""
_ONE_WORK = 2e-2
"""Of a rate and a time for one and the same work the products differ by less."""
_SHORTEST_RUN = 0.1
"""Seconds: what took less was one operation."""
_OF_ONE = {
    *("query", "queries", "response", "service", "req", "request", "statement", "transaction"),
    *("txn", "op", "operation"),
}
"""Before a time: that of one of them, and not of a run."""


def refuse_longer_runs(
    sheets: Sequence[Sheet], chosen: Sequence[SheetMetric], unit: str | None
) -> None:
    """UsageError where what is judged as a rate is called "ops" and no more, holds whole numbers as
    counts are, and stands beside the length of runs, which differs between arms."""
    column = chosen[0].metric.column
    said_to_be_one = unit is not None and is_rate(unit_of(unit) or "")
    if said_to_be_one or not _may_be_count(chosen[0].metric):
        return
    figures = _columns(sheets, lambda metric: metric.column == column)[column]
    for name, times in _columns(sheets, _may_be_length).items():
        long = min(_flat(times)) * _seconds(name) > _SHORTEST_RUN
        if not (long and _whole(figures) and times.keys() == figures.keys()):
            continue
        if _of_one_work(figures, times):
            continue
        for arm, control, label in _differing(times, _ALIKE_RUNS):
            lengths = [format_digits(_means(times[a])[label], 4) for a in (control, arm)]
            raise UsageError(
                f"{quoted(column)} is perhaps a count over {quoted(name)}, which differs: "
                f"{lengths[0]} in {control}, {lengths[1]} in {arm}",
                hint=f"Add a column of the rate, {column} by {name}; or, if {column} is one: "
                f"--metric {shell_word(column)}.",
            )


_WORK = _CALLS - {"samples", "iterations", "iters", "loops", "runs", "tries"}
"""What comes of a run; a harness repeats by the others."""


def refuse_run_lengths(sheets: Sequence[Sheet], chosen: Sequence[SheetMetric]) -> None:
    """UsageError where what is judged as a time may be how long each run was: an amount of work
    beside it is not the same in the arms, or scatters more than the time does."""
    column = chosen[0].metric.column
    if not column or not _may_be_length(chosen[0].metric):
        return
    times = _columns(sheets, lambda metric: metric.column == column)[column]
    longer = next(_differing(times, _ALIKE_RUNS), None)
    for name, counts in _columns(sheets, lambda metric: _counts(metric, _WORK)).items():
        scatter = _scatter(counts)
        other_work = next(_differing(counts, _ALIKE_RUNS), None) is not None
        if not other_work and not (scatter > _ALIKE and scatter > _scatter(times)):
            continue
        rate = f"Add a column of the rate, {name} by {column}"
        by_count = f"--metric {shell_word(name)} --higher-is-better"
        raise UsageError(
            f"{quoted(column)} or {quoted(name)} could be what was measured",
            detail=f"{quoted(column)} may also say how long each run was.",
            hint=f"{rate if longer else f'Say which: {by_count}'}; or, if the time was measured: "
            f"--metric {shell_word(column)}.",
        )


def _scatter(figures: _Figures) -> float:
    """The standard deviation of logs of numbers of one arm that are about the same."""
    groups = [
        np.log([value for value in values if value > 0])
        for labels in figures.values()
        for values in labels.values()
    ]
    free = sum(max(len(group) - 1, 0) for group in groups)
    squares = sum(float(np.var(group)) * len(group) for group in groups if len(group))
    return float(np.sqrt(squares / free)) if free else 0.0


def _may_be_count(metric: Metric) -> bool:
    """Whether a throughput is one by the word "ops" alone, which is a number of them too."""
    words = set(split_words(metric.column))
    sure = words & (known.RATE_WORDS | TIME_UNITS.keys() | {"per"})
    return metric.name == THROUGHPUT and bool(words & {"ops", "kops", "mops"}) and not sure


def _may_be_length(metric: Metric) -> bool:
    """Whether a time may be that of a whole run: no mean, and not of one query."""
    heading, words = heading_of(metric.column), set(split_words(metric.column))
    of_run = not (heading.central or words & _OF_ONE)
    known_whole = not heading.rest or bool(words & known.TIME_WORDS)
    return metric.name == TIME and heading.role is Role.METRIC and of_run and known_whole


def _seconds(name: str) -> float:
    """How many seconds one of the unit of a time is; 1 where its heading names none."""
    metric = heading_of(name).metric
    return SECONDS.get(metric.unit, 1.0) if metric is not None else 1.0


def _whole(figures: _Figures) -> bool:
    return all(value == round(value) for value in _flat(figures))


def _of_one_work(rates: _Figures, times: _Figures) -> bool:
    """Whether rate times time is one and the same in all rows that are about the same."""
    work: dict[_Label, list[float]] = {}
    for arm, labels in times.items():
        for label, values in labels.items():
            pairs = zip(rates[arm].get(label, ()), values, strict=False)
            work.setdefault(label, []).extend(rate * time for rate, time in pairs)
    return all(max(each) <= (1 + _ONE_WORK) * min(each) for each in work.values() if each)


def _differing(figures: _Figures, tolerance: float) -> Iterator[tuple[str, str, _Label]]:
    """Arms whose means differ from those of the first arm by more, with that arm and with what the
    rows are about."""
    (control, here), *others = ((arm, _means(labels)) for arm, labels in figures.items())
    for arm, means in others:
        for label in sorted(means.keys() & here.keys()):
            if abs(means[label] - here[label]) > tolerance * max(means[label], here[label]):
                yield arm, control, label


def _flat(figures: _Figures) -> Iterator[float]:
    return (value for labels in figures.values() for values in labels.values() for value in values)


def refuse_opposites(chosen: Sequence[SheetMetric], higher_is_better: bool) -> None:
    """UsageError where a column that could as well have been judged says the opposite.

    `chosen`: of all sheets; differences of less than two standard errors say nothing.
    """
    if not chosen[0].rivals:
        return
    first = chosen[0].series[0].arm
    signs = _signs([choice.series for choice in chosen], higher_is_better, first)
    for metric, _ in chosen[0].rivals:
        rival = [
            next((series for other, series in choice.rivals if other.column == metric.column), None)
            for choice in chosen
        ]
        present = [series for series in rival if series is not None]
        if metric.higher_is_better is None or len(present) != len(chosen):
            continue
        against = _signs(present, metric.higher_is_better, first)
        arms = [arm for arm, sign in signs.items() if sign * against.get(arm, 0) < 0]
        if arms:
            both = [choice.column or choice.name for choice in (chosen[0].metric, metric)]
            names, words = [*map(quoted, both)], [*map(shell_word, both)]
            raise UsageError(
                f"{names[0]} and {names[1]} say the opposite of {arms[0]}: by the one it is "
                "better, by the other worse",
                hint=f"Say which was measured: --metric {words[0]}, or --metric {words[1]}.",
            )


def _signs(
    sheets: Sequence[Sequence[Series]], higher_is_better: bool, first: str
) -> dict[str, int]:
    """Arm → 1 where it clearly is better than the first arm of the chosen metric, −1 where worse, 0
    where unclear."""
    logs: dict[str, list[float]] = {}
    for choice in (series for group in sheets for series in group):
        positive = choice.values[choice.values > 0]
        logs.setdefault(choice.arm, []).extend(np.log(positive).tolist())
    control = logs.get(first, [])
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
