"""Defines an entry of a log, and reads its time stamp: what all formats have in common."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

WORKER = "parallel worker"
"""The type of such a process, which no language translates."""
_STAMP = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)[ T](?P<time>\d\d:\d\d:\d\d(?:\.\d{1,6})?)\d*"
    r"(?: ?<?(?P<sign>[+-])(?P<hours>\d\d):?(?P<minutes>\d\d)?(?!\d)"
    r"|Z| <?(?P<zone>[A-Za-z][A-Za-z0-9+-]*))?"
)


@dataclass(frozen=True)
class LogEntry:
    """One message of a session."""

    session: str
    seconds: float  # when it was written, on a clock that begins anywhere
    severity: str
    message: str
    detail: str
    user: str = ""
    database: str = ""
    application: str = ""
    statement: str = ""
    """Of an error: the statement in which it arose."""
    whole: bool = True
    """Whether all of it is there: a log may be copied while it is written."""
    exact: bool = True
    """Whether its time is known, with fractions of a second."""
    received: bool = False
    """Whether its time is when something that carried the log had it, not when it was written."""
    context: str = ""
    vxid: str = ""
    """Its virtual transaction, as the server writes it: 4/17; 4/0: none was open."""
    of_worker: bool = False
    """Whether a parallel worker wrote it, as far as the log says."""
    zone: str = ""
    """The abbreviation of its time's zone; empty: UTC, or none is in the log."""
    doubtful: bool = False
    """Whether what syslog escaped in it cannot be told from text that looks so."""
    other_format: bool = False
    """Whether it is a line of another format, with a statement that is not read."""
    loose: bool = False
    """Whether nothing tells that its detail, context or statement is its own: these are lines of
    their own, and have no numbers."""
    lost: bool = False
    """Whether its first line is not there, and so not what it was."""
    number: int = 0
    """By which the server counts what a session writes, of its last line; 0: it is not known."""
    numbers: int = 1
    """How many it has: a DETAIL may have one of its own."""


def seconds_of(stamp: str) -> float:
    """Of a time stamp, by its offset from UTC; with the abbreviation of a zone (`zone_of`) as if it
    were UTC, so that it does not hang on the zone of this machine. 0: it is none."""
    match = _STAMP.match(stamp)
    if match is None:
        return 0.0
    at = datetime.fromisoformat(f"{match['day']}T{match['time']}").replace(tzinfo=UTC)
    if not match["sign"]:
        return at.timestamp()
    offset_s = 3600 * int(match["hours"]) + 60 * int(match["minutes"] or 0)
    return at.timestamp() - (offset_s if match["sign"] == "+" else -offset_s)


def zone_of(stamp: str) -> str:
    """The abbreviation of a time stamp's zone: CEST; empty where it has an offset, or nothing."""
    match = _STAMP.match(stamp)
    zone = "" if match is None else match["zone"] or ""
    return "" if zone in ("UTC", "UCT", "Z") else zone


def is_exact(stamp: str) -> bool:
    """Whether it is a time stamp with fractions of a second."""
    match = _STAMP.match(stamp)
    return match is not None and "." in match["time"]


def starts_with_stamp(text: str) -> bool:
    """Whether a time stamp stands first."""
    return _STAMP.match(text) is not None


@dataclass(frozen=True)
class Names:
    """What a format calls the fields of an entry; sessions by the first name that has a value."""

    sessions: tuple[str, ...]
    time: str
    severity: str
    user: str
    database: str
    statement: str


def entry_of(fields: Mapping[str, Any], names: Names) -> LogEntry:
    """An entry of named fields."""

    def word(name: str) -> str:
        value = fields.get(name)
        return "" if value is None else str(value)

    stamp = word(names.time)
    return LogEntry(
        session=next((word(name) for name in names.sessions if word(name)), ""),
        seconds=seconds_of(stamp),
        severity=word(names.severity),
        message=word("message"),
        detail=word("detail"),
        user=word(names.user),
        database=word(names.database),
        application=word("application_name"),
        statement=word(names.statement),
        exact=is_exact(stamp),
        zone=zone_of(stamp),
        context=word("context"),
        vxid=word("virtual_transaction_id") or word("vxid"),
        of_worker=word("backend_type") == WORKER,
        number=number_of(word("session_line_num") or word("line_num")),
    )


def number_of(text: str) -> int:
    """Of a line; 0: it is none."""
    return int(text) if text.isascii() and text.isdecimal() else 0
