"""Transactions are cut, told apart by what they do, and written as a workload that is readable."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from steelyard.cli.views.workload_view import capture_lines, captured_json
from steelyard.model.errors import UsageError
from steelyard.workloads.capturing import mix as mixing
from steelyard.workloads.capturing.ledger import CaptureLedger, StatementOutcome
from steelyard.workloads.capturing.mix import Mix, mix_of
from steelyard.workloads.capturing.redacting import redacted
from steelyard.workloads.capturing.shapes import shape_of
from steelyard.workloads.capturing.statements import LoggedStatement, Protocol
from steelyard.workloads.capturing.transactions import transactions
from steelyard.workloads.capturing.writing import write_workload
from steelyard.workloads.reading.folder import read_workload
from steelyard.workloads.reading.rows import read_rows, rows_text
from steelyard.workloads.reading.scripts import resolve_scripts


def said(
    text: str,
    session: str = "1",
    ended: float = 0.0,
    protocol: Protocol = "simple",
    parameters: Sequence[str | None] = (),
    whole: bool = True,
) -> LoggedStatement:
    return LoggedStatement(session, ended, 2.0, text, protocol, tuple(parameters), whole)


def mixed(*told: LoggedStatement) -> Mix:
    return mix_of(transactions(told), ledger=CaptureLedger(read=len(told)))


def test_sessions_are_cut_into_transactions_with_the_pauses_between_them() -> None:
    found = list(
        transactions(
            [
                said("COMMIT"),  # of one that began before the log
                said("BEGIN", "1", 1.0),
                said("SELECT 9", "2", 1.05),
                said("SELECT 1", "1", 1.1),
                said("ROLLBACK TO SAVEPOINT a", "1", 1.15),
                said("commit;", "1", 1.2),
                said("SELECT 2", "1", 1.5),
                said("BEGIN", "1", 1.6),
                said("SELECT 3", "1", 1.7),
            ]
        )
    )
    texts = sorted([one.text for one in each.statements] for each in found)
    assert texts == [
        ["BEGIN", "SELECT 1", "ROLLBACK TO SAVEPOINT a", "commit;"], ["BEGIN", "SELECT 3"],
        ["COMMIT"], ["SELECT 2"], ["SELECT 9"],
    ]  # fmt: skip
    outcomes = {each.statements[0].text: each.outcome for each in found if each.outcome}
    assert outcomes == {"COMMIT": StatementOutcome.NO_BEGIN, "BEGIN": StatementOutcome.OPEN}
    whole = next(each for each in found if len(each.statements) == 4)
    assert whole.seconds == pytest.approx(0.008)
    assert whole.think_s == pytest.approx(1.5 - 0.002 - 1.2)


def test_values_do_not_tell_kinds_apart_and_what_is_done_does() -> None:
    mix = mixed(
        said("SELECT a FROM t WHERE id = 1"),
        said("SELECT a FROM t WHERE id = 22"),
        said("SELECT a FROM t WHERE id IN (1, 2)"),
        said("SELECT a FROM t WHERE id IN (1, 2, 3)"),
        said("SELECT b FROM t WHERE id = 1"),
    )
    assert [kind.count for kind in mix.kinds] == [2, 1, 1, 1]
    assert mix.kinds[0].rows == [("1",), ("22",)]
    lists = [kind.fingerprint for kind in mix.kinds if "IN" in kind.shapes[0].pieces[0]]
    assert len(set(lists)) == 1  # libpg_query: one kind, however long the list


@pytest.mark.parametrize("protocol", ["simple", "extended", "prepared"])
def test_literals_are_values_in_every_protocol(protocol: Protocol) -> None:
    mix = mixed(*(said(f"SELECT a FROM t WHERE id = {n}", protocol=protocol) for n in range(30)))
    [kind] = mix.kinds
    assert (kind.count, kind.rows[29]) == (30, ("29",))


@pytest.mark.parametrize(("literals", "kinds"), [(2, 2), (8, 8), (9, 1), (100, 1)])
def test_a_few_literals_beside_parameters_are_kinds_and_many_are_values(
    literals: int, kinds: int, tmp_path: Path
) -> None:
    mix = mixed(
        *(
            said(
                f"SELECT a FROM t WHERE k = 'x{n % literals}' AND id = $1",
                protocol="prepared", parameters=[str(n)],
            )
            for n in range(200)
        )
    )  # fmt: skip
    assert len(mix.kinds) == kinds
    assert sum(kind.count for kind in mix.kinds) == 200
    assert len({row[1] for kind in mix.kinds for row in kind.rows}) == 200
    captured = write_workload(mix, tmp_path / "made", name="made", source="log")
    assert captured.mode == ("prepared" if kinds > 1 else "simple")


def test_comments_blanks_case_signs_and_names_of_savepoints_part_no_kinds() -> None:
    mix = mixed(
        said("SELECT a FROM t WHERE id = 1 /*traceparent='00-1'*/"),
        said("/* show */ select a\n  from T where id = -2; -- done"),
        said("SELECT a FROM t WHERE id = 3;;"),
        *(
            said(text.format(n), str(n))
            for n in range(3)
            for text in ("BEGIN", "SAVEPOINT s{0}", "SAVEPOINT t{0}", "RELEASE s{0}", "COMMIT")
        ),
        *(said(f"SELECT /*+ IndexScan(t{n}) */ b FROM t") for n in range(2)),
    )
    assert [kind.count for kind in mix.kinds] == [3, 3, 1, 1]
    assert mix.kinds[0].rows == [("1",), ("-2",), ("3",)]


@pytest.mark.parametrize(
    ("text", "writes"),
    [
        ("SELECT 1", False), ("select count(*) from t", False), ("BEGIN", False),
        ("SELECT * FROM t FOR UPDATE", True), ("SELECT nextval('s')", True),
        ("SELECT 1 INTO t2", True), ("CREATE TABLE t (a int)", True),
        ("WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x", True),
        ("INSERT INTO t VALUES (1)", True), ("CALL p()", True),
        ("SELECT pg_advisory_lock(1)", True), ("SELECT pg_try_advisory_xact_lock(1)", True),
        ("SELECT pg_advisory_unlock_all()", True), ("SELECT pg_notify('a', 'b')", True),
        ("SELECT * FROM pg_catalog.lo_unlink(1)", True), ("SELECT lo_get(1)", False),
        ("SELECT pg_reload_conf()", True), ("SELECT 'pg_notify(1)'", False),
        ("SELECT pg_advisory FROM t", False), ("SELECT currval('s')", False),
    ],
)  # fmt: skip
def test_what_writes_is_known_by_its_tree(text: str, writes: bool) -> None:
    found = shape_of(text)
    assert found is not None
    assert found[0].writes is writes


@pytest.mark.parametrize(
    ("text", "to_server"),
    [
        *((f"SELECT {call}", True) for call in (
            "pg_reload_conf()", "pg_catalog.pg_rotate_logfile()", "pg_promote()",
            "pg_terminate_backend(pid) FROM pg_stat_activity", "PG_Cancel_Backend(1)",
            "pg_switch_wal()", "pg_create_restore_point('a')", "pg_backup_start('a')",
            "pg_stop_backup()", "pg_drop_replication_slot('a')", "pg_wal_replay_pause()",
            "pg_create_logical_replication_slot('a', 'b')", "pg_replication_slot_advance('a', 'b')",
            "* FROM pg_logical_slot_get_changes('a', NULL, NULL)", "pg_stat_reset()",
            "pg_stat_reset_shared('io')", "pg_stat_statements_reset()", "lo_import('a')",
            "dblink_exec('a', 'b')", "* FROM dblink('a', 'b') AS t (a int)",
            "pg_replication_origin_create('a')", "pg_file_unlink('a')",
            "1 WHERE EXISTS (SELECT pg_reload_conf())",
        )),
        ("INSERT INTO t SELECT pg_switch_wal()", True), ("CALL pg_reload_conf()", True),
        ("DO $$BEGIN PERFORM pg_terminate_backend(1); END$$", True),
        ("ALTER SYSTEM SET a = 1", True), ("/* a */ alter system reset all", True),
        ("CREATE DATABASE a", True), ("ALTER DATABASE a SET b = 1", True),
        ("ALTER DATABASE a RENAME TO b", True), ("CREATE ROLE a", True), ("DROP USER a", True),
        ("ALTER ROLE a RENAME TO b", True), ("GRANT a TO b", True),
        ("CREATE SUBSCRIPTION a CONNECTION 'b' PUBLICATION c", True),
        ("CREATE TABLESPACE a LOCATION '/b'", True),
        ("CREATE SERVER a FOREIGN DATA WRAPPER b OPTIONS (host 'c')", True),
        ("ALTER SERVER a OPTIONS (SET host 'c')", True), ("CREATE FOREIGN DATA WRAPPER a", True),
        ("CREATE USER MAPPING FOR a SERVER b OPTIONS (password 'c')", True),
        ("ALTER USER MAPPING FOR a SERVER b OPTIONS (SET password 'c')", True),
        ("DROP USER MAPPING FOR a SERVER b", True),
        ("IMPORT FOREIGN SCHEMA a FROM SERVER b INTO c", True),
        ("CREATE FOREIGN TABLE a (b int) SERVER c", False),
        ("GRANT SELECT ON t TO a", False), ("ALTER TABLE a RENAME TO b", False),
        ("SELECT 'pg_reload_conf()'", False), ("SELECT pg_reload_conf FROM t", False),
        ("SELECT * FROM pg_replication_slots", False), ("SELECT pg_advisory_xact_lock(1)", False),
        ("SELECT pg_stat_get_db_stat_reset_time(1)", False), ("SELECT pg_backend_pid()", False),
        ("SELECT * FROM pg_stat_replication_slots", False), ("DO $$BEGIN END$$", False),
    ],
)  # fmt: skip
def test_commands_to_the_server_are_left_out_whatever_is_asked_for(
    text: str, to_server: bool, tmp_path: Path
) -> None:
    mix = mixed(said("SELECT 1"), said("BEGIN", "2"), said(text, "2"), said("COMMIT", "2"))
    expected = {StatementOutcome.SERVER: 3} if to_server else {}
    assert mix.ledger.statements == expected
    write_workload(mix, tmp_path / "made", name="made", source="log", writes=True)
    texts = "".join(path.read_text() for path in (tmp_path / "made" / "scripts").iterdir())
    assert ("BEGIN\n" in texts) is not to_server


def test_what_cannot_be_repeated_is_left_out_and_counted() -> None:
    mix = mixed(
        said("SET work_mem = '1GB'"),
        said("SELECT 1; SELECT 2"),
        said("SELEC nonsense"),
        said("SELECT $2", protocol="extended", parameters=["1"]),
        said("COPY t FROM stdin"),
        said("SELECT 1"),
    )
    assert mix.ledger.total == 5
    assert mix.statements == 6
    assert [kind.count for kind in mix.kinds] == [1]


def test_what_sessions_set_for_what_follows_is_said(tmp_path: Path) -> None:
    """Tenants have tables of one name each in a schema of its own."""
    mix = mixed(
        *(said(text) for _ in range(3) for text in ("SET search_path TO a", "SELECT b FROM t")),
        *(said(text, "2") for text in ("BEGIN", "SET ROLE c", "SET TIME ZONE 'UTC'", "COMMIT")),
    )
    captured = write_workload(mix, tmp_path / "made", name="made", source="log")
    [note] = [line for line in capture_lines(captured) if line.startswith("note: ")]
    assert note.startswith("note: sessions set search_path (3 times), role (1 times): ")
    assert json.loads(captured_json(captured))["sets"] == {"search_path": 3, "role": 1}


@pytest.mark.long
def test_of_many_executions_a_fair_sample_of_values_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept, count = 1_000, 3_000
    monkeypatch.setattr(mixing, "KEPT_ROWS", kept)
    mix = mixed(*(said(f"SELECT a FROM t WHERE id = {n}") for n in range(count)))
    [kind] = mix.kinds
    assert kind.count == count
    assert len(kind.rows) == kept
    drawn = [int(str(row[0])) for row in kind.rows]
    # Uniform over 0 .. 3,000: the mean of 1,000 of them scatters by 22; 5 times that.
    assert abs(sum(drawn) / len(drawn) - count / 2) < 112


def test_the_folder_is_a_workload_with_scripts_weights_rows_and_pauses(tmp_path: Path) -> None:
    mix = mixed(
        *(said(f"SELECT a FROM t WHERE id = {n} AND k = 'it''s'", ended=n) for n in range(5)),
        said("BEGIN", "2"), said("SELECT 1 -- why", "2"), said("COMMIT", "2"),
    )  # fmt: skip
    captured = write_workload(mix, tmp_path / "made", name="made", source="log")
    assert (captured.mode, captured.statements_share, captured.seconds_share) == (
        "simple",
        1.0,
        1.0,
    )
    workload = read_workload(tmp_path / "made")
    assert workload.mix() == {"01-select-t": 5, "02-begin": 1}
    text = workload.script("01-select-t").text()
    assert text.startswith(
        "\\draw 01-select-t p1\nSELECT a FROM t WHERE id = :p1 AND k = 'it''s'\n;"
    )
    assert workload.draws == {"01-select-t": [[str(n)] for n in range(5)]}
    [script] = resolve_scripts(workload, {"01-select-t": 1}, 1, {})
    assert not script.writes
    assert script.pause_ns == 0
    thinking = read_workload(tmp_path / "made", {"think": True})
    [script] = resolve_scripts(thinking, {"01-select-t": 1}, 1, {})
    assert script.pause_ns == pytest.approx(998_000_000, rel=1e-3)


def test_parameters_stay_parameters_where_all_statements_had_them(tmp_path: Path) -> None:
    asked = "SELECT a FROM t WHERE id = $1 AND b = $2"
    mix = mixed(
        *(said(asked, protocol="extended", parameters=[str(n), None]) for n in range(3)),
        said("SELECT c FROM t WHERE id = $1", protocol="prepared", parameters=["\\x"]),
    )
    captured = write_workload(mix, tmp_path / "made", name="made", source="log")
    assert captured.mode == "extended"
    workload = read_workload(tmp_path / "made")
    assert "WHERE id = :p1 AND b = :p2" in workload.script("01-select-t").text()
    assert workload.draws["01-select-t"] == [["0", None], ["1", None], ["2", None]]
    assert workload.draws["02-select-t"] == [["\\x"]]


def test_parameters_become_literals_beside_statements_without(tmp_path: Path) -> None:
    mix = mixed(
        *(
            said("SELECT a FROM t WHERE id = $1 AND b = $2", protocol="extended", parameters=row)
            for row in (["1", None], ["2", "it's"], ["3", "a\\b"])
        ),
        *(said(f"SELECT {n}") for n in range(2)),
    )
    captured = write_workload(mix, tmp_path / "made", name="made", source="log")
    assert captured.mode == "simple"
    assert captured.protocols == {"extended": 3, "simple": 2}
    rows = read_workload(tmp_path / "made").draws["01-select-t"]
    assert rows == [["'1'", "NULL"], ["'2'", "'it''s'"], ["'3'", "E'a\\\\b'"]]


def test_simple_begins_and_constants_leave_prepared_work_prepared(tmp_path: Path) -> None:
    mix = mixed(
        *(
            said(text, protocol=protocol, parameters=["1"] * (protocol == "prepared"))
            for _ in range(5)
            for text, protocol in (
                ("BEGIN", "simple"), ("SET LOCAL statement_timeout = 5000", "simple"),
                ("SELECT a FROM t WHERE id = $1", "prepared"),
                ("SELECT b FROM t WHERE id = $1", "prepared"), ("COMMIT", "simple"),
            )
        ),
        said("SELECT 1"),
    )  # fmt: skip
    captured = write_workload(mix, tmp_path / "made", name="made", source="log")
    assert (captured.mode, captured.left_out) == ("prepared", ())
    text = read_workload(tmp_path / "made").script("01-begin-t").text()
    assert text.startswith(
        "\\draw 01-begin-t p1 p2\nBEGIN\n;\nSET LOCAL statement_timeout = 5000\n;\n"
        "SELECT a FROM t WHERE id = :p1\n;\nSELECT b FROM t WHERE id = :p2\n;\nCOMMIT\n;\n"
    )


def test_reads_alone_are_driven_until_writes_are_asked_for(tmp_path: Path) -> None:
    told = [said("SELECT 1"), *(said(f"UPDATE t SET a = {n}") for n in range(3))]
    captured = write_workload(mixed(*told), tmp_path / "reads", name="made", source="log")
    assert [kind.writes for _, kind in captured.scripts] == [False]
    assert captured.left_out == ((StatementOutcome.WRITES, 0.75, 0.75),)
    assert read_workload(tmp_path / "reads").tried_first
    captured = write_workload(
        mixed(*told), tmp_path / "all", name="made", source="log", writes=True
    )
    assert captured.left_out == ()
    assert read_workload(tmp_path / "all").scripts["01-update-t"].writes
    assert read_workload(tmp_path / "all").tried_first
    with pytest.raises(UsageError, match="nothing is left"):
        write_workload(mixed(*told[1:]), tmp_path / "none", name="made", source="log")
    with pytest.raises(UsageError, match="there already"):
        write_workload(mixed(*told), tmp_path / "reads", name="made", source="log")


def test_where_slow_statements_alone_have_durations_no_share_of_the_time_is_known(
    tmp_path: Path,
) -> None:
    slow, quick = said("SELECT pg_sleep(1)"), replace(said("SELECT 1"), duration_ms=None)
    mix = mixed(slow, *[quick] * 3)
    mix.ledger.executed, mix.ledger.timed = 4, 1
    captured = write_workload(mix, tmp_path / "one", name="one", source="log", most=1)
    assert [kind.count for _, kind in captured.scripts] == [3]
    assert (captured.statements_share, captured.seconds_share) == (0.75, None)
    assert captured.left_out == ((StatementOutcome.BEYOND, 0.25, None),)
    [note] = [line for line in capture_lines(captured) if line.startswith("note: ")]
    assert "25.0 % of the statements" in note
    mix.ledger.timed = 4
    captured = write_workload(mix, tmp_path / "all", name="all", source="log", most=1)
    assert (captured.statements_share, captured.seconds_share) == (0.25, 1.0)
    assert "note: " not in "".join(capture_lines(captured))


def test_texts_are_hashed_alike_and_numbers_dates_and_uuids_stay(tmp_path: Path) -> None:
    salt = b"salt"
    assert redacted("'Ann'", salt, literal=True) == redacted("'Ann'", salt, literal=True)
    assert redacted("'Ann'", salt, literal=True) != redacted("'Bob'", salt, literal=True)
    kept = ["7", "-1.5", "2026-11-23", "2026-11-23 10:00:00+01", "t", None]
    kept += ["0f8fad5b-d9cb-469f-a165-70867728950e"]
    assert [redacted(value, salt, literal=False) for value in kept] == kept
    told = [said(f"SELECT a FROM t WHERE name = 'Customer {n}'") for n in (1, 2, 1)]
    told += [said("SELECT b FROM t WHERE name = 'Secret'")]
    write_workload(mixed(*told), tmp_path / "made", name="made", source="log", salt=salt)
    every = "".join(path.read_text() for path in (tmp_path / "made").rglob("*") if path.is_file())
    assert "Customer" not in every
    assert "Secret" not in every
    rows = read_workload(tmp_path / "made").draws["01-select-t"]
    assert rows[0] == rows[2] != rows[1]


def test_rows_are_written_and_read_as_copy_does() -> None:
    rows = [["a\tb", None, "\\N", ""], ["c\nd\\", "é", "'", "\r\v\f\b"]]
    assert read_rows(rows_text(rows)) == rows
    assert read_rows("\\x41\\x9\\102c\tC:\\\\1\n\\303\\274\\xc3\\xbc\t\\.\\q\n\\.\n\n") == [
        ["A\tBc", "C:\\1"], ["üü", ".q"],
    ]  # fmt: skip
    with pytest.raises(ValueError, match="decode"):
        read_rows("\\303\n")
    with pytest.raises(ValueError, match="line 2: 1 fields, not 2"):
        read_rows("a\tb\nc\n")
    with pytest.raises(ValueError, match="line 2: 1 fields, not 2"):
        read_rows("a\tb\n\nc\td\n")
