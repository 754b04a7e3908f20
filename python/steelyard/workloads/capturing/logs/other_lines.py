"""Knows lines that are of no entry: of another format, of another program, or of another prefix."""

from __future__ import annotations

import functools
import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.model.errors import UsageError
from steelyard.workloads.capturing.logs.entry import LogEntry
from steelyard.workloads.capturing.logs.foreign_logs import refusal_of_objects
from steelyard.workloads.capturing.logs.languages import in_english
from steelyard.workloads.capturing.logs.prefixes import beginning_of, levels

_MESSAGE = r"(?:[0-9A-Z]{5}: )?(?:duration: \d+(?:\.\d+)? ms  )?(?:statement|execute [^\n]*?): "
_STATEMENT = re.compile(
    rf'(?::  |["\']|^){_MESSAGE}|\bms  (?:statement|execute [^\n]*?): |STATEMENT:  '
)
_EXECUTED = re.compile(f"^{_MESSAGE}")
_FEW = 2
_FEW_SHARE = 0.05


def are_few(others: int, count: int) -> bool:
    """Whether so many of a log's entries may be left out, and counted."""
    return others <= max(_FEW, _FEW_SHARE * count)


@functools.cache
def _level() -> re.Pattern[str]:
    several = "|".join(re.escape(word) for word in sorted(levels(), key=len, reverse=True))
    return re.compile(rf"(?:^|[\s:|>\]()-])(?P<level>{several}) ?:  (?P<message>.*)$", re.DOTALL)


def is_of_server(line: str) -> bool:
    """Whether a line looks like the first one of an entry, whatever its prefix."""
    return ":  " in line and _level().search(line) is not None


def message_of(line: str) -> str:
    """What stands behind the prefix of a line and its severity; empty: it has none, or is cut off
    before it."""
    match = _level().search(line) if ":  " in line else None
    return "" if match is None else match["message"]


def holds_statement(line: str) -> bool:
    """Whether a line of any format seems to be of a statement that a server executed."""
    if _STATEMENT.search(line) is not None:
        return True
    if ":  " not in line or (match := _level().search(line)) is None:
        return False
    [entry] = in_english([LogEntry("", 0.0, match["level"], match["message"], "")])
    return entry.severity == "STATEMENT" or _EXECUTED.match(entry.message) is not None


_NO_SESSION = (
    ", which names no session: without one transactions cannot be told apart, and no log is read. "
    "The export must keep the prefix of lines, or have jsonlog's objects with session_id or pid."
)
_FIELD_NAMES, _FIELD_KEYS = {"field", "name", "key"}, 2
"""Of an object that is no more than a field: {"field": "@message", "value": ...}"""
_PLAIN_KEY = re.compile(r"[A-Za-z_]\w*", re.ASCII)


@dataclass(frozen=True)
class StatementPlace:
    """Where in an object a text is that seems to be of a statement, as jq writes it."""

    path: str
    is_entry: bool = False
    """Whether an entry is there, its fields apart."""
    is_bare: bool = False
    """Whether it is a message alone, without the prefix of its line."""

    @property
    def selection(self) -> str:
        """What writes what is there, of every object of a log."""
        option = "-c" if self.is_entry else "-r"
        return f"jq {option} {shlex.quote(f'.. | objects | ({self.path})? // empty')} LOG > NEW"


def statement_place(value: Any, path: str = "") -> StatementPlace | None:
    """The first one in a value; None: there is none."""
    if isinstance(value, str):
        is_bare = _EXECUTED.match(value) is not None
        return StatementPlace(path, is_bare=is_bare) if holds_statement(value) else None
    for step, inner in _beneath(value, path):
        place = statement_place(inner, step)
        if place is not None:
            is_entry = isinstance(value, Mapping) and "error_severity" in value
            return StatementPlace(path, is_entry=True) if is_entry else place
    return None


def _beneath(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    # jq ends at the first error of a path; behind a list each step has errors of its own.
    end = "?" if "[]?" in path else ""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            is_plain = _PLAIN_KEY.fullmatch(key) is not None
            step = f"{path}.{key}" if is_plain else f"{path or '.'}[{json.dumps(key)}]"
            yield step + end, inner
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            is_series = len(value) == 1 or _is_of_series(inner, value)
            yield f"{path}[]?" if is_series else f"{path}[{number}]{end}", inner


def _is_of_series(inner: Any, values: Sequence[Any]) -> bool:
    """Whether an element of a list is one of many alike, and not of a row or a list of fields."""
    if isinstance(inner, Mapping):
        return len(inner) != _FIELD_KEYS or not inner.keys() & _FIELD_NAMES
    if isinstance(inner, str):
        return sum(isinstance(text, str) and is_of_server(text) for text in values) > 1
    return isinstance(inner, list)


@dataclass
class OtherLines:
    """Counts the statements of a file in lines of another format, or in objects where none is
    looked for, beside those that are read."""

    path: Path
    entries: int = 0
    others: int = 0
    first: tuple[int, str | StatementPlace] = (0, "")
    """The first of them: the number of its line, and how that begins; or that of its object, and
    where it is there."""
    foreign: tuple[int, Mapping[str, Any]] | None = None
    """The first object that is nothing of a log, and its number."""

    def note(self, number: int, line: str) -> LogEntry:
        """An entry in place of such a line, so that it is counted."""
        return self._note(number, beginning_of(line))

    def note_object(self, number: int, place: StatementPlace) -> LogEntry:
        """Likewise in place of an object."""
        return self._note(number, place)

    def note_foreign(self, number: int, value: Mapping[str, Any]) -> None:
        """Note an object without an entry, a line of a log, or a statement."""
        self.foreign = self.foreign or (number, value)

    def _note(self, number: int, where: str | StatementPlace) -> LogEntry:
        self.first = self.first if self.others else (number, where)
        self.others += 1
        return LogEntry("", 0.0, "LOG", "", "", other_format=True)

    def require_few(self) -> None:
        """UsageError: they are too many to be left out, or all that there is; or there is nothing
        but objects of another kind."""
        if self.foreign is not None and not (self.others or self.entries):
            raise refusal_of_objects(self.path, *self.foreign)
        is_all = self.others > 0 and not self.entries
        if are_few(self.others, self.others + self.entries) and not is_all:
            return
        number, beginning = self.first
        if isinstance(beginning, StatementPlace):
            raise UsageError(
                f'could not read log "{self.path}": {self.others} of its objects have a statement '
                f"where none is looked for, the first is object {number}",
                detail=f"It is in {beginning.path}.",
                hint=f"{beginning.selection} writes what is there alone"
                f"{_NO_SESSION if beginning.is_bare else '.'}",
            )
        raise UsageError(
            f'could not read log "{self.path}": {self.others} statements are in another format '
            f"than the rest, the first in line {number}",
            detail=f"Line {number} begins: {beginning}",
            hint="--prefix names the prefix of a stderr log; a log of two formats must be cut in "
            "two.",
        )
