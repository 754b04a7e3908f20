"""Lays out text for a terminal: its width, and lines wrapped to it."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Mapping, Sequence

MOST_COLUMNS = 120
WHOLE = 100_000
"""Columns within which every sentence stays on one line."""
_CONTROLS = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Categories of characters that move, colour, turn round or break a line, and of no character."""
_TIED = "\N{NO-BREAK SPACE}"


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
    return textwrap.wrap(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=f"{indent}  ",
        break_on_hyphens=False,
        break_long_words=False,
    ) or [line]


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
    tied = re.sub(r"\[[^\]]*\]| %", lambda match: match[0].replace(" ", _TIED), text.strip())
    wrapped = textwrap.wrap(
        tied,
        width,
        initial_indent=indent if text.startswith("- ") else hanging,
        subsequent_indent=hanging,
        break_on_hyphens=False,
    )
    return [line.replace(_TIED, " ") for line in wrapped]


MOST_HEADING = 16
_COLUMNS = ("metric", "control", "arm", "reading")


def contrast_table(
    title: str, control: str, arm: str, rows: Sequence[Mapping[str, str]], width: int
) -> list[str]:
    """Rows of both arms' values and their contrast, under a heading. Where they do not fit, units
    go into the first column and names are cut; on a narrower terminal yet the values go, and the
    contrast, which is the finding, stays."""
    names = {"control": control, "arm": arm}
    values = {key: max((len(row[key]) for row in rows), default=0) for key in names}
    with_units = list(map(_unit_first, rows))
    bare = {key: max((len(row[key]) for row in with_units), default=0) for key in names}
    for body, room in (
        (rows, {key: max(MOST_HEADING, wide) for key, wide in values.items()}),
        (rows, {key: max(7, wide) for key, wide in values.items()}),
        (with_units, {key: max(MOST_HEADING, wide) for key, wide in bare.items()}),
        (with_units, {key: max(7, wide) for key, wide in bare.items()}),
    ):
        head = {key: _cut(name, room[key]) for key, name in names.items()}
        every = [{"metric": title, **head, "reading": "change"}, *body]
        wide = {key: max(len(row[key]) for row in every) for key in _COLUMNS}
        if sum(wide.values()) + 6 <= width:
            return [
                f"{row['metric']:<{wide['metric']}}  {row['control']:>{wide['control']}}  "
                f"{row['arm']:>{wide['arm']}}  {row['reading']}"
                for row in every
            ]
    first = max(len(title), *(len(row["metric"]) for row in rows)) if rows else len(title)
    lines = [(title, "change"), *((row["metric"], row["reading"]) for row in rows)]
    whole = [f"{metric:<{first}}  {reading}" for metric, reading in lines]
    # What stands behind an interval says it in other words.
    return [line if len(line) <= width else re.sub(r"(\]), .*", r"\1", line) for line in whole]


def _cut(name: str, room: int) -> str:
    return name if len(name) <= room else f"{name[: room - 1]}…"


def _unit_first(row: Mapping[str, str]) -> Mapping[str, str]:
    """`WAL, bytes | 2.013 | 1.155` of `WAL | 2.013 bytes | 1.155 bytes`."""
    values = {key: row[key].rpartition(" ") for key in ("control", "arm")}
    units = {unit for _, _, unit in values.values()}
    numbers = {key: number for key, (number, _, _) in values.items()}
    if len(units) != 1 or not all(numbers.values()) or min(units)[0].isdigit():
        return row
    [unit] = units
    has_unit = unit in row["metric"]
    return {
        **row,
        **numbers,
        "metric": row["metric"] if has_unit else f"{row['metric']}, {unit}",
        "reading": row["reading"].replace(f" {unit} [", " ["),
    }
