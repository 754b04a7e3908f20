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
_GREENPLUM, _REDSHIFT = _Foreign("one of Greenplum", _ALONE), _Foreign("one of Redshift", _ALONE)
_COUNTERS = _Foreign(
    "an export of counted statements",
    "Their server itself, in place of the log, is captured by its counts: capture DSN",
)
_POOLER = _Foreign("one of PgBouncer", "The log of the server behind it has the statements.")
_IN_ENVELOPES = """jq -r '(.log // .message // .MESSAGE) | rtrimstr("\\n")' LOG | """
_CONTAINER = _Foreign(
    "one of a container in the envelopes of another",
    f"{_IN_ENVELOPES}steelyard workloads capture -  reads what is in these.",
)
_JOURNAL = _Foreign(
    "a journal of lines that PostgreSQL numbered for syslog",
    "journalctl -o short-iso-precise, in place of -o json, writes them as syslog does.",
)
_YAML = _Foreign(
    "an export of Google Cloud in YAML",
    "gcloud logging read FILTER --format=json > NEW  writes what is read.",
)
_LEVEL = r"[^\n]*?[A-Z]+:  "
_NO_PROCESS = "one of syslog without the numbers of processes"
_LOGGER = _Foreign(
    _NO_PROCESS, r"sed -E 's/^\S+ +\S+ \S+ \S+ \S+: //' LOG > NEW takes its head off."
)
_ISO_LOGGER = _Foreign(_NO_PROCESS, r"sed -E 's/^\S+ \S+ \S+: //' LOG > NEW takes its head off.")
# Lines of MySQL's slow log, its general log, the audit log of MariaDB's plugin, and audit logs in
# XML; headings of an export of the statements that a server counted.
_LINES = (
    (
        re.compile(
            r"(?:\d{4}-\d\d-\d\dT\S+ )?# (?:Time: \d|User@Host: |Query_time: )"
            r"|Time\s+Id\s+Command\s+Argument"
            r"|\S*(?:mysqld|mariadbd)\S*, Version: "
            r"|(?:\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)|\d{6} +\d?\d:\d\d:\d\d|\t)\t *\d+ "
            r"(?:Query|Execute|Prepare|Connect|Quit|Init DB|Close stmt|Reset stmt|Field List)\b"
            r"|[\d :]{8,20},[^,]*,[^,]*,[^,]*,\d+,\d+,[A-Z_]+,"
            r"|\s*<AUDIT(?:_RECORD)?[\s>]"
            r'|"\d{4}-\d\d-\d\d [\d:.]+","[^"]*\[[^"]*\] @ '  # the tables of both logs, in files
            r'|"[A-Z][A-Za-z ]+","\d+_\d{4}-\d\d-\d\dT|(?=.*\bDIGEST_TEXT\b)'
        ),
        _MYSQL,
    ),
    (
        re.compile(
            r"(?=.*\bcalls\b)(?=.*\b(?:queryid|(?:total|mean)_(?:exec_)?time)\b)", re.IGNORECASE
        ),
        _COUNTERS,
    ),
    (
        re.compile(
            r'\s*(?:<\?xml[^>]*>\s*)?<event(?:s>|s? name="\w+" package="sqlserver")'
            r"|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d\d +(?:spid\d+\w?|Server|Logon|Backup) "
        ),
        _SQL_SERVER,
    ),
    (
        re.compile(r"\d{4}-\d\d-\d\d [\d:.]+ \S+ \[\d+\] (?:LOG|WARNING|ERROR|FATAL|DEBUG) [^:\s]"),
        _POOLER,
    ),
    (re.compile(r"\d{4}-\d\d-\d\dT\S+ std(?:out|err) [FP](?::\S*)? "), _CONTAINER),
    (re.compile(r"insertId: "), _YAML),
    (re.compile(r"\d{4}-\d\d-\d\d [\d:.]+ \S+,[^,]*,[^,]*,p\d+,th-?\d+,"), _GREENPLUM),
    (re.compile(r"'\d{4}-\d\d-\d\dT[\d:]+Z UTC \[ db="), _REDSHIFT),
    (re.compile(rf"\[\d+-\d+\] {_LEVEL}"), _JOURNAL),
    (re.compile(rf"[A-Z][a-z]{{2}} [ \d]\d \d\d:\d\d:\d\d \S+ [^\s\[\]:]+: {_LEVEL}"), _LOGGER),
    (re.compile(rf"\d{{4}}-\d\d-\d\dT\S+ \S+ [^\s\[\]:]+: {_LEVEL}"), _ISO_LOGGER),
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
        known = next(lines, None) or _of_envelope(_object(line))
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


def _of_envelope(value: Mapping[str, Any]) -> _Foreign | None:
    """Of an object that is a line of a log: by its keys, or it is an entry as others are."""
    is_entry = "error_severity" in value or isinstance(value.get("record"), Mapping)
    return _of_object(value) or (_CONTAINER if is_entry else None)


def _of_object(value: Mapping[str, Any]) -> _Foreign | None:
    """By its keys, or those of what it envelops."""
    known = (f for inner in _envelopes(value) for keys, f in _KEYS if keys <= inner.keys())
    return next(known, None)


def _envelopes(value: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield value
    yield from (inner for inner in value.values() if isinstance(inner, Mapping))
