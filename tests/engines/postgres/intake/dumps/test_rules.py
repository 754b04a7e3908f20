"""What of a dump is not executed: statistics of any version, nothing that only looks so."""

from __future__ import annotations

import io

import pytest

from steelyard.engines.postgres.intake.dumps.lexer import DumpLexer, SqlStatement
from steelyard.engines.postgres.intake.dumps.rules import is_left_out, left_out

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
