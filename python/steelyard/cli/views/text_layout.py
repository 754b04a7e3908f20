"""Lays out text for a terminal: its width, lines wrapped to it, and the columns that letters take,
two or none among them.
"""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Literal

from steelyard.model.files.printable import apart, printable_line
from steelyard.model.units import counted

MOST_COLUMNS = 120
WHOLE = 100_000
"""Columns within which every sentence stays on one line."""
_CONTROLS = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Categories of characters that move, colour, turn round or break a line, and of no character."""
_TIED = "\N{NO-BREAK SPACE}"
_SECOND = "\ue000"
"""Stands before a letter of two columns while lines are broken by their letters."""
_NONE = ("Mn", "Me", "Cf")
"""Categories of characters that are drawn on others, or not at all."""


def terminal_width() -> int:
    """Columns for a summary: those of the terminal, 100 where there is none."""
    return min(MOST_COLUMNS, shutil.get_terminal_size((100, 24)).columns)


def sentence_width() -> int:
    """Columns for sentences of a list: those of the terminal; where there is none they stay whole,
    so that what reads them finds each on its line."""
    return terminal_width() if sys.stdout.isatty() else WHOLE


def hanging(line: str, width: int) -> list[str]:
    """A line no wider than `width`: what does not fit follows, two columns deeper than it."""
    text = line.lstrip()
    indent = " " * (len(line) - len(text))
    return broken(text, width, indent, f"{indent}  ", long_words=False) or [line]


def broken(
    text: str, width: int, first: str = "", others: str = "", *, long_words: bool = True
) -> list[str]:
    """Lines no wider than `width` columns, the first behind `first`, further ones behind `others`;
    `long_words`: a word that is wider than a line is broken too."""
    wide = "".join(_SECOND * (letter_columns(letter) - 1) + letter for letter in text)
    lines = textwrap.wrap(
        text if text.isascii() else wide,
        width,
        initial_indent=first,
        subsequent_indent=others,
        break_on_hyphens=False,
        break_long_words=long_words,
    )
    return [line.replace(_SECOND, "") for line in lines]


def escaped(line: str) -> str:
    """A line whose control characters do nothing to a terminal: `"a\\x1b[31m"`."""
    return "".join(
        character.encode("unicode_escape", "surrogatepass").decode()
        if unicodedata.category(character) in _CONTROLS
        else character
        for character in line
    )


def rest_in_report(left_out: int, noun: str = "") -> list[str]:
    """Beneath a list that was cut: `"and 2 plans more, in the report"`; none where it is whole.
    `noun`: in the plural."""
    number = counted(left_out, noun) if noun else str(left_out)
    return [f"and {number} more, in the report"] if left_out > 0 else []


def wrapped(text: str, width: int, indent: str) -> list[str]:
    """Lines no wider than `width`; an item ("- …") and what belongs to it hang by two columns."""
    hanging = indent + ("  " if text.startswith(("- ", "  ")) else "")
    # What belongs together stays on one line: a number and its %, the ends of an interval.
    tied = re.sub(r"\[[^\]]*\]| %", lambda match: match[0].replace(" ", _TIED), text.strip())
    lines = broken(tied, width, indent if text.startswith("- ") else hanging, hanging)
    return [line.replace(_TIED, " ") for line in lines]


MOST_HEADING = 16
_COLUMNS = ("metric", "control", "arm", "reading")


def contrast_table(
    title: str, control: str, arm: str, rows: Sequence[Mapping[str, str]], width: int
) -> list[str]:
    """Rows of both arms' values and their contrast, under a heading. Where they do not fit, units
    go into the first column and names are cut; on a narrower terminal yet the values go, and the
    contrast, which is the finding, stays."""
    values = {key: _widest(rows, key) for key in ("control", "arm")}
    with_units = list(map(_unit_first, rows))
    bare = {key: _widest(with_units, key) for key in values}
    for body, room in (
        (rows, {key: max(MOST_HEADING, wide) for key, wide in values.items()}),
        (rows, {key: max(7, wide) for key, wide in values.items()}),
        (with_units, {key: max(MOST_HEADING, wide) for key, wide in bare.items()}),
        (with_units, {key: max(7, wide) for key, wide in bare.items()}),
    ):
        head = dict(zip(room, _headings((control, arm), [*room.values()]), strict=True))
        every = [{"metric": title, **head, "reading": "change"}, *body]
        wide = {key: _widest(every, key) for key in _COLUMNS}
        if sum(wide.values()) + 6 <= width:
            return [
                f"{padded(row['metric'], wide['metric'])}  "
                f"{padded(row['control'], wide['control'], 'right')}  "
                f"{padded(row['arm'], wide['arm'], 'right')}  {row['reading']}"
                for row in every
            ]
    first = max(columns_of(title), _widest(rows, "metric"))
    lines = [(title, "change"), *((row["metric"], row["reading"]) for row in rows)]
    whole = [f"{padded(metric, first)}  {reading}" for metric, reading in lines]
    # What stands behind an interval says it in other words.
    return [
        line if columns_of(line) <= width else re.sub(r"(\]), .*", r"\1", line) for line in whole
    ]


def _widest(rows: Sequence[Mapping[str, str]], key: str) -> int:
    return max((columns_of(row[key]) for row in rows), default=0)


def _headings(names: Sequence[str], rooms: Sequence[int]) -> list[str]:
    """Both names in their columns, told apart where either is cut."""
    least = arm_names(names, min(rooms))
    if any(name.startswith("…") for name in least):
        return least
    return [arm_names([name], room)[0] for name, room in zip(names, rooms, strict=True)]


def arm_names(names: Sequence[str], width: int) -> list[str]:
    """Names on a line each, none wider than `width` columns, those that differ told apart."""
    lines = [printable_line(name) for name in names]
    wide = any(columns_of(line) > len(line) for line in lines)
    return apart(lines, width // 2 if wide else width)


def _is_number(text: str) -> bool:
    """Not so of what stands before the last unit of several: `1 min 18` of `1 min 18 s`."""
    return bool(text) and not re.search("[^\\W\\d_]", text)


def _unit_first(row: Mapping[str, str]) -> Mapping[str, str]:
    """`WAL, bytes | 2.013 | 1.155` of `WAL | 2.013 bytes | 1.155 bytes`."""
    values = {key: row[key].rpartition(" ") for key in ("control", "arm")}
    units = {unit for _, _, unit in values.values()}
    numbers = {key: number for key, (number, _, _) in values.items()}
    if len(units) != 1 or not all(map(_is_number, numbers.values())) or min(units)[0].isdigit():
        return row
    [unit] = units
    has_unit = re.search(rf"(?<!\w){re.escape(unit)}(?!\w)", row["metric"])
    return {
        **row,
        **numbers,
        "metric": row["metric"] if has_unit else f"{row['metric']}, {unit}",
        "reading": row["reading"].replace(f" {unit} [", " ["),
    }


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
