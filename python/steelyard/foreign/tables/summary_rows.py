"""Leaves out the rows of a table that sum up the others: mean, standard deviation, total.

Where other rows are numbered, a word of statistics is such a row. Where others have names, it could
be the name of a query too ("sum", "total"): it is left out where its numbers are that statistic of
the others, and asked about where they are not. Any other word where rows are numbered ("warm-up")
is asked about too, and so are rows without a name at the end whose numbers are a statistic of those
above them, to the last digit and in every column, as no measurement is by chance.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace

import numpy as np

from steelyard.foreign.number import is_missing, is_number
from steelyard.foreign.series import Floats
from steelyard.foreign.source import TextPosition, quoted
from steelyard.foreign.tables.table import Table
from steelyard.foreign.vocabulary.heading import Role, heading_of
from steelyard.foreign.vocabulary.statistics import statistic_of
from steelyard.foreign.vocabulary.tokens import split_words

_PERCENTILE = re.compile(
    r"p[0-9]{1,2}(?:\.[0-9]+)?|[0-9]{1,2}(?:\.[0-9]+)?\s*(?:%|th|st|nd|rd)\s*(?:ile|percentile)?",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"(?:([^\W\d_]+)[\s._#-]*)?#?[0-9]+\.?")
"""A number of a row, perhaps behind a word: "3", "run 3"."""
_NO_REPETITION = {
    *("warm", "warmup", "warming", "prewarm", "preheat", "priming", "ramp", "rampup"),
    *("discard", "discarded", "excluded", "ignored", "ignore", "dry", "cold"),
}
_FEW = 0.25
"""Of the rows: so few are not like the rest, and more may be of another kind."""
_LETTER = re.compile(r"[^\W\d_]")
_NUMBER = re.compile(r"[+-]?[0-9]+(?:[.,][0-9]+)?(?:[eE][+-]?[0-9]{1,2})?")
_DECIMALS = re.compile(r"[+-]?[0-9]+[.,]([0-9]+)")
_OF_NUMBERS = b"0123456789.,+- \n"
_HAS_WORD = re.compile(r"[^\W\d_]{2}|[ΣσØøμ∑]")
_MOST_NAMED = 6
_TOLERANCE = 0.005
"""Of a statistic: it was computed from numbers with more digits."""
_LOOSE = 0.1
"""The same of a standard deviation, of which there are two."""
_NAMES = {Role.LABEL, Role.UNKNOWN, Role.COUNTER, Role.BLOCK, Role.CODE, Role.PARAMETER}
_NAMING = {
    *(Role.COUNTER, Role.BLOCK, Role.LABEL, Role.CLOCK, Role.START, Role.END, Role.CODE, Role.ARM),
}
"""Columns that name rows: a summary is blank there."""
_MOST_ROWS, _FEWEST_ABOVE, _MOST_ENDS = 10_000, 4, 3
_CHANCE = 3e-3
_LARGEST = 1e60
_SHARP = 0.02
"""Of a sum or a deviation: with fewer digits many numbers could be one."""
_NEW_DIGITS = 0.05
"""A number with more decimals than all those above it was hardly measured as they were."""
_VERIFIED = {"mean", "geomean", "median", "stddev", "min", "max", "sum", "overall"}


def without_summaries(table: Table) -> tuple[Table, tuple[str, ...]]:
    """The table without rows that sum up others, and a note that names them.

    NumbersError with its place where a row may be one, and where all are.
    """
    _refuse_unnamed(table)
    left_out: dict[int, str] = {}
    for column in range(len(table.columns)):
        for row in _summaries(table, column):
            left_out.setdefault(row, table.columns[column][row].strip())
    if not left_out:
        return table, ()
    rows = [row for row in range(table.rows) if row not in left_out]
    if not rows:
        row = min(left_out)
        raise table.source.error(
            f"{quoted(left_out[row])}: every row is a statistic of rows that are not in it",
            table.spot(row, 0),
            hint="Judge the rows themselves; if these are names of queries, call them otherwise.",
        )
    named = ", ".join(map(quoted, list(dict.fromkeys(left_out.values()))[:_MOST_NAMED]))
    return _table_of_rows(table, rows), (f"rows that sum up others were left out: {named}",)


def _table_of_rows(table: Table, rows: Sequence[int]) -> Table:
    def spot(row: int, column: int) -> TextPosition:
        return table.spot(rows[row], column)

    columns = tuple(tuple(cells[row] for row in rows) for cells in table.columns)
    lines = tuple(table.lines[row] for row in rows) if table.lines else ()
    return replace(table, columns=columns, spot=spot, lines=lines)


def _have_word(text: str) -> bool:
    """Whether a text of many cells holds a word: most columns hold digits alone, which are taken
    out in a hundredth of the time."""
    rest = text.encode().translate(None, _OF_NUMBERS)
    return bool(rest) and _HAS_WORD.search(text) is not None


def _summaries(table: Table, column: int) -> Iterator[int]:
    """The rows that a column says are summaries of others."""
    cells = table.columns[column]
    role = heading_of(table.name(column)).role if table.header else Role.UNKNOWN
    if role not in _NAMES or not _have_word("\n".join(cells)):
        return
    statistics = {cell: statistic_of(cell) for cell in set(cells)}
    rows = [row for row, cell in enumerate(cells) if statistics[cell]]
    ordinary = [cell for cell, statistic in statistics.items() if not statistic]
    ordinary = [cell for cell in ordinary if not is_missing(cell)]
    if rows and len(rows) == len(cells):
        yield from rows if len(statistics) > 1 and set(statistics.values()) != {""} else ()
    elif all(is_number(cell) or _PERCENTILE.fullmatch(cell.strip()) for cell in ordinary):
        percentiles = [r for r, cell in enumerate(cells) if _PERCENTILE.fullmatch(cell.strip())]
        yield from [*rows, *percentiles] if rows else ()
    else:
        _refuse_words_among_numbers(table, column, role, set(ordinary))
        if rows:
            yield from _among_names(table, column, rows, statistics)


def _among_names(
    table: Table, column: int, rows: Sequence[int], statistics: Mapping[str, str]
) -> Iterator[int]:
    """Of rows that words of statistics name where others have names of their own, those that are
    that statistic of the others; NumbersError for one that stands at their end and is not."""
    cells = table.columns[column]
    groups = _groups(table, column)
    summaries, unsure = [], []
    for row in rows:
        group = groups[row]
        others = [other for other in group if not statistics[cells[other]]]
        numbered = [other for other in others if is_number(cells[other])]
        others = numbered if 2 * len(numbered) > len(others) else others
        alone = sum(cells[other] == cells[row] for other in group) == 1
        if not alone or len(others) < 2:
            continue
        if _is_statistic(table, column, (row, others), statistics[cells[row]]):
            summaries.append(row)
        elif row > max(others) or row < min(others):
            unsure.append(row)
    # Beside a mean that is one, a variance is one too, though nothing here computes it.
    companions = [row for row in unsure if summaries and statistics[cells[row]] not in _VERIFIED]
    doubtful = [row for row in unsure if statistics[cells[row]] in _VERIFIED]
    if doubtful:
        raise table.source.error(
            f"{quoted(cells[doubtful[0]].strip())} could be a summary of the other rows",
            table.spot(doubtful[0], column),
            hint="If it is, leave the row out; if not, call it otherwise, as "
            f"{quoted('query ' + cells[doubtful[0]].strip())}.",
        )
    yield from (*summaries, *companions)


def _groups(table: Table, column: int) -> Mapping[int, Sequence[int]]:
    """Row → the rows that share its words in all other columns, those with a word for each row
    left out: the rows of one arm."""
    keys = [
        cells
        for other, cells in enumerate(table.columns)
        if other != column and table.is_text(other) and 2 * len(set(cells)) <= len(cells)
    ]
    groups: dict[tuple[str, ...], list[int]] = {}
    for row in range(table.rows):
        groups.setdefault(tuple(cells[row].strip() for cells in keys), []).append(row)
    return {row: group for group in groups.values() for row in group}


def _is_statistic(
    table: Table, column: int, rows: tuple[int, Sequence[int]], statistic: str
) -> bool:
    """Whether the numbers of a row are that statistic of those of others, in every column."""
    row, others = rows
    matches = []
    for other, cells in enumerate(table.columns):
        if other == column or table.is_text(other) or is_missing(cells[row]):
            continue
        values, value = _numbers([cells[r] for r in others]), _numbers([cells[row]])
        if len(values) > 1 and len(value):
            matches.append(_is_near(float(value[0]), values, statistic))
    return bool(matches) and all(matches)


def _is_near(value: float, values: Floats, statistic: str) -> bool:
    expected = _statistics_of(values)
    overall = [expected["sum"], expected["mean"], expected["geomean"]]
    known = [expected[statistic]] if statistic in expected else []
    tolerance = _LOOSE if statistic == "stddev" else _TOLERANCE
    return any(
        abs(value - number) <= tolerance * abs(number)
        for number in (overall if statistic == "overall" else known)
    )


def _statistics_of(values: Floats) -> dict[str, float]:
    """The statistics of two numbers or more, shape (n,)."""
    logs = np.log(values) if (values > 0).all() else np.array([np.nan])
    return {
        "mean": float(values.mean()),
        "geomean": float(np.exp(logs.mean())),
        "median": float(np.median(values)),
        "stddev": float(values.std(ddof=1)),
        "min": float(values.min()),
        "max": float(values.max()),
        "sum": float(values.sum()),
    }


def _refuse_unnamed(table: Table) -> None:
    """NumbersError with its place for a row without a name at the end that sums up those above: of
    all rows, and of those of each arm where these have names too."""
    if table.rows > _MOST_ROWS:
        return
    roles = [heading_of(name).role if table.header else Role.UNKNOWN for name in table.names()]
    naming = [c for c, role in enumerate(roles) if table.is_text(c) or role in _NAMING]
    _refuse_unnamed_of(table, range(table.rows), naming)
    arms = [c for c in naming if roles[c] is Role.ARM and table.is_text(c) and len(naming) > 1]
    for column in arms:
        arm_rows: dict[str, list[int]] = {}
        for row, cell in enumerate(table.columns[column]):
            arm_rows.setdefault(cell, []).append(row)
        for rows in arm_rows.values():
            _refuse_unnamed_of(table, rows, [c for c in naming if c != column])


def _refuse_unnamed_of(table: Table, rows: Sequence[int], naming: Sequence[int]) -> None:
    """The same of some rows, and of the columns that may name them."""
    named = any(
        not any(is_missing(table.columns[c][row]) for row in rows[: max(len(rows) - _MOST_ENDS, 1)])
        for c in naming
    )
    for at in range(max(len(rows) - _MOST_ENDS, _FEWEST_ABOVE), len(rows)):
        row = rows[at]
        if not all(is_missing(table.columns[c][row]) for c in naming):
            continue
        present = [
            c
            for c in range(len(table.columns))
            if c not in naming and not table.is_text(c) and not is_missing(table.columns[c][row])
        ]
        columns = [[table.columns[c][r] for r in rows[: at + 1]] for c in present]
        statistic = _summed_up(columns, at, named)
        if statistic:
            raise table.source.error(
                f"{quoted(table.columns[present[0]][row].strip())} is the {statistic} of the rows "
                "above it: a summary, and no repetition",
                table.spot(row, present[0]),
                hint="Leave the row out; if it was measured, number all rows in a column of their "
                "own, called run.",
            )


def _summed_up(columns: Sequence[Sequence[str]], row: int, blank: bool) -> str:
    """The statistic of the rows above that the numbers of a row are in every column; "" where they
    are none, or could be one by chance. `blank`: whether it has no name where others have one."""
    parts = [(_numbers(cells[:row]), _numbers(cells[row : row + 1])) for cells in columns]
    if not parts or any(len(above) < row or not len(own) for above, own in parts):
        return ""
    if not all((np.abs(np.concatenate(part)) < _LARGEST).all() for part in parts):
        return ""
    every = [_statistics_of(above) for above, _ in parts]
    units = [(_unit(cells[:row]), _unit(cells[row : row + 1])) for cells in columns]
    for statistic in every[0]:
        near = all(
            abs(float(own[0]) - known[statistic]) <= (above_unit + own_unit) / 2 * 1.001
            for (_, own), known, (above_unit, own_unit) in zip(parts, every, units, strict=True)
        )
        if near and (blank or _is_surely_statistic(statistic, parts, units)):
            return {"stddev": "standard deviation", "geomean": "geometric mean"}.get(
                statistic, statistic
            )
    return ""


def _is_surely_statistic(
    statistic: str,
    parts: Sequence[tuple[Floats, Floats]],
    units: Sequence[tuple[float, float]],
) -> bool:
    """Whether numbers of a row are hardly a statistic of those above it by chance."""
    if statistic in ("sum", "stddev"):
        return all(
            not above.min() <= own[0] <= above.max()
            and above_unit + own_unit <= _SHARP * abs(float(own[0]))
            for (above, own), (above_unit, own_unit) in zip(parts, units, strict=True)
        )
    chance = 1.0 if statistic in ("mean", "geomean", "median") else math.inf
    for (above, own), (above_unit, own_unit) in zip(parts, units, strict=True):
        if (np.abs(above - own[0]) < own_unit / 2).any():
            continue  # a number that comes again is no new one
        gaps = np.diff(np.unique(above))
        step = max(above_unit + own_unit, float(gaps.min())) if len(gaps) else math.inf
        scatter = 2.5 * float(above.std(ddof=1))
        chance *= min(step / scatter, 1.0) if scatter > 0 else 1.0
        chance *= _NEW_DIGITS if own_unit < above_unit else 1.0
    return chance < _CHANCE


def _unit(cells: Sequence[str]) -> float:
    """The unit of the last digit of numbers, of the one with the most decimals."""
    matches = [_DECIMALS.match(cell.strip()) for cell in cells]
    return math.pow(10, -max((len(match[1]) for match in matches if match is not None), default=0))


def _numbers(cells: Sequence[str]) -> Floats:
    """The numbers of cells, shape (n,), units left out; empty where one is none."""
    matches = [_NUMBER.match(cell.strip()) for cell in cells]
    if not all(matches):
        return np.array([])
    return np.array([float(match[0].replace(",", ".")) for match in matches if match is not None])


def _refuse_words_among_numbers(table: Table, column: int, role: Role, ordinary: Set[str]) -> None:
    """NumbersError where a row has words in a column that numbers the others: "warm-up". In one
    that may name them, only words that say that it is no repetition. `ordinary`: cells of no
    statistic."""
    cells = [cell.strip() for cell in table.columns[column]]
    rows = [row for row, cell in enumerate(table.columns[column]) if cell in ordinary]
    if role is Role.COUNTER:
        odd = _unnumbered(cells, rows)
    elif role in (Role.BLOCK, Role.LABEL):
        words = {cell for cell in ordinary if _NO_REPETITION & set(split_words(cell))}
        numbered = ordinary > words and all(map(is_number, ordinary - words))
        odd = [row for row in rows if table.columns[column][row] in words] if numbered else []
    else:
        odd = []
    if odd:
        raise table.source.error(
            f"{quoted(cells[odd[0]])} where other rows are numbered",
            table.spot(odd[0], column),
            hint="Leave the row out if it is no repetition like the others; else number it.",
        )


def _unnumbered(cells: Sequence[str], rows: Sequence[int]) -> list[int]:
    """Of some rows those whose words number nothing, where the others are numbered alike: by bare
    numbers, or nearly all of them behind one word."""
    matches = {row: _NUMBERED.fullmatch(cells[row]) for row in rows}
    words = {row: (match[1] or "").casefold() for row, match in matches.items() if match}
    if not words:
        every = len(rows) == len(cells) and all(map(str.isalpha, cells))
        return list(rows) if every else []
    usual = Counter(words.values()).most_common(1)[0][0]
    odd = [
        row
        for row in rows
        if words.get(row) != usual and _LETTER.search(cells[row]) and not is_number(cells[row])
    ]
    surely = [row for row in odd if _NO_REPETITION & set(split_words(cells[row]))]
    if usual:
        return odd if len(odd) <= _FEW * len(rows) else surely
    others = set(rows) - set(odd)
    if not all(row in words or is_number(cells[row]) for row in others):
        return []
    few = 2 * len(odd) <= len(rows) or all(cells[row].isalpha() for row in odd)
    return odd if few else surely
