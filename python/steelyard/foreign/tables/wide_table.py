"""Reads a table with a column an arm: row k holds repetition k of all arms, or one query of all."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from steelyard.foreign.cells import in_short
from steelyard.foreign.metric import LATENCY, THROUGHPUT, TIME, Metric
from steelyard.foreign.number import Spot, amounts_of, floats_of, is_missing
from steelyard.foreign.series import Factor, FactorKind, Grain, Order, Rows, Series, Sheet
from steelyard.foreign.source import TextPosition, quoted
from steelyard.foreign.tables.column_roles import Roles
from steelyard.foreign.tables.factors import factors_of, require_comparable_rows
from steelyard.foreign.tables.named_arms import steps
from steelyard.foreign.tables.number_columns import refuse_repetitions
from steelyard.foreign.tables.outcomes.transaction_counts import outcomes_by_arm
from steelyard.foreign.tables.row_times import slices_of, times_of
from steelyard.foreign.tables.table import Table
from steelyard.foreign.tables.word_columns import (
    UNIT_BEHIND,
    arm_and_unit,
    contradiction,
    refuse_mixed_units,
    unit_named,
)
from steelyard.foreign.vocabulary.heading import Role, heading_of
from steelyard.foreign.vocabulary.tokens import split_words

_KINDS = (THROUGHPUT, LATENCY, TIME, "value")
"""What is judged first."""
_SPREADS = ("stddev", "range")
_MOST_STEPS = 100
_JOINTS = re.compile(r"[\s_-]+")
"""Between the words of a heading."""
_OF_ARMS = {"new", "without", "batch"}
"""Words that leave a metric what it is, and tell arms apart: "cache" and "without cache"."""
Group = tuple[str, str, str]
"""Kind of a metric, which statistic of it, and of which work or in which unit where a table has
several: "read" and "write"."""


def read_wide_table(table: Table, roles: Roles, form: str) -> Sheet:
    """The sheet of such a table. Trailing empty cells: that arm was measured less often."""
    require_comparable_rows(table, roles)
    swept = [c for c in roles.numbers if _is_parameter(table, c, roles.numbers)]
    numbers = [c for c in roles.numbers if c not in swept]
    refuse_repetitions(table, numbers)
    groups = _groups(table, roles, numbers)
    groups |= _work_counts(table, roles, groups)
    instead = _slices(table, roles)
    factors = (*factors_of(table, roles), *_swept_factors(table, swept), *_block(table, roles))
    named = len(set(zip(*(factor.values for factor in factors), strict=True))) > 1
    every = _common_rows(table, numbers) if named and not instead else table.rows
    metrics = []
    for group, columns in groups.items():
        metric, arms = _arms(table, roles, columns, (instead, every), several=len(groups) > 1)
        metrics.append((_named_in_group(metric, group, groups, table, roles), arms))
    metrics.sort(key=lambda entry: (bool(entry[0].column), _rank(entry[0])))
    if not metrics or not metrics[0][1]:
        raise table.source.error(
            "there is no column of numbers",
            TextPosition(1, 1),
            hint="Write a column an arm, or a column arm and one of its numbers.",
        )
    equal = len({len(entry.values) for _, arms in metrics for entry in arms}) == 1
    rows_named = bool(factors) and equal and not instead
    named_by = {_name(table, roles, c, len(groups) > 1): roles.headings[c].rest for c in numbers}
    return Sheet(
        source=table.source.name,
        form=form,
        metrics=tuple(metrics),
        order=Order.UNKNOWN,
        rows=(Rows.BLOCKS if rows_named else Rows.BESIDE) if equal else Rows.APART,
        outcomes=outcomes_by_arm(table, roles, named_by, every),
        lines=table.lines,
        row_names=_row_names(factors)[:every] if rows_named else (),
        ordered=not rows_named or _in_order(table, roles, factors),
        notes=(
            *_left_out(table, numbers, _row_names(factors), every),
            *_notes(table, roles, swept),
        ),
    )


def _common_rows(table: Table, numbers: Sequence[int]) -> int:
    """How many rows there are until an arm has no more."""
    counts = [len(_without_tail(table.columns[column])) for column in numbers]
    return min(filter(None, counts), default=table.rows)


def _left_out(
    table: Table, numbers: Sequence[int], names: Sequence[str], every: int
) -> Iterator[str]:
    """Of the named rows behind those that all arms have, in words."""
    for column in numbers:
        alone = names[every : len(_without_tail(table.columns[column]))]
        if alone:
            arm = arm_and_unit(table.name(column))[0]
            yield f"rows of {arm} that another arm lacks were left out: {in_short(alone)}"


def _rank(metric: Metric) -> int:
    return _KINDS.index(metric.name) if metric.name in _KINDS else len(_KINDS)


def _block(table: Table, roles: Roles) -> tuple[Factor, ...]:
    if roles.block is None:
        return ()
    cells = tuple(cell.strip() for cell in table.columns[roles.block])
    return (Factor(table.name(roles.block), FactorKind.LABEL, cells),)


def _swept_factors(table: Table, columns: Sequence[int]) -> tuple[Factor, ...]:
    return tuple(
        Factor(table.name(c), FactorKind.LOAD, tuple(x.strip() for x in table.columns[c]))
        for c in columns
    )


def _row_names(factors: Sequence[Factor]) -> tuple[str, ...]:
    """What each row is called: labels bare, parameters with their names where there are several."""
    bare = len(factors) == 1
    names = [
        [value if bare or f.kind is FactorKind.LABEL else f"{f.name} {value}" for value in f.values]
        for f in factors
    ]
    return tuple(", ".join(parts) for parts in zip(*names, strict=True))


def _in_order(table: Table, roles: Roles, factors: Sequence[Factor]) -> bool:
    """Whether rows stand in the order of measuring: those that only a numbered block names, and
    cells that come again; not queries, and not the steps of a sweep."""
    if roles.block is not None and len(factors) == 1:
        return not table.is_text(roles.block)
    rows = list(zip(*(factor.values for factor in factors), strict=True))
    labelled = any(factor.kind is FactorKind.LABEL for factor in factors)
    return len(set(rows)) < len(rows) and not labelled


def _is_parameter(table: Table, column: int, numbers: Sequence[int]) -> bool:
    """Whether a column under a heading that says nothing holds steps of a parameter: whole numbers
    ("8", "4k") that grow several times, or come again in every step of another, where other columns
    do not."""
    if len(numbers) < 3 or column == numbers[-1] or table.rows < 3:
        return False
    others = [c for c in numbers if c != column]
    return _has_steps(table, column) and not any(_has_steps(table, c) for c in others)


def _has_steps(table: Table, column: int) -> bool:
    """The same of one column, whatever the others hold; "4k" and "8 KB" are whole numbers."""
    cells = table.columns[column]
    distinct = {*cells} if not cells[0].strip()[-1:].isdigit() else set[str]()
    if not 1 < len(distinct) <= _MOST_STEPS:
        return steps(cells)
    texts = list(distinct)
    amounts = amounts_of(texts)
    if amounts is None or any(amount % 1 for amount in amounts):
        return False
    whole = {text: str(int(amount)) for text, amount in zip(texts, amounts, strict=True)}
    return steps([whole[cell] for cell in cells])


def _groups(table: Table, roles: Roles, numbers: Sequence[int]) -> dict[Group, list[int]]:
    """The columns of every metric: "off_tps", "on_tps", "off_latency", "on_latency" are two."""
    groups: dict[Group, list[int]] = {}
    for column in numbers:
        heading = roles.headings[column]
        kind = heading.metric.name if heading.metric and heading.role is Role.METRIC else ""
        if heading.role is Role.STATISTIC and heading.metric and heading.statistic:
            kind = heading.metric.name if heading.metric.higher_is_better is not None else ""
        if not table.header or (arm_and_unit(heading.name)[1] and heading.rest):
            kind = ""  # a unit that is no metric: "off (ms)" beside "on"
        groups.setdefault((kind, heading.statistic, ""), []).append(column)
    groups = _by_work(table, roles, groups)
    if len(groups) < 2:
        return groups
    rests = [sorted(roles.headings[c].rest for c in columns) for columns in groups.values()]
    if any(rest != rests[0] for rest in rests) or len(set(rests[0])) < len(rests[0]):
        first, other = (columns[0] for columns in list(groups.values())[:2])
        raise table.source.error(
            f"columns {quoted(table.name(first))} and {quoted(table.name(other))} hold different "
            "things: they are no arms of one comparison",
            table.spot(0, other),
            hint="Keep the columns of the arms, all of one metric; or name the column that was "
            "measured: --column value=NAME.",
        )
    return groups


def _by_work(table: Table, roles: Roles, groups: dict[Group, list[int]]) -> dict[Group, list[int]]:
    """The same, where the headings of arms come again in a group, by what tells these apart:
    "off_read_iops", "off_write_iops", "on_read_iops", "on_write_iops" are two metrics."""
    parted: dict[Group, list[int]] = {}
    for (kind, statistic, _), columns in groups.items():
        arms = [roles.headings[column].rest for column in columns]
        named = {
            c: tuple(w for w in split_words(table.name(c)) if w not in roles.headings[c].rest)
            for c in columns
        }
        every = [set(words) for words in named.values()]
        telling = every[0].union(*every) - every[0].intersection(*every)
        several = table.header and 1 < len(set(arms)) < len(arms) and all(arms)
        for column in columns:
            work = " ".join(named[column]) if several and not telling & _OF_ARMS else ""
            parted.setdefault((kind, statistic, work), []).append(column)
    return parted


def _work_counts(
    table: Table, roles: Roles, groups: Mapping[Group, Sequence[int]]
) -> dict[Group, list[int]]:
    """Counts of the same arms beside times, by what is counted: times may be how long each run was,
    and counts what came of it."""
    times = [columns for (kind, *_), columns in groups.items() if kind == TIME]
    counts: dict[Group, list[int]] = {}
    for column in roles.spare if times else ():
        heading = roles.headings[column]
        if heading.role is Role.COUNT and not table.is_text(column):
            counted = " ".join(
                word for word in split_words(heading.name) if word not in heading.rest
            )
            counts.setdefault((counted, "", ""), []).append(column)
    arms = [sorted(roles.headings[c].rest for c in columns) for columns in times]
    return {
        group: columns
        for group, columns in counts.items()
        if sorted(roles.headings[c].rest for c in columns) in arms
    }


def _named_in_group(
    metric: Metric, group: Group, groups: Mapping[Group, Sequence[int]], table: Table, roles: Roles
) -> Metric:
    """The metric of one group of columns, where there are others: called by the words of its
    headings that name no arm ("ops", "avg"), which rank it. Where groups are of other statistics
    a mean is so only where no other group is surely what was measured."""
    statistic = group[1]
    if len(groups) < 2:
        return metric
    label = _without_arm(table, roles, groups[group][0])
    meant = heading_of(label).metric
    known = meant is not None and meant.higher_is_better is not None
    unnamed = metric.name == "value" and not metric.unit
    if not any(other for _, other, _ in groups):
        named = meant if meant is not None and known and unnamed else metric
        return replace(named, column=label)
    if not statistic:
        return metric
    sure = any(not other or (kind and other == "mean") for kind, other, _ in groups)
    if meant is not None and known and (unnamed or (not sure and meant.accepts(metric.unit))):
        metric = replace(meant, unit=meant.unit or metric.unit, column="")
    if statistic == "mean":
        return metric if sure else replace(metric, column=label)
    name = metric.name
    if not name.endswith(f"_{statistic}"):
        name = f"{'latency' if name == LATENCY else name}_{statistic}"
    higher = None if statistic in _SPREADS else metric.higher_is_better
    return replace(metric, name=name, higher_is_better=higher, column=label)


def _without_arm(table: Table, roles: Roles, column: int) -> str:
    """A heading without the words of its arm and without its unit: "avg" of "off avg (ms)"."""
    arm, name = set(roles.headings[column].rest), arm_and_unit(table.name(column))[0]
    parts = [(part, split_words(part)) for part in _JOINTS.split(name)]
    bare = [
        " ".join(word for word in words if word not in arm) if arm.intersection(words) else part
        for part, words in parts
        if words
    ]
    return " ".join(filter(None, bare)) or roles.headings[column].statistic


def _arms(
    table: Table, roles: Roles, columns: Sequence[int], rows: tuple[str, int], several: bool
) -> tuple[Metric, tuple[Series, ...]]:
    """The metric of one group of columns, and its arms; `rows`: why rows are slices, and how many
    of them are taken."""
    series, units, column_unit = [], [], unit_named(table, roles.unit)
    instead, every = rows
    for column in columns:
        cells = _without_tail(table.columns[column][:every])
        if not cells:
            continue
        spot = _spots(table, column)
        values, unit = floats_of(cells, table.source, spot, decimal_comma=table.decimal_comma)
        named_unit = arm_and_unit(table.name(column))[1]
        grain = Grain.SLICE if instead else Grain.REPETITION
        arm = _name(table, roles, column, several)
        series.append(Series(arm, values, grain, spot=spot, instead=instead))
        units += [(entry, column) for entry in (unit, named_unit, column_unit) if entry] or [
            ("", column)
        ]
    refuse_mixed_units(table, units)
    refuse_mixed_units(table, _units_of_headings(table, roles, columns))
    unit = units[0][0] if units else ""
    return _metric(unit, table, roles, columns), tuple(series)


def _name(table: Table, roles: Roles, column: int, several: bool) -> str:
    """The name of an arm, by its column of one of `several` metrics or of the only one."""
    return "_".join(roles.headings[column].rest) if several else arm_and_unit(table.name(column))[0]


def _units_of_headings(table: Table, roles: Roles, columns: Sequence[int]) -> list[tuple[str, int]]:
    """The units that are words of headings, each with its column: "off_ms" is in ms."""
    headings = [(roles.headings[column], column) for column in columns if table.header]
    return [
        (heading.metric.unit, column)
        for heading, column in headings
        if heading.metric and heading.metric.unit and heading.role in (Role.METRIC, Role.STATISTIC)
    ]


def _slices(table: Table, roles: Roles) -> str:
    timestamps = times_of(table, roles.order, roles.day)
    return slices_of(table, roles, {"": np.arange(table.rows)}, timestamps, None)


def _without_tail(cells: tuple[str, ...]) -> tuple[str, ...]:
    count = len(cells)
    while count and is_missing(cells[count - 1]) and cells[count - 1].strip().lower() != "nan":
        count -= 1
    return cells[:count]


def _spots(table: Table, column: int) -> Spot:
    return lambda row: table.spot(row, column)


def _metric(unit: str, table: Table, roles: Roles, columns: Sequence[int]) -> Metric:
    """By the unit behind the numbers, else by headings that all name the same metric: "tps_off"."""
    metrics = {roles.headings[column].metric for column in columns} if table.header else set()
    metric = (metrics.pop() if len(metrics) == 1 else None) or Metric("value")
    if metric.higher_is_better is None or UNIT_BEHIND.search(metric.column):
        metric = Metric("value")
    metric = Metric(metric.name, metric.unit, metric.higher_is_better)
    if unit and not metric.accepts(unit):
        raise contradiction(table.source, table.spot(0, columns[0]), unit, metric)
    return metric.overridden(unit or None, None)


def _notes(table: Table, roles: Roles, swept: Sequence[int]) -> Iterator[str]:
    if roles.index is not None:
        yield f'column "{table.name(roles.index)}" counts the rows and is no arm'
    for column in swept:
        yield f'column "{table.name(column)}" holds steps of a parameter and is no arm'
    block = {roles.block} if roles.block is not None else set()
    for column in sorted({*roles.labels, *roles.parameters, *block}):
        if not table.is_text(column):
            yield f'column "{table.name(column)}" says what a row is about and is no arm'
    used = {*roles.labels, *roles.parameters, *roles.numbers, roles.block, roles.index, roles.unit}
    for column in sorted(set(range(len(table.columns))) - used):
        yield f'column "{table.name(column)}" was left out: it holds no numbers of an arm'
