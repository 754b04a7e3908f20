"""What five client libraries send is captured from a log and replayed: pg_stat_statements counts
the same calls of every kind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from interop.places import free_port, installed, program
from own_cache import own_server
from steelyard.engines.postgres.libpq.connection_string import conninfo_of
from steelyard.model.endpoint import Endpoint
from steelyard.workloads.capturing.ledger import StatementOutcome

pytestmark = [pytest.mark.postgres, pytest.mark.long]

CLIENTS = Path(__file__).parent / "clients"
LOOPS = 300
FILL = """
CREATE TABLE items (id int PRIMARY KEY, name text, price numeric, made timestamptz, tags text[],
                    active bool);
INSERT INTO items SELECT n, 'it' || n, n, now(), ARRAY['a', NULL, 'b"c'], n % 2 = 0
  FROM generate_series(1, 1000) AS n;
CREATE TABLE notes (id serial PRIMARY KEY, item int, body text);
CREATE EXTENSION pg_stat_statements
"""
LOGGED = {
    "listen_addresses": "127.0.0.1",
    "log_min_duration_statement": "0",
    "logging_collector": "on",
    "log_destination": "csvlog",
    "pg_stat_statements.track_planning": "off",
    "pg_stat_statements.max": "5000",
}
EXPECTED = {
    StatementOutcome.FAILED, StatementOutcome.SESSION, StatementOutcome.FETCH,
    StatementOutcome.SEVERAL, StatementOutcome.IN_FAILED,
    StatementOutcome.REFUSED,
}  # fmt: skip
"""What may be left out of these loads."""


def by_psycopg(place: Path) -> tuple[Sequence[str], Mapping[str, str]]:
    return [sys.executable, str(CLIENTS / "psycopg_load.py")], {}


def by_asyncpg(place: Path) -> tuple[Sequence[str], Mapping[str, str]]:
    path = installed("python", "asyncpg").parent
    return [sys.executable, str(CLIENTS / "asyncpg_load.py")], {"PYTHONPATH": str(path)}


def by_jdbc(place: Path) -> tuple[Sequence[str], Mapping[str, str]]:
    jar = installed("jars", "postgresql.jar")
    compiler = [program("javac"), "-d", str(place), str(CLIENTS / "JdbcLoad.java")]
    subprocess.run(compiler, check=True, capture_output=True)
    return [program("java"), "-cp", f"{jar}{os.pathsep}{place}", "JdbcLoad"], {}


def by_pgx(place: Path) -> tuple[Sequence[str], Mapping[str, str]]:
    return [str(installed("go", "pgx-load"))], {}


def by_node_postgres(place: Path) -> tuple[Sequence[str], Mapping[str, str]]:
    packages = installed("npm", "node_modules", "pg").parent
    return [program("node"), str(CLIENTS / "node_load.js")], {"NODE_PATH": str(packages)}


Library = Callable[[Path], tuple[Sequence[str], Mapping[str, str]]]
LIBRARIES: dict[str, Library] = {
    "psycopg": by_psycopg,
    "asyncpg": by_asyncpg,
    "jdbc": by_jdbc,
    "pgx": by_pgx,
    "node-postgres": by_node_postgres,
}


@contextmanager
def served() -> Iterator[Endpoint]:
    """A server that counts its statements and logs them, on a port of loopback."""
    hba = "local all all trust\nhost all all 127.0.0.1/32 trust\n"
    files = {"pg_hba.conf": hba}
    with own_server("18", LOGGED, port=free_port(), files=files, counts=True) as instance:
        with psycopg.connect(conninfo_of(instance.address), autocommit=True) as session:
            for statement in FILL.split(";\n"):
                session.execute(statement.encode())
        yield replace(instance.address, host="127.0.0.1")


@pytest.fixture(scope="module")
def server() -> Iterator[Endpoint]:
    with served() as endpoint:
        yield endpoint


def administered(server: Endpoint, query: str) -> list[tuple[Any, ...]]:
    """By a session that is neither logged nor counted."""
    unseen = "-c log_min_duration_statement=-1 -c pg_stat_statements.track=none"
    with psycopg.connect(conninfo_of(server), autocommit=True, options=unseen) as session:
        cursor = session.execute(query.encode())
        return cursor.fetchall() if cursor.description else []


@contextmanager
def logged(server: Endpoint, name: str, directory: Path) -> Iterator[None]:
    """What is done meanwhile is counted from 0, and is in the log `directory`/`name`.csv."""
    administered(server, f"ALTER SYSTEM SET log_filename = '{name}.log'")
    administered(server, "SELECT pg_reload_conf(), pg_sleep(0.5)")
    administered(server, "SELECT pg_rotate_logfile(), pg_sleep(1)")
    administered(server, "SELECT pg_stat_statements_reset()")
    yield
    [(home,)] = administered(server, "SHOW data_directory")
    source = Path(home) / "log" / f"{name}.csv"
    (directory / f"{name}.csv").write_bytes(source.read_bytes())


def counted(server: Endpoint) -> Counter[str]:
    """Calls by libpg_query's fingerprint. BEGIN and COMMIT are left to the log: until version 17 of
    the server they are counted once where they are prepared."""
    from pglast.parser import fingerprint

    rows = administered(
        server,
        "SELECT query, calls FROM pg_stat_statements"
        " WHERE toplevel AND query !~* '^(begin|commit|start|rollback)'",
    )
    calls: Counter[str] = Counter()
    for query, count in rows:
        calls[fingerprint(query)] += count
    return calls


def steelyard(*words: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-m", "steelyard", *words, "--json"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def in_captured_order(folder: Path, kinds: Sequence[Mapping[str, Any]]) -> int:
    """Have the workload execute every kind as often as it was captured; how many that are."""
    stream = [str(kind["script"]) for kind in kinds for _ in range(kind["count"])]
    path = folder / "workload.toml"
    lines = path.read_text().splitlines()
    place = next(n for n, line in enumerate(lines) if line.startswith("mode"))
    lines.insert(place, f"streams = {json.dumps([stream])}")
    path.write_text("\n".join(lines) + "\n")
    return len(stream)


@pytest.mark.parametrize("library", [*LIBRARIES, "all"])
def test_a_load_is_replayed_with_the_counts_that_it_had(
    server: Endpoint, tmp_path: Path, library: str
) -> None:
    names = list(LIBRARIES) if library == "all" else [library]
    commands = [LIBRARIES[name](tmp_path) for name in names]
    name = f"of-{library}"
    with logged(server, name, tmp_path):
        running = [
            subprocess.Popen(
                [*command, str(server.port), server.user, str(LOOPS)],
                env={**os.environ, **environment},
                stderr=subprocess.PIPE,
            )
            for command, environment in commands
        ]
        for process in running:
            _, said = process.communicate(timeout=300)
            assert process.returncode == 0, said.decode()
    before = counted(server)
    target = conninfo_of(server)
    made = tmp_path / "made"
    captured = steelyard(
        "workloads", "capture", str(tmp_path / f"{name}.csv"), "-o", str(made), "--writes",
        "--database", "postgres", "--server", target,
    )  # fmt: skip
    assert {one["why"] for one in captured["left_out"]} <= EXPECTED
    assert captured["statements_share"] > 0.8
    executions = in_captured_order(made, captured["kinds"])
    with logged(server, f"{name}-again", tmp_path):
        driven = steelyard("drive", "-w", str(made), target, "--yes", "-t", str(executions))
    assert (driven["transactions"], driven["errors"]) == (executions, {})
    after = counted(server)
    covered = {mark: count for mark, count in after.items() if mark in before}
    assert sum(1 for count in covered.values() if count >= LOOPS) >= 7
    for mark, count in covered.items():
        # Each read is executed once before the load.
        assert abs(count - before[mark]) <= max(1 + len(names), 0.01 * before[mark]), mark
    again = steelyard(
        "workloads", "capture", str(tmp_path / f"{name}-again.csv"), "-o", str(tmp_path / "again"),
        "--writes", "--database", "postgres",
    )  # fmt: skip
    replayed = executions_of(again)
    for mark, count in executions_of(captured).items():
        assert abs(count - replayed[mark]) <= max(1 + len(names), 0.01 * count), mark


def executions_of(captured: Any) -> Counter[str]:
    """Transactions of each kind, by the fingerprint of their statements."""
    counts: Counter[str] = Counter()
    for kind in captured["kinds"]:
        counts[kind["fingerprint"]] += kind["count"]
    return counts
