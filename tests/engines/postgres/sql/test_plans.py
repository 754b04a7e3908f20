"""Plans are read of every statement a script would execute, on every bundled version."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from steelyard.engines.postgres.sql.plans import read_plans, statements

SCRIPT = r"""
\set aid random(1, 100000 * :scale)
\set delta random(-5000, \
                  5000)
BEGIN;
UPDATE t SET n = n + :delta, at = '12:30'::text WHERE id = :aid; -- :comment; is none
SELECT n FROM t WHERE id = :aid AND id > :delta AND id < :aid;
INSERT INTO t (id, at) VALUES (:aid, 'it''s; here');
END;
"""


def test_variables_become_parameters_and_strings_stay() -> None:
    assert statements(SCRIPT) == [
        "UPDATE t SET n = n + $1, at = '12:30'::text WHERE id = $2",
        "SELECT n FROM t WHERE id = $1 AND id > $2 AND id < $1",
        "INSERT INTO t (id, at) VALUES ($1, 'it''s; here')",
    ]


def test_a_last_statement_without_a_semicolon_counts() -> None:
    assert statements("SELECT 1;\nSELECT 2") == ["SELECT 1", "SELECT 2"]


def test_a_backslash_command_ends_the_statement_before_it() -> None:
    script = r"""
SELECT id AS source_id FROM source_rows WHERE id = :id \gset
INSERT INTO results VALUES (:source_id);
SELECT 1 AS a
\gset first_
SELECT 2 \; SELECT 3 /* not ; here, nor :there */ AS b;
\startpipeline
SELECT $tag$ a ; b \ c $tag$;
"""
    assert statements(script) == [
        "SELECT id AS source_id FROM source_rows WHERE id = $1",
        "INSERT INTO results VALUES ($1)",
        "SELECT 1 AS a",
        "SELECT 2",
        "SELECT 3   AS b",
        r"SELECT $tag$ a ; b \ c $tag$",
    ]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (
            r"SELECT E'\'', :a; DELETE FROM t WHERE a = 'x'; SELECT E'it\'s; :b' || ';';",
            [r"SELECT E'\'', $1", "DELETE FROM t WHERE a = 'x'", r"SELECT E'it\'s; :b' || ';'"],
        ),
        (r"SELECT E'\'' \; SELECT 'b' \gset", [r"SELECT E'\''", "SELECT 'b'"]),
        (
            "SELECT $a1$ ; it's $a1$, a$b, 'c'; SELECT 2;",
            ["SELECT $a1$ ; it's $a1$, a$b, 'c'", "SELECT 2"],
        ),
        ("SELECT 1 /* a /* ; */ :b */ + :c; SELECT 2", ["SELECT 1   + $1", "SELECT 2"]),
        ("/*+ SeqScan(t) */ SELECT :a FROM t;", ["/*+ SeqScan(t) */ SELECT $1 FROM t"]),
        ("(SELECT 1) UNION (SELECT :ä);\nTABLE t;", ["(SELECT 1) UNION (SELECT $1)", "TABLE t"]),
        ("\\if :a\nSELECT 1;\n\\else\nSELECT 2; \\endif\n", ["SELECT 1", "SELECT 2"]),
        ("BEGIN;\nEND;\n\\set a 1\n", []),
        ("SELECT 'a", []),
        ("-- nothing", []),
    ],
)
def test_statements_are_cut_as_the_driver_cuts_them(script: str, expected: list[str]) -> None:
    assert statements(script) == expected


@pytest.mark.parametrize("name", ["tproc-c-client", "reserva", "select-insert", "tproc-h"])
def test_no_statement_of_a_workload_swallows_the_next(name: str) -> None:
    """Every statement that the load driver sends has a plan of its own."""
    folder = Path(str(resources.files("steelyard") / "workloads" / name / "scripts"))
    for script in folder.glob("*.sql"):
        text = script.read_text(encoding="utf-8")
        assert not [one for one in statements(text) if "\\" in one or ";" in one], script.name
        assert statements(text) or "CALL" in text or "EXEC" in text, script.name


@pytest.mark.postgres
def test_a_variable_of_two_types_is_two_parameters(server: Any) -> None:
    found = read_plans(server.conninfo, {"s": "SELECT length(:a), abs(:a::int) + :a;"})
    assert found == {"s: SELECT length($1), abs($1::int) + $1": "Result"}


@pytest.mark.postgres
def test_a_plan_follows_the_settings_and_nothing_is_executed(server: Any) -> None:
    scripts = {"s": SCRIPT, "wrong": "SELECT nothing FROM nowhere;"}
    with server.connect() as connection:
        connection.execute("DROP TABLE IF EXISTS t")
        connection.execute("CREATE TABLE t (id int PRIMARY KEY, n int, at text)")
        connection.execute("INSERT INTO t SELECT i, i FROM generate_series(1, 20000) i")
        connection.execute("ANALYZE t")
        indexed = read_plans(server.conninfo, scripts)
        options = " options='-c enable_indexscan=off -c enable_bitmapscan=off'"
        scanned = read_plans(server.conninfo + options, scripts)
        rows = connection.execute("SELECT count(*) FROM t").fetchone()
    assert rows == (20000,)
    assert len(indexed) == 4
    select = "s: SELECT n FROM t WHERE id = $1 AND id > $2 AND id < $1"
    assert "Index" in indexed[select]
    assert "Seq Scan on t" in scanned[select]
    assert 'relation "nowhere" does not exist' in indexed["wrong: SELECT nothing FROM nowhere"]
    assert {name for name, plan in indexed.items() if plan != scanned[name]} == {
        select,
        "s: UPDATE t SET n = n + $1, at = '12:30'::text WHERE id = $2",
    }


@pytest.mark.postgres
def test_no_statement_behind_a_planned_one_is_executed(server: Any) -> None:
    """An escaped quote is no end of its string: a DELETE would have gone along with the PREPARE."""
    with server.connect() as connection:
        connection.execute("DROP TABLE IF EXISTS t")
        connection.execute("CREATE TABLE t (a text)")
        connection.execute("INSERT INTO t VALUES ('x')")
        plans = read_plans(server.conninfo, {"s": r"SELECT E'\''; DELETE FROM t WHERE a = 'x';"})
        assert connection.execute("SELECT count(*) FROM t").fetchone() == (1,)
    assert list(plans) == [r"s: SELECT E'\''", "s: DELETE FROM t WHERE a = 'x'"]
