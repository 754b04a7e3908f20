"""Lays out text for a terminal: its width, and lines wrapped to it."""

from __future__ import annotations

import re
import shutil
import textwrap
import unicodedata

MOST_COLUMNS = 120
_CONTROLS = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Categories of characters that move, colour, turn round or break a line, and of no character."""
_TIED = "\N{NO-BREAK SPACE}"


def terminal_width() -> int:
    """Columns for a summary: those of the terminal, 100 where there is none."""
    return min(MOST_COLUMNS, shutil.get_terminal_size((100, 24)).columns)


def escaped(line: str) -> str:
    """A line whose control characters do nothing to a terminal: `"a\\x1b[31m"`."""
    return "".join(
        character.encode("unicode_escape", "surrogatepass").decode()
        if unicodedata.category(character) in _CONTROLS
        else character
        for character in line
    )


def wrapped(text: str, width: int, indent: str) -> list[str]:
    """Lines no wider than `width`; an item ("- …") and what belongs to it hang by two columns."""
    hanging = indent + ("  " if text.startswith(("- ", "  ")) else "")
    # What belongs together stays on one line: a number and its %, the ends of an interval.
    kept = re.sub(r"\[[^\]]*\]| %", lambda found: found[0].replace(" ", _TIED), text.strip())
    wrapped = textwrap.wrap(
        kept,
        width,
        initial_indent=indent if text.startswith("- ") else hanging,
        subsequent_indent=hanging,
        break_on_hyphens=False,
    )
    return [line.replace(_TIED, " ") for line in wrapped]
