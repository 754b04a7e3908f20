"""Options of `steelyard drive` that are pgbench's: they mean what they mean there."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from driver.served import Server
from driver.stuck import interrupt_stuck_load
from steelyard.engines.postgres.libpq.connection_string import client_flags
from steelyard.engines.postgres.selection import find_postgres
from thinned import thinned

pytestmark = pytest.mark.postgres

START = "from steelyard.cli.app import main; main()"


def _drive(
    server: Server, *words: str, cwd: Path | None = None, status: int = 0
) -> tuple[dict[str, Any], str]:
    command = [sys.executable, "-c", START, "drive", server.conninfo, *words, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)
    assert done.returncode == status, done.stderr
    return json.loads(done.stdout), done.stderr


@pytest.mark.long
def test_by_count_every_client_executes_so_often(server: Server) -> None:
    summary, _ = _drive(server, "-b", "select", "-c", "3", "-j", "2", "-t", "7")
    assert (summary["transactions"], summary["failed"]) == (21, 0)


def test_serialization_failures_are_tried_again_until_the_work_is_done(
    server: Server, tmp_path: Path
) -> None:
    with server.connect() as connection:
        connection.execute("CREATE TABLE counter (n int); INSERT INTO counter VALUES (0)")
    try:
        script = tmp_path / "count.sql"
        script.write_text(
            "BEGIN ISOLATION LEVEL SERIALIZABLE;\nSELECT n FROM counter \\gset\n"
            "UPDATE counter SET n = :n::int + 1;\nEND;\n"
        )
        load = ["-f", str(script), "-c", "4", "-t", "50", "--max-tries", "1000", "-M", "prepared"]
        summary, _ = _drive(server, *load, "-r")
        assert (summary["transactions"], summary["errors"]) == (200, {})
        assert summary["retries"] >= summary["retried"] > 0
        assert server.one("SELECT n FROM counter") == 200
        timed = summary["scripts"][0]["commands"]
        assert [command["text"].split()[0] for command in timed] == [
            "BEGIN", "SELECT", "UPDATE", "END;",
        ]  # fmt: skip
        assert sum(command["retries"] for command in timed) == summary["retries"]
    finally:
        with server.connect() as connection:
            connection.execute("DROP TABLE counter")


def test_statement_timeouts_are_counted_by_their_sqlstate(server: Server, tmp_path: Path) -> None:
    script = tmp_path / "slow.sql"
    script.write_text("SET statement_timeout = '5ms';\nSELECT pg_sleep(10);\n")
    summary, _ = _drive(server, "-f", str(script), "-t", "3", status=2)
    assert summary["errors"] == {"57014": 3}


@thinned(
    ("sql", "words"),
    [
        ("SELECT * FROM nowhere;", "no transaction succeeded"),
        ("SELECT 1 / 0;", "no transaction succeeded"),
        ("SELECT pg_terminate_backend(pg_backend_pid());", "every connection was lost"),
        ("COPY pgbench_branches TO STDOUT;", "every connection was lost"),
    ],
    1,
)
@pytest.mark.parametrize("load", [["-t", "3"], ["-T", "0.3"]])
def test_a_load_that_did_nothing_is_exit_status_2_as_pgbenchs(
    server: Server, tmp_path: Path, sql: str, words: str, load: list[str]
) -> None:
    script = tmp_path / "fails.sql"
    script.write_text(f"{sql}\n")
    summary, said = _drive(server, "-f", str(script), "-c", "2", *load, status=2)
    assert summary["transactions"] == 0
    assert words in said
    bindir = Path(find_postgres("18").identity.bindir)
    theirs = [bindir / "pgbench", "-n", "-f", script, "-t", "3", *client_flags(server.address)]
    done = subprocess.run([*theirs, "postgres"], capture_output=True, check=False)
    assert done.returncode == 2


def test_a_part_of_the_connections_being_lost_is_exit_status_2_as_pgbenchs(
    server: Server, tmp_path: Path
) -> None:
    script = tmp_path / "ended.sql"
    script.write_text(
        "\\if :client_id = 0\nSELECT pg_terminate_backend(pg_backend_pid());\n\\endif\nSELECT 1;\n"
    )
    load = ["-f", str(script), "-c", "2", "-t", "5"]
    summary, said = _drive(server, *load, status=2)
    assert (summary["transactions"], summary["lost"]) == (5, 1)
    assert "1 of 2 connections were lost: the results are incomplete" in said
    bindir = Path(find_postgres("18").identity.bindir)
    theirs = [bindir / "pgbench", "-n", *load, *client_flags(server.address), "postgres"]
    done = subprocess.run(theirs, capture_output=True, check=False)
    assert done.returncode == 2


@pytest.mark.long
def test_an_aborted_client_ends_the_load_where_that_is_wanted(
    server: Server, tmp_path: Path
) -> None:
    """Client 0 divides by zero, client 1 does not."""
    script = tmp_path / "some.sql"
    script.write_text("SELECT 1 / :client_id;\n")
    load = ["-f", str(script), "-c", "2", "-j", "2"]
    summary, _ = _drive(server, *load, "-t", "5")
    assert (summary["transactions"], summary["failed"]) == (5, 5)
    summary, said = _drive(server, *load, "-T", "600", "--exit-on-abort", status=2)
    assert "ended early (--exit-on-abort)" in said
    assert "division by zero" in said
    assert "division by zero (22012)" in summary["aborted"]
    both = ["--exit-on-abort", "--continue-on-error"]
    summary, _ = _drive(server, *load, "-t", "5", *both)
    assert (summary["transactions"], summary["failed"]) == (5, 5)
    ended = tmp_path / "ended.sql"
    ended.write_text(
        "\\if :client_id = 0\nSELECT pg_terminate_backend(pg_backend_pid());\n\\endif\nSELECT 1;\n"
    )
    load = ["-f", str(ended), "-c", "2", "-j", "2", "-T", "600", *both]
    summary, said = _drive(server, *load, status=2)
    assert "57P01" in summary["aborted"]


@pytest.mark.long
def test_the_scale_of_built_in_scripts_is_that_of_the_tables(server: Server) -> None:
    summary, said = _drive(server, "-s", "7", "-b", "tpcb-like", "-t", "40")
    assert "scale option ignored, using count from pgbench_branches table (1)" in said
    assert (summary["transactions"], summary["wrong_rows"]) == (40, 0)
    _, said = _drive(server, "-b", "tpcb-like", "-t", "1")
    assert said == ""


def test_a_connection_for_each_transaction(server: Server) -> None:
    summary, _ = _drive(server, "-S", "-C", "-t", "10", "-c", "2", "-M", "prepared")
    assert (summary["transactions"], summary["failed"]) == (20, 0)
    assert summary["connections"] == 18
    assert summary["connection_us"] > 0


def test_progress_and_debug_go_to_standard_error(server: Server, tmp_path: Path) -> None:
    script = tmp_path / "say.sql"
    script.write_text(
        "\\if :client_id = 0\n\\set a debug(2 * 3)\n\\endif\n\\sleep 50 ms\nSELECT 1;\n"
    )
    load = ["-f", str(script), "-T", "0.5", "-P", "0.2", "-R", "20", "-L", "900"]
    summary, said = _drive(server, *load, "--max-tries", "2")
    line = r"progress: 0\.2 s, \d+\.\d tps, lat \d+\.\d{3} ms stddev \d+\.\d{3}, 0 failed"
    line += r", lag \d+\.\d{3} ms, 0 skipped, 0 retried, 0 retries"
    assert re.match(line, said.splitlines()[0]), said
    assert "debug(script=0,command=2): int 6" in said
    assert summary["rate"] == 20


@thinned(("aggregated", "version"), [(False, 18), (True, 18), (True, 19)], 1, ids=str)
def test_a_log_is_written_in_pgbenchs_format(
    server: Server, tmp_path: Path, aggregated: bool, version: int
) -> None:
    load = ["-S", "-c", "2", "-l", "--max-tries", "3", "--failures-detailed"]
    load += ["-T", "2", "--aggregate-interval", "1"] if aggregated else ["-t", "5"]
    load += ["--continue-on-error"] if version == 19 else []
    summary, _ = _drive(server, *load, cwd=tmp_path)
    (log,) = tmp_path.glob("pgbench_log.*")
    lines = [line.split(" ") for line in log.read_text().splitlines()]
    assert all(word.isdecimal() for line in lines for word in line)
    if aggregated:
        # Start, count, latency ×4, lag ×4, skipped, retried, retries, two kinds of failures; since
        # 19 a third kind.
        assert {len(line) for line in lines} == {16 if version == 19 else 15}
        assert len(lines) == 2
        assert 0 < sum(int(line[1]) for line in lines) <= summary["transactions"]
    else:
        # Client, number, latency, script, seconds, microseconds, retries.
        assert sorted((line[0], line[1]) for line in lines) == [
            (client, str(number)) for client in "01" for number in range(1, 6)
        ]
        assert {len(line) for line in lines} == {7}
        assert all(abs(int(line[4]) - time.time()) < 3600 for line in lines)


def test_ctrl_c_cancels_what_the_server_does(server: Server, tmp_path: Path) -> None:
    interrupt_stuck_load(server, server.conninfo, tmp_path)


@pytest.mark.long
def test_what_does_not_go_together_is_wrong_usage(server: Server) -> None:
    for words in (
        ["-t", "5", "-T", "5"],
        ["-R", "0"],
        ["-t", "5", "--max-tries", "0"],
        ["--aggregate-interval", "1"],
        ["-l", "--aggregate-interval", "1", "--sampling-rate", "0.5"],
        ["-b", "s"],
    ):
        command = [sys.executable, "-c", START, "drive", server.conninfo, *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 2, (words, done.stderr)
