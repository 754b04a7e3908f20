"""Reads stderr logs: an entry begins with a log_line_prefix, its other lines with a tab."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from steelyard.workloads.capturing.logs.entry import (
    WORKER,
    LogEntry,
    is_exact,
    number_of,
    seconds_of,
    starts_with_stamp,
    zone_of,
)
from steelyard.workloads.capturing.logs.languages import words as english_words
from steelyard.workloads.capturing.logs.other_lines import (
    OtherLines,
    holds_statement,
    is_of_server,
)
from steelyard.workloads.capturing.logs.prefixes import Prefixes

_DETAILS = {"DETAIL": "detail", "STATEMENT": "statement", "CONTEXT": "context"}
_OTHER_DETAILS = ("HINT", "QUERY", "LOCATION", "BACKTRACE")
_SQLSTATE = re.compile(r"(?=[A-Z]*[0-9])[0-9A-Z]{5}: ")
"""Before a message where log_error_verbosity is verbose; AUDIT is none, but pgAudit's."""
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
    doubtful: bool = False
    """Whether what was escaped in it cannot be told from text that looks so."""
    number: int = 0
    """Of its message, as an envelope says it; 0: it does not."""


@dataclass
class _Block:
    """A line that begins an entry, and the lines after it."""

    match: re.Match[str]
    line: LogLine
    whole: bool
    doubtful: bool
    more: list[str] = field(default_factory=list)
    blank: int = 0
    """Lines without a tab or anything else: of the entry if another one of it follows."""
    ended: bool = False
    """Whether a line of something else came after it."""

    def add(self, line: LogLine) -> None:
        """A line after a tab. Behind others' lines it is of either, and so the entry not whole."""
        self.more += [*[""] * self.blank, line.text.removeprefix("\t")]
        self.blank = 0
        self.whole = self.whole and line.whole and not self.ended
        self.doubtful = self.doubtful or line.doubtful


def plain_lines(file: Iterable[str], head: Sequence[str]) -> Iterator[LogLine]:
    """Lines of a file; where every line ends in CR LF, the CR is the file's and not a value's."""
    ends_in_cr = bool(head) and all(line.endswith("\r\n") for line in head if line.endswith("\n"))
    for text in file:
        whole = text.endswith("\n")
        line = text.removesuffix("\n")
        yield LogLine(line.removesuffix("\r") if ends_in_cr else line, whole=whole)


def read_stderr(
    lines: Iterable[LogLine | LogEntry], prefixes: Prefixes, others: OtherLines
) -> Iterator[LogEntry]:
    """An entry and its continuation lines, which begin with a tab; its DETAIL is an entry of its
    own in the file. Entries among the lines stay as they are.

    UsageError: many statements are in lines that are of no entry.
    """
    reader = _Reader(prefixes, others)
    for number, line in enumerate(lines, 1):
        if isinstance(line, LogEntry):
            reader.take(line)
        else:
            reader.read(number, line)
        yield from reader.ready(_BEHIND)
    reader.end()
    yield from reader.ready(0)
    others.require_few()


class _Reader:
    def __init__(self, prefixes: Prefixes, others: OtherLines) -> None:
        self._prefixes, self._others = prefixes, others
        self._latest: deque[LogEntry] = deque()
        self._block: _Block | None = None
        self._begun = False
        """Whether a line came that is none of an entry that began before the file."""
        self._has_tabs = False
        self._lost = set[tuple[str, int]]()
        """Of entries whose first lines may come yet."""

    def ready(self, behind: int) -> Iterator[LogEntry]:
        """Entries that no DETAIL will find any more."""
        while len(self._latest) > behind:
            entry = self._latest.popleft()
            if entry.lost:
                self._lost.discard(_second(entry))
            yield entry

    def take(self, entry: LogEntry) -> None:
        """An entry of another format."""
        self.end()
        self._begun = True
        self._append(entry)

    def read(self, number: int, line: LogLine) -> None:
        """A line, by its number in the file."""
        match = self._prefixes.match(line.text)
        if match is not None:
            self.end()
            self._block = _Block(match, line, line.whole, line.doubtful)
        elif line.text.startswith("\t"):
            self._has_tabs = True
            if self._block is not None:
                self._block.add(line)
            elif not self._begun:
                self._append(LogEntry("", 0.0, "LOG", "", "", whole=False))
        elif not line.text.strip():
            if self._block is not None:
                self._block.blank += 1
            return
        else:
            self._read_other(number, line)
        self._begun = True

    def _read_other(self, number: int, line: LogLine) -> None:
        """A line without the prefix and without a tab, which PostgreSQL puts before all that go on
        (append_with_tabs in elog.c): of another program, or another format."""
        block, is_statement = self._block, holds_statement(line.text)
        is_entry = is_statement or is_of_server(line.text)
        if block is not None:
            block.ended = True
            # What copied the log may have taken the tabs: then the line may be the entry's.
            is_foreign = is_entry or self._has_tabs or starts_with_stamp(line.text)
            block.whole = block.whole and (is_foreign or not line.whole)
        if is_entry:
            self.end()
        if is_statement:
            self._append(self._others.note(number, line.text))
        elif not line.whole:
            self._append(LogEntry("", 0.0, "LOG", "", "", whole=False))

    def end(self) -> None:
        """The entry that was begun has ended."""
        block, self._block = self._block, None
        if block is not None:
            self._finish(block)

    def _append(self, entry: LogEntry) -> None:
        self._latest.append(entry)
        self._others.entries += not entry.other_format

    def _finish(self, block: _Block) -> None:
        """Add an entry, or what belongs to the latest one of its session."""
        fields = {name: value or "" for name, value in block.match.groupdict().items()}
        session = fields.get("session") or fields.get("process") or block.line.session
        label = english_words().get(fields["severity"], fields["severity"])
        first = fields["message"]
        number = number_of(fields.get("number", "")) or block.line.number
        if label in _OTHER_DETAILS or label in _DETAILS:
            name = _DETAILS.get(label)
            texts = {} if name is None else {name: "\n".join([first, *block.more])}
            self._complete(session, number, block, texts, step=1 if fields.get("number") else 0)
            return
        message = "\n".join([_without_sqlstate(first), *block.more])
        stamp, seconds = fields.get("time", ""), fields.get("seconds", "")
        self._append(
            self._with_lost(
                LogEntry(
                    session=session,
                    seconds=float(seconds) if seconds else seconds_of(stamp) or block.line.seconds,
                    severity=fields["severity"],
                    message=message,
                    detail="",
                    user=fields.get("user", ""),
                    database=fields.get("database", ""),
                    application=fields.get("application", ""),
                    vxid=fields.get("vxid", ""),
                    of_worker=bool(fields.get("leader")) or fields.get("backend") == WORKER,
                    whole=block.whole,
                    exact=_is_exact(stamp, seconds, block.line),
                    zone=zone_of(stamp),
                    doubtful=block.doubtful,
                    number=number,
                )
            )
        )

    def _complete(
        self, session: str, number: int, block: _Block, texts: Mapping[str, Any], *, step: int
    ) -> None:
        """Add what belongs to the latest entry of a session, or a lost one: by its number, or as
        one that it has not. `step`: how much higher it is numbered than the line before it."""
        latest, is_whole = self._latest, block.whole or not texts
        for index in range(len(latest) - 1, -1, -1):
            entry = latest[index]
            if entry.session != session or entry.other_format:
                continue
            if number and entry.number and number - entry.number not in (0, step):
                continue
            if any(getattr(entry, name) for name in texts):
                latest[index] = replace(entry, whole=False)  # either of both may be its own
                break
            if not is_whole:
                self._lost.discard(_second(entry))
            latest[index] = replace(
                entry,
                whole=entry.whole and is_whole,
                doubtful=entry.doubtful or (bool(texts) and block.doubtful),
                loose=entry.loose or (bool(texts) and not number),
                number=number or entry.number,
                numbers=entry.numbers + (number > entry.number > 0),
                **texts,
            )
            return
        if texts or number:
            lost = LogEntry(session, 0.0, "LOG", "", "", whole=False, number=number, lost=True)
            self._append(replace(lost, doubtful=block.doubtful, **texts))
            if is_whole and number and step:
                self._lost.add(_second(lost))

    def _with_lost(self, entry: LogEntry) -> LogEntry:
        """The entry with what came before it though it is numbered behind it: what exports a log
        may write lines of one time in any order."""
        place = entry.session, entry.number + 1
        if place not in self._lost:
            return entry
        self._lost.remove(place)
        lost = next(each for each in self._latest if each.lost and _second(each) == place)
        self._latest.remove(lost)
        return replace(
            entry,
            detail=lost.detail,
            statement=lost.statement,
            context=lost.context,
            doubtful=entry.doubtful or lost.doubtful,
            number=lost.number,
            numbers=entry.numbers + lost.numbers,
        )


def _second(lost: LogEntry) -> tuple[str, int]:
    """Session and number of the first line that is there of a lost entry."""
    return lost.session, lost.number - lost.numbers + 1


def _is_exact(stamp: str, seconds: str, line: LogLine) -> bool:
    """Whether an entry's time has fractions of a second: that of its prefix, else of its envelope;
    a prefix without a time says none."""
    if stamp:
        return is_exact(stamp)
    return bool(seconds) or (bool(line.seconds) and line.exact)


def _without_sqlstate(message: str) -> str:
    match = _SQLSTATE.match(message)
    return message if match is None else message[match.end() :]
