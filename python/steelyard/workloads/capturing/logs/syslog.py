"""Puts the lines of a log together that syslog has cut and numbered: `[7-2] #011FROM t`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from steelyard.workloads.capturing.logs.entry import is_exact, seconds_of
from steelyard.workloads.capturing.logs.stderr_log import LogLine

_LINE = re.compile(
    r"^(?:<\d+>1? ?)?(?P<time>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d"
    r"|\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[-+]\d\d:?\d\d)?) "
    r"(?:\S+ )?(?P<name>[^\s\[\]:]+)\[(?P<process>\d+)\]: (?:\[\d+ [\w.]+\] )?"
    r"\[(?P<number>\d+)-(?P<part>\d+)\] (?P<text>.*)$",
    re.DOTALL,
)
_ESCAPED = re.compile(r"#(0[0-3][0-7])")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_ANY_YEAR = 2000
_BEHIND = 64


@dataclass
class _Message:
    """What a process has written under one number."""

    number: str
    lines: list[LogLine] = field(default_factory=list)


def is_syslog(line: str) -> bool:
    """Whether a line is syslog's, with PostgreSQL's numbers."""
    return _LINE.match(line) is not None


def syslog_text(line: str) -> str:
    """What PostgreSQL wrote of a line; empty: it is another program's."""
    match = _LINE.match(line.rstrip("\r\n"))
    return "" if match is None else _plain(match["text"])


def syslog_lines(file: Iterable[str], begins: Callable[[str], object]) -> Iterator[LogLine]:
    """The lines as PostgreSQL wrote them, those of a message together. `begins`: whether a text
    begins an entry.

    PostgreSQL cuts at line feeds, after which it writes a tab or a prefix, and long lines between
    words (write_syslog in elog.c): any other part goes on in the line before it.
    """
    messages: dict[str, _Message] = {}
    for raw in file:
        match = _LINE.match(raw.removesuffix("\n").removesuffix("\r"))
        if match is None:
            continue
        process, text = match["process"], _plain(match["text"])
        message = messages.get(process)
        if message is None or message.number != match["number"]:
            if message is not None:
                yield from message.lines
                del messages[process]
            while len(messages) > _BEHIND:
                yield from messages.pop(next(iter(messages))).lines
            message = messages[process] = _Message(match["number"])
        seconds, exact = _time(match["time"])
        line = LogLine(text, process, seconds, exact, raw.endswith("\n"))
        if message.lines and not text.startswith("\t") and not begins(text):
            before = message.lines.pop()
            line = LogLine(before.text + text, process, seconds, exact, line.whole)
        message.lines.append(line)
    for message in messages.values():
        yield from message.lines


def _plain(text: str) -> str:
    """Control characters that syslog has escaped (rsyslog: `#011`)."""
    return _ESCAPED.sub(lambda match: chr(int(match[1], 8)), text)


def _time(stamp: str) -> tuple[float, bool]:
    if not stamp[0].isalpha():
        return seconds_of(stamp), is_exact(stamp)
    month = _MONTHS.index(stamp[:3]) + 1 if stamp[:3] in _MONTHS else 1
    return seconds_of(f"{_ANY_YEAR}-{month:02}-{int(stamp[4:6]):02} {stamp[7:15]}"), False
