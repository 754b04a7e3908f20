"""Reads the rows of a tool's CSV under a heading that is known; refuses one without its columns."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence

from steelyard.foreign.source import Place, Source, quoted

Row = Mapping[str, str]


def csv_rows(
    source: Source,
    form: str,
    columns: Sequence[str],
    *,
    separator: str = ",",
    names: Sequence[str] = (),
    first: int = 0,
) -> Iterator[tuple[int, Row]]:
    """(line, cells by heading) of every row; `names`: headings, where the text has none; `first`:
    the line of the heading, counted from 0. NumbersError for a heading without `columns`, and for a
    row that is no CSV."""
    lines = source.text.rstrip("\n").split("\n")[first:]
    reader = csv.DictReader(lines, fieldnames=names or None, delimiter=separator)
    begin = first + (1 if names else 2)
    try:
        missing = [name for name in columns if name not in (reader.fieldnames or ())]
        if missing:
            reason = f"no column {quoted(missing[0])}: this is not {form}"
            raise source.error(reason, Place(first + 1, 1))
        for number, row in enumerate(reader, start=begin):
            yield number, {key: value or "" for key, value in row.items() if key is not None}
    except csv.Error as error:
        raise source.error(f"this is not CSV: {error}", Place(first + reader.line_num, 1)) from None


def float_in(source: Source, row: Row, column: str, line: int) -> float:
    """The number in a column of a row; NumbersError with its line where there is none."""
    try:
        return float(row[column])
    except ValueError:
        shown = quoted(row[column])
        raise source.error(f"{shown} is no number of {quoted(column)}", Place(line, 1)) from None
