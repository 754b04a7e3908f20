"""Ranks the metrics of a file by how surely they are what was measured, and chooses one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from steelyard.foreign.metric import LATENCY, THROUGHPUT, TIME, Metric
from steelyard.foreign.series import Series, Sheet
from steelyard.foreign.source import quoted, shell_word
from steelyard.foreign.tables.table_headings import headings_of
from steelyard.foreign.vocabulary.heading import Heading, Role, heading_of, key_of, metric_of
from steelyard.foreign.vocabulary.tokens import split_words
from steelyard.foreign.vocabulary.units import unit_of
from steelyard.model.errors import UsageError

Choice = tuple[Metric, tuple[Series, ...]]
_MOST_NAMED = 16


class Rank(IntEnum):
    """How surely a metric is what was measured; lower is surer."""

    THROUGHPUT = 0
    LATENCY = 1
    TIME = 2
    WEAK_TIME = 3
    """A duration: of the work, or of the run."""
    VALUE = 4
    UNKNOWN = 5
    MEDIAN = 6
    PERCENTILE = 7
    COST = 8
    EXTREME = 9
    SPREAD = 10
    OTHER = 11
    """A count, an outcome, a ratio: judged where it is asked for by name."""
    CONSTANT = 12
    """One value throughout: what was asked for, not what came of it."""


_STRONG = Rank.WEAK_TIME
"""Up to here a heading says that it is a rate or a time."""
LAST_BY_ITSELF = Rank.PERCENTILE
"""What lies beyond is judged only where it is asked for by its name."""


def rank_of(metric: Metric, heading: Heading | None = None) -> Rank:
    """The rank of a metric by its heading, which may be read beside others; without one, a tool's
    reader put the surest first."""
    if not metric.column:
        return Rank.THROUGHPUT
    heading = heading if heading is not None else heading_of(metric.column)
    if heading.role in (Role.VALUE, Role.UNKNOWN) and metric.unit:
        return _by_name(metric)
    if heading.role is Role.METRIC and not (heading.weak and heading.rest):
        if metric.name == TIME and heading.weak:
            return Rank.WEAK_TIME
        return _by_name(metric)
    if heading.role is Role.STATISTIC or (heading.role is Role.METRIC and heading.statistic):
        return _of_statistic(heading.statistic)
    ranks = {Role.VALUE: Rank.VALUE, Role.UNKNOWN: Rank.UNKNOWN, Role.METRIC: Rank.UNKNOWN}
    ranks |= {Role.COST: Rank.COST, Role.PARAMETER: Rank.UNKNOWN}
    return ranks.get(heading.role, Rank.OTHER)


def _by_name(metric: Metric) -> Rank:
    ranks = {THROUGHPUT: Rank.THROUGHPUT, LATENCY: Rank.LATENCY, TIME: Rank.TIME}
    if metric.name in ranks:
        return ranks[metric.name]
    return Rank.VALUE if metric.name == "value" else Rank.UNKNOWN


def _of_statistic(statistic: str) -> Rank:
    if statistic == "median":
        return Rank.MEDIAN
    if statistic.startswith("p"):
        return Rank.PERCENTILE
    return Rank.SPREAD if statistic in ("stddev", "range") else Rank.EXTREME


def ranks_of(sheet: Sheet) -> list[Rank]:
    """The rank of every metric of a sheet, beside the others: a sum where a mean stands beside it
    ranks as a count, and what the vocabulary knows only in part behind what it wholly knows. A
    column with one value throughout ranks last where another varies."""
    headings = headings_of(tuple(metric.column for metric, _ in sheet.metrics))
    pairs = [
        (metric, heading) for (metric, _), heading in zip(sheet.metrics, headings, strict=True)
    ]
    ranks = [rank_of(metric, heading) for metric, heading in pairs]
    if any(_timed(metric) and heading.central for metric, heading in pairs):
        sums = [_timed(metric) and heading.total for metric, heading in pairs]
        ranks = [Rank.OTHER if same else rank for rank, same in zip(ranks, sums, strict=True)]
    exact = [not heading.rest for heading in headings]
    if any(rank <= Rank.TIME and whole for rank, whole in zip(ranks, exact, strict=True)):
        ranks = [
            Rank.UNKNOWN if rank <= _STRONG and not whole else rank
            for rank, whole in zip(ranks, exact, strict=True)
        ]
    bare = [place for place, (metric, _) in enumerate(sheet.metrics) if not metric.column]
    if bare:
        # A tool's reader puts the surest first: what stands before a number without a heading too.
        ranks[: bare[-1]] = [Rank.THROUGHPUT] * bare[-1]
    constant = [_constant(series) for _, series in sheet.metrics]
    if all(constant):
        return ranks
    return [Rank.CONSTANT if same else rank for rank, same in zip(ranks, constant, strict=True)]


def _timed(metric: Metric) -> bool:
    return metric.name.startswith((TIME, "latency"))


def _constant(series: Sequence[Series]) -> bool:
    values = np.concatenate([choice.values for choice in series])
    return len(values) > 2 and bool((values == values[0]).all())


@dataclass(frozen=True, slots=True)
class SheetMetric:
    """The metric of a sheet that is judged, and which others could have been."""

    metric: Metric
    series: tuple[Series, ...]
    rivals: tuple[Choice, ...] = ()
    """Others that are as surely what was measured."""
    others: tuple[str, ...] = ()
    """Names of the rest of its numbers."""


def choose(sheet: Sheet, name: str | None, unit: str | None) -> SheetMetric:
    """The metric of that name, or else the surest one that can be in the given unit.

    UsageError where there is none, or none that is judged without being asked for; NumbersError
    where it cannot be read.
    """
    if name is not None:
        fitting = _metrics_named(sheet, name, unit)
        _refuse_unit(sheet, fitting, unit)
        first = next(choice for choice in fitting if unit is None or choice[0].accepts(unit))
        rivals = () if key_of(first[0].column) == key_of(name) else _as_sure(sheet, first, fitting)
        _refuse_partly_known(sheet, (first, *rivals))
        return SheetMetric(*first, rivals, _others(sheet, first[0]))
    if sheet.chosen:
        _refuse_unit(sheet, sheet.metrics, unit)
        return SheetMetric(*sheet.metrics[0])
    ranks = ranks_of(sheet)
    ranking = sorted(
        zip(ranks, sheet.metrics, strict=True),
        key=lambda choice: (choice[0], bool(heading_of(choice[1][0].column).rest)),
    )
    fitting = [choice for _, choice in ranking if unit is None or choice[0].accepts(unit)]
    _refuse_unit(sheet, fitting or [choice for _, choice in ranking], unit)
    rank = {id(choice): rank for rank, choice in ranking}
    candidates = _in_unit(fitting, rank) if unit else fitting
    first = candidates[0]
    _refuse_unreadable(sheet, rank[id(first)], partly=bool(heading_of(first[0].column).rest))
    lone = len(sheet.metrics) == 1 and rank[id(first)] is not Rank.OTHER
    directed = first[0].higher_is_better is not None or unit is not None
    if rank[id(first)] > LAST_BY_ITSELF and not (lone and directed):
        raise _nothing_measured(sheet, [choice[0] for _, choice in ranking])
    _refuse_doubtful(sheet, ranking, unit)
    _refuse_unit_of_another(sheet, candidates, rank, unit)
    _refuse_partly_known(sheet, [choice for choice in candidates if rank[id(choice)] <= _STRONG])
    _refuse_unknown(
        sheet, [choice[0] for choice in candidates if rank[id(choice)] is rank[id(first)]]
    )
    last = max(rank[id(first)], Rank.TIME)
    alike = [choice for choice in candidates if choice[0].column and rank[id(choice)] <= last]
    rivals = tuple(choice for choice in alike if choice is not first)
    return SheetMetric(*first, rivals, _others(sheet, first[0]))


def _in_unit(fitting: Sequence[Choice], rank: Mapping[int, Rank]) -> list[Choice]:
    """What can be in a given unit, surest first; of one rank those that have it, where any has.
    `rank`: of every choice, by its id."""
    having = {rank[id(choice)] for choice in fitting if choice[0].unit}
    return [choice for choice in fitting if choice[0].unit or rank[id(choice)] not in having]


def _refuse_unit_of_another(
    sheet: Sheet, candidates: Sequence[Choice], rank: Mapping[int, Rank], unit: str | None
) -> None:
    """A column of which nothing says what it is, where a unit was given that a percentile has."""
    first, *others = candidates
    if unit is None or first[0].unit or rank[id(first)] is not Rank.UNKNOWN:
        return
    for other in others:
        if other[0].unit and rank[id(other)] <= LAST_BY_ITSELF:
            raise _either(sheet, (first[0].column, other[0].column))


def _as_sure(sheet: Sheet, first: Choice, choices: Sequence[Choice]) -> tuple[Choice, ...]:
    """The others of some columns that are as surely what was measured as the first of them."""
    ranks = {id(choice): rank for choice, rank in zip(sheet.metrics, ranks_of(sheet), strict=True)}
    rank = ranks.get(id(first))
    return tuple(
        choice
        for choice in choices
        if choice is not first and choice[0].column and ranks.get(id(choice)) is rank
    )


def _others(sheet: Sheet, metric: Metric) -> tuple[str, ...]:
    names = [other.column or other.name for other, _ in sheet.metrics if other is not metric]
    return (*names, *(other.column or other.name for other, _ in sheet.unreadable))


def _metrics_named(sheet: Sheet, name: str, unit: str | None) -> Sequence[Choice]:
    """The metrics of that heading; else of that name or unit; else of that kind, means first."""
    for metric, refused in sheet.unreadable:
        if key_of(metric.column or metric.name) == key_of(name):
            raise refused
    exact = [choice for choice in sheet.metrics if choice[0].column.strip() == name.strip()]
    exact = exact or [
        choice for choice in sheet.metrics if key_of(choice[0].column) == key_of(name)
    ]
    if exact:
        return exact
    requested, meant = name.strip().lower(), metric_of(name)
    called = [choice for choice in sheet.metrics if choice[0].name.lower() == requested]
    ranks = {id(choice): rank for choice, rank in zip(sheet.metrics, ranks_of(sheet), strict=True)}
    of_kind = [
        choice
        for choice in sheet.metrics
        if (meant and meant.name == choice[0].name)
        or requested == choice[0].unit.lower()
        or (unit_of(name) or "-") == choice[0].unit
    ]
    of_kind.sort(key=lambda choice: ranks[id(choice)])
    # Queries a second are no transactions a second where both are there.
    in_unit = [choice for choice in of_kind if choice[0].unit == unit_of(name)]
    if called or of_kind:
        return called or in_unit or of_kind
    if len(sheet.metrics) == 1 and sheet.metrics[0][0].name == "value":
        unnamed, series = sheet.metrics[0]
        metric = meant or Metric(name)
        return [(metric.overridden(unnamed.unit or None, unnamed.higher_is_better), series)]
    names = ", ".join(
        quoted(choice.column or choice.name) for choice, _ in sheet.metrics[:_MOST_NAMED]
    )
    more = len(sheet.metrics) - _MOST_NAMED
    raise UsageError(
        f'"{sheet.source}" has no metric {quoted(name)}',
        hint=f"It has {names}{f' and {more} more' if more > 0 else ''}.",
    )


def _refuse_unit(sheet: Sheet, choices: Sequence[Choice], unit: str | None) -> None:
    if unit is None or any(metric.accepts(unit) for metric, _ in choices):
        return
    names = " and ".join(metric.words for metric, _ in choices)
    raise UsageError(
        f'"{sheet.source}" holds {names}: not in {unit}',
        hint="Leave --unit out: it says what a file does not say itself.",
    )


def _refuse_unreadable(sheet: Sheet, rank: Rank, partly: bool) -> None:
    """A column that would have been judged before the chosen one, and cannot be read; `partly`:
    whether the vocabulary knows the chosen one in part only."""
    columns = tuple(metric.column for metric, _ in (*sheet.unreadable, *sheet.metrics))
    for (metric, refused), heading in zip(sheet.unreadable, headings_of(columns), strict=False):
        known = partly or not heading.rest
        if known and rank_of(metric, heading) < min(rank, Rank.COST):
            raise refused


def _nothing_measured(sheet: Sheet, metrics: Sequence[Metric]) -> UsageError:
    names = [metric.column or metric.name for metric in metrics]
    option = f"--metric {shell_word(names[0])}"
    listed = ", ".join(quoted(name) for name in names[:6])
    return UsageError(
        f'"{sheet.source}" holds no number that surely is a rate or a time: {listed}',
        detail="Extremes, spreads, counts and outcomes are judged only where they are asked for.",
        hint=f"Say which was measured and which way is better: {option} "
        "--lower-is-better (or --higher-is-better).",
    )


def _refuse_doubtful(
    sheet: Sheet, ranking: Sequence[tuple[Rank, Choice]], unit: str | None
) -> None:
    """A duration that may be the length of the run, beside what else may have been measured."""
    ranks = [rank for rank, _ in ranking]
    if min(ranks) is not Rank.WEAK_TIME:
        return
    if sheet.nested:
        raise _nested(sheet, next(c[0] for rank, c in ranking if rank is Rank.WEAK_TIME))
    if unit is not None:
        return
    unknown = [choice[0] for rank, choice in ranking if rank in (Rank.VALUE, Rank.UNKNOWN)]
    if not unknown:
        return
    time = next(choice[0] for rank, choice in ranking if rank is Rank.WEAK_TIME)
    names = (unknown[0].column or unknown[0].name, time.column or time.name)
    raise UsageError(
        f'"{sheet.source}": {quoted(names[0])} or {quoted(names[1])} could be what was measured',
        detail=f"{quoted(names[1])} may also say how long each run was.",
        hint=_either_metric(*names),
    )


def _nested(sheet: Sheet, time: Metric) -> UsageError:
    name, inner = time.column or time.name, " and ".join(map(quoted, sheet.nested[:3]))
    return UsageError(
        f'"{sheet.source}": {quoted(name)} may say how long each run was',
        detail=f"What was measured seems to be in {inner}: lists and objects, which are not read.",
        hint='Write the number itself under a key of its own, as "tps": 998.5; or, if the time was '
        f"measured: --metric {shell_word(name)}.",
    )


def _refuse_partly_known(sheet: Sheet, rivals: Sequence[Choice]) -> None:
    """Several rates or times, each with words that nothing explains: "temp MB/s", "idx scans/s"."""
    columns = [metric.column for metric, _ in rivals]
    if len(columns) > 1 and columns[0] and heading_of(columns[0]).rest:
        raise _either(sheet, columns)


def _either(sheet: Sheet, columns: Sequence[str]) -> UsageError:
    names = [quoted(column) for column in columns[:6]]
    return UsageError(
        f'"{sheet.source}": {" or ".join(names)} could be what was measured',
        hint=_as_rows(columns) + _either_metric(*columns[:2]),
    )


def _either_metric(name: str, rival: str) -> str:
    return f"Say which: --metric {shell_word(name)}, or --metric {shell_word(rival)}."


def _refuse_unknown(sheet: Sheet, metrics: Sequence[Metric]) -> None:
    """Several columns of which nothing says what they are."""
    columns = [choice for choice in metrics if choice.column]
    if len(columns) < 2 or rank_of(columns[0]) not in (Rank.VALUE, Rank.UNKNOWN):
        return
    if columns[0].unit and not any(choice.unit for choice in columns[1:]):
        return
    names = [quoted(choice.column) for choice in columns[:6]]
    raise UsageError(
        f'"{sheet.source}": {" or ".join(names)} could be what was measured',
        hint=f"{_as_rows([choice.column for choice in columns])}Say which: --metric "
        f"{shell_word(columns[:6][-1].column)}, with --unit or --higher-is-better.",
    )


def _as_rows(columns: Sequence[str]) -> str:
    """What to type where columns are numbered as repetitions are; "" for others."""
    words = [split_words(column) for column in columns]
    stems = {tuple(word for word in name if not word.isdecimal()) for name in words}
    numbered = all(sum(map(str.isdecimal, name)) == 1 for name in words)
    return "Repetitions are a row each: arm,run,value. " if numbered and len(stems) == 1 else ""
