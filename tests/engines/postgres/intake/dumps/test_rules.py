"""What of a dump is not executed: statistics of any version, nothing that only looks so."""

from __future__ import annotations

import io

import pytest

from steelyard.engines.postgres.intake.dumps.lexer import DumpLexer, SqlStatement
from steelyard.engines.postgres.intake.dumps.rules import executed_text, is_left_out, left_out

ARGUMENTS = """(
\t'version', '190000'::integer,
\t'schemaname', 'public',
\t'relname', 't; SELECT 1'
);"""


def statement(text: str) -> SqlStatement:
    [only] = DumpLexer(io.BytesIO(text.encode()))
    assert isinstance(only, SqlStatement)
    return only


@pytest.mark.parametrize("kind", ["relation", "attribute", "extended", "type", "extended_data"])
@pytest.mark.parametrize(
    "beginning",
    ["SELECT * FROM pg_catalog.", "SELECT * FROM ", "SELECT pg_catalog.", "SELECT ",
     "select\n* from pg_catalog . "],
)  # fmt: skip
def test_statistics_are_left_out_whatever_they_are_of(kind: str, beginning: str) -> None:
    restoring = statement(f"{beginning}pg_restore_{kind}_stats{ARGUMENTS}")
    assert is_left_out(restoring)
    assert left_out(restoring) is None, "they are gathered anew"


@pytest.mark.parametrize(
    "text",
    [
        "SELECT pg_catalog.setval('pg_restore_relation_stats', 1, true);",
        "SELECT pg_catalog.set_config('search_path', '', false);",
        "SELECT * FROM public.pg_restore_relation_stats(1);",
        "SELECT pg_catalog.pg_restore_stats(1);",
        "SELECT pg_catalog.pg_restore_relation_statistics(1);",
        "SELECT my_pg_restore_relation_stats(1);",
        "SELECT 1 FROM t, pg_restore_relation_stats(1);",
        'SELECT "pg_restore_relation_stats"(1);',
        "COMMENT ON FUNCTION pg_restore_relation_stats() IS 'mine';",
    ],
)
def test_what_is_not_the_statistics_of_a_dump_is_executed(text: str) -> None:
    assert not is_left_out(statement(text))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("ALTER ROLE app SET work_mem = '64MB';", "ALTER ROLE app SET work_mem"),
        ('alter user\n"my app" set jit to off;', 'alter user "my app" set jit'),
        ("ALTER ROLE ALL SET app.tenant = 'S3cret';", "ALTER ROLE ALL SET app.tenant"),
        ("ALTER ROLE CURRENT_USER RESET work_mem;", "ALTER ROLE CURRENT_USER RESET work_mem"),
        ('ALTER ROLE U&"app" RESET ALL;', 'ALTER ROLE U&"app" RESET ALL'),
        ("ALTER ROLE app IN DATABASE d SET jit = off;", "ALTER ROLE app IN DATABASE d SET jit"),
    ],
)
def test_settings_of_roles_are_left_out_by_name(text: str, what: str) -> None:
    note = left_out(statement(text))
    assert is_left_out(statement(text))
    assert note is not None
    assert note.what == what
    assert "not restored" in note.why


@pytest.mark.parametrize(
    "text",
    [
        "ALTER ROLE app LOGIN;",
        "ALTER ROLE reset LOGIN;",
        "ALTER ROLE app WITH PASSWORD 'SET x';",
        'ALTER ROLE app RENAME TO "SET";',
        "ALTER USER MAPPING FOR app SERVER s OPTIONS (SET user 'u');",
        "ALTER TABLE app SET (fillfactor = 70);",
    ],
)
def test_what_sets_nothing_for_sessions_of_a_role_is_executed(text: str) -> None:
    assert not is_left_out(statement(text))


@pytest.mark.parametrize(
    ("text", "executed"),
    [
        ("ALTER TABLE t ADD COLUMN b int, OWNER TO app;", "ALTER TABLE t ADD COLUMN b int"),
        ('ALTER TABLE t SET (fillfactor = 70), OWNER TO "my "" app"', None),
        ("alter table t alter c set storage main,\n\towner to app ;\n", None),
    ],
)
def test_an_owner_among_other_changes_takes_none_of_them_with_it(
    text: str, executed: str | None
) -> None:
    several = statement(text)
    assert not is_left_out(several)
    assert executed_text(several).decode() == executed or executed is None
    assert "owner" not in executed_text(several).decode().lower()


@pytest.mark.parametrize(
    "text",
    [
        "ALTER TABLE public.t OWNER TO app;",
        'ALTER FUNCTION f(a int, b text) OWNER TO "my app";',
        'ALTER VIEW v OWNER TO "my "" app";',
        "ALTER TABLE IF EXISTS ONLY t OWNER TO app",
        "REASSIGN OWNED BY app TO other;",
    ],
)
def test_an_owner_by_itself_is_left_out(text: str) -> None:
    assert is_left_out(statement(text))
    assert left_out(statement(text)) is None


@pytest.mark.parametrize(
    "text",
    [
        "ALTER ROLE postgres WITH NOSUPERUSER LOGIN PASSWORD 'S3cret';",
        'ALTER USER "postgres" NOLOGIN;',
        "alter role postgres\nrename to root;",
        "ALTER ROLE CURRENT_USER CONNECTION LIMIT 0;",
        "DROP ROLE IF EXISTS postgres;",
    ],
)
def test_what_a_dump_changes_of_our_own_role_is_left_out_and_said(text: str) -> None:
    note = left_out(statement(text))
    assert is_left_out(statement(text))
    assert note is not None
    assert note.what.upper() in {"ALTER ROLE POSTGRES", "ALTER USER POSTGRES", "DROP ROLE POSTGRES"}
    assert "S3cret" not in repr(note)


@pytest.mark.parametrize(
    "text",
    [
        "ALTER ROLE postgres_app NOLOGIN;",
        "ALTER ROLE postgres WITH SUPERUSER LOGIN PASSWORD 'NOLOGIN';",
        "ALTER USER MAPPING FOR postgres SERVER s OPTIONS (SET user 'u');",
        'ALTER ROLE "Postgres" NOLOGIN;',
        "CREATE ROLE postgres SUPERUSER;",
        "COMMENT ON ROLE postgres IS 'ALTER ROLE postgres';",
    ],
)
def test_what_is_about_another_role_is_executed(text: str) -> None:
    assert not is_left_out(statement(text))
