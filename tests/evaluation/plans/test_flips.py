"""A flip of a plan has a name; what is no flip has none."""

from __future__ import annotations

import pytest

from steelyard.evaluation.plans.flips import flips

INDEX = """Index Scan using orders_pkey on orders
  Index Cond: (o_orderkey = $1)"""
SEQ = """Seq Scan on orders
  Filter: (o_orderkey = $1)"""
BITMAP = """Bitmap Heap Scan on orders
  Recheck Cond: (o_custkey = $1)
  ->  BitmapOr
        ->  Bitmap Index Scan on orders_customer
              Index Cond: (o_custkey = $1)
        ->  Bitmap Index Scan on orders_date
              Index Cond: (o_orderdate = $2)"""
PARALLEL = """Finalize Aggregate
  ->  Gather
        Workers Planned: 2
        ->  Partial Aggregate
              ->  Parallel Seq Scan on orders
                    Filter: (o_orderkey > $1)"""
SERIAL = """Aggregate
  ->  Seq Scan on orders
        Filter: (o_orderkey > $1)"""
NESTED = """Nested Loop
  ->  Seq Scan on customer c
  ->  Memoize
        Cache Key: c.c_custkey
        Cache Mode: logical
        ->  Index Scan using orders_customer on orders
              Index Cond: (o_custkey = c.c_custkey)"""
NESTED_BARE = """Nested Loop
  ->  Seq Scan on customer c
  ->  Index Scan using orders_customer on orders
        Index Cond: (o_custkey = c.c_custkey)"""
HASHED = """Hash Join
  Hash Cond: (orders.o_custkey = c.c_custkey)
  ->  Seq Scan on orders
  ->  Hash
        ->  Seq Scan on customer c"""
MERGED = """Merge Join
  Merge Cond: (c.c_custkey = orders.o_custkey)
  ->  Sort
        Sort Key: c.c_custkey
        ->  Seq Scan on customer c
  ->  Index Scan using orders_customer on orders"""
THREE = """Hash Join
  Hash Cond: (l.l_orderkey = o.o_orderkey)
  ->  Seq Scan on lineitem l
  ->  Hash
        ->  {inner}
              Hash Cond: (o.o_custkey = c.c_custkey)
              ->  Seq Scan on orders o
              ->  Hash
                    ->  Seq Scan on customer c"""
OTHER_ORDER = """Hash Join
  Hash Cond: (o.o_custkey = c.c_custkey)
  ->  Hash Join
        Hash Cond: (l.l_orderkey = o.o_orderkey)
        ->  Seq Scan on lineitem l
        ->  Hash
              ->  Seq Scan on orders o
  ->  Hash
        ->  Seq Scan on customer c"""
SUBPLAN = """Seq Scan on orders
  Filter: (o_totalprice > (SubPlan 1))
  SubPlan 1
    ->  Aggregate
          ->  {scan}
                Index Cond: (l_orderkey = orders.o_orderkey)"""
APPEND = """Append
  Subplans Removed: 1
  ->  Index Scan using orders_1_pkey on orders_1
        Index Cond: (o_orderkey = $1)
  ->  Index Scan using orders_2_pkey on orders_2
        Index Cond: (o_orderkey = $1)"""
UPDATE = """Update on orders
  ->  {scan}
        Index Cond: (o_orderkey = $1)"""


@pytest.mark.parametrize(
    ("control", "arm", "names"),
    [
        (INDEX, SEQ, ["Index Scan on orders by orders_pkey → Seq Scan on orders"]),
        (SEQ, INDEX, ["Seq Scan on orders → Index Scan on orders by orders_pkey"]),
        (
            INDEX,
            BITMAP,
            [
                "Index Scan on orders by orders_pkey → "
                "Bitmap Heap Scan on orders by orders_customer and orders_date"
            ],
        ),
        (
            INDEX,
            INDEX.replace("orders_pkey", "orders_other"),
            ["Index Scan on orders by orders_pkey → Index Scan on orders by orders_other"],
        ),
        (
            INDEX,
            INDEX.replace("Scan using", "Scan Backward using"),
            [
                "Index Scan on orders by orders_pkey → "
                "Index Scan Backward on orders by orders_pkey"
            ],
        ),
        (
            INDEX,
            INDEX.replace("Index Scan", "Index Only Scan"),
            ["Index Scan on orders by orders_pkey → Index Only Scan on orders by orders_pkey"],
        ),
        (
            PARALLEL,
            SERIAL,
            ["Parallel Seq Scan (2 workers) on orders → Seq Scan on orders"],
        ),
        (
            PARALLEL,
            PARALLEL.replace("Planned: 2", "Planned: 4"),
            ["Gather (2 workers) → Gather (4 workers)"],
        ),
        (NESTED, NESTED_BARE, ["Memoize removed"]),
        (NESTED_BARE, NESTED, ["Memoize added"]),
        (
            NESTED,
            HASHED,
            [
                "Index Scan on orders by orders_customer → Seq Scan on orders",
                "Nested Loop → Hash Join",
            ],
        ),
        (NESTED, MERGED, ["Nested Loop → Merge Join"]),
        (
            THREE.format(inner="Hash Join"),
            THREE.format(inner="Nested Loop"),
            ["Hash Join → Nested Loop of o and c"],
        ),
        (
            THREE.format(inner="Hash Join"),
            OTHER_ORDER,
            ["join order: o and c first → l and o first"],
        ),
        (
            SUBPLAN.format(scan="Index Scan using lineitem_order on lineitem"),
            SUBPLAN.format(scan="Seq Scan on lineitem"),
            ["Index Scan on lineitem by lineitem_order → Seq Scan on lineitem"],
        ),
        (
            UPDATE.format(scan="Index Scan using orders_pkey on orders"),
            UPDATE.format(scan="Seq Scan on orders"),
            ["Index Scan on orders by orders_pkey → Seq Scan on orders"],
        ),
        (INDEX, APPEND, ["Index Scan on orders by orders_pkey → Append of 3 scans"]),
        (APPEND, INDEX, ["Append of 3 scans → Index Scan on orders by orders_pkey"]),
        (
            INDEX,
            "Append\n  Subplans Removed: 64",
            ["Index Scan on orders by orders_pkey → Append of 64 scans"],
        ),
        (
            "HashAggregate\n  Group Key: a\n  ->  Seq Scan on t",
            "GroupAggregate\n  Group Key: a\n  ->  Sort\n        Sort Key: a\n"
            "        ->  Seq Scan on t",
            ["HashAggregate → GroupAggregate", "Sort added"],
        ),
        ("Sort\n  ->  Seq Scan on t", "Incremental Sort\n  ->  Seq Scan on t",
         ["Sort → Incremental Sort"]),
        ("Result", "Seq Scan on t", ["Result → Seq Scan on t"]),
        (
            'Function Scan on "MyFunction" f',
            'Seq Scan on "My Table" f',
            ['Function Scan on "MyFunction" f → Seq Scan on "My Table" f'],
        ),
    ],
)  # fmt: skip
def test_a_flip_has_its_name(control: str, arm: str, names: list[str]) -> None:
    assert list(flips(control, arm).names) == names


@pytest.mark.parametrize(
    ("control", "arm"),
    [
        (INDEX, INDEX),
        (INDEX, INDEX.replace("$1", "42")),
        (
            "Limit\n  InitPlan 1 (returns $0)\n    ->  Result\n  ->  Seq Scan on t",
            "Limit\n  InitPlan 1\n    ->  Result\n  ->  Seq Scan on t\n        Disabled: true",
        ),
        ("cannot be planned: no such table", "cannot be planned: no such column"),
    ],
)
def test_other_words_are_no_flip(control: str, arm: str) -> None:
    assert flips(control, arm).names == ()


def test_a_statement_that_only_one_arm_can_plan_is_a_flip() -> None:
    found = flips(INDEX, 'cannot be planned: relation "orders" does not exist')
    assert found.names == ('a plan → cannot be planned: relation "orders" does not exist',)


def test_a_join_that_moved_and_is_another_one_is_a_flip_beside_the_order() -> None:
    control = THREE.format(inner="Hash Join")
    arm = OTHER_ORDER.replace("->  Hash Join", "->  Merge Join")
    order = "join order: o and c first → l and o first"
    assert flips(control, arm).names == ("Hash Join → Merge Join of o and c", order)
    assert flips(control, OTHER_ORDER).names == (order,)


def test_the_lines_that_differ_are_known() -> None:
    found = flips(NESTED, HASHED)
    assert found.control_lines == {0, 2, 5}
    assert found.arm_lines == {0, 2, 3}
    bitmaps = flips(INDEX, BITMAP)
    assert bitmaps.control_lines == {0}
    assert bitmaps.arm_lines == {0, 2, 3, 5}
    partitions = flips(INDEX, APPEND)
    assert partitions.control_lines == {0}
    assert partitions.arm_lines == {0, 2, 4}
    parallel = flips(PARALLEL, SERIAL)
    assert parallel.control_lines == {0, 1, 3, 4}


def test_a_self_join_is_compared_scan_by_scan() -> None:
    plan = (
        "Nested Loop\n  ->  Seq Scan on t\n  ->  Index Scan using t_pkey on t t_1\n"
        "        Index Cond: (id = t.id)"
    )
    other = plan.replace("Index Scan using t_pkey on t t_1", "Seq Scan on t t_1")
    assert flips(plan, other).names == ("Index Scan on t t_1 by t_pkey → Seq Scan on t t_1",)


EVERY = (
    INDEX, SEQ, BITMAP, PARALLEL, SERIAL, NESTED, NESTED_BARE, HASHED, MERGED, OTHER_ORDER, APPEND,
    THREE.format(inner="Hash Join"), SUBPLAN.format(scan="Seq Scan on lineitem"),
    UPDATE.format(scan="Seq Scan on orders"),
)  # fmt: skip


@pytest.mark.parametrize("control", EVERY)
@pytest.mark.parametrize("arm", EVERY)
def test_any_two_plans_are_compared_and_only_a_plan_itself_has_no_flip(
    control: str, arm: str
) -> None:
    there, back = flips(control, arm), flips(arm, control)
    assert bool(there.names) == (control != arm)
    assert len(there.names) == len(back.names)
    assert (there.control_lines, there.arm_lines) == (back.arm_lines, back.control_lines)
    assert there.control_lines <= set(range(len(control.splitlines())))
