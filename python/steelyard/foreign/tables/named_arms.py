"""Finds the columns of a table that are arms although their headings mean something else too:
"prepared" beside "simple", "index" beside "heap"; and those that are computed from the arms.

Only what stands in a column tells them apart: a measurement has digits that scatter from row to
row, of the size that the other arms have; a parameter has steps, a counter counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from steelyard.foreign.computed_columns import FEWEST_DIGITS, WrittenNumbers, computed_columns
from steelyard.foreign.metric import TIME
from steelyard.foreign.number import is_missing
from steelyard.foreign.source import quoted
from steelyard.foreign.tables.table import Table
from steelyard.foreign.vocabulary.heading import Heading, Role
from steelyard.foreign.vocabulary.tokens import split_words
from steelyard.foreign.vocabulary.words import DERIVED_WORDS, MACHINE_WORDS, TOTAL_WORDS

_ALSO_NAMES = {
    Role.PARAMETER: "a parameter",
    Role.COUNTER: "a counter of rows",
    Role.LABEL: "what rows are about",
    Role.BLOCK: "which rows belong together",
    Role.CODE: "a code",
    Role.CLOCK: "when rows were measured",
    Role.START: "when rows were measured",
    Role.END: "when rows were measured",
    Role.UNIT: "a unit",
    Role.METRIC_NAME: "a metric",
    Role.STATISTIC: "a statistic",
}
"""Roles by words that arms are called by too; what such a column holds otherwise."""
_DOUBTFUL = {
    Role.COUNT: "a count",
    Role.OUTCOME: "an outcome",
    Role.STATISTIC: "a statistic",
    Role.DERIVED: "computed from the others",
}
"""Roles of columns whose numbers may be like those of arms: asked about where they are."""
_MOMENTS = (Role.CLOCK, Role.START, Role.END)
_BOUNDS = {"min": -1.0, "p25": -1.0, "max": 1.0, "p75": 1.0}
"""Statistics that lie on one side of what they are of in every row, and on which."""
_WORD = re.compile(r"[^\W_]+")
_PLACES = ("first", "last")
"""Statistics that are names of arms as well as of rows: first and second, old and final."""
_NUMBER = re.compile(
    r"\s*([+-]?(?:[0-9]+(?:[.,][0-9]+)?|[.,][0-9]+)(?:[eE][+-]?[0-9]{1,3})?)\s*[A-Za-zµμ%/]*\s*"
)
_TOTALS = TOTAL_WORDS | {"grand", "overall", "all", "gesamt", "summe"}
"""Words of headings of what is of all arms."""
_OF_MACHINES = MACHINE_WORDS | {"cpu", "core", "room", "ambient", "avg", "mean", "max", "min"}
_OF_MACHINES |= {"c", "f", "k", "v", "hz", "khz", "degc", "°c", "deg", "degrees", "volts"}
_DIFFERENCES = DERIVED_WORDS | {
    *("differenz", "unterschied", "ersparnis", "gewinn", "abweichung", "différence", "écart"),
    *("diferencia", "ahorro", "mejora", "differenza", "diferença"),
}
"""Words for what the difference of two arms may be called, where the numbers say that it is."""
_VERSIONS = {"version", "ver", "release", "pg", "pgversion", "rev", "revision"}
"""Words of headings whose numbers are names."""
_SAMPLE = 10_000
_STEPS = 4.0
"""From its first value to its last a parameter grows so much or more."""
_FACTOR, _NEAR = 10.0, 3.0
"""Arms differ by less than the first; numbers of other kinds than the arms' by more than the
second."""
_APART = 1.2
"""Steps of a parameter grow by so much and more."""
_SCATTER = 0.5
"""Log: the quartiles of the ratio of two arms lie no further apart."""
_LONGEST_NUMBER = 13
"""Digits; longer whole numbers are identifiers and moments."""


class _Column(WrittenNumbers):
    """The numbers of a column and what they look like."""

    @cached_property
    def whole(self) -> bool:
        """Whether all are whole numbers."""
        return all(text.strip("+-").isdecimal() for text in self.texts)

    @cached_property
    def rising(self) -> bool:
        """Whether they rise or fall down the file."""
        steps = np.diff(self.values)
        return len(steps) > 1 and bool((steps >= 0).all() or (steps <= 0).all())

    @cached_property
    def measured(self) -> bool:
        """Whether they look like results: positive, of several digits that scatter."""
        values = self.values
        if len(values) < 2 or not (values > 0).all():
            return False
        if len(np.unique(values)) < max(len(values) / 2, 2) or steps(self.texts):
            return False
        if self.digits < FEWEST_DIGITS:
            return False
        if self.whole and (max(map(len, self.texts)) >= _LONGEST_NUMBER or self.counts):
            return False
        swept = self.rising and float(values.max()) >= _STEPS * float(values.min())
        return not swept and not (self.rising and self.whole and len(values) > 3)

    @cached_property
    def counts(self) -> bool:
        """Whether they are a run of whole numbers in whatever order."""
        ordered = np.sort(self.values)
        return len(ordered) > 2 and bool((np.diff(ordered) == 1).all())


def headings_with_arms(
    table: Table, headings: Sequence[Heading], settled: set[int]
) -> tuple[Heading, ...]:
    """The headings of a table without a column of arms, where those of columns that hold an arm
    mean nothing but that, and those of columns computed from others say so.

    `settled`: columns whose role is known. NumbersError where a column may be an arm or not.
    """
    corrected = list(headings)
    free = [c for c in range(len(headings)) if c not in settled and not table.is_text(c)]
    if not table.header or len(free) < 2 or any(_measures(table, headings, c) for c in free):
        return tuple(corrected)
    columns = {c: column for c in free if (column := _column(table, c)) is not None}
    unnamed = [c for c in columns if headings[c].role in (Role.UNKNOWN, Role.DERIVED)]
    computed = _computed(table, headings, {c: columns[c] for c in unnamed})
    for c in computed:
        corrected[c] = Heading(headings[c].name, Role.DERIVED)
    anchors = [c for c in columns if corrected[c].role in (Role.UNKNOWN, Role.ARM)]
    arms = [c for c in anchors if columns[c].measured]
    named = [c for c in columns if _may_name_an_arm(headings[c])]
    named = [c for c in named if not (columns[c].rising and headings[c].role in _MOMENTS)]
    for c in named:
        others = [o for o in arms or [*anchors, *named] if o != c]
        alike = any(_could_be_arms(columns[c], columns[other]) for other in others)
        if columns[c].measured and alike:
            corrected[c] = Heading(headings[c].name, Role.UNKNOWN, rest=(headings[c].name,))
        elif others and _doubtful(columns[c], headings[c].role, alike):
            raise _doubt(table, c, _ALSO_NAMES[headings[c].role])
    bounds = _bounds(columns, corrected, anchors)
    for c, base in bounds.items():
        if len(arms) > 1:  # of one of them, whose words it has
            corrected[c] = replace(corrected[c], rest=corrected[base].rest)
    for c in columns:
        meaning = "" if c in computed else _other_meaning(corrected, columns, c, arms)
        if meaning and c not in bounds:
            raise _doubt(table, c, meaning)
    return tuple(corrected)


def _other_meaning(
    headings: Sequence[Heading], columns: Mapping[int, _Column], c: int, arms: Sequence[int]
) -> str:
    """What a column may hold that could as well be an arm beside others; "" where it is clear."""
    column, role = columns[c], headings[c].role
    others = [columns[a] for a in arms if a != c]
    alike = any(_could_be_arms(column, other) for other in others)
    if role is Role.COST and len(others) > 1 and not alike:
        return "measured beside them"
    words = {*split_words(headings[c].name)}
    if len(others) > 1 and words & MACHINE_WORDS and words <= _OF_MACHINES:
        return "measured beside them"
    if _is_total(headings[c]) and len(others) > 1 and alike:
        return "of all of them"
    if role in _DOUBTFUL and any(_same_kind(column, other) for other in others):
        return _DOUBTFUL[role]
    return ""


def _bounds(
    columns: Mapping[int, _Column], headings: Sequence[Heading], anchors: Sequence[int]
) -> dict[int, int]:
    """Column that is a bound of another one, by a word of its heading beside those of the other
    ("off_lo" beside "off") and by its numbers in every row → that one."""
    words = {c: {*_WORD.findall(headings[c].name.lower())} for c in columns}
    return {
        c: base
        for c in columns
        if headings[c].role is Role.STATISTIC and headings[c].statistic in _BOUNDS
        for base in anchors
        if words[base] < words[c] and len(words[c] - words[base]) == 1
        if _bounded(columns[base], columns[c], _BOUNDS[headings[c].statistic])
    }


def _bounded(column: _Column, bound: _Column, side: float) -> bool:
    """Whether every number of a bound lies on its side of that of a column."""
    if len(column.values) != len(bound.values):
        return False
    return bool((side * (bound.values - column.values) >= 0).all())


def is_among_arms(table: Table, headings: Sequence[Heading], column: int) -> bool:
    """Whether a column of results stands beside others like it, of which no heading says what they
    are: "patched" beside "master" is an arm, and does not name the arms."""
    numbers = [c for c in range(len(headings)) if not table.is_text(c)]
    if column not in numbers or any(_measures(table, headings, c) for c in numbers):
        return False
    columns = {c: own for c in numbers if (own := _column(table, c)) is not None}
    if column not in columns or not columns[column].measured:
        return False
    return any(
        _could_be_arms(columns[column], columns[c])
        for c in columns
        if c != column and headings[c].role in (Role.UNKNOWN, Role.ARM) and columns[c].measured
    )


def may_be_an_arm(table: Table, headings: Sequence[Heading], column: int) -> bool:
    """Whether numbers that could name the arms of rows could as well be those of an arm: "patched"
    beside "master", of a few digits that come again. Versions are names."""
    numbers = [c for c in range(len(headings)) if not table.is_text(c)]
    if column not in numbers or any(_measures(table, headings, c) for c in numbers):
        return False
    own = _column(table, column)
    if own is None or _VERSIONS.intersection(split_words(headings[column].name)):
        return False
    others = [c for c in numbers if c != column and headings[c].role in (Role.UNKNOWN, Role.ARM)]
    return any(
        _could_be_arms(own, other) for c in others if (other := _column(table, c)) is not None
    )


def are_of_one_size(table: Table, columns: Sequence[int]) -> bool:
    """Whether several columns hold numbers of one size, row by row, as arms of a comparison do."""
    first, *others = (_column(table, column) for column in columns)
    return first is not None and all(other and _could_be_arms(first, other) for other in others)


def steps(cells: Sequence[str]) -> bool:
    """Whether whole numbers are those of a parameter: they grow several times, stay the same, or
    come again in every step of another."""
    texts = [cell.strip() for cell in cells]
    if not all(text.isdecimal() and len(text) < _LONGEST_NUMBER for text in texts):
        return False
    values = [int(text) for text in texts]
    distinct = sorted(set(values))
    counts = {values.count(value) for value in distinct} if len(distinct) < 100 else {1}
    rising = values == sorted(values) and values[-1] >= _STEPS * max(values[0], 1)
    again = len(distinct) < len(values) and len(counts) == 1
    return (len(distinct) == 1 and len(values) > 3) or rising or (again and len(distinct) > 1)


def _measures(table: Table, headings: Sequence[Heading], column: int) -> bool:
    """Whether a heading says what was measured: then columns are metrics, or arms by its name."""
    heading = headings[column]
    if heading.role is Role.METRIC:
        first = column == 0 and heading.metric is not None and heading.metric.name == TIME
        numbers = _column(table, column) if first else None
        return numbers is None or not numbers.rising
    metric = heading.metric if heading.role is Role.STATISTIC else None
    return heading.role is Role.VALUE or (metric is not None and metric.name != heading.name)


def _may_name_an_arm(heading: Heading) -> bool:
    if heading.role is Role.STATISTIC:
        return heading.statistic in _PLACES
    return heading.role in _ALSO_NAMES and not (heading.role is Role.PARAMETER and heading.rest)


def _could_be_arms(column: _Column, other: _Column) -> bool:
    """Whether two columns could be arms of one comparison."""
    if not (_positive(column) and _positive(other)):
        return False
    count = min(len(column.values), len(other.values))
    ratios = np.log(column.values[:count]) - np.log(other.values[:count])
    low, median, high = np.percentile(ratios, (25, 50, 75))
    return bool(abs(median) <= np.log(_FACTOR) and high - low <= _SCATTER)


def _positive(column: _Column) -> bool:
    return bool((column.values > 0).all())


def _doubtful(column: _Column, role: Role, alike: bool) -> bool:
    """Whether a column that is like no arm, or has too few digits for one, is not what its heading
    says either: a parameter stays, grows, or has steps apart; a counter counts."""
    if column.measured:
        return not column.whole
    if column.rising or column.counts:
        return False
    if role is Role.COUNTER and not column.whole:
        return True
    if not alike or len(column.values) <= 3:
        return False
    distinct = np.unique(column.values)
    if len(distinct) < (2 if role is Role.COUNTER else 3) or steps(column.texts):
        return False
    return bool((distinct[1:] / distinct[:-1]).min() < _APART)


def _same_kind(column: _Column, other: _Column) -> bool:
    """Whether nothing but its heading tells a column from an arm."""
    if (
        not column.measured
        or column.decimals != other.decimals
        or not _could_be_arms(column, other)
    ):
        return False
    return float(np.median(column.values)) < _NEAR * float(np.median(other.values))


def _computed(
    table: Table, headings: Sequence[Heading], columns: Mapping[int, _Column]
) -> set[int]:
    """Columns that are computed from two others; NumbersError where of three columns, of which two
    make the third, nothing says which was computed."""
    called = {c for c in columns if _is_total(headings[c])}
    called |= {c for c in columns if _DIFFERENCES.intersection(split_words(headings[c].name))}
    computed, unsure = computed_columns(columns, called)
    if unsure:
        names = [quoted(table.name(c)) for c in sorted(unsure)]
        raise table.source.error(
            f"columns {names[0]}, {names[1]} and {names[2]}: one is the sum or the difference of "
            "the others, and two are arms",
            table.spot(0, max(unsure)),
            hint='Leave the one out that was computed, or call it "difference" or "total".',
        )
    return computed


def _is_total(heading: Heading) -> bool:
    """Whether a heading says of numbers that they are sums, or of all arms, and nothing else."""
    return {*split_words(heading.name)} <= _TOTALS


def _doubt(table: Table, column: int, meaning: str) -> Exception:
    return table.source.error(
        f"column {quoted(table.name(column))} could be an arm or {meaning}",
        table.spot(0, column),
        hint="If it is an arm, give it a name that means nothing else; if not, leave it out.",
    )


def _column(table: Table, column: int) -> _Column | None:
    """The first numbers of a column, units and empty cells at its end left out; None where a cell
    is no number."""
    cells = list(table.columns[column][:_SAMPLE])
    while cells and is_missing(cells[-1]):
        cells.pop()
    matches = [_NUMBER.fullmatch(cell) for cell in cells]
    texts = tuple(match[1].replace(",", ".") for match in matches if match is not None)
    if not texts or len(texts) < len(cells):
        return None
    values = np.array([float(text) for text in texts])
    return _Column(texts, values) if np.isfinite(values).all() else None
