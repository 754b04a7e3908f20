"""Counts the columns that text takes on a terminal, where a letter may take two or none."""

from __future__ import annotations

import unicodedata
from typing import Literal

_NONE = ("Mn", "Me", "Cf")
"""Categories of characters that are drawn on others, or not at all."""


def columns_of(text: str) -> int:
    """Columns of text on one line (Unicode's East Asian Width; ambiguous ones take one)."""
    if text.isascii():
        return len(text)
    return sum(map(letter_columns, text))


def letter_columns(letter: str) -> int:
    """0, 1 or 2."""
    if unicodedata.category(letter) in _NONE:
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def padded(text: str, width: int, side: Literal["left", "right"] = "left") -> str:
    """Text with blanks up to `width` columns, itself at that side."""
    blanks = " " * (width - columns_of(text))
    return f"{text}{blanks}" if side == "left" else f"{blanks}{text}"
