"""Queries that call functions which may write are marked by the names of these; what functions and
temporary tables leave to their sessions is not driven."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from steelyard.cli.views.workload_view import capture_lines
from steelyard.workloads.capturing.ledger import StatementOutcome
from steelyard.workloads.capturing.shapes import shape_of
from steelyard.workloads.capturing.writing import write_workload
from steelyard.workloads.reading.folder import read_workload
from steelyard.workloads.reading.statements import writes
from workloads.capturing.test_mix import mixed, said


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("SELECT * FROM place_order(1, 2)", ("place_order()",)),
        ("SELECT Pgmq.Send('a', 'b'), add_job('x')", ("pgmq.send()", "add_job()")),
        ("SELECT public.lower(a), f(1), f(2) FROM t", ("public.lower()", "f()")),
        ("SELECT a FROM t WHERE EXISTS (SELECT cron.schedule('a'))", ("cron.schedule()",)),
        ('SELECT "it\'s mine"(1)', ('"..."()',)),
        ("WITH x AS (SELECT f()) SELECT count(*) FROM x", ("f()",)),
        ("SELECT pg_temp.f()", ("pg_temp.f()",)),
        ("SELECT pg_background_launch('DELETE FROM t')", ("pg_background_launch()",)),
        ("SELECT pg_truncate_visibility_map('t')", ("pg_truncate_visibility_map()",)),
        ("SELECT pg_log_standby_snapshot()", ("pg_log_standby_snapshot()",)),
        ("SELECT pg_catalog.pg_log_standby_snapshot()", ("pg_catalog.pg_log_standby_snapshot()",)),
        ("SELECT pg_get_next_job(5), s.pg_sleep(1)", ("pg_get_next_job()", "s.pg_sleep()")),
        ("SELECT pg_stat_get_live_tuples(1), pg_table_is_visible(a), pg_ls_waldir()", ()),
        ("SELECT pg_get_viewdef(1), pg_relation_size('t'), pg_catalog.pg_typeof(a)", ()),
        ("SELECT * FROM pg_stat_statements(true), pg_ls_dir('.'), pg_buffercache_pages()", ()),
        ("SELECT pg_lsn_cmp(a, b), pg_current_wal_lsn(), pg_wal_lsn_diff(a, b) FROM t", ()),
        ("SELECT now(), lower(a), count(*), sum(b) FILTER (WHERE c) FROM t", ()),
        ("SELECT pg_catalog.now(), pg_backend_pid(), pg_sleep(1), set_config('a', 'b', true)", ()),
        ("SELECT coalesce(a, 1), extract(year FROM b), trim(c), cast(d AS int) FROM t", ()),
        ("SELECT * FROM generate_series(1, 2), unnest($1::int[]), jsonb_to_recordset('[]')", ()),
        ("SELECT jsonb_build_object('a', 1), row_number() OVER (), to_tsquery('a')", ()),
        ("SELECT * FROM information_schema._pg_expandarray(ARRAY[1])", ()),
        ("SELECT has_table_privilege('t', 'SELECT'), current_setting('a'), 'f(1)'", ()),
        ("SELECT current_timestamp, a.f FROM a WHERE b IN (1, 2) AND (c, d) = (1, 2)", ()),
    ],
)
def test_functions_that_do_not_come_with_postgresql_are_named(
    text: str, calls: tuple[str, ...]
) -> None:
    read = shape_of(text)
    assert read is not None
    assert read[0].calls == calls
    assert not read[0].writes


def test_what_is_known_to_write_is_not_named_besides() -> None:
    for text in ("UPDATE t SET a = f()", "CALL p()", "SELECT nextval('s')"):
        read = shape_of(text)
        assert read is not None
        assert (read[0].writes, read[0].calls) == (True, ())


def test_a_kind_that_may_write_is_marked_in_the_table_and_in_its_description(
    tmp_path: Path,
) -> None:
    mix = mixed(
        said("SELECT * FROM place_order(1)"), said("BEGIN"), said("SELECT shop.add()"),
        said("SELECT f()"), said("SELECT f()"), said("COMMIT"), said("SELECT 1 FROM t"),
    )  # fmt: skip
    captured = write_workload(mix, tmp_path / "made", name="made", source="log")
    assert not any(kind.writes for _, kind in captured.scripts)
    lines = {line.split(" ")[0]: line for line in capture_lines(captured)}
    assert lines["02-select-place_order"].endswith("  calls place_order(): may write")
    assert lines["01-begin"].endswith("  calls shop.add(), f(): may write")
    assert "write" not in lines["03-select-t"]
    text = (tmp_path / "made" / "workload.toml").read_text()
    assert text.count("which may write") == 2
    assert "# It calls shop.add(), f(), which may write: at an address" in text
    assert not read_workload(tmp_path / "made").scripts["01-begin"].writes


@pytest.mark.parametrize(
    "permit",
    [
        "BEGIN READ WRITE", "start transaction isolation level serializable, read  write",
        "BEGIN; SET LOCAL transaction_read_only = off", "BEGIN; SET TRANSACTION READ WRITE",
        "BEGIN; SELECT set_config('transaction_read_only', 'off', true)",
    ],
)  # fmt: skip
def test_functions_in_a_transaction_that_says_that_it_writes_are_taken_to_write(
    permit: str,
) -> None:
    begin = [said(text) for text in permit.split("; ")]
    [calling] = mixed(*begin, said("SELECT f()"), said("COMMIT")).kinds
    [reading] = mixed(*begin, said("SELECT now()"), said("COMMIT")).kinds
    assert (calling.writes, reading.writes) == (True, False)


@pytest.mark.parametrize(
    ("text", "values", "sets"),
    [
        # Every client of pg_dump, vacuumdb and so on begins so: who met it found no table.
        ("SELECT pg_catalog.set_config('search_path', '', false);", (), {"search_path": 1}),
        ("select set_config('app.tenant', '7', 'off'), 1", (), {"app.tenant": 1}),
        ("SELECT set_config($1, $2, $3)", ("role", "a", "f"), {"role": 1}),
        ("SELECT set_config($1, $2, $3::bool)", ("role", "a", None), {"role": 1}),
        ("SELECT set_config('a' || b, '', c) FROM t", (), {}),
        ("SELECT set_config('bytea_output', 'hex', false) FROM pg_settings", (), {}),
        ("SELECT pg_advisory_lock(7)", (), {}), ("SELECT pg_advisory_unlock_all()", (), {}),
        ("SELECT pg_try_advisory_lock_shared($1, 2)", ("7",), {}),
        ("SELECT set_config('app.tenant', '7', true)", (), None),
        ("SELECT set_config($1, $2, $3)", ("role", "a", "t"), None),
        ("SELECT pg_advisory_xact_lock(7)", (), None), ("SELECT set_config FROM t", (), None),
    ],
)  # fmt: skip
def test_what_a_function_leaves_to_its_session_is_not_driven(
    text: str, values: tuple[str | None, ...], sets: dict[str, int] | None
) -> None:
    mix = mixed(said("SELECT a FROM t"), said(text, "2", parameters=values))
    assert mix.ledger.statements == ({} if sets is None else {StatementOutcome.SESSION: 1})
    assert mix.ledger.sets == (sets or {})
    within = mixed(said("BEGIN"), said(text, parameters=values), said("COMMIT"))
    is_driven = sets is None or "unlock" in text
    assert [len(kind.shapes) for kind in within.kinds] == ([3] if is_driven else [])
    assert within.ledger.statements == ({} if is_driven else {StatementOutcome.SESSION: 3})
    assert within.ledger.sets == (sets or {})


@pytest.mark.parametrize(
    ("calls", "is_driven"),
    [
        (("lock(7)", "unlock(7)"), True), (("lock_shared(7)", "unlock_shared(7)"), True),
        (("lock(7)", "lock(8)", "unlock_all()"), True), (("xact_lock(7)",), True),
        (("lock(7)", "lock(8)", "unlock(7)"), False),
    ],
)  # fmt: skip
def test_locks_that_a_transaction_gives_back_are_its_own(
    calls: Sequence[str], is_driven: bool
) -> None:
    """Others would be waited for by whoever draws the same key, for ever."""
    mix = mixed(
        said("BEGIN"), *(said(f"SELECT pg_advisory_{call}") for call in calls), said("COMMIT")
    )
    assert [kind.count for kind in mix.kinds] == ([1] if is_driven else [])


@pytest.mark.parametrize(
    ("text", "is_driven"),
    [
        ("CREATE TEMP TABLE x (a int)", False), ("CREATE TABLE pg_temp.x (a int)", False),
        ("create temporary table x on commit delete rows as select 1", False),
        ("SELECT a INTO TEMP x FROM t", False), ("CREATE TEMP VIEW x AS SELECT 1", False),
        ("CREATE TEMP SEQUENCE x", False),
        ("CREATE TEMP TABLE x ON COMMIT DROP AS SELECT 1", True),
        ("CREATE TEMP TABLE IF NOT EXISTS x (a int)", True),
        ("CREATE OR REPLACE TEMP VIEW x AS SELECT 1", True),
        ("CREATE TABLE x (a int)", True), ("SELECT a INTO x FROM t", True),
    ],
)  # fmt: skip
def test_temporary_tables_that_outlive_their_transaction_are_not_driven(
    text: str, is_driven: bool
) -> None:
    """The client that drew it a second time failed: its session had the table."""
    mix = mixed(said("SELECT a FROM t"), said(text, "2"))
    assert [kind.count for kind in mix.kinds] == ([1, 1] if is_driven else [1])
    assert mix.ledger.statements == ({} if is_driven else {StatementOutcome.SESSION: 1})
    for around, is_repeatable in (
        (("BEGIN", text, "COMMIT"), is_driven),
        (("BEGIN", text, "ROLLBACK"), True),
        (("BEGIN", text, "DROP TABLE other, pg_temp.x", "COMMIT"), True),
        (("BEGIN", "DROP TABLE IF EXISTS X", text, "COMMIT"), True),
        (("BEGIN", text, "DROP FUNCTION x", "COMMIT"), is_driven),
    ):
        within = mixed(*map(said, around))
        assert [kind.count for kind in within.kinds] == ([1] if is_repeatable else []), around


@pytest.mark.parametrize(
    ("text", "is_outside"),
    [
        ("SELECT http_post('https://a', 'b', 'c')", True),
        ("SELECT status FROM public.http_get($1)", True),
        ("SELECT content FROM http(('GET', $1, NULL, NULL, NULL)::http_request)", True),
        ("SELECT net.http_post(url := 'https://a')", True),
        ("SELECT * FROM aws_s3.query_export_to_s3('SELECT 1', 'b')", True),
        ("SELECT * FROM AWS_Lambda.invoke('f', '{}')", True),
        ("SELECT azure_openai.create_embeddings('a', b) FROM t", True),
        ("SELECT ai.openai_embed('a', b) FROM t", True),
        ("WITH s AS (SELECT amqp.publish(1, 'a', 'b', c) FROM t) SELECT count(*) FROM s", True),
        ("DO $$ BEGIN PERFORM net.http_post('a'); END $$", True),
        ("DO $$ BEGIN PERFORM http (a); END $$", True),
        ("SELECT http FROM t WHERE url LIKE 'http%' OR a = 'http'", False),
        ("SELECT http_requests(1), http_get_count('a') FROM t", False),
        ("SELECT ai.a, net.b FROM ai, net", False),
        ("SELECT invoke('f'), my.lambda('f'), ai.score(a) FROM ai", False),
        ("DO $$ BEGIN PERFORM f('http://a'); END $$", False),
    ],
)
def test_requests_to_elsewhere_are_not_driven(text: str, is_outside: bool) -> None:
    """A query that only reads here may order something there, and a weighing thousands of it."""
    read = shape_of(text)
    assert read is not None
    assert read[0].to_server == is_outside
    if not text.startswith("DO"):
        assert writes(text) == is_outside, "as a script of one's own"
