"""What pg_stat_statements of a real server counted is driven with values that find rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from own_cache import own_server
from postgres.test_captured import steelyard
from steelyard.engines.postgres.libpq.connection_string import conninfo_of
from steelyard.engines.postgres.sql.capture_source import counted_statements
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import EngineError
from steelyard.workloads.capturing.ledger import StatementOutcome

pytestmark = pytest.mark.postgres

FILL = """
CREATE TABLE accounts (aid int PRIMARY KEY, bid int, words text);
INSERT INTO accounts SELECT n, n % 10, 'w' || n % 3 FROM generate_series(1, 5000) AS n;
CREATE TABLE log (aid int, words text);
CREATE EXTENSION pg_stat_statements;
ANALYZE;
SELECT pg_stat_statements_reset()
"""
CALLS = {
    "SELECT bid FROM accounts WHERE aid = %s": [(n,) for n in range(1, 21)],
    "SELECT count(*) FROM accounts WHERE words = %s AND bid > %s": [("w1", 5)] * 10,
    "SELECT length(%s::text)": [("a",)] * 5,
}


@pytest.fixture(scope="module")
def server() -> Iterator[Endpoint]:
    with own_server("18", counts=True) as instance:
        with psycopg.connect(conninfo_of(instance.address), autocommit=True) as session:
            for statement in FILL.split(";\n"):
                session.execute(statement.encode())
            for text, rows in CALLS.items():
                for row in rows:
                    session.execute(text.encode(), row)
            session.execute("INSERT INTO log SELECT 1, 'a'")
            with session.transaction():
                session.execute("SELECT bid FROM accounts WHERE aid = 7")
        yield instance.address


@pytest.mark.long
def test_counted_statements_are_driven_with_values_of_their_columns(
    server: Endpoint, tmp_path: Path
) -> None:
    target = conninfo_of(server)
    for folder in ("first", "counted"):  # the first one's own statements are no part of the second
        captured = steelyard(
            "workloads", "capture", target, "-o", str(tmp_path / folder), directory=tmp_path
        )
    kinds = [kind for kind in captured["kinds"] if "accounts" in kind["script"]]
    # One statement by parameters of another type is counted by itself.
    assert sorted(kind["count"] for kind in kinds) == [1, 10, 20]
    assert len({kind["fingerprint"] for kind in kinds}) == 2
    assert not [kind for kind in captured["kinds"] if "pg_stats" in kind["script"]]
    left_out = {one["why"]: one["statements"] for one in captured["left_out"]}
    assert left_out[StatementOutcome.NO_COLUMN] == 6  # length() and INSERT ... SELECT
    assert left_out[StatementOutcome.NO_SESSION] >= 2  # BEGIN and COMMIT
    shares = [one["statements_share"] for one in captured["left_out"]]
    assert captured["statements_share"] + sum(shares) == pytest.approx(1)
    rows = [
        line.split("\t")
        for file in (tmp_path / "counted" / "rows").glob("*.tsv")
        for line in file.read_text().splitlines()
    ]
    keys = {int(row[0]) for row in rows if len(row) == 1}
    assert len(keys) > 50
    assert keys <= set(range(1, 5001))
    assert {row[0] for row in rows if len(row) == 2} <= {"w0", "w1", "w2"}
    words = ("drive", "-w", str(tmp_path / "counted"), target, "-c", "2", "-t", "50")
    driven = steelyard(*words, directory=tmp_path)
    assert (driven["transactions"], driven["errors"]) == (100, {})


def test_what_a_role_may_not_see_is_left_out_by_name_and_says_what_to_type(
    server: Endpoint, tmp_path: Path
) -> None:
    with psycopg.connect(conninfo_of(server), autocommit=True) as session:
        session.execute("CREATE ROLE limited LOGIN")
        session.execute("GRANT SELECT ON log TO limited")
    target = conninfo_of(server).replace("user=postgres", "user=limited")
    with psycopg.connect(target, autocommit=True) as session:
        session.execute("SELECT count(*) FROM log")
    words = ("workloads", "capture", target, "-o", str(tmp_path / "counted"))
    captured = steelyard(*words, directory=tmp_path)
    [kind] = captured["kinds"]
    assert (kind["script"], captured["forgotten"]) == ("01-select-log", 0)
    left_out = {one["why"]: one["statements"] for one in captured["left_out"]}
    assert left_out[StatementOutcome.HIDDEN] > 30
    assert StatementOutcome.SEVERAL not in left_out


def test_counters_of_an_extension_that_was_not_upgraded_are_refused(
    server: Endpoint, tmp_path: Path
) -> None:
    with psycopg.connect(conninfo_of(server), autocommit=True) as session:
        session.execute("CREATE DATABASE old")
    target = conninfo_of(replace(server, database="old"))
    with psycopg.connect(target, autocommit=True) as session:
        session.execute("CREATE EXTENSION pg_stat_statements VERSION '1.8'")
    with pytest.raises(EngineError, match=r"pg_stat_statements 1\.8") as refused:
        counted_statements(replace(server, database="old"))
    assert "ALTER EXTENSION pg_stat_statements UPDATE" in str(refused.value.hint)
