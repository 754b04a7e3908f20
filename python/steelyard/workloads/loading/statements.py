"""Finds which table a statement is about: tables are filled and keyed in parallel, and counted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_NAME = r'(?:"?\w+"?\.)?"?(\w+)"?'
_CREATES = re.compile(
    rf"\bcreate\s+(?:unlogged\s+)?table\s+(?:if\s+not\s+exists\s+)?{_NAME}", re.IGNORECASE
)
_CONCERNS = re.compile(
    rf"\balter\s+table\s+(?:if\s+exists\s+)?(?:only\s+)?{_NAME}"
    rf"|\bcreate\s+(?:unique\s+)?index\b.*?\bon\s+(?:only\s+)?{_NAME}",
    re.IGNORECASE | re.DOTALL,
)
_INSERTS = re.compile(rf"\binsert\s+into\s+{_NAME}", re.IGNORECASE)


def by_creation(
    statements: Iterable[str], tables: Sequence[str]
) -> tuple[list[str], dict[str, list[str]]]:
    """What comes before the first table, and for each table its own statements, in order.

    A statement that creates none of `tables` belongs to the table before it, as its partitions do.
    """
    before: list[str] = []
    groups: dict[str, list[str]] = {}
    current = before
    for statement in statements:
        found = _CREATES.search(statement)
        if found and found[1].lower() in tables:
            current = groups.setdefault(found[1].lower(), [])
        current.append(statement)
    return before, groups


def by_table(statements: Iterable[str]) -> list[list[str]]:
    """Groups that do not wait for each other: the statements of one table stay in order.

    Where a statement does not say which table it is about, all of them are one group.
    """
    groups: dict[str, list[str]] = {}
    every = list(statements)
    for statement in every:
        found = _CONCERNS.search(statement)
        if found is None:
            return [every]
        groups.setdefault((found[1] or found[2]).lower(), []).append(statement)
    return list(groups.values())


def inserted(statements: Iterable[str], rows: Iterable[int]) -> dict[str, int]:
    """Rows that INSERT put into each table, by the command tags of its statements."""
    found: dict[str, int] = {}
    for statement, count in zip(statements, rows, strict=True):
        if into := _INSERTS.search(statement):
            table = into[1].lower()
            found[table] = found.get(table, 0) + max(0, count)
    return found
