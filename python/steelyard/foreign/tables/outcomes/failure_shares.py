"""Reads which share of transactions failed or succeeded, or how many failed by time, as a column
of rows says: the mean of an arm can be compared, its sum means nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from steelyard.foreign.metric import THROUGHPUT
from steelyard.foreign.number import is_missing
from steelyard.foreign.source import quoted
from steelyard.foreign.tables.column_roles import Roles
from steelyard.foreign.tables.table import Table
from steelyard.foreign.vocabulary import words as known
from steelyard.foreign.vocabulary.heading import Heading, Role
from steelyard.foreign.vocabulary.tokens import split_words
from steelyard.foreign.vocabulary.units import TIME_UNITS, is_rate, unit_of

_MOST_DIGITS = 16
_BY = known.FRACTION_WORDS | {"per"}

_Work = tuple[int, list[float | None] | None]
_NONE: _Work = (0, None)
Shares = Mapping[str, tuple[float, ...]]
"""Heading in quotes → what it says of each row."""


def failure_shares(table: Table, roles: Roles, rows: Sequence[int]) -> Shares:
    """What columns say of some rows; failures by time are divided by the work that was done in it,
    where a column of that stands beside them."""
    if not table.header:
        return {}
    shares = {}
    for column, heading in enumerate(roles.headings):
        if not _is_share(heading) or column in (*roles.numbers, roles.arm):
            continue
        values = _numbers(table, column)
        if values is None:
            continue
        by_time = "per" in split_words(heading.name)
        name, (over, work) = quoted(heading.name), _work(table, roles) if by_time else _NONE
        pairs = ((values[row], None if work is None else work[row]) for row in rows)
        of_rows = tuple(
            value / (done or 1.0) for value, done in pairs if value is not None and done != 0
        )
        if of_rows:
            divided = f"{name} divided by {quoted(roles.headings[over].name)}"
            shares[divided if work else name] = of_rows
    return shares


def _is_share(heading: Heading) -> bool:
    """Whether a column says which share of transactions failed or succeeded, or how many failed by
    time. "Score error (99.9 %)" and "tps err %" say how far off a number may be."""
    words = set(split_words(heading.name))
    troubled = words & (known.COUNTED_FAILURES | known.GOOD_OUTCOMES)
    if heading.role is not Role.OUTCOME or not (troubled and words & _BY):
        return False
    others = words - _BY - set(TIME_UNITS)
    of_number = others & known.ERROR_OF_NUMBER or any(map(_is_metric, others))
    return not (of_number and troubled <= known.ERRORS_OF_EITHER)


def _is_metric(word: str) -> bool:
    return word in known.LATENCY_WORDS | known.TIME_WORDS or is_rate(unit_of(word) or "")


def _work(table: Table, roles: Roles) -> _Work:
    """The column of throughput and its numbers; none where it has not one in every row."""
    for column in roles.numbers:
        heading = roles.headings[column]
        if heading.role is Role.METRIC and heading.metric and heading.metric.name == THROUGHPUT:
            values = _numbers(table, column)
            return (column, values) if values is not None and None not in values else _NONE
    return _NONE


def _numbers(table: Table, column: int) -> list[float | None] | None:
    """The numbers of a column, None for cells without one; None where a cell is anything else."""
    point = "," if table.decimal_comma else "."
    numbers: list[float | None] = []
    for cell in table.columns[column]:
        text = cell.strip().removesuffix("%").rstrip().replace(point, ".", 1)
        if is_missing(cell):
            numbers.append(None)
        elif text.replace(".", "", 1).isdecimal() and len(text) <= _MOST_DIGITS:
            numbers.append(float(text))
        else:
            return None
    return numbers
