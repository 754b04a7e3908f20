"""A table of texts: rows cut into cells, every cell with its place, nothing understood yet.

Separators: tab, semicolon, comma, bar, or runs of blanks, whichever the first line has, in this
order. Quotes as in RFC 4180, but not across lines. Lines that begin with # are comments.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from steelyard.readings.foreign.number import is_missing, is_number
from steelyard.readings.foreign.source import Place, Source, quoted

SEPARATORS = ("\t", ";", ",", "|")
MOST_COLUMNS = 1_000
_SAMPLE = 1_000
_QUOTED = re.compile(r'\s*"((?:[^"]|"")*)"\s*')


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of texts; `header` is None where the first line already holds numbers."""

    source: Source
    header: tuple[str, ...] | None
    columns: tuple[tuple[str, ...], ...]
    spot: Callable[[int, int], Place]
    """The place of the cell in a row and a column, both counted from 0."""
    lines: tuple[int, ...] = ()
    """The line of each row."""

    @property
    def rows(self) -> int:
        """How many rows there are below the header."""
        return len(self.columns[0]) if self.columns else 0

    def name(self, column: int) -> str:
        """What a column is called, or its number where it has no name."""
        if self.header and self.header[column].strip():
            return self.header[column].strip()
        return f"column {column + 1}"

    def names(self) -> list[str]:
        """What all columns are called."""
        return [self.name(column) for column in range(len(self.columns))]

    def is_text(self, column: int) -> bool:
        """Whether most cells of a column are words: labels, and not numbers with a slip."""
        cells = [c for c in self.columns[column][:_SAMPLE] if not is_missing(c)]
        words = sum(not is_number(cell) for cell in cells)
        return 2 * words > len(cells)


def read_table(source: Source) -> Table:
    """The table of a text; NumbersError for ragged rows, with line and column."""
    numbered = _lines(source)
    separator = separator_of(numbered[0][1])
    cut = _cutter(separator, any('"' in line for _, line in numbered), source)
    rows = [cut(number, line) for number, line in numbered]
    width = len(rows[0])
    if width > MOST_COLUMNS:
        raise source.error(f"{width} columns: more than {MOST_COLUMNS}, the limit", Place(1, 1))
    for (number, line), row in zip(numbered, rows, strict=True):
        if len(row) != width:
            raise _ragged(source, number, line, separator, len(row), width)
    header = None if all(is_number(cell) or is_missing(cell) for cell in rows[0]) else rows[0]
    below = 0 if header is None else 1
    body, kept = rows[below:], [number for number, _ in numbered[below:]]
    if not body:
        raise source.error("there is a heading, but no row of numbers", Place(numbered[0][0], 1))
    by_line = dict(numbered[below:])

    def spot(row: int, column: int) -> Place:
        line = by_line[kept[row]]
        return Place(kept[row], _starts(line, separator)[column] + 1)

    columns = tuple(zip(*body, strict=True))
    _refuse_same_names(source, header, numbered[0], separator)
    return Table(source, tuple(header) if header else None, columns, spot, tuple(kept))


def separator_of(line: str) -> str | None:
    """The separator of a line; None for runs of blanks."""
    bare = _QUOTED.sub("", line)
    return next((one for one in SEPARATORS if one in bare), None)


def _lines(source: Source) -> list[tuple[int, str]]:
    """(number, text) of every line that is neither blank nor a comment."""
    lines = [
        (number, line)
        for number, line in enumerate(source.text.split("\n"), start=1)
        if line and not line.isspace() and not line.lstrip().startswith("#")
    ]
    if not lines:
        raise source.error("there are only comments in it")
    return lines


Cut = Callable[[int, str], Sequence[str]]


def _cutter(separator: str | None, has_quotes: bool, source: Source) -> Cut:
    if separator is None:
        return lambda number, line: line.split()
    if not has_quotes:
        return lambda number, line: line.split(separator)

    def careful(number: int, line: str) -> Sequence[str]:
        cells = []
        for start, cell in _cells(line, separator):
            match = _QUOTED.fullmatch(cell)
            if match is None and cell.lstrip().startswith('"'):
                raise source.error(
                    "a quote that is not closed on its line", Place(number, start + 1)
                )
            cells.append(match[1].replace('""', '"') if match else cell)
        return cells

    return careful


def _cells(line: str, separator: str) -> Iterator[tuple[int, str]]:
    """(start, text) of every cell; separators between quotes do not count."""
    start, quotes = 0, False
    for position, letter in enumerate(line):
        if letter == '"':
            quotes = not quotes
        elif letter == separator and not quotes:
            yield start, line[start:position]
            start = position + 1
    yield start, line[start:]


def _starts(line: str, separator: str | None) -> list[int]:
    """Where the text of every cell begins, blanks skipped."""
    if separator is None:
        return [match.start() for match in re.finditer(r"\S+", line)]
    return [start + len(c) - len(c.lstrip()) for start, c in _cells(line, separator)]


def _ragged(
    source: Source, number: int, line: str, separator: str | None, found: int, width: int
) -> Exception:
    starts = _starts(line, separator)
    column = starts[width] if found > width and width < len(starts) else len(line)
    hint = "Every row needs as many cells as the first; leave cells of a shorter arm empty."
    if found > width and separator == ",":
        hint = "If the comma is a decimal comma, separate the cells by semicolons."
    return source.error(
        f"{found} cells where the first line has {width}", Place(number, column + 1), hint=hint
    )


def _refuse_same_names(
    source: Source, header: Sequence[str] | None, first: tuple[int, str], separator: str | None
) -> None:
    seen: set[str] = set()
    for column, name in enumerate(header or ()):
        bare = name.strip()
        if bare and bare in seen:
            place = Place(first[0], _starts(first[1], separator)[column] + 1)
            raise source.error(f"two columns are called {quoted(bare)}", place)
        seen.add(bare)
