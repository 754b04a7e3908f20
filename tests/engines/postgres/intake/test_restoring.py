"""Dumps are restored by one set of rules, whatever their format and their options were."""

from __future__ import annotations

import gzip
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from engines.postgres.intake.restore_server import RestoreServer, restore_server
from steelyard.engines.cache import tree_bytes
from steelyard.model.errors import EngineError, ServerError, SteelyardError, UsageError
from thinned import thinned

pytestmark = pytest.mark.postgres

OPTIONS = {
    "as it is": (),
    "schema": ("-n", "public"),
    "clean": ("--clean",),
    "clean if exists": ("--clean", "--if-exists"),
    "create": ("-C", "--clean"),
    "inserts": ("--inserts",),
    "many rows": ("--inserts", "--rows-per-insert=50"),
    "quoted": ("--quote-all-identifiers",),
    "authorized": ("--use-set-session-authorization",),
    "latin": ("-E", "LATIN1"),
    "statistics": ("--statistics",),
}
FORMATS = {"plain": "p", "custom": "c", "directory": "d", "tar": "t"}
ODD = r"""SELECT md5(string_agg(t::text, '|' ORDER BY a)) FROM "we;ird \ name"."t'1" AS t"""


@pytest.fixture(scope="module")
def dumps() -> Iterator[Path]:
    """Of a database with everything that is restored otherwise, by every option and format."""
    with restore_server() as server:
        home = server.directory
        server.ask("CREATE DATABASE rich")
        rich = Path(__file__).with_name("rich.sql")
        server.program("psql", "-qX", "-v", "ON_ERROR_STOP=1", "-d", "rich", "-f", str(rich))
        for name, options in OPTIONS.items():
            for form, letter in FORMATS.items():
                target = str(home / f"{name}.{form}")
                server.program("pg_dump", "-F", letter, "-f", target, *options, "rich")
        for section in ("pre-data", "data", "post-data"):
            target = str(home / f"{section}.sql")
            server.program("pg_dump", f"--section={section}", "-f", target, "rich")
        (home / "odd").write_text(str(server.ask(ODD, "rich")))
        yield home


@pytest.fixture(scope="module")
def server() -> Iterator[RestoreServer]:
    with restore_server() as running:
        yield running


@pytest.fixture(scope="module")
def older() -> Iterator[RestoreServer]:
    with restore_server("16") as running:
        yield running


@thinned("form", FORMATS, 11)
@pytest.mark.parametrize("name", OPTIONS)
def test_a_dump_is_restored_whole_whatever_its_options_and_format(
    server: RestoreServer, dumps: Path, name: str, form: str
) -> None:
    restored = server.restore(dumps / f"{name}.{form}")
    assert server.rows("SELECT count(*), sum(k) FROM base") == [(300, 45150)]
    assert server.rows("SELECT count(*) FROM pg_policy") == [(1,)]
    assert server.rows("SELECT tableowner FROM pg_tables WHERE tablename = 'base'") == [
        ("postgres",)
    ]
    gone = {note.what for note in restored.neutralised}
    assert 'logins and rights of roles that the dump names: alice, we"ird' in gone
    assert "S3cret" not in str(restored)
    assert restored.doubts == ()
    if name != "schema":
        assert str(server.rows(ODD)) == (dumps / "odd").read_text()
        assert server.rows("SELECT count(*) FROM pg_user_mapping") == [(1,)]
        assert server.rows("SELECT lo_get(4711)") == [(bytes.fromhex("deadbeef"),)]
        assert server.rows("SELECT count(*) FROM pg_publication, pg_subscription") == [(0,)]
        assert {what.replace('"', "") for what in gone} >= {
            "CREATE PUBLICATION published",
            "CREATE SUBSCRIPTION fetched",
        }
    assert restored.database == ("rich" if name == "create" or form != "plain" else "")
    if name == "create" or form != "plain":
        assert {what.replace('"', "") for what in gone} >= {
            "ALTER DATABASE rich SET work_mem",
            "ALTER ROLE alice IN DATABASE rich SET work_mem",
        }


@thinned("form", FORMATS, 3)
@pytest.mark.parametrize("name", ["as it is", "create", "statistics"])
def test_a_dump_of_a_newer_version_leaves_out_what_this_one_does_not_know(
    older: RestoreServer, dumps: Path, name: str, form: str
) -> None:
    restored = older.restore(dumps / f"{name}.{form}")
    assert older.rows("SELECT count(*), sum(k) FROM base") == [(300, 45150)]
    gone = {note.what: note.why for note in restored.neutralised}
    assert "has no such setting" in gone["SET transaction_timeout"]


@pytest.mark.parametrize("form", ["plain", "custom", "tar"])
def test_gzip_of_every_format_is_restored(
    server: RestoreServer, dumps: Path, tmp_path: Path, form: str
) -> None:
    packed = tmp_path / f"rich.{form}.gz"
    packed.write_bytes(gzip.compress((dumps / f"as it is.{form}").read_bytes()))
    before = tree_bytes(server.directory)
    server.restore(packed)
    assert str(server.rows(ODD)) == (dumps / "odd").read_text()
    assert tree_bytes(server.directory) == before


@thinned("form", FORMATS, 1)
def test_a_dump_that_the_servers_account_cannot_read_is_restored(
    server: RestoreServer, dumps: Path, tmp_path: Path, form: str
) -> None:
    """Below a directory of ours alone; nothing that was unpacked for it stays."""
    tmp_path.chmod(0o700)
    copy = tmp_path / form
    original = dumps / f"as it is.{form}"
    (shutil.copytree if original.is_dir() else shutil.copy)(original, copy)
    server.restore(copy)
    assert str(server.rows(ODD)) == (dumps / "odd").read_text()
    assert list(server.directory.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "query", "rows"),
    [
        ("create table t(a int);\ncopy t (a) from stdin;\n1\n\\N\n\\.\n", "count(*)", 2),
        ("CREATE TABLE t(a text);\nCOPY t FROM STDIN (FORMAT csv);\n\\N\n\\.\n", "max(a)", "\\N"),
        ("CREATE TABLE t(a text);\nINSERT INTO t VALUES ('x\n\\! id');", "max(a)", "x\n\\! id"),
        ("CREATE TABLE t(a int);\nDO $$BEGIN RAISE WARNING 'ERROR: no'; END$$;", "count(*)", 0),
        ("CREATE DATABASE x;\n\\c x;\nCREATE TABLE t(a int);", "count(*)", 0),
        ("BEGIN;DROP TABLE t;CREATE SCHEMA public;CREATE TABLE t(a int);END;", "count(*)", 0),
        (
            "BEGIN;CREATE TABLE t(a int);CREATE POLICY p ON t TO bob;"
            "SET no_such = 1;INSERT INTO t VALUES (7);COMMIT;",
            "max(a)",
            7,
        ),
        ("SET standard_conforming_strings = off;CREATE TABLE t AS SELECT 'a\\';b' a;", "max(a)",
         "a';b"),
        ("SET client_encoding = 'LATIN1';CREATE TABLE t AS SELECT 'gr\xfcn'::text a;", "max(a)",
         "grün"),
    ],
)  # fmt: skip
def test_sql_that_people_have_is_restored(
    server: RestoreServer, tmp_path: Path, text: str, query: str, rows: object
) -> None:
    dump = tmp_path / "dump.sql"
    dump.write_bytes(text.encode("latin-1"))
    server.restore(dump)
    assert server.rows(f"SELECT {query} FROM t") == [(rows,)]


@thinned(
    ("text", "error", "words"),
    [
        ("SELECT 1;\nSELECT nonsense;", ServerError, '"nonsense" does not exist.*Line 2: SELECT'),
        ("COPY nosuch FROM stdin;\nDROP TABLE t;\n\\.\n", ServerError, "nosuch.*Line 1: COPY"),
        ("CREATE TABLE t(a int);\nCOPY t FROM stdin;\nx\n\\.\n", ServerError, "integer.*Line 2"),
        ("CREATE TABLE t(a int);\n\\c other\n", UsageError, "line 2 goes on in another database"),
        ("CREATE EXTENSION no_such;", ServerError, "--set contrib=true"),
        ('CREATE TABLE t (a text COLLATE "xx_YY");', ServerError, "collation .*locale-gen"),
        ('CREATE TABLE t (a text COLLATE "und-x-icu");', ServerError, "built with ICU.*debian-18"),
        ("CREATE TABLE t (a text COMPRESSION lz4);", ServerError, "built with lz4.*debian-18"),
        ("DO $$BEGIN SET ROLE bob; END$$;", ServerError, "CREATE ROLE NAME; above all"),
        ("CREATE ROLE b; DO $$BEGIN SET ROLE b; END$$; SELECT 1;", ServerError, "RESET ROLE;"),
        ("CREATE TABLE app.t (a int);", ServerError, "Neither the dump nor PostgreSQL 18"),
        ("CREATE TABLE t (a public.hstore);", ServerError, "Line 1.*pg_dump -Fc -f FILE DATABASE"),
        ("SET client_encoding='SQL_ASCII';SELECT 'gr\xfc';", ServerError, "sed .*LATIN1"),
        ("SET client_encoding='SJIS';SELECT 'a';", UsageError, "SJIS.*pg_dump -E UTF8"),
        ("COPY (SELECT 1) TO STDOUT;", UsageError, "copies rows to the client"),
        ("SELECT repeat('x', 100000000);", UsageError, "answer is longer than 8 MB"),
        ("SELECT 'secret', nonsense;", ServerError, r"Line 1: SELECT …"),
        ("SELECT $$secret$$, nonsense;", ServerError, r"Line 1: SELECT …"),
        ("DO $$BEGIN LOOP RAISE INFO 'x'; END LOOP; END$$;", UsageError, "longer than 8 MB"),
        ("SELECT generate_series(1, 100000000);", UsageError, "answer is longer than 8 MB"),
        ("SELECT pg_terminate_backend(pg_backend_pid());", ServerError, "ended the session"),
    ],
    4,
)
def test_what_cannot_be_restored_says_why_and_where(
    server: RestoreServer, tmp_path: Path, text: str, error: type[SteelyardError], words: str
) -> None:
    dump = tmp_path / "dump.sql"
    dump.write_bytes(text.encode("latin-1"))
    with pytest.raises(error, match=f"(?s){words}") as refused:
        server.restore(dump)
    assert str(dump) in refused.value.primary
    assert "secret" not in str(refused.value)


@thinned("form", ["plain.gz", "custom", "tar", "directory"], 1)
def test_a_dump_that_was_cut_off_is_never_taken_for_whole(
    server: RestoreServer, dumps: Path, tmp_path: Path, form: str
) -> None:
    copy = tmp_path / form
    if form == "plain.gz":
        packed = gzip.compress((dumps / "as it is.plain").read_bytes())
        copy.write_bytes(packed[: len(packed) // 2])
    elif form == "directory":
        shutil.copytree(dumps / "as it is.directory", copy)
        next(copy.glob("*.dat.gz")).unlink()
    else:
        content = (dumps / f"as it is.{form}").read_bytes()
        copy.write_bytes(content[: len(content) // 2])
    with pytest.raises(EngineError) as refused:
        server.restore(copy)
    assert str(copy) in refused.value.primary
    text = tmp_path / "plain"
    lines = (dumps / "as it is.plain").read_bytes().splitlines(keepends=True)
    text.write_bytes(b"".join(lines[: lines.index(b"COPY public.base (id, k, v) FROM stdin;\n")]))
    assert "may have been cut off" in server.restore(text).doubts[0]


@pytest.mark.parametrize(("end", "doubts"), [("", 1), ("COMMIT;\n", 0)])
def test_a_dump_of_another_program_that_ends_within_its_transaction_was_perhaps_cut_off(
    server: RestoreServer, tmp_path: Path, end: str, doubts: int
) -> None:
    """As Navicat and others write them: no last line says that they are whole."""
    dump = tmp_path / "dump.sql"
    dump.write_text(f"BEGIN;\nCREATE TABLE t (a int);\nINSERT INTO t VALUES (1);\n{end}")
    restored = server.restore(dump)
    assert server.rows("SELECT * FROM t") == [(1,)]
    assert len([doubt for doubt in restored.doubts if "may have been cut off" in doubt]) == doubts


@pytest.mark.parametrize("more", [0, 1, 150])
def test_what_is_left_out_is_listed_by_name_and_beyond_a_thousand_counted(
    server: RestoreServer, tmp_path: Path, more: int
) -> None:
    names = [f"tenant_{number}" for number in range(1000 + more)]
    dump = tmp_path / "dump.sql"
    statement = "ALTER ROLE {} IN DATABASE shop SET search_path TO 'x';\n"
    again = [*names, *names[:1000]]  # of what is listed already nothing is counted
    dump.write_text("".join(statement.format(name) for name in again))
    restored = server.restore(dump)
    listed = [note.what for note in restored.neutralised]
    beginning = "ALTER ROLE {} IN DATABASE shop SET search_path"
    assert listed == [beginning.format(name) for name in names[:1000]]
    counted = [doubt for doubt in restored.doubts if "was left out" in doubt]
    assert [f": {more} statements beside the first 1000" in doubt for doubt in counted] == (
        [True] if more else []
    )


def test_owners_and_our_role_stay_and_what_is_beside_them_is_restored(
    server: RestoreServer, tmp_path: Path
) -> None:
    dump = tmp_path / "dump.sql"
    dump.write_text(
        "ALTER ROLE postgres NOLOGIN PASSWORD 'S3cret';\nALTER ROLE postgres RENAME TO root;\n"
        "CREATE TABLE t (a int);\nALTER TABLE t ADD COLUMN b int DEFAULT 5, OWNER TO nobody;\n"
        "INSERT INTO t VALUES (1);\n"
    )
    restored = server.restore(dump)
    assert [note.what for note in restored.neutralised] == ["ALTER ROLE postgres"]
    assert server.rows("SELECT t.*, tableowner FROM t, pg_tables WHERE tablename = 't'") == [
        (1, 5, "postgres")
    ]


OF_PG_DUMP = "-- PostgreSQL database dump"


@pytest.mark.parametrize(
    ("header", "statements", "is_said"),
    [
        (OF_PG_DUMP, "CREATE TABLE t (a int);", True),
        (OF_PG_DUMP, "CREATE TABLE t (a int);\nCOPY t FROM stdin;\n\\.\n", False),
        (OF_PG_DUMP, "CREATE TABLE t (a int);\nINSERT INTO t VALUES (1);", False),
        (OF_PG_DUMP, "CREATE FUNCTION f() RETURNS int RETURN 1;", False),
        ("-- by hand", "CREATE TABLE t (a int);", False),
    ],
)
def test_a_dump_of_the_schema_alone_is_said_to_have_no_rows(
    server: RestoreServer, tmp_path: Path, header: str, statements: str, is_said: bool
) -> None:
    dump = tmp_path / "dump.sql"
    dump.write_text(f"--\n{header}\n--\n{statements}\n--\n{header} complete\n--\n")
    doubts = server.restore(dump).doubts
    assert [doubt.startswith("no rows are in the dump") for doubt in doubts] == [True] * is_said


MADE = "CREATE TABLE {0} (a int);\nCREATE UNLOGGED TABLE {1} (a int);\nCREATE INDEX ON {0} (a);\n"
FILLED = "COPY {} (a) FROM stdin;\n1\n\\.\n"
ROOT = "CREATE TABLE root (a int) PARTITION BY LIST (a);\n"
PART = "ALTER TABLE ONLY root ATTACH PARTITION a DEFAULT;\n"


@thinned(
    ("names", "rest", "words"),
    [
        (("a", "b"), FILLED.format("a"), "no rows of 1 of its 2 tables .*: b$"),
        (("public.a", '"B (; ""c"'), FILLED.format('"B (; ""c"'), "no rows of 1 .*: public.a$"),
        (("a", "b"), FILLED.format("a") + FILLED.format("b"), None),
        (("a", "b"), ROOT + PART + FILLED.format("a") + FILLED.format("b"), None),
        (("a", "b"), ROOT + PART + FILLED.format("root") * 2, None),  # --load-via-partition-root
        (("a", "b"), "INSERT INTO a VALUES (1);\n", None),  # an empty table has none either
        (
            ("a", "b"),
            "SET row_security = on;\n" + FILLED.format("a") + FILLED.format("b"),
            "only rows that its role could see",
        ),
    ],
    1,
)
def test_tables_whose_rows_a_dump_was_to_leave_out_are_named(
    server: RestoreServer, tmp_path: Path, names: tuple[str, str], rest: str, words: str | None
) -> None:
    dump = tmp_path / "dump.sql"
    dump.write_text(f"--\n{OF_PG_DUMP}\n--\n{MADE.format(*names)}{rest}\n{OF_PG_DUMP} complete\n")
    doubts = server.restore(dump).doubts
    assert [bool(re.match(words or "$", doubt)) for doubt in doubts] == [True] * bool(words)


@pytest.mark.parametrize("sections", [("pre-data", "data"), ("pre-data", "data", "post-data")])
def test_a_dump_of_some_sections_is_said_to_have_no_index(
    server: RestoreServer, dumps: Path, tmp_path: Path, sections: tuple[str, ...]
) -> None:
    dump = tmp_path / "dump.sql"
    dump.write_bytes(b"".join((dumps / f"{section}.sql").read_bytes() for section in sections))
    doubts = [doubt.startswith("no index and no key") for doubt in server.restore(dump).doubts]
    assert doubts == ([] if "post-data" in sections else [True])


@thinned(
    ("created", "database", "refused"),
    [
        ("shop", "crm", 'it is of database "shop", not of "crm"'),
        ('"Shop"', "shop", 'it is of database "Shop", not of "shop"'),
        ("shop", "shop", None),
        ('"Shop"', "Shop", None),
        ("Shop", "shop", None),
        ("shop", None, None),
        (None, "crm", None),
    ],
    1,
)
def test_a_dump_of_another_database_than_the_named_one_is_refused(
    server: RestoreServer,
    tmp_path: Path,
    created: str | None,
    database: str | None,
    refused: str | None,
) -> None:
    dump = tmp_path / "dump.sql"
    head = f"CREATE DATABASE {created} ENCODING 'UTF8';\n\\connect {created}\n" if created else ""
    dump.write_text(f"{head}CREATE TABLE t (a int);\n")
    if refused is None:
        server.restore(dump, database)
        assert server.rows("SELECT count(*) FROM t") == [(0,)]
    else:
        with pytest.raises(UsageError) as error:
            server.restore(dump, database)
        assert refused in error.value.primary
        assert "--database" in str(error.value.hint)
