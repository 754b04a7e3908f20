"""Reads csvlog, with a line of headings or without."""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from steelyard.model.errors import UsageError
from steelyard.workloads.capturing.logs.entry import LogEntry, Names, entry_of
from steelyard.workloads.capturing.logs.other_lines import (
    OtherLines,
    holds_statement,
    is_of_server,
)

# Columns since 14 (config.sgml, "Using CSV-Format Log Output"); 13 ends with backend_type.
COLUMNS = (
    "log_time", "user_name", "database_name", "process_id", "connection_from", "session_id",
    "session_line_num", "command_tag", "session_start_time", "virtual_transaction_id",
    "transaction_id", "error_severity", "sql_state_code", "message", "detail", "hint",
    "internal_query", "internal_query_pos", "context", "query", "query_pos", "location",
    "application_name", "backend_type", "leader_pid", "query_id",
)  # fmt: skip
NAMES = Names(
    ("session_id", "process_id"),
    "log_time",
    "error_severity",
    "user_name",
    "database_name",
    "query",
)
_FEWEST_COLUMNS = COLUMNS.index("application_name") + 1
_ANY = r'(?:"(?:[^"]|"")*"|[^",\n]*)'
# A text in an entry that looks so has its quotes doubled, and so does not.
_STAMP = r'\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[^",\n]*'
_BEGINNING = re.compile(
    rf'(?:"{_STAMP}"|{_STAMP}),'  # log_time
    rf'{_ANY},{_ANY},"?\d*"?,{_ANY},"?[0-9a-f.]*"?,"?\d*"?,'  # session_line_num
    rf'(?:{_ANY},){{4}}"?[^\W\d_]+\d?"?,'  # error_severity
)

_TIME = re.compile(r'"?\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[^",\n:\[]*"?(?:,|\n?$)')
_END = re.compile(r"\r+\n\Z")
_CUT = LogEntry("", 0.0, "LOG", "", "", whole=False)


def is_csvlog(line: str) -> bool:
    """Whether a line is the first one of an entry of csvlog, or its headings."""
    return _BEGINNING.match(line) is not None or _is_heading(_row([line]))


def _is_heading(row: Sequence[str]) -> bool:
    """Whether they are names of columns: the first ones, or those without which none is read."""
    names = {name.strip() for name in row}
    is_part = names >= {NAMES.severity, "message"} and not names.isdisjoint(NAMES.sessions)
    return is_part or names >= set(COLUMNS[:2])


def _row(lines: Sequence[str], *, strict: bool = False) -> list[str]:
    """The columns of an entry; none: it is none. `strict`: quotes stand around whole columns."""
    try:
        return next(csv.reader(lines, strict=strict), [])
    except csv.Error:
        return []


_PYTHON = "python3 -c 'import csv, sys; csv.field_size_limit(1 << 30); {}' < LOG > NEW"
_WITH_COMMAS = 'csv.writer(sys.stdout, lineterminator="\\n").writerows({})'
_OTHER_MARKS = {
    ";": ("semicolons", _WITH_COMMAS.format('csv.reader(sys.stdin, delimiter=";")')),
    "\t": ("tabs", _WITH_COMMAS.format('csv.reader(sys.stdin, delimiter="\\t")')),
}
_TEXTS = '[print(row["{}"].rstrip("\\n")) for row in csv.DictReader(sys.stdin)]'
_EXPORT = "psql --csv -c 'TABLE postgres_log ORDER BY log_time, session_id, session_line_num' > NEW"
_PLAIN_NAME = re.compile(r"[\w@ .\[\]-]+")


def require_csvlog(path: Path, head: Sequence[str]) -> None:
    """UsageError: these first lines are of a csvlog with other marks between its columns, or of a
    table with the lines of a log in one of them, as clouds export it."""
    lines = [line for line in head if line.strip()]
    error = f'could not read log "{path}"'
    for mark, (marks, rewrites) in _OTHER_MARKS.items():
        row = _rows(lines[:1], mark)[0]
        if is_csvlog(",".join('"' + text.replace('"', '""') + '"' for text in row)):
            hint = f"{_PYTHON.format(rewrites)} puts commas there."
            raise UsageError(f"{error}: {marks} are between its columns", hint=hint)
    if _is_heading(_rows(lines[:1], "|")[0]):
        raise UsageError(
            f"{error}: it is a table as psql shows it",
            hint=f"{_EXPORT} writes it as csvlog has it.",
        )
    names, *rows = _rows(lines, ",")
    if {"log_time", "message"} <= set(names):
        raise UsageError(
            f"{error}: its columns have no error_severity, or neither session_id nor process_id",
            hint=f"{_EXPORT} writes all of them.",
        )
    for place, name in enumerate(names):
        texts = (row[place] for row in rows if len(row) == len(names) > 1)
        if _PLAIN_NAME.fullmatch(name) and any(map(is_of_server, texts)):
            hint = f"{_PYTHON.format(_TEXTS.format(name))} writes these alone."
            raise UsageError(
                f'{error}: it is a table with lines of a log in its column "{name}"', hint=hint
            )


def _rows(lines: Sequence[str], mark: str) -> list[list[str]]:
    """The rows of lines with a mark between columns; of what is none, one without columns."""
    try:
        return list(csv.reader(lines, delimiter=mark)) or [[]]
    except csv.Error:
        return [[]]


def read_csvlog(path: Path, file: Iterable[str]) -> Iterator[LogEntry]:
    """The entries of a file. Those that are cut off (as a copy or a crash leaves them) and what
    goes on from before the file are entries that are not whole.

    UsageError: the headings are of nothing that can be read, or many lines are of another format.
    """
    csv.field_size_limit(sys.maxsize)
    lines = iter(file)
    first = next((line for line in lines if line.strip()), "")
    heading = [name.strip() for name in _row([first])]
    if not _is_heading(heading):
        yield from _read(path, chain([first], lines))
    elif "message" in heading and heading != list(COLUMNS[: len(heading)]):
        yield from _read_named(path, lines, heading)
    else:  # Some headings name a part of the columns.
        yield from _read(path, lines)


def _read_named(path: Path, lines: Iterable[str], names: Sequence[str]) -> Iterator[LogEntry]:
    """Entries with columns of the headings' order, so that nothing but quotes says where each
    begins."""
    for number, text in _by_quotes(lines):
        if not text.strip():
            continue
        is_whole = text.endswith("\n") and not _is_open(text)
        row = _row([text], strict=is_whole)
        fits = is_whole and len(row) == len(names)
        if not fits and number == 1:
            raise UsageError(
                f'could not read log "{path}": entry 1 has {len(row)} columns',
                detail=f"Its headings are {len(names)}.",
            )
        if row:
            yield replace(entry_of(dict(zip(names, row, strict=False)), NAMES), whole=fits)


def _is_open(text: str) -> bool:
    """Whether a text ends within quotes."""
    return text.count('"') % 2 == 1


def _by_quotes(lines: Iterable[str], *, resynchronize: bool = False) -> Iterator[tuple[int, str]]:
    """Texts that no quotes hold together, with the numbers of their first lines. `resynchronize`:
    a line that looks like the beginning of an entry ends one that was cut off within them."""
    parts, first, is_open = list[str](), 1, False
    for number, line in enumerate(lines, 1):
        if is_open and resynchronize and _BEGINNING.match(line) is not None:
            yield first, "".join(parts)
            parts, is_open = [], False
        first = first if parts else number
        parts.append(line)
        is_open ^= _is_open(line)
        if not is_open:
            yield first, _with_line_feeds("".join(parts))
            parts = []
    if parts:
        yield first, "".join(parts)


def _with_line_feeds(text: str) -> str:
    """A whole text as the server wrote it: where its file has other line ends (Windows), values
    have them too in place of their line feeds."""
    end = _END.search(text) if text.endswith("\r\n") else None
    return text if end is None else text.replace(end[0], "\n")


def _read(path: Path, lines: Iterable[str]) -> Iterator[LogEntry]:
    reader, others = _Reader(), OtherLines(path)
    for number, text in _by_quotes(lines, resynchronize=True):
        for piece in reader.pieces(text):
            if isinstance(piece, LogEntry):
                others.entries += 1
                yield piece
                continue
            strange = [line for line in piece.splitlines() if holds_statement(line)]
            yield from (others.note(number, line) for line in strange)
    for piece in reader.end():
        yield piece
    others.require_few()


class _Reader:
    """Takes entries out of texts by their columns, whatever has been cut off between them."""

    def __init__(self) -> None:
        self._most = 0
        """Columns; versions to come may have more."""
        self._is_cut = False
        """Whether what began before the file has been counted."""
        self._before = ""
        """An entry behind one that was cut off, of which the quotes of both hid the end."""

    def pieces(self, text: str) -> Iterator[LogEntry | str]:
        """The entries in a text, and what is of none."""
        before, self._before = self._before, ""
        if before and _BEGINNING.match(text) is not None:
            yield _not_whole(before)
        elif not before and not text.strip():
            return
        elif before:
            text = before + text
            if _is_open(text):
                self._before = text
                return
        while text:
            row = _row([text], strict=True)
            own = _BEGINNING.match(text)
            if own is not None and self._fits(text, row):
                self._most = self._most or max(len(COLUMNS), len(row))
                yield entry_of(dict(zip(COLUMNS, row, strict=False)), NAMES)
                return
            inner = _BEGINNING.search(text, 0 if own is None else 1)
            cut = text if inner is None else text[: inner.start()]
            if own is not None:
                yield _not_whole(cut)
            else:
                yield from self._strange(cut, inner is not None)
            text = "" if inner is None else text[inner.start() :]
            if text and _is_open(text) and text.endswith("\n"):
                self._before = text
                return

    def _fits(self, text: str, row: Sequence[str]) -> bool:
        most = self._most or sys.maxsize
        return text.endswith("\n") and not _is_open(text) and _FEWEST_COLUMNS <= len(row) <= most

    def _strange(self, text: str, is_glued: bool) -> Iterator[LogEntry | str]:
        """What begins as no entry: the end of one, or the beginning of one up to its severity."""
        if not self._most:
            if not self._is_cut:
                self._is_cut = True
                yield _CUT
        elif any(holds_statement(line) for line in text.splitlines()):
            yield text
        elif is_glued or _TIME.match(text) is not None:
            yield _CUT

    def end(self) -> Iterator[LogEntry]:
        """What is left of an entry."""
        if self._before:
            yield _not_whole(self._before)


def _not_whole(text: str) -> LogEntry:
    return replace(entry_of(dict(zip(COLUMNS, _row([text]), strict=False)), NAMES), whole=False)
