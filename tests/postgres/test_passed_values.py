"""Binary values of types that a database defines itself are read by the server's catalogue."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from own_cache import open_directory
from postgres.passing import (
    Logged,
    Passing,
    captured_from_log,
    logged_server,
    passing,
    repeats,
    without_setup,
)

pytestmark = [pytest.mark.postgres, pytest.mark.long]


@pytest.fixture(scope="module")
def server() -> Iterator[Logged]:
    with open_directory() as home, pytest.MonkeyPatch.context() as patch:
        patch.setenv("STEELYARD_CACHE", str(home / "cache"))
        patch.setenv("HOME", str(home))
        with logged_server(home) as made:
            yield made


DEFINED = """
CREATE SCHEMA app; CREATE TYPE app.mood AS ENUM ('sad', 'o''k,', 'é "x"');
CREATE DOMAIN posint AS int CHECK (value > 0);
CREATE TYPE pair AS (n posint, m app.mood, s text);
CREATE TYPE span AS RANGE (subtype = float8);
CREATE TABLE own (id int PRIMARY KEY, m app.mood, p posint, c pair, r span, ms app.mood[],
                  i int4range, rs int8multirange);
INSERT INTO own SELECT generate_series(1, 10);
"""
OF_TYPES = {
    "m": ("app.mood", ["sad", "o'k,", 'é "x"']),
    "p": ("posint", ["7", "2147483647"]),
    "c": ("pair", ['(1,sad,"a,""b")', "(,,)", '(3,"o\'k,","")']),
    "r": ("span", ["[1.5,2)", "empty", "(,3.25]"]),
    "ms": ("app.mood[]", ['{sad,NULL,"o\'k,"}', "{}"]),
    "i": ("int4range", ["[1,5)", "[2,)"]),
    "rs": ("int8multirange", ["{[1,5),[7,9)}", "{}"]),
}
"""Column → its type and some values."""
BUILT_IN = ("i", "rs")
UNREAD = "statements with binary values of a type that is not read"


def _send_in_binary(server: Logged, passed: Passing, database: str) -> None:
    """Values as the server itself writes them in binary, as psycopg sends those of its own."""
    with (
        psycopg.connect(server.conninfo(database), autocommit=True) as straight,
        psycopg.connect(passed.conninfo(database), autocommit=True) as connection,
    ):
        for column, (of, texts) in OF_TYPES.items():
            [(oid,)] = straight.execute(f"SELECT '{of}'::regtype::oid::int8".encode()).fetchall()
            for number, text in enumerate(texts, 1):
                made = straight.execute(f"SELECT %s::{of}".encode(), (text,), binary=True).pgresult
                assert made is not None
                done = connection.pgconn.exec_params(
                    f"UPDATE own SET {column} = $1 WHERE id = $2".encode(),
                    [made.get_value(0, 0), str(number).encode()], [oid, 23], [1, 0],
                )  # fmt: skip
                assert done.status == psycopg.pq.ExecStatus.COMMAND_OK, done.error_message


def test_binary_values_of_types_that_a_database_defines_are_read_by_its_catalogue(
    server: Logged, tmp_path: Path
) -> None:
    database = server.database("of_types")
    server.ask(DEFINED, database)
    with passing(tmp_path / "passed", server.conninfo(database), "--writes") as passed:
        _send_in_binary(server, passed, database)
        passed.interrupt()
        passed.end()
    assert not passed.facts["left_out"], passed.facts["left_out"]
    logged = captured_from_log(server.log, tmp_path / "logged", database, "--writes")
    assert passed.kinds == without_setup(logged, passed)
    texts = "".join(path.read_text() for path in sorted((passed.folder / "scripts").iterdir()))
    assert "::app.mood)" in texts
    assert "::public.pair)" in texts
    [columns] = server.ask("SELECT string_agg(c || '::text', ', ' ORDER BY c) FROM unnest("
                           f"ARRAY[{', '.join(map(repr, OF_TYPES))}]) c")  # fmt: skip
    wanted = server.ask(f"SELECT {columns[0]} FROM own ORDER BY id", database)
    nothing = ", ".join(f"{column} = NULL" for column in OF_TYPES)
    server.ask(f"UPDATE own SET {nothing}", database)
    repeats(server, passed, database)
    values = server.ask(f"SELECT {columns[0]} FROM own ORDER BY id", database)
    assert values == wanted, "the same values were written again"


def test_where_the_catalogue_cannot_be_read_they_are_left_out_by_name(
    server: Logged, tmp_path: Path
) -> None:
    database = server.database("of_types_unread")
    server.ask(DEFINED, database)
    to = server.conninfo(database).replace("user=postgres", "user=nobody_here")
    with passing(tmp_path / "passed", to, "--writes") as passed:
        _send_in_binary(server, passed, database)
        passed.interrupt()
        passed.end()
    [left] = [one for one in passed.facts["left_out"] if one["why"] == UNREAD]
    sent = {column: len(texts) for column, (_, texts) in OF_TYPES.items()}
    assert left["statements"] == sum(sent.values()) - sum(sent[column] for column in BUILT_IN)
    assert left["statements_share"] == pytest.approx(left["statements"] / sum(sent.values()))
    assert any("could not read which types" in line for line in passed.said)
