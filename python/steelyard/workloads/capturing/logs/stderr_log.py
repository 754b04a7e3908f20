"""Reads stderr logs by their log_line_prefix."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from steelyard.model.errors import UsageError
from steelyard.workloads.capturing.logs.entry import Entry, is_exact, seconds_of
from steelyard.workloads.capturing.logs.languages import words as english_words
from steelyard.workloads.capturing.logs.prefix import USUAL, prefix_pattern

_DETAILS = {"DETAIL": "detail", "STATEMENT": "statement"}
_OTHER_DETAILS = ("HINT", "CONTEXT", "QUERY", "LOCATION", "BACKTRACE")
_LEVEL = re.compile(r"(?:LOG|ERROR|FATAL|WARNING|STATEMENT|DETAIL|statement): ")
_LONGEST_PREFIX = 60
_BEHIND = 64
"""So many entries later a DETAIL still finds its own: without a collector they may mix."""


@dataclass(frozen=True)
class Line:
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
    line: Line
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
        (sum(1 for line in head if pattern.match(line)), -place, pattern)
        for place, pattern in enumerate(prefix_pattern(words, sessions=sessions) for words in usual)
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


def plain_lines(file: Iterable[str], head: Sequence[str]) -> Iterator[Line]:
    """Lines of a file; where every line ends in CR LF, the CR is the file's and not a value's."""
    ends_in_cr = bool(head) and all(line.endswith("\r\n") for line in head if line.endswith("\n"))
    for text in file:
        whole = text.endswith("\n")
        words = text.removesuffix("\n")
        yield Line(words.removesuffix("\r") if ends_in_cr else words, whole=whole)


def read_stderr(lines: Iterable[Line], pattern: re.Pattern[str]) -> Iterator[Entry]:
    """An entry and its continuation lines, which begin with a tab; its DETAIL is an entry of its
    own in the file."""
    latest: deque[Entry] = deque()
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


def _take(latest: deque[Entry], block: _Block) -> None:
    """Add an entry, or what belongs to the latest one of its session."""
    known = {name: value or "" for name, value in block.match.groupdict().items()}
    words = "\n".join([known["message"], *block.more])
    session = known.get("session") or known.get("process") or block.line.session
    label = english_words().get(known["severity"], known["severity"])
    if label in _OTHER_DETAILS:
        return
    if (name := _DETAILS.get(label)) is not None:
        for place in range(len(latest) - 1, -1, -1):
            if latest[place].session == session:
                whole = latest[place].whole and block.line.whole
                latest[place] = Entry(**{**latest[place].__dict__, name: words, "whole": whole})
                return
        return
    stamp, seconds = known.get("time", ""), known.get("seconds", "")
    latest.append(
        Entry(
            session=session,
            seconds=float(seconds) if seconds else seconds_of(stamp) or block.line.seconds,
            severity=known["severity"],
            message=words,
            detail="",
            user=known.get("user", ""),
            database=known.get("database", ""),
            application=known.get("application", ""),
            whole=block.line.whole,
            exact=is_exact(stamp) and (bool(stamp or seconds) or block.line.exact),
        )
    )
