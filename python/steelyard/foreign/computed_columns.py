"""Finds the columns of numbers that were computed from two others, to the last digit: a ratio, a
difference, a change, a sum, a mean.

Of three columns, of which two make up the third, each is computed from the others: a heading says
which, or scatter does: the difference of two measurements scatters more than they do.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.foreign.series import Floats

FEWEST_DIGITS = 3
_FEWEST_ROWS, _TELLING_ROWS = 3, 6
_MOST_COLUMNS = 30
_MORE_SCATTER = 2.5
"""A difference scatters by so much more than what it is of."""
_FINE = 4.0
"""A sum or a mean scatters by so many times what rounding leaves open."""
_FLOAT = 1e-12
"""Of a number: what adding leaves open."""
_SMALL, _UNLIKE = 0.25, 0.2
"""A part is a difference where rows are of different things (log), and it is so small."""


@dataclass(frozen=True, eq=False)
class WrittenNumbers:
    """The numbers of a column and how they are written."""

    texts: tuple[str, ...]
    values: Floats

    @cached_property
    def decimals(self) -> int:
        """The most decimals that any of them has."""
        return max((_decimals(text) for text in self.texts), default=0)

    @cached_property
    def digits(self) -> float:
        """How many significant digits most of them have."""
        return float(np.median([_digits(text) for text in self.texts]))

    @property
    def half(self) -> float:
        """Half of the last digit."""
        return float(0.5 * 10.0**-self.decimals)

    @property
    def positive(self) -> bool:
        """Whether all are."""
        return bool((self.values > 0).all())

    @property
    def size(self) -> float:
        """The median, without its sign."""
        return float(np.median(np.abs(self.values)))

    @property
    def scatter(self) -> float:
        """Standard deviation of logs; infinite for what is no measurement."""
        return float(np.std(np.log(self.values))) if self.positive else float("inf")


def computed_columns(
    columns: Mapping[int, WrittenNumbers], called: Collection[int]
) -> tuple[set[int], set[int]]:
    """The columns that are computed from two others, and three columns of which one is, where
    nothing says which; `called`: columns whose heading says so."""
    if not 3 <= len(columns) <= _MOST_COLUMNS:
        return set(), set()
    computed: set[int] = set()
    for parts in itertools.combinations(columns, 3):
        if computed & {*parts} or not _adds_up(columns, parts):
            continue
        column = _made_of_the_others(columns, parts, called)
        if column is None:
            return computed, {*parts}
        computed.add(column)
    matches = []
    for c in columns:
        pool = [other for other in columns if other != c]
        for a, b in itertools.permutations(pool, 2):
            if _is_computed(columns[c], columns[a], columns[b]):
                apart = abs(np.log((columns[a].size or 1) / (columns[b].size or 1)))
                matches.append((c not in called, apart, -c, c, {a, b}))
                break
    # Of off, on and their ratio each may be computed from the others: arms are closest.
    for *_, c, operands in sorted(matches, key=lambda match: match[:3]):
        if not operands & computed:
            computed.add(c)
    return computed, set()


def _adds_up(columns: Mapping[int, WrittenNumbers], parts: tuple[int, ...]) -> bool:
    """Whether one of three columns is the sum or the difference of the others."""
    return any(
        columns[a].positive
        and columns[b].positive
        and _is_telling(columns[c], columns[a], columns[b])
        and _agree(columns[c], columns[a].values - columns[b].values, columns[a], columns[b])
        for c, a, b in itertools.permutations(parts)
    )


def _made_of_the_others(
    columns: Mapping[int, WrittenNumbers], parts: tuple[int, ...], called: Collection[int]
) -> int | None:
    """Which of three columns, of which one is the sum of the others, was computed; None where
    nothing says so."""
    named = [c for c in parts if c in called]
    if len(named) == 1:
        return named[0]
    part, other, whole = sorted(parts, key=lambda c: columns[c].size)
    most = max(columns[other].scatter, columns[whole].scatter)
    if columns[part].scatter > _MORE_SCATTER * most:
        return part
    small = columns[part].size < _SMALL * columns[other].size
    return part if small and columns[whole].scatter > _UNLIKE else None


def _is_telling(column: WrittenNumbers, a: WrittenNumbers, b: WrittenNumbers) -> bool:
    """Whether there are enough rows and digits that no chance makes a column of two others."""
    count = len(column.values)
    if count < _FEWEST_ROWS or count != len(a.values) or count != len(b.values):
        return False
    telling = count >= _TELLING_ROWS or column.digits >= FEWEST_DIGITS
    return telling and len(np.unique(column.values)) >= _FEWEST_ROWS


def _agree(column: WrittenNumbers, expected: Floats, a: WrittenNumbers, b: WrittenNumbers) -> bool:
    return _equal(column, expected, np.full(len(expected), a.half + b.half))


def _equal(column: WrittenNumbers, expected: Floats, error: Floats) -> bool:
    """Whether numbers are the expected ones to the last digit: of operands as they are written, or
    of such as were rounded to them. Values of shape (n,)."""
    off = np.abs(column.values - expected)
    if (off <= 1.001 * column.half + _FLOAT * (np.abs(expected) + error)).all():
        return True
    # An operand with fewer digits than the result could have given nearly any.
    sharp = np.median(error) <= 4 * column.half
    return bool(sharp and (off <= 1.001 * (column.half + error)).all())


def _is_computed(column: WrittenNumbers, a: WrittenNumbers, b: WrittenNumbers) -> bool:
    if not (_is_telling(column, a, b) and a.positive and b.positive):
        return False
    with np.errstate(all="ignore"):
        ratio = a.values / b.values
        unsure = ratio * (a.half / a.values + b.half / b.values)
    if _agree(column, a.values - b.values, a, b):
        return True
    for percent in (1, 100):
        for expected in (ratio, ratio - 1, 1 - ratio):
            if _equal(column, percent * expected, percent * unsure):
                return True
    rounding = np.full(len(ratio), a.half + b.half)
    total = a.values + b.values
    # What goes in step with another, a tenth above it, has any number between as a mean.
    apart = float(np.std(a.values - b.values))
    fine = min(float(np.std(column.values)), apart) > _FINE * column.half
    return fine and (_equal(column, total, rounding) or _equal(column, total / 2, rounding / 2))


def _decimals(text: str) -> int:
    mantissa, _, exponent = text.lower().partition("e")
    return max(len(mantissa.partition(".")[2]) - int(exponent or 0), 0)


def _digits(text: str) -> int:
    """Significant digits: those of "0.050" are two, of "1000" one."""
    mantissa = text.lower().partition("e")[0].strip("+-")
    digits = mantissa.replace(".", "").lstrip("0")
    return len(digits if "." in mantissa else digits.rstrip("0"))
