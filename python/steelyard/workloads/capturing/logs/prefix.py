"""Reads log lines that begin with a log_line_prefix: the escapes of PostgreSQL 14 to 18."""

from __future__ import annotations

import re

from steelyard.model.errors import UsageError
from steelyard.workloads.capturing.logs.languages import words

_TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?(?: [A-Za-z0-9+:/_-]+)?"
_ESCAPES = {
    "a": r"(?P<application>.*?)",
    "u": r"(?P<user>.*?)",
    "d": r"(?P<database>.*?)",
    "r": r"(?:.*?)",
    "h": r"(?:.*?)",
    "b": r"(?:.*?)",
    "p": r"(?P<process>\d+)",
    "P": r"(?:\d*)",
    "t": rf"(?P<time>{_TIME})",
    "m": rf"(?P<time>{_TIME})",
    "n": r"(?P<seconds>\d+\.\d+)",
    "i": r"(?:.*?)",
    "e": r"(?:[0-9A-Z]{5})",
    "c": r"(?P<session>[0-9a-f]+\.[0-9a-f]+)",
    "l": r"(?:\d+)",
    "s": rf"(?:{_TIME})",
    "v": r"(?:[\d/]*)",
    "x": r"(?:\d+)",
    "Q": r"(?:-?\d+)",
    "L": r"(?:.*?)",
}
_ESCAPE = re.compile(r"%(-?\d*)([a-zA-Z%])|([^%]+)|%")

USUAL = (
    "%m [%p] ",  # PostgreSQL's default
    "%m [%p] %q%u@%d ",  # Debian's
    "%t [%p]: [%l-1] user=%u,db=%d,app=%a,client=%h ",  # pgBadger's advice, old and new
    "%t [%p]: user=%u,db=%d,app=%a,client=%h ",
    "%t [%p] ",
    "%m %u@%d [%p] ",
    "%t:%r:%u@%d:[%p]:",  # Amazon RDS
    "%m [%p] %u@%d ",
    "%t [%p-%l] %u@%d ",
    "%m [%p]: [%l-1] db=%d,user=%u ",  # Google Cloud SQL
    "%m:%r:%u@%d:[%p]:%l:%e:%s:%v:%x:%c:%q%a:",  # Amazon Aurora
    "%t-%c-",  # Azure
    "%m|%u|%d|%c|",  # pgreplay's advice
)
"""Prefixes that are tried where none is named."""


def prefix_pattern(prefix: str, *, sessions: bool = True) -> re.Pattern[str]:
    """What matches a first line: the prefix, the severity, and the message. UsageError: the prefix
    names neither process nor session, which it must for `sessions`, or has an unknown escape."""
    pieces, groups, optional = [], set[str](), False
    for match in _ESCAPE.finditer(prefix):
        _, letter, text = match.groups()
        if text is not None:
            pieces.append(re.escape(text))
        elif letter == "%":
            pieces.append("%")
        elif letter == "q":  # what follows is of sessions alone
            pieces.append("(?:")
            optional = True
        elif letter in _ESCAPES:
            pieces.append(_once(_ESCAPES[letter], groups))
        else:
            raise UsageError(f'unknown escape in log_line_prefix: "{match[0]}"')
    if sessions and not groups & {"process", "session"}:
        raise UsageError(
            f'cannot tell sessions apart by log_line_prefix "{prefix}"',
            hint="It needs %p or %c: the default is '%m [%p] '.",
        )
    end = ")?" if optional else ""
    several = "".join(f"{re.escape(word)}|" for word in words() if not word.isalpha())
    return re.compile(
        "^"
        + "".join(pieces)
        + end
        + rf"\s*(?P<severity>{several}[^\W\d_]+\d?) ?:  (?P<message>.*)$",
        re.DOTALL,
    )


def _once(pattern: str, groups: set[str]) -> str:
    """A named group a second time is a plain one."""
    named = re.match(r"\(\?P<(\w+)>", pattern)
    if named is None:
        return pattern
    if named[1] in groups:
        return "(?:" + pattern[named.end() :]
    groups.add(named[1])
    return pattern
