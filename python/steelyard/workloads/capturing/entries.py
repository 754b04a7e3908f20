"""Cuts server logs into entries: csvlog, jsonlog, stderr with a prefix, syslog, and JSON of clouds.

Logs are read in the order of time, whatever that of their names.

What shows of containers put before lines is taken off first: their name, a stream, and a time.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Literal

from steelyard.model.errors import UsageError
from steelyard.workloads.capturing.logs.backends import of_backends
from steelyard.workloads.capturing.logs.clock import (
    LogClock,
    LogSpans,
    in_order,
    is_yearless,
    require_time_order,
)
from steelyard.workloads.capturing.logs.csvlog import is_csvlog, read_csvlog, require_csvlog
from steelyard.workloads.capturing.logs.entry import LogEntry
from steelyard.workloads.capturing.logs.jsonlog import read_jsonlog
from steelyard.workloads.capturing.logs.languages import in_english
from steelyard.workloads.capturing.logs.opening import opened, rejoined, require_encoding
from steelyard.workloads.capturing.logs.other_lines import OtherLines, holds_statement, is_of_server
from steelyard.workloads.capturing.logs.prefixes import (
    Prefixes,
    is_known,
    prefix_pattern,
    prefixes_of,
)
from steelyard.workloads.capturing.logs.servers import several_servers
from steelyard.workloads.capturing.logs.sources import (
    Copies,
    LogSource,
    head_of,
    sources,
)
from steelyard.workloads.capturing.logs.stderr_log import LogLine, plain_lines, read_stderr
from steelyard.workloads.capturing.logs.syslog import is_syslog, syslog_form, syslog_lines

Format = Literal["csv", "json", "stderr", "syslog"]
_HEAD_LINES = 200
_LONGEST_TAIL = 100_000
"""So many lines of an entry that began before the file are skipped."""
_CR = re.compile(r"\r(?=[^\n]*[:,])")
# docker compose logs: "db-1  | 2026-11-28 ..."; docker service logs: "db.1.k2x9@node  | ...".
_NAME = re.compile(r"(?P<name>[A-Za-z0-9][\w.@-]*) +\|(?: |(?=\r?$))")
# kubectl logs --prefix
_POD = re.compile(r"\[(?P<name>pod/[^\s/\]]+/[^\s/\]]+)\](?: |(?=\r?$))")
# docker logs -t, kubectl logs --timestamps; the files of containerd and CRI-O ("stderr F") beside.
_STAMP = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d) "
    r"(?:(?P<stream>stdout|stderr) (?P<tag>[FP])(?::\S*)? )?"
)
_SYSLOG = re.compile(r"\S+ [^\s\[\]:]+(?P<process>\[\d+\])?: ")
"""What syslog has behind a stamp that looks like a container's: a host, a name, and mostly a
process; without, it may be a prefix that was named."""
_OBJECTS = re.compile(r' *(?:\{\s*(?:["}]|$)|\[\s*(?:\{|$))')
"""With which a file of JSON begins; labels of Loki are no JSON: {app="db"}"""
_MOST = 0.8
"""This share of the first lines has it, so that one in a statement is no wrapping; lines that go on
aside, which some put nothing before (CloudWatch, to an event of several lines)."""


class Wrapping:
    """What stands before the text of every line of a log."""

    def __init__(self, path: Path, pattern: re.Pattern[str], name: str | None) -> None:
        self._path, self._pattern, self._name = path, pattern, name

    def unwrapped(self, lines: Iterable[str]) -> Iterator[str]:
        """The texts of the lines, those together that were cut into parts; others' are left out.

        UsageError: another container has statements too.
        """
        parts: dict[str, str] = {}
        for line in lines:
            match = self._pattern.match(line)
            if match is None:
                yield line
                continue
            fields = match.groupdict()
            text, stream = line[match.end() :], fields.get("stream") or ""
            if self._name is not None and fields["name"] != self._name:
                if holds_statement(text):
                    raise _several(self._path, {self._name, fields["name"]})
                continue
            if stream in parts:
                text = rejoined(parts.pop(stream) + text)
            if fields.get("tag") == "P":
                parts[stream] = text.removesuffix("\n")
            else:
                yield text
        yield from parts.values()

    def without(self, prefix: str) -> str:
        """A log_line_prefix without the wrapping that was named with it."""
        match = self._pattern.match(prefix)
        return prefix if match is None else prefix[match.end() :]


def read_entries(
    paths: Sequence[Path], prefix: str | None = None, encoding: str | None = None
) -> Iterator[LogEntry]:
    """The entries of logs, the oldest file first, on one clock; files without a word, as rotation
    leaves them, are none. `prefix`: log_line_prefix of a stderr log; a path of `-` is standard
    input.

    UsageError: a file is no log that can be read, or two of them hold the same.
    """
    with sources(paths) as every:
        for log in every:
            require_encoding(log.path, encoding, log.name)
        logs = [log for log in every if _has_words(log, encoding)] or every[:1]
        read = in_english(_of_all(logs, prefix, encoding))
        yield from of_backends([log.name for log in logs], read)


def _has_words(log: LogSource, encoding: str | None) -> bool:
    with opened(log.path, encoding, log.name) as file:
        return any(line.strip() for line in islice(file, _LONGEST_TAIL))


def _of_all(
    logs: Sequence[LogSource], prefix: str | None, encoding: str | None
) -> Iterator[LogEntry]:
    clock = LogClock()
    if len(logs) == 1:
        yield from map(clock.at, _of_file(logs[0], prefix, encoding))
        return
    heads = [head_of(_of_file(log, prefix, encoding)) for log in logs]
    order = in_order([next(iter(head), None) for head in heads])
    yearless = any(is_yearless(entry.seconds) for head in heads for entry in head[:1])
    spans = LogSpans(yearless=yearless)
    copies = Copies([(logs[place].name, heads[place]) for place in order])
    last: LogEntry | None = None
    for number, place in enumerate(order):
        for index, entry in enumerate(_of_file(logs[place], prefix, encoding)):
            copies.require_new(entry, number)
            if last is not None:
                # A log that begins within an entry goes on the last one of the log before it.
                goes_on = not (index or entry.whole) and (entry.lost or not entry.session)
                yield replace(last, whole=False) if goes_on else last
            last = clock.at(entry)
            spans.require_later(logs[place].name, last)
    if last is not None:
        yield last


def _of_file(log: LogSource, prefix: str | None, encoding: str | None) -> Iterator[LogEntry]:
    """The entries of a log, severities in the language of its server."""
    entries = _of_sessions(log.name, _as_written(log, prefix, encoding))
    return require_time_order(log.name, entries)


def _of_sessions(path: Path, entries: Iterable[LogEntry]) -> Iterator[LogEntry]:
    """The entries. UsageError: one of a statement does not say its session; without, those of all
    sessions would be one, and their transactions mixed."""
    for entry in entries:
        is_read = entry.whole and not entry.other_format and not entry.session
        if is_read and holds_statement(f"LOG:  {entry.message}"):
            raise UsageError(
                f'cannot tell sessions apart in log "{path}": its entries name none',
                hint="csvlog has session_id and process_id, jsonlog session_id and pid: what "
                "exported the log must keep one of them.",
            )
        yield entry


def _as_written(log: LogSource, prefix: str | None, encoding: str | None) -> Iterator[LogEntry]:
    path = log.name
    with opened(log.path, encoding, path) as file:
        first = list(islice(file, _HEAD_LINES))
        _require_line_feeds(path, first)
        wrappings = wrappings_of(path, first, prefix)
        for wrapping in wrappings:
            prefix = None if prefix is None else wrapping.without(prefix)
        head, kind = _head(_unwrapped(chain(first, file), wrappings), prefix)
    with opened(log.path, encoding, path) as file:
        lines = _unwrapped(file, wrappings)
        if kind == "csv":
            yield from read_csvlog(path, lines)
        elif kind == "json":
            yield from _json(path, lines, prefix, encoding)
        elif kind == "syslog":
            form = syslog_form(head)
            prefixes = prefixes_of(path, form.texts, prefix, sessions=False)
            records = syslog_lines(path, lines, form, prefixes.match)
            yield from _timed(read_stderr(records, prefixes, OtherLines(path)), prefixes)
        else:
            if prefix is None and not any(map(is_known, head)):
                require_csvlog(path, head)
            prefixes = prefixes_of(path, head, prefix, raw=first)
            yield from read_stderr(plain_lines(lines, head), prefixes, OtherLines(path))


def _unwrapped(lines: Iterable[str], wrappings: Sequence[Wrapping]) -> Iterator[str]:
    for wrapping in wrappings:
        lines = wrapping.unwrapped(lines)
    yield from lines


def _require_line_feeds(path: Path, head: Sequence[str]) -> None:
    """UsageError: lines end in carriage returns alone, which may be part of values too."""
    if len(head) == 1 and len(_CR.findall(head[0])) > 1:
        raise UsageError(
            f'could not read log "{path}": its lines end in carriage returns alone',
            hint="tr '\\r' '\\n' < LOG > NEW gives them line feeds.",
        )


def _head(lines: Iterator[str], prefix: str | None) -> tuple[list[str], Format]:
    """The first lines, from some of those on that show the format; what an entry from before the
    file leaves may be long."""
    head = list(islice(lines, _HEAD_LINES))
    kind, count = format_of(head, prefix), len(head)
    while kind is None and count < _LONGEST_TAIL and (more := list(islice(lines, _HEAD_LINES))):
        count += len(more)
        kind = format_of(more, prefix)
        if kind is not None:
            return more + list(islice(lines, _HEAD_LINES)), kind
    return head, kind or "stderr"


def format_of(head: Sequence[str], prefix: str | None = None) -> Format | None:
    """Which format lines are of, the first of them or what follows the end of an entry; None: of
    none that is known."""
    first = next((line for line in head if line.strip()), "")
    if _OBJECTS.match(first) is not None:
        return "json"
    pattern = None if prefix is None else prefix_pattern(prefix, sessions=False)
    if any(is_syslog(line, pattern) for line in head):
        return "syslog"
    for line in head:
        if is_csvlog(line):
            return "csv"
        if line.startswith("{") and _is_object(line):
            return "json"
        if pattern.match(line) if pattern is not None else is_known(line):
            return "stderr"
    return None


def _is_object(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _json(
    path: Path, file: Iterable[str], prefix: str | None, encoding: str | None
) -> Iterator[LogEntry]:
    """Entries as they are; of envelopes that hold lines, what these are by their prefix."""
    others = OtherLines(path)
    records = read_jsonlog(path, file, others, encoding)
    head = list(islice(records, _HEAD_LINES))
    texts = [record.text for record in head if isinstance(record, LogLine)]
    required = bool(texts) and len(texts) == len(head)
    prefixes = prefixes_of(path, texts, prefix, required=required)
    ends_in_cr = bool(texts) and all(text.endswith("\r") for text in texts)

    def lines() -> Iterator[LogLine | LogEntry]:
        for record in chain(head, records):
            if ends_in_cr and isinstance(record, LogLine):
                yield replace(record, text=record.text.removesuffix("\r"))
            else:
                yield record

    read = read_stderr(lines(), prefixes, others)
    yield from _timed(read, prefixes) if texts else read


def _timed(entries: Iterable[LogEntry], prefixes: Prefixes) -> Iterator[LogEntry]:
    """The entries, and whether their times are those of what carried them."""
    for entry in entries:
        yield entry if prefixes.has_time else replace(entry, received=True)


def wrappings_of(path: Path, head: Sequence[str], prefix: str | None) -> list[Wrapping]:
    """Those that the first lines have, the outermost first. `prefix`: what was named, which may
    begin with one, or look so.

    UsageError: several containers have lines of a server.
    """
    wrappings: list[Wrapping] = []
    lines = [line for line in head if line.strip()]
    for pattern in (_NAME, _POD, _STAMP):
        matches = [(line, match) for line in lines if (match := pattern.match(line)) is not None]
        firsts = sum(not line[:1].isspace() for line in lines)
        if len(matches) <= _MOST * firsts or any(is_syslog(line) for line in lines):
            continue
        if pattern is _STAMP and _is_of_syslog(matches, named=prefix is not None):
            continue
        has_bar = prefix is not None and "|" in prefix and pattern.match(prefix) is None
        if pattern is _NAME and has_bar:
            continue
        name = None if pattern is _STAMP else _name(path, matches)
        wrapping = Wrapping(path, pattern, name)
        wrappings.append(wrapping)
        lines = list(wrapping.unwrapped(lines))
    return wrappings


def _is_of_syslog(matches: Sequence[tuple[str, re.Match[str]]], *, named: bool) -> bool:
    """Whether most of the lines go on as syslog's behind their stamps. `named`: a prefix is."""
    heads = [_SYSLOG.match(line, match.end()) for line, match in matches if not match["stream"]]
    alike = sum(head is not None and bool(head["process"] or not named) for head in heads)
    return alike > len(matches) / 2


def _name(path: Path, matches: Sequence[tuple[str, re.Match[str]]]) -> str:
    """The container of which the lines are a server's; of none, the one with most lines."""
    counted = Counter(match["name"] for _, match in matches)
    servers = {
        match["name"]
        for line, match in matches
        if is_of_server(text := line[match.end() :]) or holds_statement(text)
    }
    if len(servers) > 1:
        raise _several(path, servers)
    return next(iter(servers), counted.most_common(1)[0][0])


_OF_ONE = (
    ("pod/", "kubectl logs POD -c CONTAINER"),
    ("@", "docker service logs --raw TASK"),
    ("", "docker compose logs --no-log-prefix NAME"),
)
"""By what the names of containers hold, the command that writes the lines of one."""


def _several(path: Path, names: set[str]) -> UsageError:
    command = next(command for mark, command in _OF_ONE if mark in min(names))
    return several_servers(path, names, f"{command} writes those of one.")
