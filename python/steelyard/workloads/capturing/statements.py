"""Finds the statements in a log's entries: their text, parameters, duration and session."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from steelyard.workloads.capturing.entries import Entry

Protocol = Literal["simple", "extended", "prepared"]

_SAID = re.compile(
    r"^(?:duration: (?P<ms>\d+(?:\.\d+)?) ms  )?"
    r"(?P<how>statement|execute (?P<name>[^:]*)|parse [^:]*|bind [^:]*|fastpath [^:]*): "
    r"(?P<text>.*)$",
    re.DOTALL,
)
_DURATION = re.compile(r"^duration: (\d+(?:\.\d+)?) ms$")
_PARAMETERS = re.compile(r"^(?:Query )?[Pp]arameters: ", re.DOTALL)
_PARAMETER = re.compile(r"\$(\d+) = (?:(NULL)|'((?:[^']|'')*)'(\.\.\.)?)(?:, |$)", re.DOTALL)
_FETCH = "fetch from "


@dataclass(frozen=True)
class LoggedStatement:
    """A statement that was executed."""

    session: str
    ended: float  # seconds, on the log's clock
    duration_ms: float | None  # None: the log does not say
    text: str
    protocol: Protocol
    parameters: tuple[str | None, ...] = ()
    whole: bool = True  # whether its parameters are in the log, none of them cut off
    user: str = ""
    database: str = ""
    application: str = ""


def statements(entries: Iterable[Entry]) -> Iterator[LoggedStatement]:
    """The statements of a log in the order of its entries.

    With log_statement a statement is logged before it is executed and its duration, if at all, in
    an entry of its own afterwards.
    """
    waiting: dict[str, LoggedStatement] = {}
    for entry in entries:
        if entry.severity != "LOG":
            if entry.severity in ("ERROR", "FATAL"):
                waiting.pop(entry.session, None)  # it failed: what it would have done is not known
            continue
        alone = _DURATION.match(entry.message)
        if alone is not None:
            told = waiting.pop(entry.session, None)
            if told is not None:
                yield replace(told, ended=entry.seconds, duration_ms=float(alone[1]))
            continue
        found = _statement(entry)
        if found is None:
            continue
        earlier = waiting.pop(entry.session, None)
        if earlier is not None:
            yield earlier
        if found.duration_ms is None:
            waiting[entry.session] = found
        else:
            yield found
    yield from waiting.values()


def _statement(entry: Entry) -> LoggedStatement | None:
    said = _SAID.match(entry.message)
    if said is None or not said["how"].startswith(("statement", "execute")):
        return None
    name = said["name"]
    if name is not None and name.startswith(_FETCH):
        return None
    protocol: Protocol = "simple"
    if name is not None:
        protocol = "extended" if name.startswith("<unnamed>") else "prepared"
    parameters, whole = _parameters(entry.detail)
    text = said["text"].strip()
    return LoggedStatement(
        session=entry.session,
        ended=entry.seconds,
        duration_ms=None if said["ms"] is None else float(said["ms"]),
        text=text,
        protocol=protocol,
        parameters=parameters,
        whole=whole,
        user=entry.user,
        database=entry.database,
        application=entry.application,
    )


def _parameters(detail: str) -> tuple[tuple[str | None, ...], bool]:
    """Bind parameters in their order, and whether they are whole (log_parameter_max_length)."""
    begins = _PARAMETERS.match(detail)
    if begins is None:
        return (), True
    found, at, whole = list[str | None](), begins.end(), True
    for one in _PARAMETER.finditer(detail, at):
        if one.start() != at or int(one[1]) != len(found) + 1:
            return tuple(found), False
        found.append(None if one[2] else one[3].replace("''", "'"))
        whole = whole and not one[4]
        at = one.end()
    return tuple(found), whole and at == len(detail)
