"""Finds the columns of words that name the arm of each row, or the unit of the numbers beside them;
refuses where several could, and units that contradict each other.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import replace

from steelyard.foreign.metric import THROUGHPUT, Metric
from steelyard.foreign.number import is_number
from steelyard.foreign.source import SourceText, TextPosition, quoted
from steelyard.foreign.tables.moments import are_dates, are_days
from steelyard.foreign.tables.named_arms import are_of_one_size, is_among_arms, may_be_an_arm
from steelyard.foreign.tables.table import Table
from steelyard.foreign.vocabulary import words as known
from steelyard.foreign.vocabulary.heading import Heading, Role
from steelyard.foreign.vocabulary.tokens import split_words
from steelyard.foreign.vocabulary.units import SECONDS, is_rate, unit_of

_NEVER = {
    *(Role.CLOCK, Role.START, Role.END, Role.BLOCK, Role.UNIT, Role.METRIC_NAME),
    *(Role.PARAMETER, Role.COUNTER, Role.OUTCOME),
}
UNIT_BEHIND = re.compile(r"\s*[(\[]\s*([^)\]]+?)\s*[)\]]\s*$")
_TIME = "time"
_SWITCHES = {"on", "off", "true", "false", "yes", "no", "enabled", "disabled", "with", "without"}


def arm_column(
    table: Table, headings: Sequence[Heading], used: set[int], alone: bool
) -> int | None:
    """A column that is called so, else the one column of words in which words come again.

    `alone`: whether the table holds all arms; one of several files has one arm, and its words are
    what its rows are about. NumbersError where several columns could name the arms.
    """
    called = _called(table, headings, used, alone)
    if called is not None:
        return called
    if not alone:
        return None
    text_columns = [
        column
        for column, heading in enumerate(headings)
        if column not in used
        and heading.role not in _NEVER
        and heading.name.strip().lower() != _TIME
        and table.is_text(column)
    ]
    dated = [c for c in text_columns if are_dates(table.columns[c])]
    # Nights may be the arms, seconds are none.
    text_columns = [c for c in text_columns if c not in dated or are_days(table.columns[c])]
    again = [c for c in text_columns if 1 < _distinct(table, c) < table.rows]
    unnamed = [c for c in again if headings[c].role is not Role.LABEL]
    labelled = any(headings[column].role is Role.LABEL for column in text_columns)
    if labelled and not unnamed and _is_wide(table, headings, used):
        return None
    if len(unnamed) > 1 or (not unnamed and len(again) > 1):
        _refuse_several(table, unnamed or again)
    again = unnamed or again
    switched = [c for c in _parameters(table, headings, used) if _is_switch(table, c)]
    if again and switched:
        _refuse_several(table, [*switched, *again])
    again = again or _settings(table, headings, used)
    if again:
        return again[0]
    repeated = [c for c in text_columns if table.rows > 1 and _distinct(table, c) == 1]
    rest = [c for c in range(len(headings)) if c not in text_columns and c not in used]
    metrics = [c for c in rest if headings[c].role in (Role.METRIC, Role.STATISTIC)]
    # Each label once beside a column of one metric: one value an arm.
    lone = (
        len(text_columns) == 1
        and text_columns[0] not in dated
        and (len(rest) == 1 or (rest and len(metrics) == len(rest)))
    )
    return text_columns[0] if lone and not repeated else None


def _is_wide(table: Table, headings: Sequence[Heading], settled: set[int]) -> bool:
    """Whether columns of numbers are arms beside a column of what rows are about: no heading is
    wholly a metric's, all say the same of them, and they are alike: "query,off (ms),on (ms)"."""
    roles = (Role.METRIC, Role.STATISTIC, Role.UNKNOWN, Role.ARM)
    free = [c for c in range(len(headings)) if c not in settled and not table.is_text(c)]
    columns = [c for c in free if headings[c].role in roles]
    known = [headings[c] for c in columns if headings[c].role in roles[:2]]
    kinds = {heading.metric and (heading.metric.name, heading.statistic) for heading in known}
    alike = len(kinds) == 1 and len(known) == len(columns) if known else True
    bare = any(not heading.rest for heading in known)
    return len(columns) > 1 and alike and not bare and are_of_one_size(table, columns)


def _settings(table: Table, headings: Sequence[Heading], used: set[int]) -> list[int]:
    """The only parameter that is in words and differs: "compression" of pglz and lz4."""
    settings = _parameters(table, headings, used)
    return settings if len(settings) == 1 else []


def _is_switch(table: Table, column: int) -> bool:
    return {cell.strip().lower() for cell in table.columns[column]} <= _SWITCHES


def _parameters(table: Table, headings: Sequence[Heading], used: set[int]) -> list[int]:
    """Those in words that differ."""
    return [
        column
        for column, heading in enumerate(headings)
        if heading.role is Role.PARAMETER
        and column not in used
        and table.is_text(column)
        and 1 < _distinct(table, column) < table.rows
    ]


def _called(table: Table, headings: Sequence[Heading], used: set[int], alone: bool) -> int | None:
    """The column whose heading says so: of several one of words, and one that differs."""
    called = [
        column
        for column, heading in enumerate(headings)
        if heading.role is Role.ARM
        and column not in used
        and (table.is_text(column) or _version(table, column))
        and not is_among_arms(table, headings, column)
    ]
    several = [c for c in called if _distinct(table, c) > 1]
    first = {"arm", "arms", "variant", "treatment", "candidate", "group"}
    several.sort(key=lambda c: headings[c].name.strip().lower() not in first)
    if len(several) > 1 and alone:
        surely = headings[several[0]].name.strip().lower() in first
        if not surely and not _divide_rows_equally(table, several):
            _refuse_several(table, several)
    column = next(iter(several or called), None)
    if column is not None and alone and may_be_an_arm(table, headings, column):
        raise _arm_or_names(table, column)
    return column


def _arm_or_names(table: Table, column: int) -> Exception:
    name = table.name(column)
    return table.source.error(
        f"column {quoted(name)} could be an arm, or name the arms",
        table.spot(0, column),
        hint=f"If it is an arm, give it a name that means nothing else, as {quoted(name + ' A')}; "
        f"if it names them: --column {shlex.quote(f'arm={name}')}",
    )


def _divide_rows_equally(table: Table, columns: Sequence[int]) -> bool:
    """Whether all columns divide the rows in the same way: a name and its version."""
    distinct = {_distinct(table, c) for c in columns}
    pairs = len(set(zip(*(table.columns[c] for c in columns), strict=True)))
    return distinct == {pairs}


def _version(table: Table, column: int) -> bool:
    """Whether numbers can be names of versions: few of them, which come again."""
    cells = table.columns[column]
    if not all(is_number(cell) for cell in cells[:1_000]):
        return True
    return len(set(cells)) <= max(len(cells) / 2, 2)


def _distinct(table: Table, column: int) -> int:
    return len(set(table.columns[column]))


def _refuse_several(table: Table, columns: Sequence[int]) -> None:
    names = " and ".join(quoted(table.name(column)) for column in columns[:4])
    raise table.source.error(
        f"columns {names} could each name the arms",
        table.spot(0, columns[0]),
        hint=f"Say which does: --column {shlex.quote(f'arm={table.name(columns[-1])}')}",
    )


_MEASURED = (Role.METRIC, Role.STATISTIC, Role.VALUE, Role.UNKNOWN)


def unit_column(table: Table, headings: Sequence[Heading], used: set[int]) -> int | None:
    """A column of words that is called so, or that holds nothing but units and names no arm."""
    free = [c for c in range(len(table.columns)) if c not in used and table.is_text(c)]
    called = next((c for c in free if headings[c].role is Role.UNIT), None)
    if called is not None:
        return called
    for column in free:
        if headings[column].role is not Role.ARM and all(map(unit_of, set(table.columns[column]))):
            return column
    return None


def unit_named(table: Table, column: int | None) -> str:
    """The one unit that a column names, "" where there is no such column; NumbersError with its
    place where rows are in different units."""
    if column is None:
        return ""
    cells = [cell.strip() for cell in table.columns[column]]
    units = [unit_of(cell) or cell for cell in cells]
    for row, unit in enumerate(units):
        if unit != units[0]:
            name = shlex.quote(f"arm={table.name(column)}")
            raise table.source.error(
                f"mixed units: {cells[row] or 'none'} after {cells[0] or 'none'}",
                table.spot(row, column),
                hint=f"Write all rows in one unit; if these are the arms: --column {name}",
            )
    return units[0]


_RATES = known.RATE_WORDS | {"rates"}
_OF_UNITS = {"unit", "units", "uom"}
_ENDINGS = {(word,) for word in _OF_UNITS}


def units_by_column(
    table: Table, headings: Sequence[Heading], column: int | None
) -> tuple[str, ...]:
    """The unit that a column of units, or one of several, names for the numbers of each column; ""
    where none does. `column`: the surest column of units.

    Of several, each is about the column that it is called after; else units of rates are those of
    rates, and others those of other numbers. NumbersError with its place where two could be.
    """
    if column is None:
        return ("",) * len(headings)
    columns = [column, *_further_units(table, headings, column)]
    units = {c: unit_named(table, c) for c in columns}
    owners = {c: _owner(headings, c) for c in columns} if len(columns) > 1 else {}
    named = []
    for own, heading in enumerate(headings):
        fitting = [c for c in columns if owners.get(c) == own] or [
            c
            for c in columns
            if owners.get(c) is None
            and (is_rate(units[c]) is _is_of_rate(heading) or not _of_one_kind(headings, columns))
        ]
        if len({units[c] for c in fitting}) > 1 and heading.role in _MEASURED:
            raise _two_units(table, fitting, own)
        named.append(units[fitting[0]] if fitting else "")
    return tuple(named)


def _further_units(table: Table, headings: Sequence[Heading], column: int) -> list[int]:
    """The other columns that hold nothing but units, and are called so."""
    return [
        c
        for c in range(len(headings))
        if c != column
        and table.is_text(c)
        and (headings[c].role is Role.UNIT or split_words(headings[c].name)[-1:] in _ENDINGS)
        and all(map(unit_of, set(table.columns[c])))
    ]


def _owner(headings: Sequence[Heading], column: int) -> int | None:
    """The column that a column of units is called after: "latency" of "latency_unit"."""
    words = split_words(headings[column].name)
    stem = tuple(word for word in words if word not in _OF_UNITS)
    return next(
        (c for c, h in enumerate(headings) if stem and split_words(h.name) == stem),
        None,
    )


def _of_one_kind(headings: Sequence[Heading], columns: Sequence[int]) -> bool:
    """Whether a column of units is about rates only, or about all but rates: beside another, or by
    its heading where another heading is of a rate."""
    words = {word for c in columns for word in split_words(headings[c].name)}
    return len(columns) > 1 or (any(map(_is_of_rate, headings)) and not words.isdisjoint(_RATES))


def _is_of_rate(heading: Heading) -> bool:
    return heading.metric is not None and heading.metric.name.startswith(THROUGHPUT)


def _two_units(table: Table, columns: Sequence[int], column: int) -> Exception:
    names = " and ".join(quoted(table.name(c)) for c in columns[:2])
    name = table.name(column)
    return table.source.error(
        f"columns {names} name different units, and nothing says which is that of {quoted(name)}",
        table.spot(0, columns[1]),
        hint=f"Call a column of units after its numbers: {name}_unit; or leave the other one out.",
    )


def metric_in(
    table: Table, column: int, heading: Heading, behind: str, column_unit: str, *, alone: bool
) -> Metric:
    """The metric of a column by its heading, in the unit behind its numbers, or in the one that a
    column of units names, where the metric can be in it: `alone`, it must be.

    NumbersError with its place where units contradict each other.
    """
    name = table.name(column)
    doubtful = heading.weak and bool(heading.rest) and not (heading.metric and heading.metric.unit)
    metric = heading.metric if heading.metric is not None and not doubtful else None
    metric = replace(metric or Metric(name), column=name)
    measured = heading.role in _MEASURED
    for unit, must in ((behind, True), (column_unit, alone)):
        if not unit or (not measured and not must):
            continue
        if metric.accepts(unit):
            metric = metric.overridden(unit, None)
        elif must or {unit, metric.unit} <= SECONDS.keys():
            raise contradiction(table.source, table.spot(0, column), unit, metric)
    return metric


def contradiction(
    source: SourceText, position: TextPosition, unit: str, metric: Metric
) -> Exception:
    """The error for numbers in another unit than their metric has."""
    return source.error(
        f"mixed units: {unit} for {metric.words}", position, hint="Write all numbers in one unit."
    )


def refuse_mixed_units(table: Table, units: Sequence[tuple[str, int]]) -> None:
    """NumbersError where units, each with its column, are not all the same."""
    for unit, column in units:
        if unit != units[0][0]:
            raise table.source.error(
                f"mixed units: {unit or 'none'} after {units[0][0] or 'none'}",
                table.spot(0, column),
                hint="Write all arms in one unit.",
            )


def arm_and_unit(name: str) -> tuple[str, str]:
    """`"off (ms)"` is the arm "off" in ms; `"off"` is an arm without a unit."""
    match = UNIT_BEHIND.search(name)
    if match and unit_of(match[1]):
        return name[: match.start()].strip() or name, unit_of(match[1]) or ""
    return name, ""
