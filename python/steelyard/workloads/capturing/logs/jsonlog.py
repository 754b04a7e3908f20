"""Reads logs of JSON objects: jsonlog, and the envelopes in which operators and clouds put entries.

CloudNativePG has csvlog's columns under "record", Azure fields under "properties"; Cloud SQL,
Docker and shippers have a line of text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from steelyard.model.errors import UsageError
from steelyard.workloads.capturing.logs.csvlog import NAMES
from steelyard.workloads.capturing.logs.entry import LogEntry, Names, entry_of

_JSONLOG = Names(
    ("session_id", "pid"), "timestamp", "error_severity", "user", "dbname", "statement"
)
# Diagnostic settings of Azure's flexible server, category PostgreSQLLogs.
_AZURE = Names(
    ("sessionId", "session_id", "processId"), "timestamp", "errorLevel", "user", "database",
    "statement",
)  # fmt: skip
_TEXTS = ("textPayload", "log", "message", "@message", "MESSAGE")
"""Where an envelope has a line of a stderr log."""
_LISTS = ("records", "events", "entries")

Record = LogEntry | str
"""An entry, or lines of a stderr log."""


def read_jsonlog(path: Path, file: Iterable[str]) -> Iterator[Record]:
    """The entries of a file, the oldest first. UsageError: an object in it is no entry; the last
    one may be cut off."""
    lines = iter(file)
    first = next((line for line in lines if line.strip()), "")
    if first.lstrip().startswith("["):
        yield from _of_list(path, first + "".join(lines))
        return
    objects = _objects(path, chain([first], lines))
    head = next(objects, None)
    if head is None:
        return
    # Exports of clouds may begin with the newest.
    if isinstance(head, Mapping) and "textPayload" in head:
        yield from _in_order(path, [head, *objects])
        return
    for value in chain([head], objects):
        yield from _records(path, value)


def _of_list(path: Path, text: str) -> Iterator[Record]:
    decoder, at, values = json.JSONDecoder(), text.index("[") + 1, list[Any]()
    cut = False
    while True:
        while at < len(text) and text[at] in " \t\r\n,":
            at += 1
        if at >= len(text) or text[at] == "]":
            break
        try:
            value, at = decoder.raw_decode(text, at)
        except ValueError:
            cut = True
            break
        values.append(value)
    yield from _in_order(path, values)
    if cut:
        yield _cut(text[at:])


def _in_order(path: Path, values: list[Any]) -> Iterator[Record]:
    stamps = [str(v.get("timestamp", "")) for v in values if isinstance(v, Mapping)]
    nonempty = [stamp for stamp in stamps if stamp]
    newest_first = len(nonempty) > 1 and nonempty[0] > nonempty[-1]
    for value in reversed(values) if newest_first else values:
        yield from _records(path, value)


def _objects(path: Path, lines: Iterable[str]) -> Iterator[Any]:
    """Of each line its value; of a last one that is cut off, an entry that is not whole."""
    broken: tuple[int, str] | None = None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        if broken is not None:
            break
        try:
            yield json.loads(line)
        except ValueError:
            broken = (number, line)
    else:
        if broken is None:
            return
        if broken[0] > 1 and not broken[1].endswith("\n"):
            yield _cut(broken[1])
            return
    raise UsageError(f'could not read log "{path}": line {broken[0]} is no entry')


def _cut(text: str) -> LogEntry:
    message = text.partition('"message"')[2].lstrip(' :"')
    return LogEntry("", 0.0, "LOG", message, "", whole=False)


def _records(path: Path, value: Any) -> Iterator[Record]:
    if isinstance(value, LogEntry):
        yield value
        return
    if not isinstance(value, Mapping):
        raise UsageError(f'could not read log "{path}": it holds {value!r}, which is no entry')
    for name in _LISTS:
        if isinstance(value.get(name), list):
            for inner in value[name]:
                yield from _records(path, inner)
            return
    record, properties = value.get("record"), value.get("properties")
    if "error_severity" in value:
        names = _JSONLOG if "timestamp" in value else NAMES
        yield entry_of(value, names)
    elif isinstance(record, Mapping):
        yield entry_of(record, NAMES)
    elif isinstance(properties, Mapping) and "message" in properties:
        yield _azure(value, properties)
    else:
        # Envelopes hold lines of others too: an operator's own, for one.
        texts = [value[name] for name in _TEXTS if isinstance(value.get(name), str)]
        yield from (f"{text.rstrip()}\n" for text in texts[:1])


def _azure(value: Mapping[str, Any], properties: Mapping[str, Any]) -> Record:
    message = str(properties["message"])
    # The older service has the prefix in its messages, or beside them.
    prefix = str(properties.get("prefix") or "")
    if "errorLevel" not in properties or ("timestamp" not in properties and prefix):
        level = str(properties.get("errorLevel", ""))
        return f"{prefix}{level}:  {message}\n" if prefix and level else f"{message.rstrip()}\n"
    entry = entry_of({"timestamp": value.get("time"), **properties}, _AZURE)
    return replace(entry, database=entry.database or str(properties.get("dbname") or ""))
