"""Names what is no log of PostgreSQL's by how it looks, with what to type: logs of other servers,
exports of counted statements, and objects of nothing that is known."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from steelyard.model.errors import UsageError
from steelyard.model.files.printable import printable_line


@dataclass(frozen=True)
class _Foreign:
    """What a file is, and what to do instead."""

    what: str
    hint: str


_ALONE = "Logs of PostgreSQL alone become workloads."
_DRIVEN = f"{_ALONE} Scripts of your own drive such a server: steelyard drive {{}} -f SCRIPT"
_MYSQL = _Foreign("one of MySQL or MariaDB", _DRIVEN.format("mysql://USER@HOST/DATABASE"))
_SQL_SERVER = _Foreign("one of SQL Server", _DRIVEN.format("sqlserver://USER@HOST/DATABASE"))
_MONGODB = _Foreign("one of MongoDB", _ALONE)
_COUNTERS = _Foreign(
    "an export of counted statements",
    "Their server itself, in place of the log, is captured by its counts: capture DSN",
)
# Lines of MySQL's slow log, its general log, the audit log of MariaDB's plugin, and audit logs in
# XML; headings of an export of the statements that a server counted.
_LINES = (
    (
        re.compile(
            r"# (?:Time: \d|User@Host: |Query_time: )|Time\s+Id\s+Command\s+Argument"
            r"|\S*(?:mysqld|mariadbd)\S*, Version: "
            r"|(?:\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)|\d{6} +\d?\d:\d\d:\d\d|\t)\t *\d+ "
            r"(?:Query|Execute|Prepare|Connect|Quit|Init DB|Close stmt|Reset stmt|Field List)\b"
            r"|[\d :]{8,20},[^,]*,[^,]*,[^,]*,\d+,\d+,[A-Z_]+,"
            r"|\s*<AUDIT(?:_RECORD)?[\s>]"
        ),
        _MYSQL,
    ),
    (re.compile(r"(?=.*\bqueryid\b)(?=.*\bcalls\b)", re.IGNORECASE), _COUNTERS),
)
_KEYS = (
    ({"class", "event", "connection_id"}, _MYSQL),  # its audit log
    ({"audit_record"}, _MYSQL),  # that of Percona's plugin
    ({"err_symbol", "subsystem"}, _MYSQL),  # its error log
    ({"t", "s", "c", "msg"}, _MONGODB),
    ({"atype", "param"}, _MONGODB),  # its audit log
    ({"op", "ns", "millis"}, _MONGODB),  # its profiler
    ({"action_id", "server_principal_name"}, _SQL_SERVER),  # its audit
    ({"queryid", "calls"}, _COUNTERS),
)
"""Keys of an object by which it is known."""
_MOST_KEYS, _LONGEST_KEY = 8, 40


def refusal_of_lines(path: Path, head: Iterable[str]) -> UsageError | None:
    """Of a file with these first lines, none of which has a known prefix; None: it is not known."""
    for line in head:
        lines = (foreign for pattern, foreign in _LINES if pattern.match(line) is not None)
        known = next(lines, None) or _of_object(_object(line))
        if known is not None:
            return _refusal(path, known)
    return None


def refusal_of_objects(path: Path, number: int, first: Mapping[str, Any]) -> UsageError:
    """Of a file in none of whose objects an entry is, or a line of a log. `number`: of the first of
    them that is none."""
    known = _of_object(first)
    if known is not None:
        return _refusal(path, known)
    keys = [printable_line(key)[:_LONGEST_KEY] for key in islice(first, _MOST_KEYS)]
    more = ", ..." if len(first) > len(keys) else ""
    return UsageError(
        f'could not read log "{path}": its objects are no entries of PostgreSQL',
        detail=f"Object {number} has the keys: {', '.join(keys)}{more}." if keys else None,
        hint="jsonlog (log_destination = jsonlog) has error_severity and message; of an envelope "
        "the line in message, log, textPayload or MESSAGE is read.",
    )


def _refusal(path: Path, foreign: _Foreign) -> UsageError:
    return UsageError(f'could not read log "{path}": it is {foreign.what}', hint=foreign.hint)


def _object(line: str) -> Mapping[str, Any]:
    try:
        value = json.loads(line) if line.startswith("{") else None
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, Mapping) else {}


def _of_object(value: Mapping[str, Any]) -> _Foreign | None:
    """By its keys, or those of what it envelops."""
    known = (f for inner in _envelopes(value) for keys, f in _KEYS if keys <= inner.keys())
    return next(known, None)


def _envelopes(value: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield value
    yield from (inner for inner in value.values() if isinstance(inner, Mapping))
