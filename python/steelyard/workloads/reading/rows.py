"""Reads and writes files of rows that scripts draw from by `\\draw`: COPY's text format."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

Fields = Sequence[str | None]
"""Of a row; None: NULL."""

MOST_BYTES = 128 << 20
"""Of a file of rows, and of a script, which may hold their values: texts and documents of a log."""
_NULL, _END = "\\N", "\\."
_ESCAPED = re.compile(r"\\(?:x([0-9A-Fa-f]{1,2})|([0-7]{1,3})|(.))", re.DOTALL)
_LETTERS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_WRITTEN = str.maketrans(
    {"\\": "\\\\", **{letter: f"\\{name}" for name, letter in _LETTERS.items()}}
)


def read_rows(text: str) -> list[list[str | None]]:
    """The rows of a file's text; an empty line is a row whose one field is empty, and `\\.` ends
    them, as in a dump. ValueError: they have not all the same number of fields."""
    lines = text.removesuffix("\n").split("\n") if text else []
    lines = lines[: lines.index(_END)] if _END in lines else lines
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
    if "\\" not in text:
        return text
    # Numbers may spell the bytes of one letter.
    return _ESCAPED.sub(_letter, text).encode("utf-8", "surrogateescape").decode("utf-8")


def _letter(match: re.Match[str]) -> str:
    hexadecimal, octal, letter = match.groups()
    if letter is not None:
        return _LETTERS.get(letter, letter)
    number = int(hexadecimal, 16) if octal is None else int(octal, 8)
    return bytes([number & 0xFF]).decode("utf-8", "surrogateescape")
