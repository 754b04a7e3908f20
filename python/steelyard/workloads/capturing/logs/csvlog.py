"""Reads csvlog, with a line of headings or without."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from steelyard.model.errors import UsageError
from steelyard.workloads.capturing.logs.entry import LogEntry, Names, entry_of, starts_with_stamp

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
_SEVERITY = COLUMNS.index("error_severity")


def is_csvlog(first: str) -> bool:
    """Whether the first line is of csvlog: its headings or an entry."""
    row = next(csv.reader([first]), [])
    # A statement of several lines goes on in the next: the first may lack columns.
    return _is_heading(row) or (len(row) > _SEVERITY and starts_with_stamp(row[0]))


def _is_heading(row: Sequence[str]) -> bool:
    return bool(row) and {name.strip() for name in row} >= set(COLUMNS[:2])


def read_csvlog(path: Path, file: Iterable[str]) -> Iterator[LogEntry]:
    """The entries of a file. UsageError: one in it has too few columns; the last one may."""
    csv.field_size_limit(sys.maxsize)
    names: Sequence[str] = COLUMNS
    cut: tuple[int, dict[str, str]] | None = None
    for number, row in enumerate(csv.reader(file), 1):
        if cut is not None:
            raise UsageError(
                f'could not read log "{path}": entry {cut[0]} has {len(cut[1])} columns',
                detail=f"csvlog has at least {_FEWEST_COLUMNS}.",
            )
        if number == 1 and _is_heading(row):
            # Some headings name a part of the columns.
            names = [name.strip() for name in row] if "message" in row else COLUMNS
            continue
        fields = dict(zip(names, row, strict=False))
        if len(row) < min(_FEWEST_COLUMNS, len(names)):
            cut = (number, fields)
            continue
        yield entry_of(fields, NAMES)
    if cut is not None:
        if cut[0] == 1:
            raise UsageError(
                f'could not read log "{path}": entry 1 has {len(cut[1])} columns',
                detail=f"csvlog has at least {_FEWEST_COLUMNS}.",
            )
        entry = entry_of(cut[1], NAMES)
        yield LogEntry(**{**entry.__dict__, "whole": False})
