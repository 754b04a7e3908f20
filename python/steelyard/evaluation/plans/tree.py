"""Reads the text of a query plan, as EXPLAIN (COSTS OFF) prints it, as a tree of nodes.

The record keeps plans as text, which a person can read too; node types, index names and relations
stand in it in one form in every version (explain.c of PostgreSQL, ExplainNode).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

_ARROW = re.compile(r"^(?P<indent> *)->  (?P<head>.*)$")
_LABEL = re.compile(r"^ *(?P<label>(?:InitPlan|SubPlan|CTE) \S+)(?: \(.*\))?$")
_ROOT = re.compile(r"^[A-Z]")
_SCAN = re.compile(
    r"^(?P<kind>.*?Scan)(?P<backward> Backward)?(?P<provider> \([^)]*\))?"
    r'(?: using (?P<index>"(?:[^"]|"")+"|\S+))?(?: on (?P<place>.+))?$'
)
_CHANGE = re.compile(r"^(?P<kind>Insert|Update|Delete|Merge) on (?P<place>.+)$")
_WORD = re.compile(r'"(?:[^"]|"")+"|\S+')
_WORKERS = re.compile(r"^Workers Planned: (\d+)$")
_REMOVED = re.compile(r"^Subplans Removed: (\d+)$")


@dataclass(frozen=True)
class PlanNode:
    """One node of a plan, with its children in their order."""

    line: int
    """Of the plan's text, from 0."""
    kind: str
    """`Index Only Scan`, `Hash Left Join`, `HashAggregate`, without Parallel."""
    parallel: bool = False
    relation: str = ""
    alias: str = ""
    """As other nodes of the plan name it; the relation where it has no other."""
    index: str = ""
    label: str = ""
    """`SubPlan 1`, `CTE revenue`: beneath which word it stands; empty: it feeds its parent."""
    details: tuple[str, ...] = ()
    """Conditions, keys and the like, each a line, the first directly after the node's own."""
    children: tuple[PlanNode, ...] = ()

    @property
    def is_scan(self) -> bool:
        """Whether it reads rows from somewhere, by itself or from the bitmaps beneath it."""
        return self.kind.endswith("Scan") or "Scan (" in self.kind

    @property
    def workers(self) -> int:
        """Workers that were planned for it; 0 of anything but a Gather."""
        return self._number(_WORKERS)

    @property
    def removed(self) -> int:
        """Children that were pruned when the plan was explained: scans of partitions."""
        return self._number(_REMOVED)

    def _number(self, pattern: re.Pattern[str]) -> int:
        matches = (pattern.match(detail) for detail in self.details)
        return next((int(match[1]) for match in matches if match), 0)

    def nodes(self) -> Iterator[PlanNode]:
        """Itself and everything beneath, in the order of the text."""
        yield self
        for child in self.children:
            yield from child.nodes()

    def sources(self) -> Iterator[str]:
        """Aliases that its rows come from; those of SubPlans and CTEs are not among them."""
        if self.is_scan and self.alias:
            yield self.alias
        for child in self.children:
            if not child.label:
                yield from child.sources()


def read_plan(text: str) -> PlanNode | None:
    """The tree of a plan; None of a text that is none, such as why it could not be planned."""
    lines = with_present_names(text).splitlines()
    if not lines or not _ROOT.match(lines[0]):
        return None
    grown = [_Grown(_node(0, lines[0]), column=-1)]
    open_nodes, label = [0], ""
    for number, line in enumerate(lines[1:], 1):
        if arrow := _ARROW.match(line):
            column = len(arrow["indent"])
            while grown[open_nodes[-1]].column >= column:
                open_nodes.pop()
            grown[open_nodes[-1]].children.append(len(grown))
            open_nodes.append(len(grown))
            grown.append(_Grown(replace(_node(number, arrow["head"]), label=label), column))
            label = ""
        elif label_line := _LABEL.match(line):
            label = label_line["label"]
        else:
            grown[-1].details.append(line.strip())
    return _frozen(grown, 0)


def with_present_names(text: str) -> str:
    """A plan's text with the names that PostgreSQL 19 generates for subqueries without one: until
    18 they are `"*SELECT*"`, `"*SELECT* 1"`, `"*SELECT* 2"`."""
    return _UNNAMED.sub(_present_name, text)


_UNNAMED = re.compile(r'"\*SELECT\*(?: (\d+))?"')


def _present_name(match: re.Match[str]) -> str:
    number = int(match[1] or 1)
    return "unnamed_subquery" if number == 1 else f"unnamed_subquery_{number - 1}"


@dataclass
class _Grown:
    node: PlanNode
    column: int  # of its arrow
    details: list[str] = field(default_factory=list)
    children: list[int] = field(default_factory=list)


def _frozen(grown: Sequence[_Grown], number: int) -> PlanNode:
    draft = grown[number]
    children = tuple(_frozen(grown, child) for child in draft.children)
    frozen = replace(draft.node, details=tuple(draft.details), children=children)
    if frozen.kind != "Bitmap Heap Scan":
        return frozen
    indexes = (node.index for node in frozen.nodes() if node.kind == "Bitmap Index Scan")
    return replace(frozen, index=" and ".join(dict.fromkeys(indexes)))


def _node(line: int, head: str) -> PlanNode:
    parallel = head.startswith("Parallel ")
    head = head.removeprefix("Parallel ").removeprefix("Async ")
    if change := _CHANGE.match(head):
        relation, alias = _place(change["place"])
        return PlanNode(line, change["kind"], parallel, relation, alias)
    scan = _SCAN.match(head)
    if scan is None:
        return PlanNode(line, head, parallel)
    kind = f"{scan['kind']}{scan['backward'] or ''}{scan['provider'] or ''}"
    if scan["kind"] == "Bitmap Index Scan":
        return PlanNode(line, kind, parallel, index=scan["place"] or "")
    relation, alias = _place(scan["place"] or "")
    return PlanNode(line, kind, parallel, relation, alias, index=scan["index"] or "")


def _place(text: str) -> tuple[str, str]:
    """Relation and alias of `orders o`; the alias is the relation where there is no other."""
    names = _WORD.findall(text)
    return (names[0], names[-1]) if names else ("", "")
