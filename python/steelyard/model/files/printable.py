"""Escapes what a terminal would obey, and what hides the order of letters, in text of others."""

from __future__ import annotations

import re

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
