"""On servers that others wrote, what `drive` counts is what psql, pgbench and PyMySQL count."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from interop.foreign import SERVERS, Foreign, pgbouncer
from interop.places import program

pytestmark = [pytest.mark.postgres, pytest.mark.long]

START = "from steelyard.cli.app import main; main()"
EXECUTIONS = 25


@pytest.fixture(scope="module", params=list(SERVERS))
def server(request: pytest.FixtureRequest) -> Iterator[Foreign]:
    with SERVERS[request.param]() as running:
        running.ask("CREATE TABLE written (v int)")
        yield running


def drive(server: Foreign, *words: str, status: int = 0) -> tuple[dict[str, Any], str]:
    done = subprocess.run(
        [sys.executable, "-c", START, "drive", server.target, *words, "--json"],
        capture_output=True, text=True, check=False, env={**os.environ, **server.environment},
    )  # fmt: skip
    assert done.returncode == status, done.stderr
    return (json.loads(done.stdout) if done.stdout else {}), done.stderr


def script(directory: Path, text: str) -> str:
    path = directory / "script.sql"
    path.write_text(text)
    return str(path)


def rows(server: Foreign, value: int) -> int:
    return int(server.ask(f"SELECT count(*) FROM written WHERE v = {value}"))


@pytest.mark.parametrize("mode", ["simple", "extended", "prepared"])
def test_each_transaction_that_is_counted_is_in_the_servers_table(
    server: Foreign, tmp_path: Path, mode: str
) -> None:
    if mode not in server.modes:
        pytest.skip(f"{server.name} has no mode {mode}")
    value = {"simple": 1, "extended": 2, "prepared": 3}[mode]
    clients = server.most_clients
    load = ("-f", script(tmp_path, f"INSERT INTO written VALUES ({value});\n"), "-M", mode)
    summary, _ = drive(server, *load, "-c", str(clients), "-t", str(EXECUTIONS))
    assert rows(server, value) == summary["transactions"] > 0
    require_executed(server, summary, clients * EXECUTIONS)


def require_executed(server: Foreign, summary: dict[str, Any], executions: int) -> None:
    """All succeeded, but for what the server refuses by itself."""
    assert summary["transactions"] + summary["failed"] == executions
    assert set(summary["errors"]) <= server.refusals


@pytest.mark.parametrize("mode", ["simple", "extended", "prepared"])
def test_a_second_load_executes_its_own_statements(
    server: Foreign, tmp_path: Path, mode: str
) -> None:
    """Where the first one's are left on its connections, too."""
    if mode not in server.modes:
        pytest.skip(f"{server.name} has no mode {mode}")
    before = {value: rows(server, value) for value in (10, 11)}
    succeeded = {}
    for value in (10, 11):
        load = ("-f", script(tmp_path, f"INSERT INTO written VALUES ({value});\n"), "-M", mode)
        summary, _ = drive(server, *load, "-t", str(EXECUTIONS))
        require_executed(server, summary, EXECUTIONS)
        succeeded[value] = summary["transactions"]
    assert {value: rows(server, value) - before[value] for value in (10, 11)} == succeeded


def test_pgbench_writes_as_many_rows(server: Foreign, tmp_path: Path) -> None:
    if server.is_mysql:
        pytest.skip("pgbench speaks PostgreSQL's protocol")
    path = script(tmp_path, "\\set n 20 + 1\nINSERT INTO written VALUES (:n);\n")
    words = [program("pgbench"), "-n", "-f", path, "-c", "1", "-t", str(EXECUTIONS), server.target]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert rows(server, 21) == EXECUTIONS
    drive(server, "-f", path, "-t", str(EXECUTIONS))
    assert rows(server, 21) == 2 * EXECUTIONS


def test_values_that_a_statement_returned_are_sent(server: Foreign, tmp_path: Path) -> None:
    text = "SELECT 40 + 2 AS n \\gset\nINSERT INTO written VALUES (:n);\n"
    summary, _ = drive(server, "-f", script(tmp_path, text), "-t", str(EXECUTIONS))
    assert (summary["transactions"], summary["errors"]) == (EXECUTIONS, {})
    assert rows(server, 42) == EXECUTIONS


def test_what_fails_is_counted_and_said_in_the_servers_words(
    server: Foreign, tmp_path: Path
) -> None:
    path = script(tmp_path, "SELECT v FROM misspelt;\n")
    summary, said = drive(server, "-f", path, "-t", "3", status=2)
    assert (summary["transactions"], summary["failed"]) == (0, 3)
    assert "no transaction succeeded" in said or "every connection was lost" in said
    assert "misspelt" in json.dumps(summary).lower()


def test_a_wrong_password_is_said_in_the_servers_words(server: Foreign, tmp_path: Path) -> None:
    if "password=" not in server.target:
        pytest.skip(f"{server.name} takes any password here")
    wrong = Foreign(server.name, server.target.replace("password=", "password=not-"))
    _, said = drive(wrong, "-f", script(tmp_path, "SELECT 1;\n"), "-t", "1", status=3)
    assert "could not connect" in said


def test_through_a_pooler_that_forgets_statements_none_of_another_load_is_executed(
    tmp_path: Path,
) -> None:
    with pgbouncer(statements=0) as pooler:
        pooler.ask("CREATE TABLE written (v int)")
        reads = tmp_path / "reads.sql"
        reads.write_text("SELECT 1;\n")
        drive(pooler, "-f", str(reads), "-M", "prepared", "-c", "1", "-t", "3")
        load = ("-f", script(tmp_path, "INSERT INTO written VALUES (1);\n"), "-M", "prepared")
        summary, _ = drive(pooler, *load, "-c", "4", "-j", "2", "-t", "100")
        assert summary["transactions"] == rows(pooler, 1) > 0
        assert set(summary["errors"]) <= {"26000", "42P05"}


def test_a_load_into_a_server_that_stalls_is_ended_by_one_signal() -> None:
    """PGlite has one backend: several connections that copy at once wait for one another."""
    with SERVERS["pglite"]() as server:
        loading = subprocess.Popen(
            [sys.executable, "-c", START, "workloads", "load", "select-insert", server.target],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        time.sleep(15)
        if loading.poll() is None:
            loading.send_signal(signal.SIGTERM)
        said, _ = loading.communicate(timeout=60)
        assert loading.returncode != 0 or b"loaded" in said, said.decode()
