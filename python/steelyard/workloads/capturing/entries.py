"""Cuts server logs into entries: csvlog, jsonlog, and stderr with a prefix."""

from __future__ import annotations

import csv
import gzip
import json
import re
import sys
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Literal

from steelyard.model.errors import UsageError
from steelyard.workloads.capturing.prefix import USUAL, prefix_pattern

Format = Literal["csv", "json", "stderr"]
# Columns of csvlog since 14 (config.sgml, "Using CSV-Format Log Output").
_TIME, _USER, _DATABASE, _PROCESS, _SESSION = 0, 1, 2, 3, 5
_SEVERITY, _MESSAGE, _DETAIL, _APPLICATION = 11, 13, 14, 22
_FEWEST_COLUMNS = 23
_HEAD_LINES = 200
_DETAILS = ("DETAIL", "HINT", "CONTEXT", "STATEMENT", "QUERY", "LOCATION")
_STAMP = re.compile(r"(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?)")


@dataclass(frozen=True)
class Entry:
    """One message of a session."""

    session: str
    seconds: float  # when it was written, on a clock that begins anywhere
    severity: str
    message: str
    detail: str
    user: str = ""
    database: str = ""
    application: str = ""


def read_entries(paths: Sequence[Path], prefix: str | None = None) -> Iterator[Entry]:
    """The entries of logs, file by file. UsageError: a file is no log that can be read."""
    for path in paths:
        yield from _of_file(path, prefix)


def _of_file(path: Path, prefix: str | None) -> Iterator[Entry]:
    try:
        with _opened(path) as file:
            head = [line for _, line in zip(range(_HEAD_LINES), file, strict=False)]
        kind = format_of(head)
        with _opened(path) as file:
            if kind == "csv":
                yield from _csv(path, file)
            elif kind == "json":
                yield from _json(path, file)
            else:
                yield from _stderr(file, _pattern(path, head, prefix))
    except OSError as error:
        raise UsageError(f'could not read log "{path}": {error.strerror or error}') from error


def _opened(path: Path) -> IO[str]:
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    if packed:
        return gzip.open(path, "rt", encoding="utf-8", errors="replace", newline="")
    return path.open(encoding="utf-8", errors="replace", newline="")


def format_of(head: Sequence[str]) -> Format:
    """Which format the first lines are of."""
    first = next((line for line in head if line.strip()), "")
    if first.lstrip().startswith("{"):
        return "json"
    row = next(csv.reader([first]), [])
    # A statement of several lines goes on in the next: the first may lack columns.
    return "csv" if len(row) > _SEVERITY and _STAMP.match(row[0]) else "stderr"


def _csv(path: Path, file: IO[str]) -> Iterator[Entry]:
    csv.field_size_limit(sys.maxsize)
    for number, row in enumerate(csv.reader(file), 1):
        if len(row) < _FEWEST_COLUMNS:
            raise UsageError(
                f'could not read log "{path}": entry {number} has {len(row)} columns',
                detail=f"csvlog has at least {_FEWEST_COLUMNS}.",
            )
        yield Entry(
            session=row[_SESSION],
            seconds=_seconds(row[_TIME]),
            severity=row[_SEVERITY],
            message=row[_MESSAGE],
            detail=row[_DETAIL],
            user=row[_USER],
            database=row[_DATABASE],
            application=row[_APPLICATION],
        )


def _json(path: Path, file: Iterable[str]) -> Iterator[Entry]:
    for number, line in enumerate(file, 1):
        if not line.strip():
            continue
        try:
            one = json.loads(line)
            yield Entry(
                session=str(one.get("session_id", one.get("pid", ""))),
                seconds=_seconds(str(one["timestamp"])),
                severity=str(one.get("error_severity", "")),
                message=str(one.get("message", "")),
                detail=str(one.get("detail", "")),
                user=str(one.get("user", "")),
                database=str(one.get("dbname", "")),
                application=str(one.get("application_name", "")),
            )
        except (ValueError, KeyError, AttributeError) as error:
            raise UsageError(f'could not read log "{path}": line {number} is no entry') from error


_LEVEL = re.compile(r"(?:LOG|ERROR|FATAL|WARNING|STATEMENT|DETAIL|statement): ")
_LONGEST_PREFIX = 60


def _beginning(head: Sequence[str]) -> str:
    """Of the first line what may be its prefix: values of users come after it."""
    return _LEVEL.split(head[0], 1)[0][:_LONGEST_PREFIX].rstrip() if head else ""


def _pattern(path: Path, head: Sequence[str], prefix: str | None) -> re.Pattern[str]:
    """Of the prefix that was named, or of the usual one that most of the first lines have."""
    if prefix is not None:
        found = prefix_pattern(prefix)
        if not any(found.match(line) for line in head):
            raise UsageError(
                f'could not read log "{path}": no line begins with the prefix "{prefix}"',
                detail=f"The first line begins: {_beginning(head)}",
            )
        return found
    counted = [
        (sum(1 for line in head if one.match(line)), -place, one)
        for place, one in enumerate(map(prefix_pattern, USUAL))
    ]
    most, _, best = max(counted)
    if not most:
        raise UsageError(
            f'could not read log "{path}": its lines begin with no prefix that is known',
            detail=f"The first line begins: {_beginning(head)}",
            hint="Name it as the server has it: --prefix '%m [%p] ' (SHOW log_line_prefix).",
        )
    return best


def _stderr(file: Iterable[str], pattern: re.Pattern[str]) -> Iterator[Entry]:
    """An entry and its continuation lines, which begin with a tab; its DETAIL is an entry of its
    own in the file."""
    held: tuple[re.Match[str], list[str]] | None = None
    entry: Entry | None = None
    for line in file:
        found = pattern.match(line.rstrip("\r\n"))
        if found is None:
            if held is not None:
                held[1].append(line.rstrip("\r\n").removeprefix("\t"))
            continue
        if held is not None:
            entry = yield from _joined(entry, held)
        held = (found, [])
    if held is not None:
        entry = yield from _joined(entry, held)
    if entry is not None:
        yield entry


def _joined(
    entry: Entry | None, held: tuple[re.Match[str], list[str]]
) -> Generator[Entry, None, Entry | None]:
    """What comes after an entry: a detail of it, or the next one."""
    found, more = held
    known = found.groupdict()
    words = "\n".join([found["message"], *more])
    session = known.get("session") or known.get("process") or ""
    if known["severity"] in _DETAILS:
        if entry is not None and entry.session == session and known["severity"] == "DETAIL":
            entry = Entry(**{**entry.__dict__, "detail": words})
        return entry
    if entry is not None:
        yield entry
    seconds = known.get("seconds")
    return Entry(
        session=session,
        seconds=float(seconds) if seconds else _seconds(known.get("time") or ""),
        severity=known["severity"],
        message=words,
        detail="",
        user=known.get("user") or "",
        database=known.get("database") or "",
        application=known.get("application") or "",
    )


def _seconds(text: str) -> float:
    """Of a time stamp, its zone left out: only differences within a log matter."""
    found = _STAMP.match(text)
    if found is None:
        return 0.0
    return datetime.fromisoformat(f"{found[1]}T{found[2]}").timestamp()
