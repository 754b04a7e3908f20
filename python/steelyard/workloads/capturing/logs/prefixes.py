"""Tells by a log_line_prefix where an entry begins: the escapes of PostgreSQL 14 to 18."""

from __future__ import annotations

import functools
import re
import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from steelyard.model.errors import UsageError
from steelyard.model.files.printable import printable_line
from steelyard.workloads.capturing.logs.foreign_logs import refusal_of_lines
from steelyard.workloads.capturing.logs.languages import words

# No abbreviation of a zone has a colon, which an address after it may have.
_ZONE = r"(?:[A-Za-z0-9+-]+|[+-]\d\d:\d\d|<[A-Za-z0-9+-]+>[0-9:+-]*)"
_TIME = rf"\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?(?: {_ZONE})?"
_ESCAPES = {
    "a": r"(?P<application>.*?)",
    "u": r"(?P<user>.*?)",
    "d": r"(?P<database>.*?)",
    "r": r"(?:.*?)",
    "h": r"(?:.*?)",
    "b": r"(?P<backend>.*?)",
    "p": r"(?P<process>\d+)",
    "P": r"(?P<leader>\d*)",
    "t": rf"(?P<time>{_TIME})",
    "m": rf"(?P<time>{_TIME})",
    "n": r"(?P<seconds>\d+\.\d+)",
    "i": r"(?:.*?)",
    "e": r"(?:[0-9A-Z]{5})",
    "c": r"(?P<session>[0-9a-f]+\.[0-9a-f]+)",
    "l": r"(?P<number>\d+)",
    "s": rf"(?:{_TIME})",
    "v": r"(?P<vxid>[\d/]*)",
    "x": r"(?:\d+)",
    "Q": r"(?:-?\d+)",
    "L": r"(?:.*?)",
}
# Where a prefix is guessed, what stands between its names must not be taken for part of one: a
# database of "shop/web" is a sign of another prefix. Users may be addresses: joe@example.com.
_GUESSED = {
    "u": r"(?P<user>[^\s,=/|:]*)",
    "d": r"(?P<database>[^\s,=/|:@]*)",
}
_ESCAPE = re.compile(r"%(-?\d*)([a-zA-Z%])|([^%]+)|%")

USUAL = (
    "%m [%p] ",  # PostgreSQL's default
    "%m [%p] %q%u@%d ",  # Debian's
    "%m [%p] %q[user=%u,db=%d,app=%a,host=%h] ",  # pganalyze's advice
    "%m [%p] %q[user=%u,db=%d,app=%a] ",
    "%t [%p]: [%l-1] user=%u,db=%d,app=%a,client=%h ",  # pgBadger's advice, old and new
    "%t [%p]: user=%u,db=%d,app=%a,client=%h ",
    "%t [%p]: [%l-1] db=%d,user=%u,app=%a,client=%h ",
    "%t [%p]: db=%d,user=%u,app=%a,client=%h ",
    "%t [%p] ",
    "%m %u@%d [%p] ",
    "%t:%r:%u@%d:[%p]:",  # Amazon RDS
    "%m [%p] %u@%d ",
    "%t [%p-%l] %u@%d ",
    "%t [%p-%l] %q%u@%d ",
    "pid=%p,user=%u,db=%d,app=%a,client=%h ",  # Aiven
    "%m [%p]: [%l-1] db=%d,user=%u ",  # Google Cloud SQL
    "[%p]: [%l-1] db=%d,user=%u ",  # and its earlier one
    "%m [%p]: [%l-1] user=%u,db=%d ",
    "%m:%r:%u@%d:[%p]:%l:%e:%s:%v:%x:%c:%q%a:",  # Amazon Aurora
    "%t-%c-",  # Azure
    "%m|%u|%d|%c|",  # pgreplay's advice
)
"""Prefixes that are tried where none is named."""
_WITHOUT_SESSIONS = (
    "", "%q%u@%d ", "user=%u,db=%d,app=%a,client=%h ", "db=%d,user=%u,app=%a,client=%h ",
    "user=%u,db=%d ", "db=%d,user=%u ",
    " sql_error_code = %e ",  # Heroku's earlier one, and its own
    ' sql_error_code = %e time_ms = "%m" pid="%p" proc_start_time="%s" session_id="%c" vtid="%v" '
    'tid="%x" log_line="%l" %qdatabase="%d" connection_source="%r" user="%u" '
    'application_name="%a" ',
)  # fmt: skip
"""Those that are usual where another names the process: syslog."""
_LEVELS = (
    "LOG", "ERROR", "FATAL", "PANIC", "WARNING", "NOTICE", "INFO", "STATEMENT", "DETAIL", "HINT",
    "CONTEXT", "QUERY", "LOCATION", "BACKTRACE", *(f"DEBUG{level}" for level in range(1, 6)),
)  # fmt: skip
_LEVEL = re.compile(
    r"(?:LOG|ERROR|FATAL|WARNING|STATEMENT|DETAIL|statement|duration): |[^\W\d_]+\d? ?:  "
)
_LONGEST_PREFIX = 60
_LONGEST_HEAD = 400
_STAMP = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
_OF_GREP = re.compile(r"[^\s:]+:(?:\d+:)?")
"""A file's name, and the number of a line."""
_OF_SYSLOG = re.compile(r"\S\[\d+\]:?\s|\[\d+-\d+\] ?$")
"""A process, or the numbers that PostgreSQL gives to lines for syslog: both are needed."""
_TIME_OR_NUMBER = re.compile(r"[\d:.,TZ+-]+|[A-Z][a-z]{2}")


def levels() -> frozenset[str]:
    """What may stand for a severity or a label, in all languages that are known."""
    return frozenset((*_LEVELS, *words()))


def prefix_pattern(prefix: str, *, sessions: bool = True, guessed: bool = False) -> re.Pattern[str]:
    """What matches a first line: the prefix, the severity, and the message. `guessed`: names of
    users and databases are taken to be plain.

    UsageError: the prefix names neither process nor session, which it must for `sessions`, or has
    an unknown escape.
    """
    escapes = _ESCAPES | _GUESSED if guessed else _ESCAPES
    pieces, groups, optional = [], set[str](), False
    for match in _ESCAPE.finditer(prefix):
        width, letter, text = match.groups()
        if text is not None:
            pieces.append(re.escape(text))
        elif letter == "%":
            pieces.append("%")
        elif letter == "q":  # what follows is of sessions alone
            pieces.append("(?:")
            optional = True
        elif letter in escapes:
            pieces.append(_padded(_once(escapes[letter], groups), width))
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


def _padded(pattern: str, width: str) -> str:
    """`%6p` has blanks before it, `%-6p` behind."""
    if not width:
        return pattern
    return f"{pattern} *" if width.startswith("-") else f" *{pattern}"


class Prefixes:
    """The prefix of a log's lines. One that was guessed gives way to another usual one where lines
    begin to have that: settings change, and so do logs that are put together."""

    def __init__(
        self, current: re.Pattern[str] | None, others: Sequence[re.Pattern[str]] = ()
    ) -> None:
        self._current = current
        self._others = others
        self._levels = levels() if others else frozenset()

    @property
    def has_time(self) -> bool:
        """Whether it says when an entry was written."""
        groups = {} if self._current is None else self._current.groupindex
        return "time" in groups or "seconds" in groups

    def match(self, line: str) -> re.Match[str] | None:
        """The prefix, severity and message of a line that begins an entry; None: it does not."""
        match = None if self._current is None else self._current.match(line)
        if match is not None or line.startswith("\t") or ":  " not in line:
            return match
        for pattern in self._others:
            match = pattern.match(line)
            if match is not None and match["severity"] in self._levels:
                self._current = pattern
                return match
        return None


def prefixes_of(
    path: Path,
    head: Sequence[str],
    prefix: str | None,
    *,
    sessions: bool = True,
    required: bool = True,
    raw: Sequence[str] = (),
) -> Prefixes:
    """Of the prefix that was named, or of the usual one that most of the first lines have.
    `sessions`: whether it must tell sessions apart; `required`: whether a line must have it; `raw`:
    lines as they are in the file, where something was taken off of these.

    UsageError: no line has it, or none is known.
    """
    if required and not any(line.strip() for line in head):
        raise UsageError(
            f'could not read log "{path}": it is empty',
            hint="SHOW log_destination and SHOW log_directory say where the server's log is.",
        )
    if prefix is not None:
        pattern = prefix_pattern(prefix, sessions=sessions)
        if required and not any(pattern.match(line) for line in head):
            raise UsageError(
                f'could not read log "{path}": no line begins with the prefix "{prefix}"',
                detail=f"The first line begins: {beginning_of(head[0])}",
            )
        return Prefixes(pattern)
    patterns = [
        prefix_pattern(usual, sessions=sessions, guessed=True)
        for usual in _by_preference(USUAL if sessions else (*USUAL, *_WITHOUT_SESSIONS))
    ]
    counted = [(sum(1 for line in head if pattern.match(line)), pattern) for pattern in patterns]
    most, best = max(counted, key=lambda count: count[0])
    if required and not most:
        raise (
            refusal_of_lines(path, head)
            or _refusal_of_heads(path, raw or head)
            or UsageError(
                f'could not read log "{path}": its lines begin with no prefix that is known',
                detail=f"The first line begins: {beginning_of(head[0])}",
                hint="Name it as the server has it: --prefix '%m [%p] ' (SHOW log_line_prefix).",
            )
        )
    # Without a process a prefix is little: text that goes on may look like it.
    return Prefixes(best if most else None, patterns[: len(USUAL)])


def _refusal_of_heads(path: Path, lines: Sequence[str]) -> UsageError | None:
    """Of lines with something before a usual prefix, as what shows or collects logs puts there:
    with what takes it off; None: they have not."""
    heads = [head for line in lines if (head := _before_prefix(line)) is not None]
    takes_off, sources = _without_heads(heads), Counter(map(_source, heads))
    entries = sum(1 for line in lines if ":  " in line and _LEVEL.search(line) is not None)
    if 2 * len(heads) <= entries:
        return None
    if any(_OF_SYSLOG.search(head) for head in heads):
        return UsageError(
            f'could not read log "{path}": its lines have heads of syslog in a form that is not '
            "known",
            detail=f"The first of them begins: {printable_line(heads[0])[:_LONGEST_PREFIX]}",
            hint="journalctl -o short-iso-precise and rsyslog write what is read: "
            "2026-11-28T03:00:00.123456+00:00 HOST postgres[100]: [7-1] ...",
        )
    if takes_off is None or len(sources) > max(1, len(heads) // 2):
        return None
    of_one = ""
    source, _ = sources.most_common(1)[0]
    if len(sources) > 1 and any(source in head for head in heads):
        of_one = f"grep -F {shlex.quote(source)} LOG | "
    return UsageError(
        f'could not read log "{path}": something stands before the prefix of its lines',
        detail=f"The first of them begins: {printable_line(heads[0])[:_LONGEST_PREFIX]}",
        hint=f"{of_one}sed -E '{takes_off}'{'' if of_one else ' LOG'} > NEW takes it off"
        f"{', of one of several sources' if of_one else ''}.",
    )


def _before_prefix(line: str) -> str | None:
    """What stands before a usual prefix with a time; None: it has none, or that stands first."""
    starts = (match.start() for match in _STAMP.finditer(line, 1, _LONGEST_HEAD))
    return next((line[:start] for start in starts if is_known(line[start:])), None)


def _without_heads(heads: Sequence[str]) -> str | None:
    """What sed takes off of lines that begin so; None: they do not begin alike."""
    words = {len(head.split()) for head in heads}
    if heads and all("\x1b[" in head for head in heads):
        return r"s/\x1b\[[0-9;]*m//g"
    if heads and all(map(_OF_GREP.fullmatch, heads)):
        return f"s/^([^:]*:){{{min(head.count(':') for head in heads)}}}//"
    ends = {head[len(head.rstrip()) :] for head in heads}
    if len(words) != 1 or len(ends) != 1 or ends == {""}:
        return None
    before = rf"(\S+\s+){{{words.pop() - 1}}}".replace(r"(\S+\s+){0}", "")
    end = ends.pop().replace("\t", r"\t")
    return rf"s/^\s*{before}\S+{end}//"


def _source(head: str) -> str:
    """The words of what stands before a prefix, but for times and numbers; of a file's name
    nothing, for the logs of one server have many."""
    if _OF_GREP.fullmatch(head) is not None:
        return ""
    return " ".join(word for word in head.split() if _TIME_OR_NUMBER.fullmatch(word) is None)


def _by_preference(prefixes: Sequence[str]) -> list[str]:
    """Those first that read lines of background processes and of sessions alike, so that a log
    which begins with the former is read on."""
    return sorted(prefixes, key=lambda prefix: (prefix in _WITHOUT_SESSIONS, "%q" not in prefix))


def is_known(line: str) -> bool:
    """Whether a line begins with a usual prefix."""
    return ":  " in line and any(pattern.match(line) for pattern in _usual())


@functools.cache
def _usual() -> tuple[re.Pattern[str], ...]:
    return tuple(prefix_pattern(prefix, guessed=True) for prefix in USUAL)


def beginning_of(line: str) -> str:
    """Of a line what may be its prefix: values of users come after it. Of one without a severity,
    which may be values alone, how it looks: letters as x, digits as 9."""
    parts = _LEVEL.split(line, maxsplit=1)
    beginning = parts[0][:_LONGEST_PREFIX].rstrip()
    if len(parts) > 1:
        return beginning
    return "".join("9" if sign.isdigit() else "x" if sign.isalpha() else sign for sign in beginning)
