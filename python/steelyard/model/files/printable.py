"""Escapes what a terminal would obey and what hides the order of letters, in text of others, and
shortens names in such a way that those that differ are still told apart.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

_OBEYED = (
    "\x00-\x08\x0b-\x1f"  # C0 but for tab and newline: ESC begins what moves, colours and copies
    "\x7f-\x9f"  # DEL and C1, in which ESC [ is one character
    "\u2028\u2029"  # ends of lines in some programs
    "\u202a-\u202e\u2066-\u2069"  # overrides and isolates of direction: what is read is not there
    "\ud800-\udfff"  # lone surrogates, which UTF-8 cannot say
)
_IN_TEXT = re.compile(f"[{_OBEYED}]")
_NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_IN_LINE = re.compile(f"[\t\n{_OBEYED}]")
LEAST_ROOM = 4
"""Letters: with fewer there is none for what tells names apart."""
_BEFORE = 3
"""Letters that are shown before the first one in which names differ."""


def printable(text: str) -> str:
    """The text with such characters as `\\x1b` or `\\u202e`; tabs and newlines stay."""
    return _IN_TEXT.sub(_escape, text)


def printable_line(text: str) -> str:
    """As `printable`, on one line: tabs and newlines are escaped too."""
    return _IN_LINE.sub(_escape, text)


def printable_xml(text: str) -> str:
    """As `printable`, and U+FFFD for the others that XML 1.0 cannot hold, not even escaped."""
    return _NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", printable(text))


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def apart(names: Sequence[str], room: int) -> list[str]:
    """The names, none longer than `room` (at least LEAST_ROOM) letters: cut at their ends, or
    around where they differ if what is left would be the same: `"…128MB"` and `"…16GB"`."""
    room = max(room, LEAST_ROOM)
    shortened: dict[str, str] = {}
    for alike in _grouped({name: name[: room - 1] for name in names}):
        differ = _common_letters(alike)
        for name in alike:
            several = len(alike) > 1
            shortened[name] = _around(name, differ, room) if several else _beginning(name, room)
    for alike in _grouped(shortened):
        for number, name in enumerate(alike if len(alike) > 1 else (), 1):
            end = f"…{number}"  # names of one letter alone, or more than two of them
            shortened[name] = shortened[name][: max(room - len(end), 0)] + end
    return [shortened[name] for name in names]


def _common_letters(names: Sequence[str]) -> int:
    """How many letters all of them begin with."""
    first, last = min(names), max(names)
    pairs = enumerate(zip(first, last, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(first), len(last)))


def _grouped(of: Mapping[str, str]) -> list[list[str]]:
    """The names that have the same, together."""
    groups: dict[str, list[str]] = {}
    for name, value in of.items():
        groups.setdefault(value, []).append(name)
    return [*groups.values()]


def _beginning(name: str, room: int) -> str:
    return name if len(name) <= room else f"{name[: room - 1]}…"


def _around(name: str, position: int, room: int) -> str:
    """The end of a name where that holds the position, else what stands there."""
    if len(name) <= room:
        return name
    if len(name) - (room - 1) <= position:
        return f"…{name[1 - room :]}"
    start = max(position - _BEFORE, 0) if room > 2 * _BEFORE else position
    return _beginning(f"…{name[start:]}", room) if start else _beginning(name, room)
