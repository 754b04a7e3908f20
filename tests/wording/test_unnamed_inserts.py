"""Scripts that insert texts without the names of their columns are named before they are driven."""

from __future__ import annotations

from steelyard.record.environment import Environment
from steelyard.report.environment_rows import workload_rows
from steelyard.wording.unnamed_inserts import unnamed_insert_note

NAMED = ["look.sql: SELECT a FROM t WHERE b = 'x'", "add.sql: INSERT INTO t (a) VALUES ('x')"]


def test_nothing_is_said_where_columns_are_named() -> None:
    assert unnamed_insert_note(NAMED) == ""
    assert unnamed_insert_note([]) == ""


def test_each_script_is_named_once_with_what_to_write() -> None:
    statements = [f"s{number}.sql: INSERT INTO t VALUES ({number}, 'x')" for number in range(5)]
    note = unnamed_insert_note([*statements, *NAMED, "s1.sql: INSERT INTO t VALUES ('y')"])
    assert note.startswith("s0.sql, s1.sql, s2.sql and 2 more: texts are inserted without")
    assert "INSERT INTO table (column, …) VALUES" in note
    assert "'x'" not in note


def test_the_page_says_it_too() -> None:
    statements = ["s.sql: INSERT INTO t VALUES (1, 'bob')"]
    [(label, text)] = workload_rows(Environment(), statements)
    assert (label, text[:6]) == ("statements", "s.sql:")
    assert workload_rows(Environment(), NAMED) == []
