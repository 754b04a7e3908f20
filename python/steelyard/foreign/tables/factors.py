"""Reads what distinguishes the rows of a table besides their numbers: labels and parameters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from steelyard.foreign.series import Factor, FactorKind, TransactionCounts
from steelyard.foreign.tables.column_roles import Roles
from steelyard.foreign.tables.table import Table
from steelyard.foreign.vocabulary.heading import Role

_TRIED = {"transactions", "requests", "operations", "queries", "samples", "txns", "processed"}
_TRIED |= {"request_count", "total_requests", "total_transactions", "tried", "calls", "executed"}


def factors_of(table: Table, roles: Roles) -> tuple[Factor, ...]:
    """The factors of the rows of a table; what is one word in each row is no factor."""
    return tuple(_factors(table, roles))


def _factors(table: Table, roles: Roles) -> Iterator[Factor]:
    for column in (*roles.labels, *roles.parameters, *_clients(roles)):
        heading = roles.headings[column]
        cells = tuple(cell.strip() for cell in table.columns[column])
        label = heading.role is Role.LABEL or (column in roles.labels and not table.header)
        if label:
            kind = FactorKind.LABEL
        elif heading.load or column == roles.clients:
            kind = FactorKind.LOAD
        else:
            kind = FactorKind.PARAMETER
        yield Factor(table.name(column), kind, cells)


def _clients(roles: Roles) -> tuple[int, ...]:
    unlisted = roles.clients is not None and roles.clients not in roles.parameters
    return (roles.clients,) if unlisted and roles.clients is not None else ()


def outcome_of(table: Table, roles: Roles, rows: Sequence[int]) -> TransactionCounts | None:
    """What became of the transactions of some rows, by the columns that count failures; None where
    no column does. Without a count of all, `tried` is 0."""
    counted = [column for column in roles.outcomes if column not in roles.numbers]
    if not counted:
        return None
    troubled = tried = 0
    for column, heading in enumerate(roles.headings):
        if column in counted:
            troubled += _sum(table, column, rows)
        elif (
            heading.name.strip().lower().replace(" ", "_") in _TRIED and heading.role is Role.COUNT
        ):
            tried = max(tried, _sum(table, column, rows))
    return TransactionCounts(max(tried, troubled) if tried else 0, troubled)


def _sum(table: Table, column: int, rows: Sequence[int]) -> int:
    """The sum of a column of counts; 0 for cells that hold none."""
    total = 0.0
    cells = table.columns[column]
    for row in rows:
        cell = cells[row].strip()
        if cell.replace(".", "", 1).isdigit() and len(cell) < 16:
            total += float(cell)
    return round(total)
