"""Statements of a script that have a plan, as MySQL prepares them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from steelyard.engines.mysql.sql import plans
from steelyard.engines.mysql.sql.plans import read_plans, statements
from steelyard.engines.mysql.uri import read_uri


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


@pytest.mark.parametrize(
    "hint",
    ["/*+ NO_INDEX(t i) */", "/*! STRAIGHT_JOIN */", "/*!80000 SQL_NO_CACHE */", "/*M!100300 x */"],
)
def test_what_servers_heed_of_a_comment_is_planned_with_it(hint: str) -> None:
    [(written, prepared, _)] = statements(f"SELECT {hint} v /* a note */ FROM t;")
    assert written == prepared == f"SELECT {hint} v   FROM t"


@pytest.mark.parametrize("comment", ["# it's :a; b", "-- it's :a; b", "--\tit's", "--"])
def test_a_comment_ends_no_statement_and_begins_no_string(comment: str) -> None:
    script = f"{comment}\nSELECT 1;\nSELECT 2 {comment}\n + 3;"
    plain = [(" ".join(told.split()), count) for told, _, count in statements(script)]
    assert plain == [("SELECT 1", 0), ("SELECT 2 + 3", 0)]


def test_two_minus_signs_without_a_space_are_no_comment() -> None:
    [(_, prepared, count)] = statements("SELECT 5--:a;")
    assert (prepared, count) == ("SELECT 5--?", 1)


@pytest.mark.parametrize(
    "statement",
    [
        "WITH a AS (SELECT 1) SELECT * FROM a",
        "with recursive a as (select 1) update t join a set v = 1",
        "(SELECT 1) UNION (SELECT 2)",
        "((SELECT 1))",
        "TABLE t",
        "VALUES ROW(1)",
    ],
)
def test_every_statement_that_has_a_plan_is_planned(statement: str) -> None:
    assert list(statements(f"BEGIN;\n{statement};\nCOMMIT;")) == [(statement, statement, 0)]


class Planner:
    """A connection to a server that has one plan."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self.plan = plan

    def cursor(self) -> Planner:
        return self

    def __enter__(self) -> Planner:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def execute(self, statement: str, values: object = None) -> None:
        pass

    def fetchall(self) -> list[tuple[str]]:
        return [(json.dumps(self.plan),)]


@pytest.mark.parametrize(
    "estimates",
    [
        {"rows_examined_per_scan": 7, "filtered": "10.00", "cost_info": {"read_cost": "1.0"}},
        {"estimated_rows": 7.5, "estimated_total_cost": 1.2, "estimated_first_row_cost": 0.1},
        {"rows": 7, "cost": 0.01, "loops": 7.5},
    ],
)
def test_what_is_estimated_from_a_sample_is_no_part_of_a_plan(
    monkeypatch: pytest.MonkeyPatch, estimates: dict[str, Any]
) -> None:
    plan = {"query_block": {"table": {"access_type": "ref", **estimates}}}

    @contextmanager
    def connection(*_: object) -> Iterator[Planner]:
        yield Planner(plan)

    monkeypatch.setattr(plans, "connected", connection)
    [text] = read_plans(read_uri("mysql://u@h/d"), {"s": "SELECT 1 FROM t"}).values()
    assert json.loads(text) == {"query_block": {"table": {"access_type": "ref"}}}
