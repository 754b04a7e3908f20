"""A dump that is refused says what to do; what its copy needs none of, is passed over."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest

from engines.postgres.intake.restore_server import RestoreServer, restore_server
from steelyard.model.errors import ServerError

pytestmark = pytest.mark.postgres

LOGIN = """CREATE TABLE t (a int);
CREATE FUNCTION f() RETURNS event_trigger LANGUAGE plpgsql AS $${}$$;
CREATE EVENT TRIGGER "no entry" ON {} EXECUTE FUNCTION f();
"""
RAISES = "BEGIN RAISE EXCEPTION 'no logins'; END"


@pytest.fixture(scope="module")
def server() -> Iterator[RestoreServer]:
    with restore_server() as running:
        yield running


def restore(server: RestoreServer, tmp_path: Path, text: str) -> list[str]:
    dump = tmp_path / "dump.sql"
    dump.write_text(text)
    return [note.what for note in server.restore(dump).neutralised]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("SET default_table_access_method = columnar;", "pg_dump --no-table-access-method -Fc"),
        ("CREATE TABLE t (a int) USING columnar;", "pg_dump --no-table-access-method -Fc"),
        ("pg_dump: warning: there are circles:\npg_dump: detail: t\n", "message of pg_dump"),
        ("pg_dumpall: error: no\nCREATE TABLE t (a int);", "message of pg_dump"),
        ("Password: \n--\nCREATE TABLE t (a int);", "message of pg_dump"),
        ("Password for user app: \nCREATE TABLE t (a int);", "message of pg_dump"),
        ("CREATE TABLE t (a int) TABLESPACE fast;", "leave TABLESPACE and its name out"),
        (LOGIN.format(RAISES, "login"), 'ALTER EVENT TRIGGER "no entry" DISABLE'),
        ("CREATE TABLE app.t (a int);", "dump the whole database"),
        ("CREATE TABLE t (a int);\nCOPY t FROM '/no/t.csv';", "name a dump of that: pg_dump -Fc"),
        ("CREATE TABLE t (a int);\nCREATE TABLE t (a int);", "may hold two dumps"),
        ("CREATE TABLE t (a int, CONSTRAINT c NOTHING NULL a);", "--set control.version=VERSION"),
        ("CREATE COLLATION c (provider = libc, locale = 'xx_XX.utf8');", "locale -a lists them"),
    ],
)
def test_a_refused_dump_says_what_helps(
    server: RestoreServer, tmp_path: Path, text: str, hint: str
) -> None:
    with pytest.raises(ServerError) as refused:
        restore(server, tmp_path, text)
    assert hint in str(refused.value.hint)


@pytest.mark.parametrize("text", ["selct 1;", "pg_dumped 1;", "INSERT INTO pg_dump: x;"])
def test_an_error_of_syntax_is_no_message_of_pg_dump(
    server: RestoreServer, tmp_path: Path, text: str
) -> None:
    with pytest.raises(ServerError, match="syntax error") as refused:
        restore(server, tmp_path, text)
    assert "message of pg_dump" not in str(refused.value.hint)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("id,name\n1,S3cret\n", False),
        ("FOO=S3cret\n", False),
        ("CREATE TABLE t (a integr S3cret key);", True),
        ("SELECT 1;\nfoo S3cret;", True),
    ],
)
def test_what_is_no_sql_at_all_is_not_quoted(
    server: RestoreServer, tmp_path: Path, text: str, shown: bool
) -> None:
    with pytest.raises(ServerError, match="syntax error") as refused:
        restore(server, tmp_path, text)
    assert ("S3cret" in str(refused.value.detail)) == shown
    if not shown:
        assert "pg_dump -Fc -f FILE DATABASE" in str(refused.value.hint)


@pytest.mark.parametrize(
    ("text", "is_said"),
    [
        ("BEGIN;\nCREATE TABLE t (a int);\nROLLBACK;", True),
        ("CREATE ROLE app;\nGRANT app TO postgres;", True),
        ("SELECT * FROM pg_catalog.pg_restore_relation_stats('relname', 't');", True),
        ("CREATE FUNCTION f() RETURNS int RETURN 1;", False),
        ("CREATE SCHEMA app;", False),
        ("SELECT pg_catalog.lo_create('16400');", False),
    ],
)
def test_a_dump_that_makes_nothing_is_doubted(
    server: RestoreServer, tmp_path: Path, text: str, is_said: bool
) -> None:
    dump = tmp_path / "dump.sql"
    dump.write_text(text)
    doubts = server.restore(dump).doubts
    assert [doubt.startswith("the dump makes nothing") for doubt in doubts] == [True] * is_said


@pytest.mark.parametrize(
    "text",
    [
        "CREATE ROLE postgres;\nALTER ROLE postgres WITH SUPERUSER LOGIN PASSWORD 'md5a';",
        "BEGIN;\nCREATE USER postgres;\nCOMMIT;",
        "CREATE ROLE app;\nCREATE ROLE app;",
        "SET ROLE app_owner;",
        "SET LOCAL ROLE app_owner;",
        "SET SESSION ROLE TO 'app_owner';\nRESET ROLE;",
        LOGIN.format("BEGIN END", "login").replace("CREATE TABLE t (a int);", ""),
        LOGIN.format(RAISES, "sql_drop").replace("CREATE TABLE t (a int);", ""),
    ],
)
def test_roles_and_quiet_triggers_do_not_end_a_restore(
    server: RestoreServer, tmp_path: Path, text: str
) -> None:
    assert restore(server, tmp_path, f"{text}\nCREATE TABLE t (a int);\n") == []
    query = "SELECT tableowner FROM pg_tables WHERE tablename = 't'"
    assert server.rows(query) == [("postgres",)]


def test_a_user_mapping_that_is_there_twice_is_an_error(
    server: RestoreServer, tmp_path: Path
) -> None:
    mapping = "CREATE USER MAPPING FOR PUBLIC SERVER s;\n"
    text = f"CREATE FOREIGN DATA WRAPPER w;\nCREATE SERVER s FOREIGN DATA WRAPPER w;\n{mapping * 2}"
    with pytest.raises(ServerError, match="already exists"):
        restore(server, tmp_path, text)


@pytest.mark.parametrize(("packed", "typed"), [(False, ": cat {} | sed"), (True, ": gzip -dc {}")])
def test_texts_in_another_encoding_are_rewritten_from_the_file_as_it_is(
    server: RestoreServer, tmp_path: Path, packed: bool, typed: str
) -> None:
    text = b"SET client_encoding = 'SQL_ASCII';\nCREATE TABLE t (a text);\n-- a\n"
    text += b"INSERT INTO t VALUES ('caf\xe9');\n"
    dump = tmp_path / "dump.sql"
    dump.write_bytes(gzip.compress(text) if packed else text)
    with pytest.raises(ServerError) as refused:
        server.restore(dump)
    assert typed.format(dump) in str(refused.value.hint)


@pytest.mark.parametrize(
    ("content", "typed"),
    [
        (b"PGDMP\x01\x10\x00\x04\x08\x01\x01", "copy it again"),
        (b"PGDMP\x01\x63\x00\x04\x08\x01\x01", "Install the pg_restore of the pg_dump"),
    ],
)
def test_an_archive_that_was_cut_off_is_told_from_one_of_a_later_version(
    server: RestoreServer, tmp_path: Path, content: bytes, typed: str
) -> None:
    dump = tmp_path / "shop.dump"
    dump.write_bytes(content)
    with pytest.raises(ServerError) as refused:
        server.restore(dump)
    assert typed in str(refused.value.hint)
