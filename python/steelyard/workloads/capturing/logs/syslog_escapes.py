"""Puts back what syslog daemons escaped of a server's lines (rsyslog: a tab is `#011`), as far as
it can be told from text that looks so."""

from __future__ import annotations

import re
from collections.abc import Callable

_TAB, _FEED = "#011", "#012"
_LEADING = re.compile(r"(?:#011)+")
_ESCAPED = re.compile(r"#(?P<octal>0[0-3][0-7]|177)(?P<more>[0-9a-fA-F]*)(?P<word>\w?)")
_SPACES = {"011": "\t", "013": "\v", "014": "\f", "015": "\r"}
_COLOUR_DIGITS = (6, 8)

Begins = Callable[[str], "re.Match[str] | None"]
"""The match of a text that begins an entry; it has a group `message`."""


def leading(text: str) -> str:
    """The text with the tabs before it, which PostgreSQL writes where a line goes on."""
    match = _LEADING.match(text)
    return text if match is None else "\t" * (match.end() // len(_TAB)) + text[match.end() :]


def split_lines(text: str, begins: Begins) -> list[str]:
    """The lines of a message that was not split (syslog_split_messages = off): a line feed is where
    PostgreSQL writes one, before a tab or a prefix."""
    lines, start, at = list[str](), 0, text.find(_FEED)
    while at >= 0:
        after = text[at + len(_FEED) :]
        if after.startswith((_TAB, "\t")) or begins(after):
            lines.append(text[start:at])
            start = at + len(_FEED)
        at = text.find(_FEED, at + len(_FEED))
    return [*lines, text[start:]]


class Plain:
    """Reads the lines of one message after another, for what stands in quotes is text rather than
    a blank of a statement."""

    def __init__(self, begins: Begins) -> None:
        self._begins = begins
        self._quoted = False

    def line(self, text: str) -> tuple[str, bool]:
        """The line as it was written, and whether that cannot be told."""
        match = self._begins(text)
        if match is not None:
            self._quoted = False
            at = match.start("message")
        else:
            text = leading(text)
            at = len(text) - len(text.lstrip("\t"))
        parts, doubtful = [text[:at]], False
        for escape in _ESCAPED.finditer(text, at):
            before = text[at : escape.start()]
            self._quoted ^= before.count("'") % 2 == 1
            plain, is_doubtful = self._plain(escape, text)
            parts += [before, plain]
            doubtful = doubtful or is_doubtful
            at = escape.end() - len(escape["more"]) - len(escape["word"])
        self._quoted ^= text[at:].count("'") % 2 == 1
        return "".join([*parts, text[at:]]), doubtful

    def _plain(self, escape: re.Match[str], text: str) -> tuple[str, bool]:
        octal, digits = escape["octal"], len(escape["octal"]) + len(escape["more"])
        written = f"#{octal}"
        # No server writes a NUL, and a line feed within a line stays one (split_lines).
        if octal in ("000", "012"):
            return written, False
        is_colour = digits in _COLOUR_DIGITS and not escape["word"]
        is_value = _is_value(escape, text)
        blank = _SPACES.get(octal)
        if is_colour:
            return written, blank is not None or not (is_value or self._quoted)
        if blank is None or (self._quoted and (escape["more"] or _is_token(escape, text))):
            return written, True
        return blank, False


def _is_value(escape: re.Match[str], text: str) -> bool:
    """Whether it is all of a value: '#011'."""
    end = escape.end() - len(escape["word"])
    return text[escape.start() - 1 : escape.start()] == "'" == text[end : end + 1]


def _is_token(escape: re.Match[str], text: str) -> bool:
    """Whether it stands by itself, as a number of a ticket does: "see #011"."""
    before = text[escape.start() - 1 : escape.start()]
    return not (escape["word"] or before.isalnum() or text[escape.end() :].startswith("#"))
