"""Reads what distinguishes the rows of a table besides their numbers: labels and parameters. Rows
of different metrics are refused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from steelyard.foreign.series import Factor, FactorKind, TransactionCounts
from steelyard.foreign.tables.column_roles import Roles
from steelyard.foreign.tables.table import Table
from steelyard.foreign.vocabulary.heading import Role, metric_of

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
    no column does. Without a count of all, `tried` is 0. Fractions are no counts: beside "tps" a
    column "error" can say how far off it may be."""
    counted = [c for c in roles.outcomes if c not in roles.numbers and _whole(table, c)]
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


def _whole(table: Table, column: int) -> bool:
    """Whether a column holds whole numbers, as counts are: "3", or "3.0"."""
    point = "," if table.decimal_comma else "."
    fractions = (cell.strip().partition(point)[2] for cell in table.columns[column])
    return not any(set(fraction) & set("123456789") for fraction in fractions)


def _sum(table: Table, column: int, rows: Sequence[int]) -> int:
    """The sum of a column of counts; 0 for cells that hold none."""
    point = "," if table.decimal_comma else "."
    total = 0.0
    cells = table.columns[column]
    for row in rows:
        cell = cells[row].strip().replace(point, ".", 1)
        if cell.replace(".", "", 1).isdigit() and len(cell) < 16:
            total += float(cell)
    return round(total)


def refuse_mixture(table: Table, roles: Roles) -> None:
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
