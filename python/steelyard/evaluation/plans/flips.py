"""Compares two query plans node by node, names what flipped (access paths, joins, workers), and
puts the time of its statement beside it.

What is no flip: costs, rows, widths, and the words of conditions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from steelyard.evaluation.causes import compared, epoch_contrasts
from steelyard.evaluation.plans.matching import (
    Matching,
    Pair,
    Plans,
    family,
    match,
    script_alone_times,
    statement_times,
)
from steelyard.evaluation.plans.tree import PlanNode, read_plan
from steelyard.model.readings import EpochTotals
from steelyard.model.units import NS_PER_US
from steelyard.record.environment import Inspection
from steelyard.record.verdict import FlippedPlan, Query, ScriptTime, Statement, StatementTime

_SERVING_A_JOIN = ("Hash", "Memoize", "Materialize", "Sort", "Incremental Sort")
"""Nodes that one join method needs and another does not: no flip of their own beneath one."""
_STAGES = ("Partial ", "Finalize ")
_RANKS = ("scan", "join", "order", "gather", "aggregate", "sort")
"""The order of flips in the report; what is in one plan only comes last."""
_MOST_SOURCES = 4


@dataclass(frozen=True)
class Flips:
    """Where two plans differ."""

    names: tuple[str, ...] = ()
    """`Index Scan on orders by orders_pkey → Seq Scan on orders`, the most important first."""
    control_lines: frozenset[int] = frozenset()
    """Lines of the control's plan, from 0, with nodes that differ; those that follow from a flip
    are among them."""
    arm_lines: frozenset[int] = frozenset()


def flips(control: str, arm: str) -> Flips:
    """What differs between the plans of one statement, as texts of EXPLAIN (COSTS OFF)."""
    if control == arm:
        return Flips()
    ours, theirs = read_plan(control), read_plan(arm)
    both = ((control, ours), (arm, theirs))
    if ours is None or theirs is None:
        if ours is theirs:
            return Flips()
        name = " → ".join(text or "no plan" if tree is None else "a plan" for text, tree in both)
        return Flips((name,))
    return _Comparison(ours, theirs).flips()


@dataclass
class _Comparison:
    """Two plans beside each other, and what was found of them so far."""

    control: PlanNode
    arm: PlanNode
    changes: list[tuple[int, str]] = field(default_factory=list)  # (rank, name)
    control_lines: set[int] = field(default_factory=set)
    arm_lines: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._matching: Matching = match(self.control, self.arm)
        self._workers = (_workers(self.control), _workers(self.arm))
        joins = max(_count_joins(self.control), _count_joins(self.arm))
        self._several_joins = joins > 1
        self._parallel = any(
            pair.control.parallel != pair.arm.parallel
            for pair in self._matching.pairs
            if "scan" in (family(pair.control), family(pair.arm))
        )

    def flips(self) -> Flips:
        """Compare every pair, then add what only one plan has."""
        different = [pair for pair in self._matching.pairs if _differ(pair)]
        for pair in different:
            self._record_change(pair)
        self._record_order()
        flipped = [pair for pair in different if "join" in map(family, (pair.control, pair.arm))]
        served = {
            id(child)
            for pair in flipped
            for node in (pair.control, pair.arm)
            for child in _serving(node)
        }
        for nodes, lines, what in (
            (self._matching.control, self.control_lines, "removed"),
            (self._matching.arm, self.arm_lines, "added"),
        ):
            for node in nodes:
                lines.add(node.line)
                if id(node) not in served and not self._follows(node):
                    self.changes.append((len(_RANKS), f"{_named(node)} {what}"))
        names = dict.fromkeys(name for _, name in sorted(self.changes, key=lambda flip: flip[0]))
        return Flips(tuple(names), frozenset(self.control_lines), frozenset(self.arm_lines))

    def _record_change(self, pair: Pair) -> None:
        self.control_lines.update(_own_lines(pair.control))
        self.arm_lines.update(_own_lines(pair.arm))
        ours, theirs = pair.control, pair.arm
        kind = family(ours)
        if self._parallel and kind != "scan" and _unstaged(ours) == _unstaged(theirs):
            return  # a join or an aggregate as before, now of rows that workers read, or no more
        if (kind == "gather" and self._parallel) or kind == theirs.kind == "Hash":
            return
        if pair.moved and _essence(ours) == _essence(theirs):
            return
        workers = ours.parallel != theirs.parallel
        labels = [
            _named(node, counts.get(node.line, 0) if workers else 0)
            for node, counts in zip((ours, theirs), self._workers, strict=True)
        ]
        of = f" of {_sources(ours)}" if kind == "join" and self._several_joins else ""
        rank = _RANKS.index(kind) if kind in _RANKS else len(_RANKS)
        self.changes.append((rank, f"{labels[0]} → {labels[1]}{of}"))

    def _record_order(self) -> None:
        moved = [pair for pair in self._matching.pairs if pair.moved]
        if moved:
            first = [
                min(joins, key=lambda node: len(list(node.sources())))
                for joins in ([pair.control for pair in moved], [pair.arm for pair in moved])
            ]
            order = " → ".join(f"{_sources(join)} first" for join in first)
            self.changes.append((_RANKS.index("order"), f"join order: {order}"))

    def _follows(self, node: PlanNode) -> bool:
        """Whether a node goes with a hash join, or with workers, that only one plan has."""
        if node.kind == "Hash":
            return True
        staged = family(node) == "aggregate" and node.kind.startswith(_STAGES)
        return self._parallel and (staged or family(node) == "gather")


def _differ(pair: Pair) -> bool:
    return pair.moved or _essence(pair.control) != _essence(pair.arm)


def _essence(node: PlanNode) -> tuple[str, bool, str, str, int]:
    relation = node.relation if family(node) == "scan" else ""
    return node.kind, node.parallel, relation, node.index, node.workers


def _unstaged(node: PlanNode) -> str:
    kind = node.kind
    for stage in _STAGES:
        kind = kind.removeprefix(stage)
    return kind


def _named(node: PlanNode, workers: int = 0) -> str:
    """`Parallel Seq Scan (2 workers) on orders o`, `Gather (2 workers)`, `Append of 3 scans`."""
    count = workers or node.workers
    parts = [f"Parallel {node.kind}" if node.parallel else node.kind]
    if count and (node.parallel or node.workers):
        parts.append(f"({count} worker{'' if count == 1 else 's'})")
    if family(node) == "append":
        parts.append(f"of {len(list(node.sources())) + node.removed} scans")
    if node.relation:
        other = f" {node.alias}" if node.alias != node.relation else ""
        parts.append(f"on {node.relation}{other}")
    if node.index:
        parts.append(f"by {node.index}")
    return " ".join(parts)


def _sources(node: PlanNode) -> str:
    """`orders and lineitem`; of many the first few."""
    every = list(dict.fromkeys(node.sources()))
    left_out = len(every) - _MOST_SOURCES
    names = [*every[:_MOST_SOURCES], f"{left_out} more"] if left_out > 0 else every
    return f"{', '.join(names[:-1])} and {names[-1]}" if names[1:] else "".join(names)


def _serving(node: PlanNode) -> Iterator[PlanNode]:
    """The chain of nodes directly beneath a join that serve it."""
    for child in node.children:
        if child.kind in _SERVING_A_JOIN:
            yield child
            yield from _serving(child)


def _own_lines(node: PlanNode) -> Iterator[int]:
    """Its line, and those of what is reported with it: bitmaps, and scans of partitions."""
    yield node.line
    if node.kind == "Bitmap Heap Scan" or family(node) == "append":
        yield from (descendant.line for descendant in node.nodes())


def _workers(plan: PlanNode, above: int = 0) -> dict[int, int]:
    """Line → workers of the nearest Gather above."""
    workers = {plan.line: above}
    for child in plan.children:
        workers |= _workers(child, plan.workers or above)
    return workers


def _count_joins(plan: PlanNode) -> int:
    return sum(family(node) == "join" for node in plan.nodes())


@dataclass(frozen=True)
class Timed:
    """Where the times of statements come from."""

    epochs: Sequence[EpochTotals]
    """Those that are complete."""
    statements: Sequence[Statement]
    """Rows of the verdict, where statements were timed one by one."""
    queries: Sequence[Query]
    """Rows of the verdict, where each script is a slice of its own."""
    scripts: Sequence[ScriptTime] = ()
    """Rows of the verdict, of a mix of several."""


def flipped(inspection: Inspection, control: str, arm: str, timed: Timed) -> list[FlippedPlan]:
    """The statements whose plan flipped in this arm, each with its time where that is known."""
    ours, theirs = (inspection.plans.get(name, {}) for name in (control, arm))
    flips_of = {
        statement: flips(ours[statement], theirs[statement]).names
        for statement in ours
        if statement in theirs
    }
    changed = {statement: names for statement, names in flips_of.items() if names}
    if not changed:
        return []
    times = {
        **_whole(timed.epochs, control, arm, ours),
        **script_alone_times(timed.scripts, arm, ours),
        **statement_times(timed.statements, timed.queries, arm, ours),
    }
    return [
        FlippedPlan(
            arm=arm,
            control=control,
            statement=statement,
            flips=names,
            **({"time": times[statement]} if statement in times else {}),
        )
        for statement, names in changed.items()
    ]


def _whole(
    epochs: Sequence[EpochTotals], control: str, arm: str, plans: Plans
) -> dict[str, StatementTime]:
    """The time of a transaction, where all that was driven is one statement."""
    if len(plans) != 1:
        return {}
    return {
        statement: StatementTime.model_validate(
            {
                "of": "transaction",
                "control_us": row.control_value,
                "arm_us": row.arm_value,
                **compared(row, control, arm),
            }
        )
        for statement in plans
        for row in epoch_contrasts(epochs, control, arm, {"mean": _mean_us})
    }


def _mean_us(epoch: EpochTotals, arm: str) -> float:
    return epoch.arms[arm].latency_mean_ns / NS_PER_US or math.nan
