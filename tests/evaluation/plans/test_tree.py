"""The text of a plan is read as the tree that it draws."""

from __future__ import annotations

import pytest

from steelyard.evaluation.plans.flips import flips
from steelyard.evaluation.plans.tree import read_plan, with_present_names

REVENUE = """Sort
  Sort Key: supplier.s_suppkey
  CTE revenue
    ->  Finalize GroupAggregate
          Group Key: lineitem.l_suppkey
          ->  Gather Merge
                Workers Planned: 1
                ->  Parallel Seq Scan on lineitem
                      Filter: (l_shipdate >= $1)
  InitPlan 2
    ->  Aggregate
          ->  CTE Scan on revenue revenue_1
  ->  Hash Join
        Hash Cond: (supplier.s_suppkey = revenue.supplier_no)
        ->  Seq Scan on supplier
        ->  Hash
              ->  CTE Scan on revenue
                    Filter: (total_revenue = (InitPlan 2).col1)"""


def test_nodes_stand_beneath_their_parents_with_their_details() -> None:
    plan = read_plan(REVENUE)
    assert plan is not None
    shape = [(node.line, node.kind, node.label, node.alias) for node in plan.nodes()]
    assert shape == [
        (0, "Sort", "", ""),
        (3, "Finalize GroupAggregate", "CTE revenue", ""),
        (5, "Gather Merge", "", ""),
        (7, "Seq Scan", "", "lineitem"),
        (10, "Aggregate", "InitPlan 2", ""),
        (11, "CTE Scan", "", "revenue_1"),
        (12, "Hash Join", "", ""),
        (14, "Seq Scan", "", "supplier"),
        (15, "Hash", "", ""),
        (16, "CTE Scan", "", "revenue"),
    ]
    assert [child.label for child in plan.children] == ["CTE revenue", "InitPlan 2", ""]
    assert plan.details == ("Sort Key: supplier.s_suppkey",)
    assert list(plan.sources()) == ["supplier", "revenue"]
    gather, scan = (node for node in plan.nodes() if node.line in (5, 7))
    assert (gather.workers, scan.parallel, scan.details) == (
        1,
        True,
        ("Filter: (l_shipdate >= $1)",),
    )


def test_names_in_quotes_are_whole() -> None:
    plan = read_plan('Index Only Scan Backward using "my index" on "my table" "my alias"')
    assert plan is not None
    assert (plan.kind, plan.index) == ("Index Only Scan Backward", '"my index"')
    assert (plan.relation, plan.alias) == ('"my table"', '"my alias"')
    custom = read_plan("Custom Scan (Citus Adaptive)\n  Task Count: 4")
    assert custom is not None
    assert (custom.kind, custom.is_scan) == ("Custom Scan (Citus Adaptive)", True)


def test_what_is_no_plan_has_no_tree() -> None:
    assert read_plan("") is None
    assert read_plan('cannot be planned: syntax error at or near ":"') is None


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ('"*SELECT*"', "unnamed_subquery"),
        ('"*SELECT* 1"', "unnamed_subquery"),
        ('"*SELECT* 3"', "unnamed_subquery_2"),
    ],
)
def test_names_that_versions_generate_otherwise_are_the_same(before: str, now: str) -> None:
    """18 and 19 call subqueries without a name so (INSERT ... SELECT, UNION)."""
    plan = "Insert on child\n  ->  Subquery Scan on {name}\n        Filter: ({name}.a > 1)"
    old, new = plan.format(name=before), plan.format(name=now)
    assert with_present_names(old) == new
    assert with_present_names(new) == new
    assert read_plan(old) == read_plan(new)
    assert flips(old, new).names == ()
    quoted = 'Seq Scan on "*SELECTED*"'
    assert with_present_names(quoted) == quoted
