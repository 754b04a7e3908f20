"""Reads stderr logs by their log_line_prefix.

Reads log lines that begin with a log_line_prefix: the escapes of PostgreSQL 14 to 18.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from steelyard.model.errors import UsageError
from steelyard.workloads.capturing.logs.entry import LogEntry, is_exact, seconds_of
from steelyard.workloads.capturing.logs.languages import words
from steelyard.workloads.capturing.logs.languages import words as english_words

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
    group = re.match(r"\(\?P<(\w+)>", pattern)
    if group is None:
        return pattern
    if group[1] in groups:
        return "(?:" + pattern[group.end() :]
    groups.add(group[1])
    return pattern


_DETAILS = {"DETAIL": "detail", "STATEMENT": "statement"}
_OTHER_DETAILS = ("HINT", "CONTEXT", "QUERY", "LOCATION", "BACKTRACE")
_LEVEL = re.compile(r"(?:LOG|ERROR|FATAL|WARNING|STATEMENT|DETAIL|statement): ")
_LONGEST_PREFIX = 60
_BEHIND = 64
"""So many entries later a DETAIL still finds its own: without a collector they may mix."""


@dataclass(frozen=True)
class LogLine:
    """A line of a log without its line feed, and what an envelope says of it."""

    text: str
    session: str = ""
    seconds: float = 0.0
    exact: bool = True
    whole: bool = True


@dataclass
class _Block:
    """A line that begins an entry, and the lines after it."""

    match: re.Match[str]
    line: LogLine
    more: list[str] = field(default_factory=list)


def pattern_of(
    path: Path, head: Sequence[str], prefix: str | None, *, sessions: bool = True
) -> re.Pattern[str]:
    """Of the prefix that was named, or of the usual one that most of the first lines have.
    `sessions`: whether it must tell sessions apart.

    UsageError: no line has it, or none is known.
    """
    if not head:
        raise UsageError(f'could not read log "{path}": it is empty')
    if prefix is not None:
        pattern = prefix_pattern(prefix, sessions=sessions)
        if not any(pattern.match(line) for line in head):
            raise UsageError(
                f'could not read log "{path}": no line begins with the prefix "{prefix}"',
                detail=f"The first line begins: {_beginning(head)}",
            )
        return pattern
    usual = USUAL if sessions else (*USUAL, "")
    counted = [
        (sum(1 for line in head if pattern.match(line)), -index, pattern)
        for index, pattern in enumerate(
            prefix_pattern(usual_prefix, sessions=sessions) for usual_prefix in usual
        )
    ]
    most, _, best = max(counted, key=lambda count: count[:2])
    if not most:
        raise UsageError(
            f'could not read log "{path}": its lines begin with no prefix that is known',
            detail=f"The first line begins: {_beginning(head)}",
            hint="Name it as the server has it: --prefix '%m [%p] ' (SHOW log_line_prefix).",
        )
    return best


def _beginning(head: Sequence[str]) -> str:
    """Of the first line what may be its prefix: values of users come after it."""
    return _LEVEL.split(head[0], maxsplit=1)[0][:_LONGEST_PREFIX].rstrip() if head else ""


def plain_lines(file: Iterable[str], head: Sequence[str]) -> Iterator[LogLine]:
    """Lines of a file; where every line ends in CR LF, the CR is the file's and not a value's."""
    ends_in_cr = bool(head) and all(line.endswith("\r\n") for line in head if line.endswith("\n"))
    for text in file:
        whole = text.endswith("\n")
        line = text.removesuffix("\n")
        yield LogLine(line.removesuffix("\r") if ends_in_cr else line, whole=whole)


def read_stderr(lines: Iterable[LogLine], pattern: re.Pattern[str]) -> Iterator[LogEntry]:
    """An entry and its continuation lines, which begin with a tab; its DETAIL is an entry of its
    own in the file."""
    latest: deque[LogEntry] = deque()
    block: _Block | None = None
    for line in lines:
        match = pattern.match(line.text)
        if match is None:
            if block is not None:
                block.more.append(line.text.removeprefix("\t"))
                block.line = replace(block.line, whole=line.whole)
            continue
        if block is not None:
            _take(latest, block)
        block = _Block(match, line)
        while len(latest) > _BEHIND:
            yield latest.popleft()
    if block is not None:
        _take(latest, block)
    yield from latest


def _take(latest: deque[LogEntry], block: _Block) -> None:
    """Add an entry, or what belongs to the latest one of its session."""
    fields = {name: value or "" for name, value in block.match.groupdict().items()}
    message = "\n".join([fields["message"], *block.more])
    session = fields.get("session") or fields.get("process") or block.line.session
    label = english_words().get(fields["severity"], fields["severity"])
    if label in _OTHER_DETAILS:
        return
    if (name := _DETAILS.get(label)) is not None:
        for index in range(len(latest) - 1, -1, -1):
            if latest[index].session == session:
                whole = latest[index].whole and block.line.whole
                latest[index] = LogEntry(
                    **{**latest[index].__dict__, name: message, "whole": whole}
                )
                return
        return
    stamp, seconds = fields.get("time", ""), fields.get("seconds", "")
    latest.append(
        LogEntry(
            session=session,
            seconds=float(seconds) if seconds else seconds_of(stamp) or block.line.seconds,
            severity=fields["severity"],
            message=message,
            detail="",
            user=fields.get("user", ""),
            database=fields.get("database", ""),
            application=fields.get("application", ""),
            whole=block.line.whole,
            exact=is_exact(stamp) and (bool(stamp or seconds) or block.line.exact),
        )
    )
