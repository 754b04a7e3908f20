"""Reads what distinguishes the rows of a table besides their numbers: labels and parameters. Rows
of different metrics are refused, and so are rows that say that they failed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from steelyard.foreign.series import Factor, FactorKind
from steelyard.foreign.source import quoted
from steelyard.foreign.tables.column_roles import Roles
from steelyard.foreign.tables.outcomes.failed_rows import refuse_failed_rows, refuse_warm_ups
from steelyard.foreign.tables.steps import are_sizes, are_steps, by_arm
from steelyard.foreign.tables.table import Table
from steelyard.foreign.tables.table_headings import explains, follows, holds_a_metric
from steelyard.foreign.vocabulary.heading import Heading, Role, metric_of

_MEASURED = (Role.METRIC, Role.STATISTIC, Role.VALUE)
_ALSO_STEPS = (Role.COST, Role.COUNT, Role.DERIVED)
"""Of columns that were measured, as words of their headings say: "load", "bytes"; or asked for."""


def with_steps(table: Table, roles: Roles, columns: Mapping[str, str], alone: bool) -> Roles:
    """The roles of a table, columns of steps that explain what was measured among the parameters,
    though their headings say that they were measured too, or name blocks: "load", "batch".

    `columns`: role → column, as the user said; `alone`: whether the table is the only one.
    """
    if (roles.arm is None and alone) or not table.header:
        return roles
    swept = [c for c in _candidates(roles) if _is_swept(table, roles, c)]
    if roles.block is not None and "block" not in columns and _is_size(table, roles, roles.block):
        swept.append(roles.block)
        roles = replace(roles, block=None)
    moved = {c for c in swept if c in roles.numbers}
    return replace(
        roles,
        numbers=tuple(c for c in roles.numbers if c not in moved),
        parameters=(*(c for c in roles.parameters if not _repeats(table, roles, c)), *swept),
        spare=(*roles.spare, *sorted(moved)),
    )


def _candidates(roles: Roles) -> Iterator[int]:
    used = {roles.arm, roles.order, roles.day, roles.block, roles.clients, roles.index, roles.unit}
    used |= {*roles.labels, *roles.parameters, *(roles.numbers if roles.chosen else ())}
    for column, heading in enumerate(roles.headings):
        measured = heading.metric is not None or holds_a_metric(heading)
        if column not in used and heading.role in _ALSO_STEPS and not measured:
            yield column


def _is_swept(table: Table, roles: Roles, column: int) -> bool:
    return are_steps(_by_arm(table, roles, column)) and _explains(table, roles, column)


def _is_size(table: Table, roles: Roles, column: int) -> bool:
    return are_sizes(_by_arm(table, roles, column)) and _explains(table, roles, column)


def _by_arm(table: Table, roles: Roles, column: int) -> list[list[str]]:
    arms = table.columns[roles.arm] if roles.arm is not None else None
    return by_arm([cell.strip() for cell in table.columns[column]], arms)


def _explains(table: Table, roles: Roles, column: int) -> bool:
    """Whether steps explain a metric in rows that are about the same, of which they differ."""
    others = (*roles.labels, *roles.parameters)
    metrics = [
        c
        for c in roles.numbers
        if c != column and (roles.chosen or roles.headings[c].role in _MEASURED)
    ]
    arms = table.columns[roles.arm] if roles.arm is not None else None
    known = [c for c in (roles.arm, *others) if c is not None]
    determined = bool(known) and follows(table, column, known)
    return not determined and explains(table, column, arms, metrics, others)


def _repeats(table: Table, roles: Roles, column: int) -> bool:
    """Whether numbers in a column that was found to hold steps follow from what rows are about, and
    so were measured: pages that a query reads, fewer in one arm."""
    if not roles.labels or not _is_parameter_by_content(roles.headings[column]):
        return False
    varies = any(len(set(group)) > 1 for group in _by_arm(table, roles, column))
    known = [c for c in (roles.arm, *roles.labels) if c is not None]
    return varies and follows(table, column, known)


def _is_parameter_by_content(heading: Heading) -> bool:
    """Whether a column is among the parameters because of what it holds."""
    known = heading.role is Role.PARAMETER and not heading.rest
    return not known and heading.role is not Role.ARM


def factors_of(table: Table, roles: Roles) -> tuple[Factor, ...]:
    """The factors of the rows of a table; what is one word in each row is no factor."""
    return tuple(_factors(table, roles))


def _factors(table: Table, roles: Roles) -> Iterator[Factor]:
    for column in (*roles.labels, *roles.parameters, *_clients(roles)):
        heading = roles.headings[column]
        cells = tuple(cell.strip() for cell in table.columns[column])
        if heading.role is Role.UNKNOWN and column in roles.labels and _are_remarks(cells):
            continue
        _refuse_blanks(table, column, heading, cells)
        label = heading.role is Role.LABEL or (column in roles.labels and not table.header)
        if label:
            kind = FactorKind.LABEL
        elif heading.load or column == roles.clients or _explaining(table, roles, column):
            kind = FactorKind.LOAD
        else:
            kind = FactorKind.PARAMETER
        yield Factor(table.name(column), kind, cells)


def _refuse_blanks(table: Table, column: int, heading: Heading, cells: Sequence[str]) -> None:
    """NumbersError with its place where a row is about nothing in a column of names where half of
    the cells or more are empty: they were merged, and only the first row of each has its name."""
    filled = sum(map(bool, cells))
    if heading.role is not Role.LABEL or not 0 < 2 * filled <= len(cells):
        return
    raise table.source.error(
        f"column {quoted(table.name(column))} does not say what this row is about",
        table.spot(cells.index(""), column),
        hint="Repeat the name in each row that it is of: those without one cannot be told apart.",
    )


def _are_remarks(cells: Sequence[str]) -> bool:
    """Whether words, under a heading that says nothing, stand in a few rows: "after reboot". What
    rows are about is said of each, and an empty cell says nothing."""
    filled = [cell for cell in cells if cell]
    return len(filled) < len(cells) and (2 * len(filled) < len(cells) or len(set(filled)) < 2)


def _explaining(table: Table, roles: Roles, column: int) -> bool:
    """Whether a column was found to hold steps that explain what was measured."""
    varies = any(len(set(group)) > 1 for group in _by_arm(table, roles, column))
    return (
        column in roles.parameters and _is_parameter_by_content(roles.headings[column]) and varies
    )


def _clients(roles: Roles) -> tuple[int, ...]:
    unlisted = roles.clients is not None and roles.clients not in roles.parameters
    return (roles.clients,) if unlisted and roles.clients is not None else ()


def require_comparable_rows(table: Table, roles: Roles) -> None:
    """NumbersError: rows are of several metrics, or one says of itself that it failed, that it was
    to warm up, or that it does not count."""
    _refuse_mixture(table, roles)
    refuse_failed_rows(table, roles)
    refuse_warm_ups(table, roles)


def _refuse_mixture(table: Table, roles: Roles) -> None:
    """Throughputs and latencies in one column are not to be averaged."""
    for column, heading in enumerate(roles.headings):
        if not table.is_text(column) or column == roles.arm:
            continue
        cells = [cell.strip() for cell in table.columns[column]]
        distinct = list(dict.fromkeys(cells))
        if len(distinct) < 2 or not (heading.role is Role.METRIC_NAME or _metrics(distinct)):
            continue
        other = cells.index(distinct[1])
        raise table.source.error(
            f'several metrics in one column: "{cells[other][:40]}" after "{cells[0][:40]}"',
            table.spot(other, column),
            hint="Keep the rows of one metric, or give each a column of its own.",
        )


def _metrics(cells: Sequence[str]) -> bool:
    """Whether cells name metrics, of more than one kind or statistic."""
    matches = [metric_of(cell) for cell in cells[:100]]
    names = {metric.name for metric in matches if metric is not None}
    return len(names) > 1 and 2 * sum(outcome is not None for outcome in matches) >= len(matches)
