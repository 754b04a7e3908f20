"""Reads and writes files of rows that scripts draw from by `\\draw`: COPY's text format."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

Fields = Sequence[str | None]
"""Of a row; None: NULL."""

MOST_BYTES = 128 << 20
"""Of a file of rows, and of a script, which may hold their values: texts and documents of a log."""
_NULL = "\\N"
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_LETTERS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_WRITTEN = str.maketrans(
    {"\\": "\\\\", **{letter: f"\\{name}" for name, letter in _LETTERS.items()}}
)


def read_rows(text: str) -> list[list[str | None]]:
    """The rows of a file's text; an empty line is a row whose one field is empty. ValueError: they
    have not all the same number of fields."""
    lines = text.removesuffix("\n").split("\n") if text else []
    rows = [[_field(field) for field in line.split("\t")] for line in lines]
    for number, row in enumerate(rows, 1):
        if len(row) != len(rows[0]):
            raise ValueError(f"line {number}: {len(row)} fields, not {len(rows[0])}")
    return rows


def rows_text(rows: Iterable[Fields]) -> str:
    """Rows as a file holds them."""
    return "".join(
        "\t".join(_NULL if field is None else field.translate(_WRITTEN) for field in row) + "\n"
        for row in rows
    )


def _field(text: str) -> str | None:
    if text == _NULL:
        return None
    return _ESCAPED.sub(lambda match: _LETTERS.get(match[1], match[1]), text)
