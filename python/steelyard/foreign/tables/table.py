"""Cuts a text into a table of cells, every cell with its place; their meaning comes later.

Separators: tab, semicolon, comma, bar, or runs of blanks, whichever the first line has, in this
order. Between blanks a number and the unit behind it are one cell ("9.5 ms"). Quotes as in RFC
4180, but not across lines. Lines that begin with # are comments, unless it is the heading of a
first column, a cell that a spreadsheet could not compute, or the line names the columns of the
numbers right below it. Rules of Markdown and of psql between headings and rows, bars at both ends
of a line, and Excel's "sep=;" are no cells.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from steelyard.foreign.number import has_decimal_comma, is_missing, is_number
from steelyard.foreign.source import SourceText, TextPosition, quoted
from steelyard.foreign.tables.first_line import (
    FirstLine,
    commas_in_numbers,
    decimal_commas,
    first_line,
    names_columns,
)
from steelyard.foreign.vocabulary.heading import Role, heading_of
from steelyard.foreign.vocabulary.units import UNIT_WORDS
from steelyard.model.errors import UsageError

SEPARATORS = ("\t", ";", ",", "|")
MOST_COLUMNS = 1_000
_SAMPLE = 1_000
_SLIP = re.compile(r"[+-]?[0-9][0-9.,'’ ]*")
"""Digits with too many separators: a number that will be refused, and no label."""
_FAILED_CELL = (
    r"(?:N/A|NV|NA|(?:DIV/0|VALUE|REF|NUM|NULL|WERT|BEZUG|ZAHL|VALEUR|NOMBRE|NUL|SPILL|CALC)!"
    r"|NAME\?|NOM\?)(?=[;,|\t]|\s*$|\s+[+-]?[0-9])"
)
"""Behind #: what a spreadsheet writes where it could not compute."""
_COMMENT = re.compile(rf"\s*#(?![;,|\t]|{_FAILED_CELL})")
_WORD = re.compile(r"\S+")
_WHOLE_LINE = re.compile(r"\S(?:.*\S)?")
_UNIT = "|".join(map(re.escape, UNIT_WORDS))
_WITH_UNIT = re.compile(
    rf"[+-]?[0-9][0-9.,]*(?:[eE][+-]?[0-9]+)?[ ]+(?:{_UNIT})(?!\S)|\S+", re.IGNORECASE
)
_RULE = re.compile(r"[\s|+:-]*-{2}[\s|+:-]*")
"""Between headings and rows: "|---|---:|", "-----+-----"."""
_DRAWN = set("│┃║")
_BOX = dict.fromkeys(range(0x2500, 0x2580), "+") | dict.fromkeys(map(ord, _DRAWN), "|")
_BOX |= dict.fromkeys(map(ord, "─━═"), "-")
"""Frames that are drawn (psql with linestyle unicode) as those of ASCII."""
_ROW_COUNT = re.compile(
    r"\s*(?:\([0-9]+ ?(?:rows?(?: affected)?|Zeilen?|lignes?|filas?|rig[ah]e?|linhas?|rad(?:er)?"
    r"|wiersz[ey]?|řád\w+|строк\w?|ряд\w+|satır|행|개 행|行\w*)\)"
    r"|[0-9]+ rows? in set(?:, [0-9]+ warnings?)? \([^()]*\))\s*"
)
"""Below a table of psql, in its languages, of sqlcmd, or of mysql."""
_MEASURED = (Role.METRIC, Role.STATISTIC, Role.VALUE)
_SEPARATOR_LINE = re.compile(r"sep=.")
_QUOTED = re.compile(r'\s*"((?:[^"]|"")*)"\s*')


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of texts; `header` is None where the first line already holds numbers."""

    source: SourceText
    header: tuple[str, ...] | None
    columns: tuple[tuple[str, ...], ...]
    spot: Callable[[int, int], TextPosition]
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

    def column_called(self, name: str) -> int:
        """The column of a name that the user typed; UsageError with those that there are."""
        names = self.names()
        for column, column_name in enumerate(names):
            if column_name.lower() == name.strip().lower():
                return column
        raise UsageError(
            f'"{self.source.name}" has no column {quoted(name)}',
            hint=f"It has {', '.join(quoted(column_name) for column_name in names[:10])}.",
        )

    @cached_property
    def decimal_comma(self) -> str:
        """A cell whose comma can only be a decimal one; "" where there is none. It settles how the
        commas of the whole table are meant."""
        with_commas = (cells for cells in self.columns if "," in "".join(cells))
        return next(filter(has_decimal_comma, itertools.chain.from_iterable(with_commas)), "")

    def is_text(self, column: int) -> bool:
        """Whether most cells of a column are words: labels, and not numbers with a slip."""
        return self._text[column]

    @cached_property
    def _text(self) -> tuple[bool, ...]:
        return tuple(map(_is_text, self.columns))


def _is_text(cells: Sequence[str]) -> bool:
    present = [c for c in cells[:_SAMPLE] if not is_missing(c)]
    word_count = sum(not is_number(cell) and not _SLIP.fullmatch(cell.strip()) for cell in present)
    return 2 * word_count > len(present)


def read_table(source: SourceText) -> Table:
    """The table of a text; NumbersError for ragged rows, with line and column."""
    numbers, lines, ruled = _framed(*_lines(source))
    if not lines:
        raise source.error("there are only rules in it")
    separator = separator_of(lines[0]) or _blanks_of(lines)
    columns = _columns(source, numbers, lines, separator)
    if len(columns) > MOST_COLUMNS:
        position = TextPosition(numbers[0], 1)
        raise source.error(f"{len(columns)} columns: more than {MOST_COLUMNS}, the limit", position)
    if separator == "," and commas_in_numbers(lines):
        raise _commas_or_columns(source, numbers[0], lines[0])
    kind = FirstLine.HEADING if ruled else first_line(columns)
    if kind is FirstLine.EITHER:
        raise _heading_or_numbers(source, numbers[0], lines[0], columns)
    header = tuple(column[0] for column in columns) if kind is FirstLine.HEADING else None
    if header is not None and not all(map(is_number, header)) and lines.count(lines[0]) > 1:
        raise _second_heading(source, numbers[lines.index(lines[0], 1)])
    if header is None and separator == "," and decimal_commas(columns):
        raise _commas_or_columns(source, numbers[0], lines[0])
    below = 0 if header is None else 1
    if len(lines) == below:
        raise source.error(
            "there is a heading, but no row of numbers",
            TextPosition(numbers[0], 1),
            hint="Write a row a measurement below it.",
        )

    def spot(row: int, column: int) -> TextPosition:
        line = lines[below + row]
        return TextPosition(numbers[below + row], _starts(line, separator)[column] + 1)

    _refuse_same_names(source, header, (numbers[0], lines[0]), separator)
    body = tuple(tuple(column[below:]) for column in columns)
    return Table(source, header, body, spot, tuple(numbers[below:]))


def _second_heading(source: SourceText, number: int) -> Exception:
    return source.error(
        "the heading stands here once more",
        TextPosition(number, 1),
        hint="Leave this line out; or, where another arm begins, write it into a file of its own: "
        "judge off=a.csv on=b.csv",
    )


def _columns(
    source: SourceText, numbers: Sequence[int], lines: Sequence[str], separator: Separator
) -> list[Sequence[str]]:
    """Columns of cells, every row as wide as the first. Plain tables are cut all at once: a list
    a row would take ten times as long."""
    if isinstance(separator, str) and '"' not in source.text:
        width = lines[0].count(separator) + 1
        counts = list(map(str.count, lines, itertools.repeat(separator)))
        if counts.count(width - 1) < len(counts):
            at = next(at for at, count in enumerate(counts) if count != width - 1)
            raise _ragged(source, numbers[at], lines[at], separator, counts[at] + 1, width)
        cells = separator.join(lines).split(separator)
        return [cells[column::width] for column in range(width)]
    cut = _cutter(separator, '"' in source.text, source)
    rows = [cut(number, line) for number, line in zip(numbers, lines, strict=True)]
    for number, line, row in zip(numbers, lines, rows, strict=True):
        if len(row) != len(rows[0]):
            raise _ragged(source, number, line, separator, len(row), len(rows[0]))
    return list(zip(*rows, strict=True))


def separator_of(line: str) -> str | None:
    """The separator of a line; None for runs of blanks."""
    bare = _QUOTED.sub("", line)
    return next((separator for separator in SEPARATORS if separator in bare), None)


def _blanks_of(lines: Sequence[str]) -> re.Pattern[str]:
    """What a cell is between blanks: a word; or a number with its unit too, where the first line
    holds one, which no heading does, or where the second has as many cells as the heading so."""
    if any(" " in cell for cell in _WITH_UNIT.findall(lines[0])):
        return _WITH_UNIT
    if len(lines) > 1 and _is_lone_heading(lines):
        return _WHOLE_LINE
    width = len(_WORD.findall(lines[0]))
    second = lines[1] if len(lines) > 1 else ""
    joined = len(_WORD.findall(second)) != width == len(_WITH_UNIT.findall(second))
    return _WITH_UNIT if joined else _WORD


def _is_lone_heading(lines: Sequence[str]) -> bool:
    """Whether the first line is a heading of several words, "latency (ms)", above one column."""
    heading = lines[0].strip()
    if " " not in heading or heading_of(heading).role not in _MEASURED:
        return False
    return not any(map(is_number, heading.split())) and all(map(is_number, lines[1:]))


def _lines(source: SourceText) -> tuple[Sequence[int], list[str]]:
    """Numbers and texts of the lines that are neither blank nor comments."""
    lines = source.text.rstrip("\n").split("\n")
    if "#" not in source.text and all(lines) and not any(map(str.isspace, lines)):
        return range(1, len(lines) + 1), lines
    numbers = [
        number
        for number, line in enumerate(lines, start=1)
        if line and not line.isspace() and not _COMMENT.match(line)
    ]
    if not numbers:
        raise source.error("there are only comments in it")
    above = numbers[0] - 1
    if above and _is_heading_in_comment(lines[above - 1], lines[above]):
        numbers.insert(0, above)
        lines[above - 1] = lines[above - 1].replace("#", " ", 1)
    return numbers, [lines[number - 1] for number in numbers]


def _is_heading_in_comment(line: str, row: str) -> bool:
    """Whether a line is a comment that names the columns of the numbers below it, as numpy.savetxt
    and gnuplot write a heading."""
    if not _COMMENT.match(line):
        return False
    text = line.replace("#", " ", 1)
    separator = separator_of(row)
    if separator is None:
        return names_columns(text.split(), row.split(), text)
    return names_columns(text.split(separator), row.split(separator), text)


def _framed(numbers: Sequence[int], lines: list[str]) -> tuple[Sequence[int], list[str], bool]:
    """Lines without the frame of a table of Markdown or psql, columns where they are; and whether
    a rule stood below the first of them, which is a heading then."""
    if lines and _SEPARATOR_LINE.fullmatch(lines[0].strip()):
        numbers, lines = numbers[1:], lines[1:]
    if not _DRAWN.isdisjoint("".join(lines[:3])):
        lines = [line.translate(_BOX) for line in lines]
    if len(lines) > 2 and _ROW_COUNT.fullmatch(lines[-1]):
        numbers, lines = numbers[:-1], lines[:-1]
    rules = [bool(_RULE.fullmatch(line)) for line in lines[:3]]
    if not any(rules) or len(lines) < 3:
        return numbers, lines, False
    body_lines = [
        (number, _without_bars(line))
        for number, line in zip(numbers, lines, strict=True)
        if not _RULE.fullmatch(line) and not _ROW_COUNT.fullmatch(line)
    ]
    below = rules[rules.index(False) + 1 :] if False in rules else []
    return [number for number, _ in body_lines], [line for _, line in body_lines], any(below[:1])


def _without_bars(line: str) -> str:
    """A line without the bars at its ends and the marks of code and bold, blanks instead."""
    bare = line.replace("`", " ").replace("**", "  ").rstrip()
    bare = bare[:-1] + " " if bare.endswith("|") else bare
    start = len(bare) - len(bare.lstrip())
    return bare[:start] + " " + bare[start + 1 :] if bare[start : start + 1] == "|" else bare


Separator = str | re.Pattern[str]
"""What is between cells; or, between blanks, what a cell is."""
Cut = Callable[[int, str], Sequence[str]]


def _cutter(separator: Separator, has_quotes: bool, source: SourceText) -> Cut:
    if not isinstance(separator, str):
        return lambda number, line: separator.findall(line)
    if not has_quotes:
        return lambda number, line: line.split(separator)

    def careful(number: int, line: str) -> Sequence[str]:
        cells = []
        for start, cell in _cells(line, separator):
            match = _QUOTED.fullmatch(cell)
            if match is None and cell.lstrip().startswith('"'):
                raise source.error(
                    "a quote that is not closed on its line",
                    TextPosition(number, start + 1),
                    hint="Write every row on one line: in SQL replace(query, chr(10), ' '); or "
                    "leave that column out.",
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


def _starts(line: str, separator: Separator) -> list[int]:
    """Where the text of every cell begins, blanks skipped."""
    if not isinstance(separator, str):
        return [match.start() for match in separator.finditer(line)]
    return [start + len(c) - len(c.lstrip()) for start, c in _cells(line, separator)]


def _ragged(
    source: SourceText, number: int, line: str, separator: Separator, count: int, width: int
) -> Exception:
    starts = _starts(line, separator)
    column = starts[width] if count > width and width < len(starts) else len(line)
    hint = "Every row needs as many cells as the first; leave cells of a shorter arm empty."
    if not isinstance(separator, str):
        hint = "Keep the table alone, a row a line, or write one: arm,ms and a row a repetition."
    if count > width and separator == ",":
        hint = "If the comma is a decimal comma, separate the cells by semicolons."
    return source.error(
        f"{count} cell{'s' if count != 1 else ''} where the first line has {width}",
        TextPosition(number, column + 1),
        hint=hint,
    )


def _commas_or_columns(source: SourceText, number: int, line: str) -> Exception:
    return source.error(
        f"{quoted(line.strip())} could be decimal commas or several numbers",
        TextPosition(number, 1),
        hint="Write decimal points; if these are columns, name them in a first line.",
    )


def _heading_or_numbers(
    source: SourceText, number: int, line: str, columns: Sequence[Sequence[str]]
) -> Exception:
    name = next((column[0] for column in columns if is_number(column[0])), columns[0][0]).strip()
    return source.error(
        f"{quoted(line.strip())} could be a heading or numbers",
        TextPosition(number, 1),
        hint=f"If it is a heading, write names with letters, as v{name}; if not, write its numbers "
        "with as many decimals as the others, or name the columns above it.",
    )


def _refuse_same_names(
    source: SourceText, header: Sequence[str] | None, first: tuple[int, str], separator: Separator
) -> None:
    names: set[str] = set()
    for column, name in enumerate(header or ()):
        bare = name.strip()
        if bare and bare in names:
            position = TextPosition(first[0], _starts(first[1], separator)[column] + 1)
            raise source.error(
                f"two columns are called {quoted(bare)}",
                position,
                hint="Give each a name of its own, or leave one out.",
            )
        names.add(bare)
