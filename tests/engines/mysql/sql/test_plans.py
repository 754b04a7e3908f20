"""Statements of a script that have a plan, as MySQL prepares them."""

from __future__ import annotations

from steelyard.engines.mysql.sql.plans import statements


def test_each_variable_is_a_parameter() -> None:
    script = "\\set a 1\nSELECT v FROM t WHERE id = :a AND w = :a;\nDELETE FROM t WHERE id = :b;"
    assert list(statements(script)) == [
        ("SELECT v FROM t WHERE id = :a AND w = :a", "SELECT v FROM t WHERE id = ? AND w = ?", 2),
        ("DELETE FROM t WHERE id = :b", "DELETE FROM t WHERE id = ?", 1),
    ]


def test_a_colon_or_a_mark_in_a_string_or_an_assignment_is_none() -> None:
    script = "SELECT 'it\\'s :no ?', @x := 5, `a:b` FROM t WHERE id = :a"
    [(_, asked, count)] = statements(script)
    assert asked == "SELECT 'it\\'s :no ?', @x := 5, `a:b` FROM t WHERE id = ?"
    assert count == 1


def test_what_has_no_plan_is_left_out() -> None:
    script = "BEGIN;\nCALL p(:a);\n-- SELECT 1;\nSELECT 1 \\gset\nCOMMIT;"
    assert [told for told, _, _ in statements(script)] == ["SELECT 1"]
