"""A log of a real server is captured alike in every format, packing and encoding."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import psycopg
import pytest

from own_cache import own_server
from postgres.test_captured_languages import captured, shown, work
from steelyard.engines.postgres.libpq.connection_string import conninfo_of
from steelyard.model.endpoint import Endpoint
from steelyard.workloads.capturing.logs.csvlog import COLUMNS
from thinned import thinned

pytestmark = pytest.mark.postgres

LOGGED = {
    "log_min_duration_statement": "0", "logging_collector": "on", "log_directory": "log",
    "log_destination": "csvlog,jsonlog,stderr",
    "log_connections": "on", "log_disconnections": "on",
}  # fmt: skip
PREFIXES = {
    "debian": "%m [%p] %q%u@%d ",
    "rds": "%t:%r:%u@%d:[%p]:",
    "aurora": "%m:%r:%u@%d:[%p]:%l:%e:%s:%v:%x:%c:%q%a:",
    "cloud-sql": "%m [%p]: [%l-1] db=%d,user=%u ",
    "azure": "%t-%c-",
}
Logs = Mapping[str, bytes]


@pytest.fixture(scope="module")
def logs() -> Iterator[Logs]:
    """By name, logs of the same work: csv, json, and stderr with each prefix."""
    with own_server("18", LOGGED) as instance:
        address = instance.address
        home = Path(shown_setting(address, "data_directory")) / "log"
        texts = {}
        for name, prefix in PREFIXES.items():
            administered(address, f"ALTER SYSTEM SET log_line_prefix = '{prefix}'")
            administered(address, f"ALTER SYSTEM SET log_filename = '{name}.log'")
            administered(address, "SELECT pg_reload_conf(), pg_sleep(0.5)")
            administered(address, "SELECT pg_rotate_logfile(), pg_sleep(1)")
            work(Path(address.host), address.port)
            administered(address, "SELECT pg_sleep(0.5)")
            texts[name] = (home / f"{name}.log").read_bytes()
        texts |= {kind: (home / f"debian.{kind}").read_bytes() for kind in ("csv", "json")}
        yield texts


def administered(server: Endpoint, query: str) -> str:
    """By a session that is not logged."""
    unseen = "-c log_min_duration_statement=-1"
    with psycopg.connect(conninfo_of(server), autocommit=True, options=unseen) as session:
        cursor = session.execute(query.encode())
        return str(cursor.fetchone()) if cursor.description else ""


def shown_setting(server: Endpoint, name: str) -> str:
    return administered(server, f"SHOW {name}").strip("(),'")


def of_csv(logs: Logs) -> list[dict[str, str]]:
    rows = csv.reader(io.StringIO(logs["csv"].decode(), newline=""))
    return [dict(zip(COLUMNS, row, strict=True)) for row in rows]


def with_headings(logs: Logs) -> bytes:
    return ",".join(COLUMNS).encode() + b"\n" + logs["csv"]


def cloud_native_pg(logs: Logs) -> bytes:
    """As its instance manager writes: csvlog's columns under "record", its own lines between."""
    own = json.dumps({"level": "info", "msg": "Checked free disk space"})
    lines = [
        json.dumps({"level": "info", "logger": "postgres", "msg": "record", "record": row})
        for row in of_csv(logs)
    ]
    return "".join(f"{line}\n{own}\n" for line in lines).encode()


def azure_json(logs: Logs) -> bytes:
    """As diagnostic settings export them: category PostgreSQLLogs."""
    records = [
        {
            "category": "PostgreSQLLogs", "time": row["log_time"],
            "properties": {
                "timestamp": row["log_time"], "processId": int(row["process_id"]),
                "sessionId": row["session_id"], "errorLevel": row["error_severity"],
                "message": row["message"], "detail": row["detail"], "statement": row["query"],
                "user": row["user_name"], "dbname": row["database_name"],
            },
        }
        for row in of_csv(logs)
    ]  # fmt: skip
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def cloud_sql_json(logs: Logs) -> bytes:
    """As Logs Explorer exports them: entries of a stderr log, the newest first."""
    entries: list[str] = []
    for line in logs["cloud-sql"].decode().splitlines(keepends=True):
        if line.startswith("20"):
            entries.append(line)
        else:
            entries[-1] += line
    records = [
        {"textPayload": text, "timestamp": text[:23].replace(" ", "T") + "Z"} for text in entries
    ]
    return json.dumps(records[::-1]).encode()


def syslog(logs: Logs) -> bytes:
    """As write_syslog of elog.c hands them over, an entry with its DETAIL under one number, and
    rsyslog writes them."""
    lines, process, number, part = [], "", 0, 0
    of_entry = re.compile(r"20[^\[]+\[\d+\] \S+ (?:DETAIL|HINT|STATEMENT|CONTEXT|QUERY):  ")
    for line in logs["debian"].decode().splitlines():
        if line.startswith("20") and not of_entry.match(line):
            process = line.split("[", 1)[1].split("]", 1)[0]
            number, part = number + 1, 0
        part += 1
        words = line.replace("\t", "#011")
        lines.append(f"Nov 27 10:00:00 db1 postgres[{process}]: [{number}-{part}] {words}\n")
    return "".join(lines).encode()


def zstd(logs: Logs) -> bytes:
    compressed: bytes = pytest.importorskip("zstandard").ZstdCompressor().compress(logs["csv"])
    return compressed


WRITERS: dict[str, Callable[[Logs], bytes]] = {
    **{name: (lambda logs, name=name: logs[name]) for name in (*PREFIXES, "json")},
    "csv with headings": with_headings,
    "CloudNativePG": cloud_native_pg,
    "Azure JSON": azure_json,
    "Cloud SQL JSON": cloud_sql_json,
    "syslog": syslog,
    "gzip": lambda logs: gzip.compress(logs["csv"]),
    "bzip2": lambda logs: bz2.compress(logs["json"]),
    "xz": lambda logs: lzma.compress(logs["debian"]),
    "zstd": zstd,
    "UTF-16": lambda logs: logs["debian"].decode().encode("utf-16"),
    "UTF-16 without a mark": lambda logs: logs["csv"].decode().encode("utf-16-le"),
    "BOM": lambda logs: b"\xef\xbb\xbf" + logs["debian"],
    "CR LF": lambda logs: logs["debian"].replace(b"\n", b"\r\n"),
}  # fmt: skip


@thinned("writer", list(WRITERS), 4)
def test_every_form_of_a_log_is_captured_as_csvlog_is(
    logs: Logs, tmp_path: Path, writer: str
) -> None:
    plain, other = tmp_path / "plain.csv", tmp_path / "other"
    plain.write_bytes(logs["csv"])
    other.write_bytes(WRITERS[writer](logs))
    expected = shown(captured(plain))
    assert expected[2] > 20
    assert shown(captured(other)) == expected
