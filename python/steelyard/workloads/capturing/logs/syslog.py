"""Reads syslog: an entry's lines, which syslog has cut and numbered: `[7-2] #011FROM t`; those of
journald, of RFC 5424, and those without numbers too.

What syslog daemons escaped of a server's lines (rsyslog: a tab is `#011`) is put back as far as it
can be told from text that looks so.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from steelyard.model.errors import UsageError
from steelyard.workloads.capturing.logs.clock import ANY_YEAR
from steelyard.workloads.capturing.logs.entry import LogEntry, is_exact, seconds_of
from steelyard.workloads.capturing.logs.other_lines import is_of_server
from steelyard.workloads.capturing.logs.servers import LogServer, Source
from steelyard.workloads.capturing.logs.stderr_log import LogLine
from steelyard.workloads.capturing.memory import MOST_SESSIONS

_TIME = (
    r"(?P<time>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)?"
    r"|\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[-+]\d\d:?\d\d)?)"
)
# Heroku puts the name of the server before the numbers, and a service before the process.
_TEXT = r"(?:(?:\[(?P<colour>[A-Z][A-Z0-9_]*)\] )?\[(?P<number>\d+)-(?P<part>\d+)\] )?(?P<text>.*)$"
_LINE = re.compile(
    rf"^(?:<\d+>1? ?)?{_TIME} (?:(?P<host>\S+) )?(?P<name>[^\s\[\]:]+)"
    r"\[(?:(?:heroku-)?postgres\.)?(?P<process>\d+)\]: "
    rf"(?:\[(?:ID )?\d+ [\w.]+\] )?{_TEXT}",
    re.DOTALL,
)
_RFC_5424 = re.compile(
    rf"^<\d+>1 {_TIME} (?P<host>\S+) (?P<name>\S+) (?P<process>\d+) \S+ "
    rf"(?:-|(?:\[(?:[^\]\\]|\\.)*\])+) \ufeff?{_TEXT}",
    re.DOTALL,
)
_REPEATED = re.compile(r"message repeated (?P<times>\d+) times: \[")
"""rsyslog, in place of lines that are as the one before of their process."""
_LAST_REPEATED = re.compile(
    rf"^(?:<\d+>1? ?)?{_TIME} (?:\S+ )?(?:\S+: )?(?:--- )?last message (?:'.*' )?"
    r"repeated (?P<times>\d+) times",
    re.IGNORECASE | re.DOTALL,
)
"""Other daemons (sysklogd, BSD's, syslog-ng), of the line before in the file."""
_BLOB = re.compile(r"\[[\d.]+[KMGTPE]?B? blob data\]\s*$")
"""journalctl, in place of a line with other control characters than a tab."""
_HEAD = re.compile(rf"^(?:<\d+>1? ?)?{_TIME} ")
"""Of a line of a program that is not read."""
_JOURNALS = re.compile(r"-- .* --$")
"""What journalctl writes of its own: -- Boot 3f2a --"""
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_LATER_S, _LATER_LINES = 30.0, 10_000
"""So long after its last line, or so many lines, a message does not go on any more."""
_TAB, _FEED = "#011", "#012"
_LEADING = re.compile(r"(?:#011)+")
_ESCAPED = re.compile(r"#(?P<octal>0[0-3][0-7]|177)(?P<more>[0-9a-fA-F]*)(?P<word>\w?)")
_SPACES = {"011": "\t", "013": "\v", "014": "\f", "015": "\r"}
_COLOUR_DIGITS = (6, 8)
_HEAD_OF_AWK = "^(<[0-9]+>1? ?)?([A-Z][a-z][a-z] [ 0-9]|[0-9-]+T)[0-9]"
_SPECIAL = re.compile(r"[][/\\.*+?(){}|^$]")
Begins = Callable[[str], "re.Match[str] | None"]
"""The match of a text that begins an entry; it has a group `message`."""


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


def _matched(line: str) -> re.Match[str] | None:
    line = line.removesuffix("\n").removesuffix("\r")
    return _RFC_5424.match(line) or _LINE.match(line)


def is_syslog(line: str, prefix: re.Pattern[str] | None = None) -> bool:
    """Whether a line is syslog's, of a server by its numbers or its text. `prefix`: what was named,
    for one that begins with a time may look like syslog's."""
    match = _matched(line)
    if match is None or match["number"] is not None:
        return match is not None
    own = None if prefix is None else prefix.match(line)
    if own is not None and own.groupdict().get("time") and own.start("time") == 0:
        return False
    return is_of_server(match["text"])


@dataclass(frozen=True)
class SyslogForm:
    """What the first lines of a file show of all."""

    numbered: bool
    """Whether PostgreSQL numbered its lines (syslog_sequence_numbers)."""
    names: frozenset[str]
    """What servers are called in it; of lines without numbers nothing else tells them."""
    escaped: bool
    """Whether tabs are escaped, as far as is known."""
    texts: tuple[str, ...]
    """Of the server's lines, what it wrote."""


def syslog_form(head: Sequence[str]) -> SyslogForm:
    """The form of a file that begins so."""
    matches = [match for line in head if (match := _matched(line)) is not None]
    numbered = any(match["number"] is not None for match in matches)
    names = frozenset(match["name"] for match in matches if is_of_server(match["text"]))
    own = [match["text"] for match in matches if _is_server(match, numbered, names)]
    texts = [text for text in own if _REPEATED.match(text) is None]
    escaped = not any(text.startswith("\t") for text in texts)
    return SyslogForm(numbered, names, escaped, tuple(leading(text) for text in texts))


def _is_server(match: re.Match[str], numbered: bool, names: frozenset[str]) -> bool:
    return match["number"] is not None if numbered else match["name"] in names


@dataclass
class _Message:
    """What a process has written under one number."""

    number: str
    seconds: float = 0.0
    place: int = 0
    """When its last line was written, and which of the server's lines it is."""
    ended: bool = False
    """Whether no other line is of it."""
    parts: int = 0
    whole: bool = True
    """Whether none of its parts is missing: daemons drop what comes too fast."""
    lines: list[LogLine] = field(default_factory=list)
    width: int = 0
    """Of syslog's head of its last line."""
    last: re.Match[str] | None = None
    """Of its last line, as syslog has it; None: of one that goes on without syslog's head."""


def _width(match: re.Match[str]) -> int:
    """Of syslog's head, before PostgreSQL's number or its text."""
    return match.start("text") if match["number"] is None else match.start("number") - 1


def _source(match: re.Match[str]) -> Source:
    """The host and the name that syslog wrote, and Heroku's of the server. A blank within the time
    is no syslog's: there they are words of a log_line_prefix that looks so."""
    stamp = match["time"]
    if stamp[0].isdigit() and " " in stamp:
        return ()
    host = (("host", match["host"]),) if match["host"] else ()
    colour = (("colour", match["colour"]),) if match["colour"] else ()
    return (*host, ("name", match["name"]), *colour)


def _selection(key: str, text: str) -> str:
    """What writes the lines of one server, and those without syslog's head that go on in them."""
    if key == "colour":
        return f"grep -F '[{text}]' LOG > NEW writes those of one."
    name = _SPECIAL.sub(r"\\\g<0>", text) + (" " if key == "host" else "[[ ]")
    return f"awk '/{_HEAD_OF_AWK}/{{k=/ {name}/}} k' LOG > NEW writes those of one."


def syslog_lines(
    path: Path, file: Iterable[str], form: SyslogForm, begins: Begins
) -> Iterator[LogLine | LogEntry]:
    """The lines as PostgreSQL wrote them, those of a message together. `begins`: the match of a
    text that begins an entry.

    PostgreSQL cuts at line feeds, after which it writes a tab or a prefix, and long lines between
    words (write_syslog in elog.c): any other part goes on in the line before it.

    UsageError: there are statements of several servers, or journalctl left out lines.
    """
    reader = _Reader(form, begins, LogServer(path, _selection))
    for raw in file:
        yield from reader.read(raw)
    yield from reader.end()


class _Reader:
    def __init__(self, form: SyslogForm, begins: Begins, server: LogServer) -> None:
        self._form, self._begins, self._server = form, begins, server
        self._messages: dict[str, _Message] = {}
        """The latest one of each process."""
        self._waiting = deque[_Message]()
        """Those that may go on, and behind them those that have ended: their order is that of
        their beginnings, for another process may have ended the server before one says more."""
        self._place = 0
        self._latest: _Message | None = None
        """Of the line before, which others without syslog's head go on."""
        self._begun = False
        """Whether a line came that is none of an entry that began before the file."""

    def read(self, raw: str) -> Iterator[LogLine | LogEntry]:
        match = _matched(raw)
        self._begun = self._begun or match is not None
        is_server = match is not None and _is_server(match, self._form.numbered, self._form.names)
        if not is_server and (again := _LAST_REPEATED.match(raw)) is not None:
            yield from self._repeat(self._latest, again["times"], again["time"])
        elif match is None:
            yield from self._go_on(raw)
        elif match["name"] in self._form.names and _BLOB.match(raw, _width(match)) is not None:
            raise UsageError(
                f'could not read log "{self._server.path}": journalctl left out lines of the '
                "server that have control characters",
                detail=f"It wrote: {raw[_width(match) :].strip()}",
                hint="journalctl --all writes them.",
            )
        elif not is_server or not self._server.takes(_source(match), match["text"]):
            self._latest = None
        else:
            message = self._messages.get(match["process"])
            again = None if message is None else _REPEATED.match(match["text"])
            if again is not None:
                yield from self._repeat(message, again["times"], match["time"])
            else:
                seconds, exact = _time(match["time"])
                yield from self._read(match, seconds, exact, whole=raw.endswith("\n"))

    def _repeat(
        self, message: _Message | None, times: str, stamp: str
    ) -> Iterator[LogLine | LogEntry]:
        """The last line of a message as often again as syslog counted it, at moments that it does
        not say; None: it was another program's."""
        last, (seconds, _) = None if message is None else message.last, _time(stamp)
        for _ in range(0 if message is None else int(times)):
            if last is None:
                yield LogEntry("", 0.0, "LOG", "", "", whole=False)
            else:
                yield from self._read(last, seconds, exact=False, whole=True)

    def _read(
        self, match: re.Match[str], seconds: float, exact: bool, *, whole: bool
    ) -> Iterator[LogLine | LogEntry]:
        """A line of the server's, at a time."""
        process, text = match["process"], match["text"]
        message = self._messages.get(process)
        if message is None or message.ended or self._is_next(message, match):
            if message is not None:
                self._messages.pop(process).ended = True
            if len(self._messages) > MOST_SESSIONS:
                del self._messages[next(iter(self._messages))]
            message = self._messages[process] = _Message(match["number"] or "")
            self._waiting.append(message)
        self._place += 1
        message.seconds, message.place = seconds, self._place
        self._latest, message.last, message.width = message, match, _width(match)
        message.parts += 1
        if match["part"] is not None:
            message.whole = message.whole and int(match["part"]) == message.parts
        exact = exact and match["colour"] is None  # Heroku writes zeros behind whole seconds
        written = int(match["number"] or 0)
        for number, piece in enumerate(split_lines(text, self._begins)):
            line = LogLine(piece, process, seconds, exact, whole, number=written)
            if not number and message.lines and not self._is_line(piece):
                before = message.lines.pop()
                line = replace(line, text=before.text + piece)
            message.lines.append(line)
        yield from self._ended(seconds)

    def _ended(self, seconds: float) -> Iterator[LogLine | LogEntry]:
        """Of the messages that have ended before all that may go on."""
        while self._waiting:
            first = self._waiting[0]
            is_old = abs(seconds - first.seconds) > _LATER_S
            if not (first.ended or is_old or self._place - first.place > _LATER_LINES):
                return
            first.ended = True
            yield from self._lines(self._waiting.popleft())
            first.lines = []

    def _is_next(self, message: _Message, match: re.Match[str]) -> bool:
        if self._form.numbered:
            return message.number != match["number"]
        return self._begins(match["text"]) is not None

    def _is_line(self, text: str) -> bool:
        return text.startswith(("\t", "#011")) or self._begins(text) is not None

    def _go_on(self, raw: str) -> Iterator[LogEntry]:
        """A line of the file without syslog's head: of a message that was neither split nor
        escaped, or another program's."""
        text = self._tail(raw.removesuffix("\n").removesuffix("\r"))
        if not self._begun and raw.lstrip(" ").startswith("\t"):
            self._begun = True
            yield LogEntry("", 0.0, "LOG", "", "", whole=False)
        if text is None and _HEAD.match(raw) is not None:
            self._latest = None
        elif text is None and self._latest is not None and _JOURNALS.match(raw) is None:
            self._latest.whole = False
        if text is None or self._latest is None:
            return
        self._latest.last = None
        before = self._latest.lines[-1]
        self._latest.lines.append(replace(before, text=text, whole=raw.endswith("\n")))

    def _tail(self, text: str) -> str | None:
        """Such a line as the server wrote it; None: of what goes on in a statement it is none.

        journalctl puts blanks before it, as wide as the head; what went through something else may
        have lost tabs, or have others.
        """
        blanks = " " * (0 if self._latest is None else self._latest.width)
        own = text.removeprefix(blanks)
        is_own = not own.strip() or own.startswith("\t") or self._begins(own) is not None
        return own if is_own else None

    def end(self) -> Iterator[LogLine | LogEntry]:
        """Of the messages that no line ended."""
        for message in self._waiting:
            yield from self._lines(message)

    def _lines(self, message: _Message) -> Iterator[LogLine | LogEntry]:
        if self._begins(message.lines[0].text) is None:
            yield LogEntry("", 0.0, "LOG", "", "", whole=False)
            return
        plain = Plain(self._begins)
        for line in message.lines:
            text, doubtful = plain.line(line.text) if self._form.escaped else (line.text, False)
            yield replace(line, text=text, doubtful=doubtful, whole=line.whole and message.whole)


def _time(stamp: str) -> tuple[float, bool]:
    if not stamp[0].isalpha():
        return seconds_of(stamp), is_exact(stamp)
    month = _MONTHS.index(stamp[:3]) + 1 if stamp[:3] in _MONTHS else 1
    stamp = f"{ANY_YEAR}-{month:02}-{int(stamp[4:6]):02} {stamp[7:]}"
    return seconds_of(stamp), is_exact(stamp)


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


def _is_value(escape: re.Match[str], text: str) -> bool:
    """Whether it is all of a value: '#011'."""
    end = escape.end() - len(escape["word"])
    return text[escape.start() - 1 : escape.start()] == "'" == text[end : end + 1]


def _is_token(escape: re.Match[str], text: str) -> bool:
    """Whether it stands by itself, as a number of a ticket does: "see #011"."""
    before = text[escape.start() - 1 : escape.start()]
    return not (escape["word"] or before.isalnum() or text[escape.end() :].startswith("#"))
