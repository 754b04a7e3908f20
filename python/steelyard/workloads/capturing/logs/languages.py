"""Puts what a server wrote in another language (lc_messages) into English, by PostgreSQL's own
translations; of languages without them it stays as it is."""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.resources import files

from steelyard.workloads.capturing.logs.entry import LogEntry

_TABLE = "languages.toml"
_DURATION = "duration: %s"
_PARAMETERS = "Parameters: "
_ENGLISH = (
    "duration: ", "statement: ", "execute ", "fastpath function call: ", "connection ",
    "disconnection: ", "checkpoint ", "automatic ",
)  # fmt: skip
"""Beginnings of messages that need no look."""


@dataclass(frozen=True)
class _Language:
    """How a language writes the messages that are read."""

    messages: tuple[tuple[re.Pattern[str], str], ...]
    """The pattern of a translation, and the English message, the longest translation first."""

    def english(self, text: str) -> str | None:
        """The message in English; None: it is none that is known."""
        for pattern, message in self.messages:
            match = pattern.match(text)
            if match is not None:
                return _filled(message, match.groups())
        return None


def _filled(message: str, values: Iterable[str]) -> str:
    for value in values:
        before, _, after = message.partition("%s")
        message = f"{before}{value}\0{after}"
    return message.replace("\0", "")


@functools.cache
def _tables() -> Mapping[str, Mapping[str, list[str]]]:
    text = files(__package__).joinpath(_TABLE).read_text(encoding="utf-8")
    return tomllib.loads(text)


@functools.cache
def words() -> Mapping[str, str]:
    """Severities and labels (STATEMENT) of all languages → the English ones."""
    return {
        translated: english
        for table in _tables().values()
        for english, translations in table.items()
        if english.isupper()
        for translated in translations
    }


@functools.cache
def languages() -> Mapping[str, _Language]:
    """Those that can be read, by their names."""
    return {name: _Language(tuple(_patterns(table))) for name, table in _tables().items()}


def _patterns(table: Mapping[str, list[str]]) -> list[tuple[re.Pattern[str], str]]:
    rows = [
        (translated, english)
        for english, translations in table.items()
        if not english.isupper()
        for translated in translations
    ]
    rows.sort(key=lambda row: -len(row[0].replace("%s", "")))
    return [(_pattern(text, english.startswith(_DURATION)), english) for text, english in rows]


def _pattern(translated: str, is_timed: bool) -> re.Pattern[str]:
    parts = [re.escape(part) for part in translated.split("%s")]
    groups = ["(.*?)"] * (len(parts) - 1)
    if is_timed:
        groups[0] = r"(\d+\.\d+)"
    woven = parts[0]
    for group, part in zip(groups, parts[1:], strict=True):
        woven += group + part
    return re.compile(f"^{woven}{'$' if groups else ''}", re.DOTALL | re.IGNORECASE)


def in_english(entries: Iterable[LogEntry]) -> Iterator[LogEntry]:
    """The entries with severity, message and label of the parameters in English."""
    severities = words()
    latest: _Language | None = None
    for entry in entries:
        severity = severities.get(entry.severity, entry.severity)
        if severity in ("ERROR", "FATAL", "PANIC") or entry.message.startswith(_ENGLISH):
            yield replace(entry, severity=severity) if severity != entry.severity else entry
            continue
        message, detail, latest = _translated(entry, latest)
        yield replace(entry, severity=severity, message=message, detail=detail)


def _translated(entry: LogEntry, latest: _Language | None) -> tuple[str, str, _Language | None]:
    """Message and detail in English where they are known, and the language of them; that of the
    entries before is tried first."""
    others = (language for language in languages().values() if language is not latest)
    for language in (*([] if latest is None else [latest]), *others):
        message = language.english(entry.message)
        if message is not None:
            parameters = language.english(entry.detail)
            is_known = parameters is not None and parameters.startswith(_PARAMETERS)
            return message, parameters if parameters and is_known else entry.detail, language
    return entry.message, entry.detail, latest
