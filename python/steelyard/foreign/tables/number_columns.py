"""Reads the columns of numbers of a table, each with its metric; one that cannot be read is kept
with the reason, and refused only where it is asked for. Numbered repetitions are no arms."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial

from steelyard.foreign.metric import Metric
from steelyard.foreign.metric_ranks import rank_of
from steelyard.foreign.number import floats_of
from steelyard.foreign.series import Floats, Series
from steelyard.foreign.source import TextPosition, quoted
from steelyard.foreign.tables.column_roles import Roles
from steelyard.foreign.tables.table import Table
from steelyard.foreign.tables.word_columns import arm_and_unit, metric_in, units_by_column
from steelyard.foreign.vocabulary.tokens import split_words
from steelyard.model.errors import NumbersError

_REPETITIONS = {"run", "rep", "repetition", "trial", "iteration", "iter", "round", "attempt", "r"}
_VERSION = re.compile(r"[0-9][.,][0-9]+\W*$")
Metrics = tuple[tuple[Metric, tuple[Series, ...]], ...]
Unreadable = tuple[tuple[Metric, NumbersError], ...]


def number_columns(
    table: Table, roles: Roles, arms: Callable[[int, Floats], tuple[Series, ...]]
) -> tuple[Metrics, Unreadable]:
    """Every metric with its arms, and those that cannot be read; `arms`: the series of a column
    with these values, shape (rows,).

    NumbersError with its place where no column can be read.
    """
    named_units = units_by_column(table, roles.headings, roles.unit)
    alone = len(roles.numbers) == 1
    metrics, unreadable = [], []
    for column in (*roles.numbers, *roles.spare):
        heading = roles.headings[column]
        cells, spot = table.columns[column], partial(_spot, table, column)
        judged = column in roles.numbers
        try:
            values, unit = floats_of(cells, table.source, spot, decimal_comma=table.decimal_comma)
        except NumbersError as refused:
            if judged and (alone or refused.primary.find("mixed units") >= 0):
                raise
            metric = metric_in(table, column, heading, "", "", alone=False)
            unreadable.append((metric, refused))
            continue
        metric = metric_in(
            table, column, heading, unit, named_units[column], alone=alone and judged
        )
        metrics.append((metric, arms(column, values)))
    if not metrics:
        raise unreadable[0][1]
    metrics.sort(key=lambda choice: rank_of(choice[0]))
    return tuple(metrics), tuple(unreadable)


def _spot(table: Table, column: int, row: int) -> TextPosition:
    return table.spot(row, column)


def refuse_repetitions(table: Table, numbers: Sequence[int]) -> None:
    """NumbersError where columns are numbered repetitions of several arms, "off_1", "off_2",
    "on_1", "on_2": each would be an arm of its own."""
    names = [table.name(column).strip() for column in numbers] if table.header else []
    if len(names) > 2 and all(map(str.isdecimal, names)) and _count([*map(int, names)]):
        raise table.source.error(
            f"columns {quoted(names[0])} to {quoted(names[-1])} are numbered as repetitions are, "
            "and would each be an arm",
            table.spot(0, numbers[0]),
            hint="Write a column an arm and a row a repetition; if each is an arm, call it by a "
            "name.",
        )
    matches = [_repetition(name) for name in names]
    counts: dict[tuple[str, ...], list[int]] = {}
    for stem, number in filter(None, matches):
        counts.setdefault(stem, []).append(number)
    numbered = all(_count(sorted(each)) for each in counts.values())
    if None in matches or len(counts) < 2 or len(counts) == len(numbers) or not numbered:
        return
    stems = [" ".join(stem) for stem in counts]
    raise table.source.error(
        f"columns {quoted(table.name(numbers[0]))} and {quoted(table.name(numbers[1]))} are "
        "numbered as repetitions are, and would each be an arm",
        table.spot(0, numbers[1]),
        hint=f"Write a column an arm ({', '.join(stems[:3])}) and a row a repetition; if each is "
        "an arm, call it by a name without a number.",
    )


def _count(numbers: list[int]) -> bool:
    """Whether numbers go on from 1, or from 0 where there are three and more."""
    return numbers in (list(range(1, len(numbers) + 1)), list(range(max(len(numbers), 3))))


def _repetition(name: str) -> tuple[tuple[str, ...], int] | None:
    """The words of a heading and the number of the repetition behind them; None for others."""
    words = split_words(arm_and_unit(name)[0])
    counted = [i for i, word in enumerate(words[:-1]) if word in _REPETITIONS]
    at = next((i + 1 for i in counted if words[i + 1].isdecimal()), len(words) - 1)
    stem = tuple(w for i, w in enumerate(words) if i != at and w not in _REPETITIONS)
    if not stem or not words[at].isdecimal() or _VERSION.search(name):
        return None
    return stem, int(words[at])
