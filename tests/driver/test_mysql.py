"""`steelyard drive` on a real MySQL: work that is done once, in both modes, by many clients."""

from __future__ import annotations

import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from driver.mysqld import Mysqld, running
from driver.stuck import GIVES_UP_SOON
from steelyard.driver.client import Driver
from steelyard.driver.plan import DriveArm, DrivePlan, DriveScript, SliceRequest
from steelyard.engines.mysql.sql.session import connected, rows_of
from steelyard.engines.mysql.uri import read_uri

pytestmark = pytest.mark.long

START = "from steelyard.cli.app import main; main()"


@pytest.fixture(scope="module")
def server() -> Iterator[Mysqld]:
    home = Path(f"/tmp/syt-mysql-{os.getpid()}")
    home.mkdir(mode=0o711)
    try:
        with running(home) as started:
            made = drive(started, "CREATE DATABASE d;", "-t", "1")
            assert made["transactions"] == 1
            yield started
    finally:
        shutil.rmtree(home, ignore_errors=True)


def called(
    server: Mysqld,
    script: str,
    *words: str,
    user: str = "root",
    database: str = "",
    start: str = START,
) -> subprocess.CompletedProcess[str]:
    target = server.uri(user, database)
    command = [sys.executable, "-c", start, "drive", target, "-f", "-", "--json", *words]
    return subprocess.run(command, input=script, capture_output=True, text=True, check=False)


def drive(server: Mysqld, script: str, *words: str, database: str = "") -> dict[str, Any]:
    done = called(server, script, *words, database=database)
    assert done.returncode == 0, done.stderr
    summary: dict[str, Any] = json.loads(done.stdout)
    assert summary["errors"] == {}, done.stdout
    return summary


def make(server: Mysqld, *statements: str) -> None:
    drive(server, "\n".join(statements), "-t", "1", database="d")


def require(server: Mysqld, query: str, wanted: object) -> None:
    """A query returns one value."""
    script = f"{query} \\gset\n\\if :found <> {wanted}\nSELECT no_such_column;\n\\endif\n"
    drive(server, script, "-t", "1", database="d")


@pytest.mark.parametrize("mode", ["simple", "prepared"])
def test_every_transaction_is_done_once(server: Mysqld, mode: str) -> None:
    make(server, "DROP TABLE IF EXISTS t;",
         "CREATE TABLE t (id INT PRIMARY KEY, n BIGINT, d DOUBLE);",
         "INSERT INTO t VALUES (0, 0, 0), (1, 0, 0), (2, 0, 0), (3, 0, 0);")  # fmt: skip
    script = (
        "\\set by random(1, 1)\n\\set half 0.5 * :by\nBEGIN;\n"
        "UPDATE t SET n = n + :by, d = d + :half WHERE id = :client_id;\n"
        "SELECT n FROM t WHERE id = :client_id;\nCOMMIT;\n"
    )
    done = drive(server, script, "-c", "4", "-j", "2", "-t", "50", "-M", mode, database="d")
    assert done["transactions"] == 200
    assert done["mode"] == mode
    require(server, "SELECT SUM(n) AS found FROM t", 200)
    require(server, "SELECT SUM(d) AS found FROM t", 100)


def test_what_a_query_returns_is_the_same_in_both_modes(server: Mysqld) -> None:
    make(server, "DROP TABLE IF EXISTS seen;", "CREATE TABLE seen (mode INT, what VARCHAR(99));")
    for number, mode in enumerate(("simple", "prepared")):
        script = (
            f"\\set mode {number}\n"
            "SELECT CAST(-3 AS SIGNED) AS a, 1.25 AS b, 0.5e0 AS c, DATE '2026-03-04' AS d,\n"
            "TIMESTAMP '2026-03-04 05:06:07.25' AS e, TIME '-26:03:04' AS f, 'x' AS g \\gset\n"
            "INSERT INTO seen VALUES (:mode, CONCAT_WS('|', :a, :b, :c));\n"
        )
        drive(server, script, "-t", "3", "-M", mode, database="d")
    require(server, "SELECT COUNT(DISTINCT what) AS found FROM seen", 1)
    require(server, "SELECT COUNT(*) AS found FROM seen WHERE what = '-3|1.25|0.5'", 6)


def test_a_text_with_a_backslash_is_compared_by_the_collation_of_the_column(
    server: Mysqld,
) -> None:
    """The first execution of a statement goes out as a text, the others are prepared."""
    make(server, "DROP TABLE IF EXISTS c;",
         "CREATE TABLE c (s VARCHAR(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_polish_ci, n INT);",
         "INSERT INTO c VALUES (CHAR(65, 92, 66), 0);")  # fmt: skip
    script = "SELECT LOWER(s) AS s FROM c \\gset\nUPDATE c SET n = n + 1 WHERE s = :s;\n"
    drive(server, script, "-t", "3", "-M", "prepared", database="d")
    require(server, "SELECT n AS found FROM c", 3)


def test_a_text_that_looks_like_a_number_stays_a_text(server: Mysqld) -> None:
    """A column of texts would be compared with a number row by row, without its index."""
    make(server, "DROP TABLE IF EXISTS k;", "CREATE TABLE k (texts INT, numbers INT);",
         "INSERT INTO k VALUES (0, 0);")  # fmt: skip
    script = (
        "SELECT '42' AS code, 42 AS n \\gset\n"
        "UPDATE k SET texts = texts + (:code <> '42.0'), numbers = numbers + (:n = '42.0');\n"
    )
    drive(server, script, "-t", "3", "-M", "prepared", database="d")
    require(server, "SELECT 10 * texts + numbers AS found FROM k", 33)


@pytest.mark.parametrize("mode", ["simple", "prepared"])
def test_deadlocks_are_tried_again_until_all_is_done(server: Mysqld, mode: str) -> None:
    make(server, "DROP TABLE IF EXISTS l;", "CREATE TABLE l (id INT PRIMARY KEY, n INT);",
         "INSERT INTO l VALUES (1, 0), (2, 0);")  # fmt: skip
    script = (
        "\\set one random(1, 2)\n\\set other 3 - :one\nBEGIN;\n"
        "UPDATE l SET n = n + 1 WHERE id = :one;\nDO SLEEP(0.002);\n"
        "UPDATE l SET n = n + 1 WHERE id = :other;\nCOMMIT;\n"
    )
    words = ("-c", "4", "-t", "20", "-M", mode, "--max-tries", "0", "-L", "60000")
    done = drive(server, script, *words, database="d")
    assert done["transactions"] == 80
    assert done["retries"] > 0
    require(server, "SELECT SUM(n) AS found FROM l", 160)


@pytest.mark.parametrize("mode", ["simple", "prepared"])
def test_what_a_procedure_answers_is_stored(server: Mysqld, mode: str) -> None:
    """A CALL ends in an acknowledgement, which is no result of its own."""
    make(server, "DROP PROCEDURE IF EXISTS p;",
         "CREATE PROCEDURE p(n INT) BEGIN IF n > 0 THEN DO 'a\\';b'; END IF; SELECT n + 1 m; END;",
         "DROP TABLE IF EXISTS told;", "CREATE TABLE told (n INT);")  # fmt: skip
    script = "\\set n 6\nCALL p(:n) \\gset\nINSERT INTO told VALUES (:m);\n"
    assert drive(server, script, "-t", "3", "-M", mode, database="d")["transactions"] == 3
    require(server, "SELECT SUM(n) AS found FROM told", 21)


def test_errors_are_counted_by_their_numbers(server: Mysqld) -> None:
    done = called(server, "SELECT * FROM nowhere;", "-t", "2", database="d")
    assert json.loads(done.stdout)["errors"] == {"1146": 2}


def test_work_on_a_server_that_takes_no_writes_fails_and_changes_nothing(server: Mysqld) -> None:
    make(server, "DROP TABLE IF EXISTS r;", "CREATE TABLE r (n INT);", "INSERT INTO r VALUES (1);")
    with connected(read_uri(server.uri())) as connection:
        rows_of(connection, "SET GLOBAL super_read_only = ON")
        try:
            done = called(server, "UPDATE r SET n = 2;", "-t", "3", database="d")
        finally:
            rows_of(connection, "SET GLOBAL super_read_only = OFF")
            rows_of(connection, "SET GLOBAL read_only = OFF")
    assert json.loads(done.stdout)["errors"] == {"1290": 3}
    require(server, "SELECT n AS found FROM r", 1)


@pytest.mark.parametrize("mode", ["simple", "prepared"])
def test_work_of_a_failed_call_is_not_committed_by_the_next_transaction(
    server: Mysqld, mode: str
) -> None:
    """The procedure begins a transaction and fails in it; the next BEGIN would commit that."""
    make(server, "DROP PROCEDURE IF EXISTS torn;", "DROP TABLE IF EXISTS w;",
         "CREATE TABLE w (n INT PRIMARY KEY);", "INSERT INTO w VALUES (0);",
         "CREATE PROCEDURE torn(n INT) BEGIN START TRANSACTION; INSERT INTO w VALUES (n); "
         "INSERT INTO w VALUES (0); COMMIT; END;")  # fmt: skip
    script = "\\set n random(1, 1000000)\nCALL torn(:n);\n"
    done = called(server, script, "-t", "5", "-M", mode, database="d")
    assert json.loads(done.stdout)["errors"] == {"1062": 5}
    require(server, "SELECT COUNT(*) AS found FROM w", 1)


def kill_in_a_statement(server: Mysqld, number: int) -> None:
    """Kill a connection while it executes a SLEEP."""
    deadline = time.monotonic() + 30
    with connected(read_uri(server.uri())) as connection:
        while time.monotonic() < deadline:
            listed = rows_of(connection, "SHOW PROCESSLIST")
            if any(one[0] == number and "SLEEP" in str(one[7]) for one in listed):
                rows_of(connection, f"KILL {number}")
                return


def test_a_connection_that_is_lost_is_counted_and_opened_again_for_the_next_slice(
    server: Mysqld,
) -> None:
    plan = DrivePlan(
        arms=(DriveArm("a", read_uri(server.uri(database="d")), clients=2),),
        scripts=(DriveScript("s", "SELECT SLEEP(0.01);"),),
        mode="simple",
    )
    one = SliceRequest(arm=0, length_ns=2_000_000_000)
    with Driver.start(plan) as driver:
        killed, kept = driver.connected["a"]
        killer = threading.Thread(target=kill_in_a_statement, args=(server, killed))
        killer.start()
        first, second = driver.run([one, one])
        killer.join()
        with connected(read_uri(server.uri())) as connection:
            shown = {row[0] for row in rows_of(connection, "SHOW PROCESSLIST")}
    assert sum(first.errors.values()) == 1
    assert set(first.errors) <= {"2013", "1317"}, first.errors
    assert (first.lost, second.lost, second.errors) == (1, 0, {})
    [(client, number)] = second.reconnected
    assert (client, number in (killed, kept)) == (0, False)
    assert {kept, number} <= shown
    assert killed not in shown
    assert second.transactions > 0


def test_a_connection_for_each_transaction(server: Mysqld) -> None:
    assert drive(server, "SELECT 1;", "-C", "-t", "5", "-c", "2")["transactions"] == 10


def test_a_statement_that_does_not_end_is_stopped(server: Mysqld) -> None:
    done = called(server, "SELECT SLEEP(600);", "-T", "0.2", start=GIVES_UP_SOON)
    assert done.returncode == 2, done.stderr
    assert "no transaction succeeded" in done.stderr or "connection was lost" in done.stderr
    shown = drive(server, "SELECT COUNT(*) AS found FROM information_schema.processlist "
                  "WHERE info LIKE '%SLEEP(600)%' AND id <> CONNECTION_ID() \\gset\n"
                  "\\if :found <> 0\nSELECT it_still_runs;\n\\endif\n", "-t", "1")  # fmt: skip
    assert shown["transactions"] == 1


def test_who_is_not_let_in_is_told_in_the_servers_words(server: Mysqld) -> None:
    make(server, "DROP USER IF EXISTS 'app'@'localhost';",
         "CREATE USER 'app'@'localhost' IDENTIFIED BY 'right';")  # fmt: skip
    refused = called(server, "SELECT 1;", "-t", "1", user="app:wrong")
    assert refused.returncode == 3
    assert "Access denied for user 'app'@'localhost' (using password: YES)" in refused.stderr
    assert "wrong" not in refused.stderr
    assert called(server, "SELECT 1;", "-t", "1", user="app:right").returncode == 0


def narrow_threads(server: Mysqld) -> int:
    """Threads of the server that may not run on every processor that we may."""
    every = os.sched_getaffinity(0)
    with socket.socket(socket.AF_UNIX) as probe:
        probe.connect(str(server.socket))
        size = struct.calcsize("3i")
        told = probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    pid = struct.unpack("3i", told)[0]
    return sum(os.sched_getaffinity(int(t)) != every for t in os.listdir(f"/proc/{pid}/task"))


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is one processor")
def test_sessions_are_placed_while_they_are_driven_and_given_back(server: Mysqld) -> None:
    command = [sys.executable, "-c", START, "drive", server.uri(), "-f", "-", "--json"]
    command += ["-c", "4", "-j", "2", "-T", "3", "--placement", "symmetric"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as driven:
        assert driven.stdin is not None
        driven.stdin.write(b"SELECT 1;\n")
        driven.stdin.close()
        seen = 0
        deadline = time.monotonic() + 30
        while driven.poll() is None and seen < 4 and time.monotonic() < deadline:
            seen = max(seen, narrow_threads(server))
            time.sleep(0.05)
        assert driven.stdout is not None
        summary = json.loads(driven.stdout.read())
    assert seen == 4
    assert summary["placement"] == "symmetric"
    assert narrow_threads(server) == 0
