"""What a proxy records of a load is what the server's log holds of it, and what the server counted;
whoever passes through it sees the server and nothing else."""

from __future__ import annotations

import asyncio
import datetime
import decimal
import json
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import asyncpg
import psycopg
import pytest

from driver.secured import authority
from own_cache import open_directory
from postgres.passing import (
    START,
    Logged,
    Passing,
    captured_from_log,
    logged_server,
    passing,
    repeats,
    without_setup,
)
from steelyard.engines.postgres.selection import find_postgres

pytestmark = [pytest.mark.postgres, pytest.mark.long]


@pytest.fixture(scope="module")
def server() -> Iterator[Logged]:
    with open_directory() as home, pytest.MonkeyPatch.context() as patch:
        patch.setenv("STEELYARD_CACHE", str(home / "cache"))
        patch.setenv("HOME", str(home))
        with logged_server(home) as made:
            made.ask("CREATE ROLE scram LOGIN SUPERUSER PASSWORD 's3cret'")
            yield made


def run_pgbench(passed: Passing, database: str, *words: str) -> None:
    pgbench = find_postgres("18").identity.bindir
    done = subprocess.run(
        [f"{pgbench}/pgbench", "-n", "-h", "127.0.0.1", "-p", str(passed.port), "-U", "postgres",
         *words, database],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("mode", ["simple", "extended", "prepared"])
def test_pgbench_is_recorded_as_the_log_has_it_and_the_server_counted_it(
    server: Logged, tmp_path: Path, mode: str
) -> None:
    database = server.database(f"pgbench_{mode}")
    script = tmp_path / "mixed.sql"
    script.write_text(
        "\\set id random(1, 500)\nBEGIN;\nSELECT n FROM t WHERE id = :id;\n"
        "UPDATE t SET n = n + :id WHERE id = :id;\nEND;\nSELECT count(*) FROM t WHERE id < :id;\n"
    )
    with passing(tmp_path / "passed", server.conninfo(database), "--writes") as passed:
        run_pgbench(passed, database, "-M", mode, "-c", "4", "-t", "50", "-f", str(script))
        passed.interrupt()
        passed.end()
    counted = server.calls(database)
    logged = captured_from_log(server.log, tmp_path / "logged", database, "--writes")
    assert passed.kinds
    assert passed.kinds == without_setup(logged, passed)
    assert passed.facts["statements_share"] == 1.0
    assert passed.facts["mode"] == mode
    assert passed.calls() == {mark: counted[mark] for mark in passed.calls()}
    assert passed.facts["passed"]["connections"] in (4, 5)  # pgbench asks for the tables first
    assert passed.facts["passed"]["added_ns"]["forwards"] > 400
    assert passed.facts["arrivals"] == 400


VALUES: list[tuple[Any, ...]] = [
    (
        1,
        2**40,
        "it's",
        datetime.date(2026, 11, 27),
        decimal.Decimal("-12.340"),
        '{"a": [1]}',
        [1, 2],
    ),
    (2, None, "tab\t\\ 😀", None, decimal.Decimal("NaN"), None, []),
    (3, -1, "", datetime.date(1999, 1, 2), decimal.Decimal("10000.0001"), "3", [-5]),
]
INSERT = "UPDATE t SET n = {}, s = {}, d = {}, x = {}, j = {}, a = {} WHERE id = {}"


def test_values_of_asyncpg_in_binary_are_those_that_the_server_got(
    server: Logged, tmp_path: Path
) -> None:
    database = server.database("of_asyncpg")
    with passing(tmp_path / "passed", server.conninfo(database), "--writes") as passed:
        asyncio.run(_by_asyncpg(passed, database))
        passed.interrupt()
        passed.end()
    logged = captured_from_log(server.log, tmp_path / "logged", database, "--writes")
    assert passed.kinds == without_setup(logged, passed)
    # Some versions of asyncpg look up types, with set_config('jit', …) before and after.
    own = [(entry["why"], entry["statements"]) for entry in passed.facts["left_out"]]
    assert own in ([], [("commands of the session, cursors, COPY and maintenance", 2)])
    repeats(server, passed, database)


async def _by_asyncpg(passed: Passing, database: str) -> None:
    connection = await asyncpg.connect(
        host="127.0.0.1", port=passed.port, user="postgres", database=database, ssl=False
    )
    marks = [f"${n}" for n in range(1, 8)]
    for row in VALUES:
        await connection.execute(INSERT.format(*marks), *row[1:], row[0])
    now = datetime.datetime(2026, 11, 27, 12, 0, 0, 250000, tzinfo=datetime.UTC)
    given = [
        (
            True,
            1.5,
            0.1,
            uuid.UUID(int=7),
            now,
            datetime.timedelta(days=3, microseconds=5),
            b"\0\xff",
        ),
        (False, 1e300, -2.5, uuid.UUID(int=8), now, datetime.timedelta(0), b""),
    ]
    for row in given:
        await connection.fetch(
            "SELECT $1::bool, $2::float8, $3::float4, $4::uuid, $5::timestamptz, $6::interval, "
            "$7::bytea, id FROM t WHERE id < 3",
            *row,
        )
    async with connection.transaction():
        await connection.fetchval("SELECT count(*) FROM t WHERE id = ANY($1::int[])", [1, None, 3])
    await connection.close()


def test_types_that_psycopg_declares_are_kept(server: Logged, tmp_path: Path) -> None:
    database = server.database("of_psycopg")
    with passing(tmp_path / "passed", server.conninfo(database), "--writes") as passed:
        with psycopg.connect(passed.conninfo(database), prepare_threshold=2) as connection:
            for row in VALUES:
                connection.execute(INSERT.format(*["%s"] * 7), (*row[1:], row[0]))
            for n in range(6):
                # Without their types the server could not tell which operator is meant.
                connection.execute("SELECT id FROM t WHERE id < %s + %s", (n, 3))
            with connection.cursor(binary=True) as cursor:
                for n in range(3):
                    cursor.execute("SELECT %b + %b", (70000 + n, 1))
            connection.commit()
            with pytest.raises(psycopg.errors.UndefinedColumn):
                connection.execute("SELECT nothing FROM t")
        passed.interrupt()
        passed.end()
    logged = captured_from_log(server.log, tmp_path / "logged", database, "--writes")
    assert passed.kinds == without_setup(logged, passed)
    texts = "".join(path.read_text() for path in sorted((passed.folder / "scripts").iterdir()))
    assert "::int2) + (" in texts
    whys = {one["why"]: one["statements"] for one in passed.facts["left_out"]}
    assert whys["statements that failed"] == 1
    repeats(server, passed, database)


def test_arrivals_are_repeated_at_their_times_and_at_another_pace(
    server: Logged, tmp_path: Path
) -> None:
    database = server.database("paced")
    with passing(tmp_path / "passed", server.conninfo(database)) as passed:
        with psycopg.connect(passed.conninfo(database), autocommit=True) as connection:
            for n in range(40):
                connection.execute(f"SELECT n FROM t WHERE id = {n}".encode())
                time.sleep(0.05)
        passed.interrupt()
        passed.end()
    assert passed.facts["arrivals"] == 40
    lines = [line.split("\t") for line in (passed.folder / "arrivals.tsv").read_text().splitlines()]
    span_s = sum(int(gap) for gap, _ in lines) / 1e6
    assert 40 * 0.05 * 0.9 < span_s < 60
    for pace in (1, 4):
        done = subprocess.run(
            [sys.executable, "-c", START, "drive", "-w", str(passed.folder),
             server.conninfo(database), "--pace", str(pace), "-c", "2", "--json"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        driven = json.loads(done.stdout)
        assert driven["transactions"] + driven["unstarted"] == 40
        assert driven["pace"] == pace
        assert driven["seconds"] == pytest.approx(span_s / pace * 40 / 39, rel=0.2, abs=0.5)
        assert driven["schedule_lag_us"]["max"] >= driven["schedule_lag_us"]["mean"] >= 0


def test_encryption_and_scram_pass_through_and_no_secret_is_kept(
    server: Logged, tmp_path: Path
) -> None:
    database = server.database("secured")
    to = server.conninfo(database, "sslmode=require")
    with passing(tmp_path / "passed", to) as passed:
        words = passed.conninfo(database, "sslmode=prefer password=s3cret").replace(
            "user=postgres", "user=scram"
        )
        with psycopg.connect(words, autocommit=True) as connection:
            connection.execute("SELECT n FROM t WHERE id = 7")
            row = connection.execute("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
            assert row.fetchone() == (True,), "the server sees an encrypted connection"
        with pytest.raises(psycopg.OperationalError, match="does not support SSL"):
            psycopg.connect(words.replace("sslmode=prefer", "sslmode=require"))
        passed.interrupt()
        passed.end()
    kept = b"".join(path.read_bytes() for path in passed.folder.rglob("*") if path.is_file())
    assert b"s3cret" not in kept
    assert len(passed.facts["kinds"]) == 2


def test_clients_that_encrypt_are_given_the_certificate_that_was_named(
    server: Logged, tmp_path: Path
) -> None:
    database = server.database("encrypted")
    certificate, key = authority("proxy").sign("localhost", "localhost").save(tmp_path, "proxy")
    given = ("--certificate", str(certificate), "--key", str(key))
    with passing(tmp_path / "passed", server.conninfo(database), *given) as passed:
        for words in (
            "sslmode=require",
            "sslmode=disable",
            "sslmode=require sslnegotiation=direct",
        ):
            with psycopg.connect(passed.conninfo(database, words), autocommit=True) as connection:
                connection.execute("SELECT 1")
        passed.interrupt()
        passed.end()
    assert passed.facts["passed"]["encrypted"] == 2
    assert list(passed.kinds.values()) == [3]


def test_a_cancel_request_reaches_the_server(server: Logged, tmp_path: Path) -> None:
    database = server.database("cancelled")
    with passing(tmp_path / "passed", server.conninfo(database)) as passed:
        with psycopg.connect(passed.conninfo(database), autocommit=True) as connection:
            connection.execute("SELECT 1")
            canceller = threading.Timer(0.5, connection.cancel)
            canceller.start()
            with pytest.raises(psycopg.errors.QueryCanceled):
                connection.execute("SELECT pg_sleep(60)")
        passed.interrupt()
        passed.end()
    assert passed.facts["passed"]["cancels"] == 1


def test_copy_large_values_and_pipelines_pass_unchanged_and_are_counted(
    server: Logged, tmp_path: Path
) -> None:
    database = server.database("copied")
    large = "x" * 3_000_000
    with passing(tmp_path / "passed", server.conninfo(database), "--writes") as passed:
        with psycopg.connect(passed.conninfo(database), autocommit=True) as connection:
            with connection.cursor().copy("COPY t (id, s) FROM STDIN") as copy:
                for n in range(1000, 3000):
                    copy.write_row((n, "s" * 1000))
            with connection.cursor().copy("COPY t TO STDOUT") as copy:
                copied = sum(len(part) for part in copy)
            assert copied > 2_000_000
            got = connection.execute("SELECT %s::text", (large,)).fetchone()
            assert got == (large,)
            with connection.pipeline():
                for n in range(200):
                    connection.execute("SELECT n FROM t WHERE id = %s", (n,))
        passed.interrupt()
        passed.end()
    assert server.ask("SELECT count(*) FROM t", database) == [(2500,)]
    whys = {one["why"]: one["statements"] for one in passed.facts["left_out"]}
    assert whys["transactions whose values are cut off"] == 1
    assert whys["commands of the session, cursors, COPY and maintenance"] == 2
    assert list(passed.kinds.values()) == [1], "a pipeline is one transaction"
    shares = [one["statements_share"] for one in passed.facts["left_out"]]
    assert sum(shares) + passed.facts["statements_share"] == pytest.approx(1)


def test_open_connections_are_passed_on_after_the_end_and_a_second_signal_ends_them(
    server: Logged, tmp_path: Path
) -> None:
    database = server.database("lasting")
    with passing(tmp_path / "passed", server.conninfo(database), "--for", "3s") as passed:
        connection = psycopg.connect(passed.conninfo(database), autocommit=True)
        connection.execute("SELECT 1")
        deadline = time.monotonic() + 30
        while not (passed.folder / "workload.toml").exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        time.sleep(0.5)
        assert connection.execute("SELECT 2").fetchone() == (2,), "it is still passed through"
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(passed.conninfo(database), connect_timeout=5)
        passed.interrupt()
        passed.end()
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 3")
    assert any("still passed through" in line for line in passed.said)
    assert list(passed.kinds.values()) == [1], "what came after the end is not recorded"


def test_settings_of_startup_messages_are_named(server: Logged, tmp_path: Path) -> None:
    """They lead to other tables and plans when the statements are driven without."""
    database = server.database("with_settings")
    with passing(tmp_path / "passed", server.conninfo(database)) as passed:
        for options in ("'-c search_path=public -c statement_timeout=9s'", "-cjit=off", "''"):
            words = passed.conninfo(database, f"sslmode=disable options={options}")
            with psycopg.connect(words) as connection:
                connection.execute("SELECT n FROM t WHERE id = 1")
        passed.interrupt()
        passed.end()
    assert passed.facts["sets"] == {"search_path": 1, "jit": 1}
    assert passed.facts["captured"] == 9


def test_settings_of_roles_are_named(server: Logged, tmp_path: Path) -> None:
    """They hold for the application's sessions, and not for those of another role that drives."""
    database, other = server.database("with_roles"), server.database("without_roles")
    server.ask(
        "CREATE ROLE app LOGIN; ALTER ROLE app SET search_path = app, public;"
        f"ALTER ROLE app IN DATABASE {database} SET jit = off;"
        "ALTER ROLE app SET log_min_duration_statement = 0; ALTER ROLE app SET work_mem = '64MB';"
        f"ALTER ROLE app IN DATABASE {other} SET enable_seqscan = off;"
        "CREATE ROLE idle LOGIN; ALTER ROLE idle SET geqo = off; GRANT pg_read_all_data TO app"
    )
    with passing(tmp_path / "passed", server.conninfo(database)) as passed:
        for user in ("app", "app", "postgres"):
            words = passed.conninfo(database, f"sslmode=disable user={user}")
            with psycopg.connect(words) as connection:
                connection.execute("SELECT n FROM t WHERE id = 1")
        passed.interrupt()
        passed.end()
    assert passed.facts["sets"] == {"search_path": 2, "work_mem": 2, "jit": 2}
