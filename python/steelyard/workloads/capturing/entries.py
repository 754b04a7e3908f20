"""Cuts server logs into entries: csvlog, jsonlog, stderr with a prefix, syslog, and JSON of clouds.

Logs are read in the order of time, whatever that of their names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Literal

from steelyard.workloads.capturing.logs.csvlog import is_csvlog, read_csvlog
from steelyard.workloads.capturing.logs.entry import LogEntry
from steelyard.workloads.capturing.logs.jsonlog import read_jsonlog
from steelyard.workloads.capturing.logs.languages import in_english
from steelyard.workloads.capturing.logs.opening import opened
from steelyard.workloads.capturing.logs.stderr_log import (
    LogLine,
    pattern_of,
    plain_lines,
    read_stderr,
)
from steelyard.workloads.capturing.logs.syslog import is_syslog, syslog_lines, syslog_text

Format = Literal["csv", "json", "stderr", "syslog"]
_HEAD_LINES = 200


def read_entries(
    paths: Sequence[Path], prefix: str | None = None, encoding: str | None = None
) -> Iterator[LogEntry]:
    """The entries of logs, the oldest file first. `prefix`: log_line_prefix of a stderr log.

    UsageError: a file is no log that can be read.
    """
    if len(paths) > 1:
        paths = sorted(paths, key=lambda path: _begins_at(path, prefix, encoding))
    for path in paths:
        yield from in_english(_of_file(path, prefix, encoding))


def _begins_at(path: Path, prefix: str | None, encoding: str | None) -> float:
    first = next(_of_file(path, prefix, encoding), None)
    return 0.0 if first is None else first.seconds


def _of_file(path: Path, prefix: str | None, encoding: str | None) -> Iterator[LogEntry]:
    with opened(path, encoding) as file:
        head = list(islice(file, _HEAD_LINES))
    kind = format_of(head)
    with opened(path, encoding) as file:
        if kind == "csv":
            yield from read_csvlog(path, file)
        elif kind == "json":
            yield from _json(path, file, prefix)
        elif kind == "syslog":
            texts = [text for line in head if (text := syslog_text(line))]
            pattern = pattern_of(path, texts, prefix, sessions=False)
            yield from read_stderr(syslog_lines(file, pattern.match), pattern)
        else:
            pattern = pattern_of(path, head, prefix)
            yield from read_stderr(plain_lines(file, head), pattern)


def format_of(head: Sequence[str]) -> Format:
    """Which format the first lines are of."""
    first = next((line for line in head if line.strip()), "")
    if first.lstrip().startswith(("{", "[{")) or first.strip() == "[":
        return "json"
    if any(is_syslog(line) for line in head):
        return "syslog"
    return "csv" if is_csvlog(first) else "stderr"


def _json(path: Path, file: Iterable[str], prefix: str | None) -> Iterator[LogEntry]:
    """Entries as they are; of envelopes that hold lines, what these are by their prefix."""
    records = read_jsonlog(path, file)
    head = list(islice(records, _HEAD_LINES))
    texts = [line for text in head if isinstance(text, str) for line in text.splitlines()]
    if not texts:
        yield from (entry for entry in head if isinstance(entry, LogEntry))
        yield from (entry for entry in records if isinstance(entry, LogEntry))
        return
    pattern = pattern_of(path, texts, prefix)

    def lines() -> Iterator[LogLine]:
        for source in (head, records):
            for record in source:
                if isinstance(record, str):
                    yield from (LogLine(text) for text in record.removesuffix("\n").split("\n"))

    yield from read_stderr(lines(), pattern)
