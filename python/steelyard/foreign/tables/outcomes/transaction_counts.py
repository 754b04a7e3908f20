"""Reads what became of the transactions of an arm, by the columns that count failures or say which
share failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from steelyard.foreign.series import TransactionCounts
from steelyard.foreign.tables.column_roles import Roles
from steelyard.foreign.tables.outcomes.failure_shares import failure_shares
from steelyard.foreign.tables.table import Table
from steelyard.foreign.vocabulary.heading import Heading, Role
from steelyard.foreign.vocabulary.tokens import split_words

_TRIED = {"transactions", "requests", "operations", "queries", "samples", "txns", "processed"}
_TRIED |= {"request_count", "total_requests", "total_transactions", "tried", "calls", "executed"}
_TRUE = {"true", "t", "yes", "y"}
_ELSEWHERE = Heading("", Role.UNKNOWN)


def outcome_of(table: Table, roles: Roles, rows: Sequence[int]) -> TransactionCounts | None:
    """What became of the transactions of some rows, by the columns that count failures or say which
    share failed; None where no column does. Without a count of all, `tried` is 0. Fractions are no
    counts: beside "tps" a column "error" can say how far off it may be."""
    shares = failure_shares(table, roles, rows)
    counted = [c for c in roles.outcomes if c not in roles.numbers and _whole(table, c)]
    if not (counted or shares):
        return None
    troubled = tried = 0
    for column, heading in enumerate(roles.headings):
        if column in counted:
            troubled += _sum(table, column, rows)
        elif (
            counted
            and heading.name.strip().lower().replace(" ", "_") in _TRIED
            and heading.role is Role.COUNT
        ):
            tried = max(tried, _sum(table, column, rows))
    return TransactionCounts(max(tried, troubled) if tried else 0, troubled, shares=shares)


def _whole(table: Table, column: int) -> bool:
    """Whether a column holds whole numbers, as counts are: "3", or "3.0"."""
    point = "," if table.decimal_comma else "."
    fractions = (cell.strip().partition(point)[2] for cell in table.columns[column])
    return not any(set(fraction) & set("123456789") for fraction in fractions)


def _sum(table: Table, column: int, rows: Sequence[int]) -> int:
    """The sum of a column of counts; 1 for a cell that says "true", 0 for others without one."""
    point = "," if table.decimal_comma else "."
    total = 0.0
    cells = table.columns[column]
    for row in rows:
        cell = cells[row].strip().replace(point, ".", 1)
        if cell.replace(".", "", 1).isdecimal() and len(cell) < 16:
            total += float(cell)
        total += cell.lower() in _TRUE
    return round(total)


def outcomes_by_arm(
    table: Table, roles: Roles, arms: Mapping[str, Sequence[str]], rows: int
) -> dict[str, TransactionCounts]:
    """The same of a table with a column an arm, in its first rows: "off_errors" counts those of
    "off_tps". `arms`: arm → the words of headings that name it; empty where two share theirs."""
    if len({*map(tuple, arms.values())}) < len(arms):
        return {}
    owners = [_owner(split_words(name), arms) for name in table.names()] if table.header else []
    outcomes = {}
    for arm, words in arms.items():
        headings = tuple(
            replace(heading, name=_without(heading.name, words)) if owner == arm else _ELSEWHERE
            for heading, owner in zip(roles.headings, owners, strict=False)
        )
        mine = tuple(c for c in roles.outcomes if headings[c] is not _ELSEWHERE)
        outcome = outcome_of(table, replace(roles, headings=headings, outcomes=mine), range(rows))
        if outcome is not None:
            outcomes[arm] = outcome
    return outcomes


def _owner(heading: Sequence[str], arms: Mapping[str, Sequence[str]]) -> str | None:
    """The arm whose words stand together in a heading; the one of more words where several do."""
    matches = [arm for arm, words in arms.items() if words and _place(heading, words) is not None]
    return max(matches, key=lambda arm: len(arms[arm]), default=None)


def _place(heading: Sequence[str], words: Sequence[str]) -> int | None:
    count = len(words)
    starts = range(len(heading) - count + 1)
    return next((at for at in starts if [*heading[at : at + count]] == [*words]), None)


def _without(name: str, words: Sequence[str]) -> str:
    heading = split_words(name)
    at = _place(heading, words)
    return name if at is None else " ".join([*heading[:at], *heading[at + len(words) :]])
