"""Defines an entry of a log, and reads its time stamp: what all formats have in common."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

_STAMP = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d(?:\.\d{1,6})?)")


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
    """Whether its time has fractions of a second."""


def seconds_of(stamp: str) -> float:
    """Of a time stamp, its zone left out: only differences within a log matter."""
    match = _STAMP.match(stamp)
    if match is None:
        return 0.0
    return datetime.fromisoformat(f"{match[1]}T{match[2]}").timestamp()


def is_exact(stamp: str) -> bool:
    """Whether a time stamp has fractions of a second."""
    match = _STAMP.match(stamp)
    return match is None or "." in match[2]


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
    )
