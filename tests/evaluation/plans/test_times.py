"""A statement's time is found by its script, its line and its first words."""

from __future__ import annotations

from steelyard.evaluation.plans.matching import match_times
from steelyard.record.verdict import Statement


def statement(name: str, arm: str = "off") -> Statement:
    return Statement(
        statement=name, arm=arm, control="on", estimate_percent=50.0, low_percent=40.0,
        high_percent=60.0, confidence=0.95, control_us=100.0, arm_us=150.0,
    )  # fmt: skip


def test_statements_that_begin_alike_are_timed_in_their_order() -> None:
    plans = [f"d: WITH o AS ( SELECT {n} FROM t WHERE a = $1)" for n in range(3)]
    rows = [statement(f"d:{line} WITH o AS (") for line in (12, 4, 8)]
    found = match_times(plans, rows)
    assert [found[one].statement for one in plans] == [
        "d:4 WITH o AS (", "d:8 WITH o AS (", "d:12 WITH o AS (",
    ]  # fmt: skip


def test_a_cast_is_no_variable() -> None:
    plan = "s: SELECT $1::int, id FROM t WHERE id = $2"
    row = statement(r"s:1 SELECT :a::int, id FROM t WHERE id = :b \gset")
    assert match_times([plan], [row]) == {plan: row}


def test_a_backslash_command_is_no_statement() -> None:
    plan = "s: SELECT n FROM t WHERE id = $1"
    rows = [
        statement(r"s:1 \set id random(1, 100000 * :scale)"),
        statement("s:2 BEGIN;"),
        statement("s:3 SELECT n FROM t WHERE id = :id;"),
        statement("s:4 END;"),
    ]
    assert match_times([plan], rows) == {plan: rows[2]}
