"""Finds columns that say what rows are about, though their headings do not: codes that name kinds
("type", "sql_id")."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.foreign.tables.table import Table
from steelyard.foreign.vocabulary import words as known
from steelyard.foreign.vocabulary.heading import Heading, Role
from steelyard.foreign.vocabulary.tokens import split_words

_KINDS = {"type", "phase"}
_IDENTIFIERS = {"id", "ids"}
_OF_WORK = known.LABEL_WORDS | {"op", "txn", "transaction"}
"""Before "id" or "code": of a query, a test, and not of a process."""


def names_kinds(heading: Heading) -> bool:
    """Whether a code is called the kind of something: "type", "op_type", "phase"."""
    return heading.role is Role.CODE and _last(heading) in _KINDS


def is_subject(
    table: Table, column: int, heading: Heading, arms: Sequence[str] | None, labels: Sequence[int]
) -> bool:
    """Whether a column of codes says what rows are about: its values come in every arm, and
    differ within one. Words of a kind always do: the arms themselves may differ in it.

    `arms`: of each row; None where the table is of one arm. `labels`: the columns that say so by
    their headings: a code that follows from them says nothing more.
    """
    if heading.role is not Role.CODE or (labels and _follows(table, column, labels)):
        return False
    cells = [cell.strip() for cell in table.columns[column]]
    groups = by_arm(cells, arms)
    levels = [set(group) for group in groups]
    varied = any(len(level) > 1 for level in levels)
    again = all(2 * len(set(group)) <= len(group) for group in groups)
    of_work = _last(heading) in _KINDS or _identifies_work(heading)
    if not table.is_text(column):
        alike = all(level == levels[0] for level in levels)
        return of_work and varied and again and alike and all(map(str.isdecimal, cells))
    if names_kinds(heading):
        return arms is None or len(set(cells)) > 1
    shared = 2 * len(set.intersection(*levels)) >= len(set.union(*levels))
    return varied and shared and (of_work or (again and _last(heading) in _IDENTIFIERS))


def by_arm(cells: Sequence[str], arms: Sequence[str] | None) -> list[list[str]]:
    """The cells of the rows of each arm."""
    groups: dict[str, list[str]] = {}
    for cell, arm in zip(cells, arms or [""] * len(cells), strict=True):
        groups.setdefault(arm.strip(), []).append(cell)
    return list(groups.values())


def _last(heading: Heading) -> str:
    return next(iter(split_words(heading.name)[-1:]), "")


def _identifies_work(heading: Heading) -> bool:
    *before, last = split_words(heading.name) or ("",)
    return last in _IDENTIFIERS | {"code"} and bool(_OF_WORK.intersection(before))


def _follows(table: Table, column: int, labels: Sequence[int]) -> bool:
    """Whether the cells of other columns determine those of a column."""
    others = list(zip(*(table.columns[c] for c in labels), strict=True))
    pairs = set(zip(others, table.columns[column], strict=True))
    return len(pairs) == len(set(others))
