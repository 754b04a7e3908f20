"""A statement writes or only reads by what it is, not by the words that stand in it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.workloads.reading.statements import any_writes, writes

READS = [
    "SELECT * FROM t WHERE action = 'update'",
    "select call, do, copy from phones",
    "  -- insert later\n /* delete? */ (SELECT 1) UNION (SELECT 2)",
    "EXPLAIN ANALYZE SELECT sum(abalance) FROM pgbench_accounts",
    "EXPLAIN (ANALYZE, BUFFERS OFF) SELECT 1",
    "explain analyse verbose select 1",
    "COPY pgbench_accounts TO STDOUT",
    "COPY (SELECT aid FROM pgbench_accounts) TO '/dev/null' WITH (FORMAT csv)",
    "copy t (a, b) to stdout",
    "WITH a AS (SELECT 1) SELECT * FROM a",
    "VALUES (1), (2)",
    "TABLE t",
    "BEGIN",
    "COMMIT",
    "SHOW work_mem",
    "SET LOCAL work_mem = '4MB'",
    "FETCH 100 FROM c",
    "SELECT * FROM pg_replication_slots, pg_stat_replication_slots",
    "SELECT pg_stat_get_db_stat_reset_time(1), lo_get(1), currval('s'), pg_backend_pid()",
    "SET lock_timeout = 1000",
    "SELECT replace(comment, 'kill', 'flush'), execute FROM t",
    "PREPARE q(int) AS SELECT $1",
    "PREPARE q FROM 'SELECT 1'",
    "DEALLOCATE q",
    "COMMIT AND CHAIN",
    "SET global.tenant = '7'",
    "SET @@session.sql_mode = ''",
    "SET password_lifetime = 1",
    "/*!40101 SET NAMES utf8 */ SELECT 1",
    "SELECT next, value FROM t",
    "RESET ALL",
    "START TRANSACTION READ ONLY",
    "SET search_path = a, global",
    "DECLARE c CURSOR FOR SELECT 1",
    "WAITFOR DELAY '0:0:1'",
    ";",
    "/* nothing */ ;",
    "",
]
WRITES = [
    "INSERT INTO t VALUES (1)",
    "update t set a = 1",
    "/* read */ DELETE FROM t",
    "MERGE INTO t USING s ON true WHEN MATCHED THEN DO NOTHING",
    "SELECT * FROM t FOR UPDATE",
    "SELECT * FROM t FOR NO KEY UPDATE SKIP LOCKED",
    "SELECT * FROM t\nFOR KEY\nSHARE",
    "SELECT * FROM t LOCK IN SHARE MODE",
    "SELECT a INTO b FROM t",
    "SELECT nextval('s')",
    "SELECT pg_advisory_lock(1)",
    "select pg_try_advisory_xact_lock_shared(1)",
    "SELECT pg_notify('a', 'b')",
    "SELECT lo_unlink(1)",
    "SELECT pg_catalog.pg_reload_conf()",
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity",
    "WITH a AS (SELECT pg_switch_wal()) TABLE a",
    "VALUES (pg_drop_replication_slot('a'))",
    "SELECT * FROM dblink('a', 'b') AS t (a int)",
    "COPY (SELECT nextval('s')) TO STDOUT",
    "EXPLAIN ANALYZE SELECT pg_stat_reset()",
    "ALTER SYSTEM SET a = 1",
    "CHECKPOINT",
    "NOTIFY a",
    "GRANT a TO b",
    "LOCK TABLE t",
    "WITH gone AS (DELETE FROM t RETURNING *) SELECT * FROM gone",
    "WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a",
    "EXPLAIN ANALYZE DELETE FROM t",
    "EXPLAIN (ANALYZE true) UPDATE t SET a = 1",
    "COPY t FROM STDIN",
    "COPY t TO '/tmp/out.csv'",
    "COPY t TO PROGRAM 'cat > /tmp/out'",
    "COPY (DELETE FROM t RETURNING *) TO STDOUT",
    "COPY t FROM STDIN -- to stdout",
    "COPY t TO '/tmp/x' /* to stdout */",
    "COPY (SELECT 1) TO PROGRAM 'cat' -- ) to stdout",
    "CALL payment(1)",
    "DO $$ BEGIN END $$",
    "TRUNCATE t",
    "VACUUM t",
    "ANALYZE t",
    "CREATE TABLE t (a int)",
    "REPLACE INTO t VALUES (1)",
    "REFRESH MATERIALIZED VIEW v",
    "REPLACE t VALUES (1)",
    "replace low_priority t select 1",
    "/*!50000 DELETE FROM t */",
    "/*M!100100 UPDATE t SET a = 1 */ -- SELECT",
    "RENAME TABLE a TO b",
    "OPTIMIZE TABLE t",
    "REPACK t",
    "EXEC dbo.place_order 7",
    "exec(N'SELECT 1')",
    "EXECUTE q(1)",
    "EXPLAIN ANALYZE EXECUTE q",
    "PREPARE TRANSACTION 'a'",
    "COMMIT PREPARED 'a'",
    "ROLLBACK  PREPARED 'a'",
    "COMMENT ON TABLE t IS 'a'",
    "SECURITY LABEL ON TABLE t IS 'a'",
    "SET GLOBAL innodb_flush_log_at_trx_commit = 2",
    "SET @@global.sync_binlog = 0",
    "SELECT * FROM t WITH (UPDLOCK, ROWLOCK) WHERE a = 1",
    "SELECT NEXT VALUE FOR s",
    "SELECT GET_LOCK('a', 1)",
    "SELECT release_all_locks()",
    "KILL 7",
    "PURGE BINARY LOGS TO 'b.7'",
    "RESET MASTER",
    "reset binary logs and gtids",
    "START GROUP_REPLICATION",
    "start all slaves",
    "STOP REPLICA",
    "INSTALL PLUGIN a SONAME 'b'",
    "SET a = 1, GLOBAL b = 2",
    "SET @a = 1, @@persist.b = 2",
    "SET PASSWORD = 'a'",
    "set password for 'a'@'%' = 'b'",
    "SET DEFAULT ROLE a TO b",
    "SELECT * FROM OPENQUERY(other, 'SELECT 1')",
    "DBCC DROPCLEANBUFFERS",
    "place_order 7",
    "1",
]


@pytest.mark.parametrize("statement", READS)
def test_what_only_reads(statement: str) -> None:
    assert not writes(statement)


@pytest.mark.parametrize("statement", WRITES)
def test_what_writes(statement: str) -> None:
    assert writes(statement)


@pytest.mark.parametrize(
    ("batch", "answer"),
    [
        ("SELECT a FROM t WHERE b = 7\nDELETE t WHERE b = 7", True),
        ("WITH a AS (SELECT 1 b) SELECT b FROM a DROP TABLE t", True),
        ("SET NOCOUNT ON\nUPDATE t SET a = 1", True),
        ("DECLARE @a int = 7 EXEC place_order @a", True),
        ("IF @@ROWCOUNT = 0 INSERT t VALUES (1)", True),
        ("SELECT 1 DBCC FREEPROCCACHE", True),
        ("DECLARE @a int = 7 SELECT @a", False),
        ("SELECT updated_at FROM t WITH (NOLOCK) WHERE a = 'delete' -- drop", False),
        ("SET NOCOUNT ON /* exec */ SELECT N'exec it''s'", False),
        ("BEGIN TRANSACTION", False),
    ],
)
def test_statements_of_t_sql_need_no_semicolons_between_them(batch: str, answer: bool) -> None:
    assert writes(batch, "sqlserver") is answer


@pytest.mark.long
@given(st.text(), st.sampled_from(WRITES))
def test_what_stands_behind_a_statement_makes_no_reader_of_a_writer(
    behind: str, statement: str
) -> None:
    assert writes(f"{statement} {behind}")


@given(st.text())
def test_any_text_has_an_answer(text: str) -> None:
    assert writes(text) in (True, False)


@pytest.mark.parametrize(
    ("statements", "answer"),
    [
        (["PREPARE q AS SELECT $1", "EXECUTE q(1)"], False),
        (["EXECUTE q(1)", "prepare Q(int) as select $1", "EXPLAIN ANALYZE EXECUTE Q(1)"], False),
        (["PREPARE q FROM 'SELECT ?'", "SET @a = 1", "EXECUTE q USING @a"], False),
        (["PREPARE q AS SELECT $1", "EXECUTE q(nextval('s'))"], True),
        (["PREPARE q AS INSERT INTO t VALUES ($1)", "EXECUTE q(1)"], True),
        (["PREPARE q AS SELECT 1", "EXECUTE other"], True),
        (["SELECT 1", "EXECUTE q"], True),
        (["SET @b = (SELECT a FROM t)", "PREPARE query FROM @b", "EXECUTE query"], True),
        (["BEGIN", "SELECT 1", "/*! DELETE FROM t */"], True),
        ([], False),
    ],
)
def test_what_is_executed_by_name_does_what_was_prepared(
    statements: list[str], answer: bool
) -> None:
    assert any_writes(statements) is answer
