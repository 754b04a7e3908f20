"""Finds columns that tell the parts of one run apart: its iterations, or its threads, which are no
repetitions."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from steelyard.foreign.tables.column_roles import Roles
from steelyard.foreign.tables.table import Table
from steelyard.foreign.vocabulary.heading import Role
from steelyard.foreign.vocabulary.tokens import split_words
from steelyard.foreign.vocabulary.words import REPETITION_WORDS

Indices = NDArray[np.int64]
_RUNS = REPETITION_WORDS - {"iteration", "iter", "loop"} | {"fork", "process"}
_ITERATIONS = {"iteration", "iter", "loop", "cycle", "rep", "repetition", "repeat", "i", "k"}
_WORKERS = {"thread", "worker", "client", "tid", "request"}
_CONNECTIONS = {"connection", "conn", "session"}
"""Each repetition may have had one of its own."""
_FEWEST_WORKERS = 3


def nested_runs(table: Table, roles: Roles, arms: Mapping[str, Indices]) -> int | None:
    """The column that numbers runs, in each of which another one counts iterations anew, as they
    stand in the file; None where none does, or where what rows are about changes within a run."""
    if not table.header or roles.block is not None:
        return None
    counters = [
        (column, set(split_words(heading.name)))
        for column, heading in enumerate(roles.headings)
        if column not in (roles.arm, roles.order) and heading.role is Role.COUNTER
    ]
    for (outer, runs), (inner, iterations) in itertools.permutations(counters, 2):
        if not (runs & _RUNS and iterations & _ITERATIONS):
            continue
        rows = [np.sort(some).tolist() for some in arms.values()]
        about = (*roles.labels, *roles.parameters)
        if all(_nests(table, outer, inner, about, some) for some in rows):
            several = any(len({table.columns[outer][row] for row in some}) > 1 for some in rows)
            return outer if several else None
    return None


def _nests(table: Table, outer: int, inner: int, about: Sequence[int], rows: Sequence[int]) -> bool:
    """Whether each value of one column has one stretch of rows, in which another rises from where
    it rises in all of them."""
    cells = table.columns
    stretches = [
        list(group) for _, group in itertools.groupby(rows, key=lambda row: cells[outer][row])
    ]
    if len({cells[outer][stretch[0]] for stretch in stretches}) < len(stretches):
        return False
    if not all(cells[inner][row].strip().isdecimal() for row in rows):
        return False
    counts = [[int(cells[inner][row]) for row in stretch] for stretch in stretches]
    rising = all(a < b for count in counts for a, b in itertools.pairwise(count))
    begin_alike = len({count[0] for count in counts}) == 1
    one_thing = all(
        len({tuple(cells[c][row] for c in about) for row in stretch}) == 1 for stretch in stretches
    )
    return rising and begin_alike and one_thing and max(map(len, counts)) > 1


def worker_column(table: Table, roles: Roles, arms: Mapping[str, Indices]) -> int | None:
    """The column of threads, workers or clients that each did a part of the work of a run, a row
    each; None where none is, or where another column numbers the rows as repetitions."""
    if not table.header or any(len(rows) < _FEWEST_WORKERS for rows in arms.values()):
        return None
    numbered = [column for column in (roles.index, roles.block) if column is not None]
    if any(numbers_each_row(table, column, arms) for column in numbered):
        return None
    for column, heading in enumerate(roles.headings):
        if column == roles.arm or (roles.chosen and column in roles.numbers):
            continue
        words = set(split_words(heading.name))
        if not words & (_WORKERS | _CONNECTIONS) or not numbers_each_row(table, column, arms):
            continue
        cells = [{table.columns[column][row].strip() for row in rows} for rows in arms.values()]
        count_up = all(_count_from(some, (0, 1)) for some in cells)
        sure = all(_count_from(some, (0,)) or _are_words(some) for some in cells)
        # "client" may be how many there were: never none of them.
        if heading.role is Role.PARAMETER and words <= _WORKERS and sure:
            return column
        alike = len(cells) > 1 and all(some == cells[0] for some in cells)
        if heading.role is Role.CODE and (words & _WORKERS or alike or count_up):
            return column
    return None


def numbers_each_row(table: Table, column: int, arms: Mapping[str, Indices]) -> bool:
    """Whether a column has another cell in every row of an arm."""
    cells = table.columns[column]
    return all(len({cells[row].strip() for row in rows}) == len(rows) for rows in arms.values())


def _are_words(cells: set[str]) -> bool:
    return not any(map(str.isdecimal, cells))


def _count_from(cells: set[str], firsts: Sequence[int]) -> bool:
    if not all(cell.isdecimal() for cell in cells):
        return False
    return any(sorted(map(int, cells)) == [*range(first, first + len(cells))] for first in firsts)
