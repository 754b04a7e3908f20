"""A guarded connection does what psycopg's does, as far as control statements need it."""

from __future__ import annotations

import struct
import threading
import time
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import psycopg
import pytest
from psycopg import sql

from own_cache import own_server
from steelyard._core import COPY_HEADER, COPY_TRAILER
from steelyard.engines.postgres.guarded.connection import (
    GuardedConnection,
    answered_soon,
    guarded,
    timeout_s,
)
from steelyard.engines.postgres.guarded.watched_process import LimitError
from steelyard.engines.postgres.libpq.connection_string import conninfo_of
from thinned import thinned

pytestmark = pytest.mark.postgres


@pytest.fixture(scope="module")
def conninfo() -> Iterator[str]:
    with own_server("18", {"shared_buffers": "16MB"}) as instance:
        yield conninfo_of(instance.address)


@pytest.fixture
def session(conninfo: str) -> Iterator[GuardedConnection]:
    with guarded(conninfo, where="here", answer_s=None) as connection:
        yield connection


@thinned(
    "query",
    [
        "SELECT 1, 1.5::float8, 'ä'::text, NULL, true",
        "SELECT 123456789012345678901234567890::numeric, 9223372036854775807",
        "SELECT ARRAY['a', NULL, 'b'], ARRAY[[1, 2], [3, 4]], '{}'::text[]",
        """SELECT '{"Plan": {"Rows": [1, 2.5, null, "x"]}}'::jsonb, '[]'::json""",
        "SELECT decode('00ff', 'hex')",
        "SELECT n FROM generate_series(1, 1000) AS n",
        "SELECT 'NaN'::float8 = 'NaN'::float8",
    ],
    1,
)
def test_rows_are_those_of_psycopg(query: str, conninfo: str, session: GuardedConnection) -> None:
    with psycopg.connect(conninfo) as plain:
        cursor = plain.execute(query.encode())
        expected, names = cursor.fetchall(), [column.name for column in cursor.description or ()]
    result = session.execute(query)
    assert [column.name for column in result.description or ()] == names
    assert result.rowcount == len(expected)
    assert result.fetchall() == expected


def test_values_go_along_and_names_are_quoted(session: GuardedConnection) -> None:
    query = "SELECT %s::text, %s::int, 7 = ANY (%s)"
    assert session.execute(query, ["a'b", 3, [5, 7]]).fetchone() == ("a'b", 3, True)
    named = sql.SQL("SELECT 1 AS {}").format(sql.Identifier('a"b'))
    assert [one.name for one in session.execute(named).description or ()] == ['a"b']
    assert session.execute("SELECT %s::numeric", [Decimal("1.50")]).fetchone() == (Decimal("1.50"),)


def test_a_statement_without_rows_has_its_tag(session: GuardedConnection) -> None:
    session.execute("CREATE TEMP TABLE t AS SELECT n FROM generate_series(1, 5) AS n")
    result = session.execute("DELETE FROM t WHERE n > 2")
    assert (result.rowcount, result.description) == (3, None)
    assert session.cursor().execute("SELECT n FROM t ORDER BY n").fetchall() == [(1,), (2,)]


def test_rows_come_by_copy(session: GuardedConnection) -> None:
    session.execute("CREATE TEMP TABLE copied (n int)")
    rows = b"".join(struct.pack(">hii", 1, 4, number) for number in range(300_000))
    with session.cursor() as cursor:
        with cursor.copy("COPY copied FROM STDIN (FORMAT binary)") as copy:
            copy.write(COPY_HEADER)
            copy.write(rows)
            copy.write(COPY_TRAILER)
        assert cursor.rowcount == 300_000
    assert session.execute("SELECT sum(n) FROM copied").fetchone() == (299_999 * 150_000,)


def test_a_copy_that_the_server_refuses_leaves_the_connection(session: GuardedConnection) -> None:
    session.execute("CREATE TEMP TABLE refused (n int)")
    with pytest.raises(psycopg.errors.BadCopyFileFormat):
        _copy_garbage(session)
    assert session.execute("SELECT count(*) FROM refused").fetchone() == (0,)


def _copy_garbage(session: GuardedConnection) -> None:
    with (
        session.cursor() as cursor,
        cursor.copy("COPY refused FROM STDIN (FORMAT binary)") as copy,
    ):
        for _ in range(50):
            copy.write(b"no rows" * 100_000)


@pytest.mark.parametrize(("ends", "rows"), [("commit", 1), ("rollback", 0), ("error", 0)])
def test_a_transaction_is_done_together_or_not_at_all(
    ends: str, rows: int, session: GuardedConnection
) -> None:
    session.execute("CREATE TEMP TABLE done (n int)")

    def work() -> None:
        with session.transaction(force_rollback=ends == "rollback"):
            session.execute("INSERT INTO done VALUES (1)")
            if ends == "error":
                session.execute("SELECT 1 / 0")

    if ends == "error":
        with pytest.raises(psycopg.errors.DivisionByZero):
            work()
    else:
        work()
    assert session.execute("SELECT count(*) FROM done").fetchone() == (rows,)


def test_a_statement_is_cancelled_from_another_thread(session: GuardedConnection) -> None:
    canceller = threading.Timer(0.5, session.cancel_safe)
    canceller.start()
    with pytest.raises(psycopg.errors.QueryCanceled):
        session.execute("SELECT pg_sleep(60)")
    assert session.execute("SELECT 1").fetchone() == (1,)


def test_what_is_known_of_the_server_is_what_psycopg_knows(
    conninfo: str, session: GuardedConnection
) -> None:
    with psycopg.connect(conninfo) as plain:
        assert session.info.server_version == plain.info.server_version
        version = plain.info.parameter_status("server_version")
    assert session.info.parameter_status("server_version") == version
    backend = session.execute("SELECT pg_backend_pid()").fetchone()
    assert backend == (session.info.backend_pid,)
    assert session.round_trip_ns("SELECT 1", 3) > 0


def test_a_connection_that_ends_leaves_no_session(conninfo: str) -> None:
    with guarded(conninfo, where="here") as first:
        backend = first.info.backend_pid
    assert first.closed
    with pytest.raises(psycopg.OperationalError, match="closed"):
        first.execute("SELECT 1")
    limit = time.monotonic() + 30
    with psycopg.connect(conninfo, autocommit=True) as plain:
        there = "SELECT count(*) FROM pg_stat_activity WHERE pid = %s"
        while plain.execute(there, [backend]).fetchone() != (0,):
            assert time.monotonic() < limit
            time.sleep(0.05)


def test_an_answer_may_be_limited_for_some_statements(session: GuardedConnection) -> None:
    session.execute("SELECT pg_sleep(0.1)")
    with (
        pytest.raises(LimitError, match=r"no answer within 0\.3 s"),
        session.limited(0.3),
    ):
        session.execute("SELECT pg_sleep(60)")


def test_what_is_not_guarded_is_left_as_it_is() -> None:
    other: Any = object()
    with answered_soon(other):
        pass


@pytest.mark.parametrize(
    ("words", "environment", "seconds"),
    [
        ("host=a", None, 10),
        ("host=a connect_timeout=3", None, 3),
        ("host=a connect_timeout=3", "7", 3),
        ("host=a", "7", 7),
        ("host=a connect_timeout=0", "7", None),
        ("host=a connect_timeout=-1", None, None),
        ("postgresql://a/d?connect_timeout=4", None, 4),
    ],
)
def test_the_time_to_connect_is_the_users_own(
    words: str, environment: str | None, seconds: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PGCONNECT_TIMEOUT", raising=False)
    if environment is not None:
        monkeypatch.setenv("PGCONNECT_TIMEOUT", environment)
    assert timeout_s(words) == seconds
