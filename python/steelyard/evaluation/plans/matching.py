"""Finds the nodes of one query plan again in another.

A node is identified by what it does and to which rows: a scan by the alias it reads, a join, sort
or aggregate by the aliases beneath it. So a node that one plan has besides (Gather, Memoize, Sort)
does not shift all others.

Finds the time of each statement that has a plan among the times of a verdict.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from steelyard.evaluation.plans.tree import PlanNode
from steelyard.record.verdict import Compared, Query, ScriptTime, Statement, StatementTime

_JOIN = re.compile(r"^(?:Nested Loop|(?:Nested Loop|Hash|Merge)(?: \w+)* Join)$")
_AGGREGATE = re.compile(r"^(?:Partial |Finalize )?(?:Hash|Group|Mixed)?Aggregate$")
_NUMBERED = re.compile(r"_\d+$")
_FAMILIES = {
    "Sort": "sort", "Incremental Sort": "sort", "Gather": "gather", "Gather Merge": "gather",
    "Append": "append", "Merge Append": "append",
}  # fmt: skip
_OF_A_BITMAP = ("Bitmap Index Scan", "BitmapAnd", "BitmapOr")
"""Nodes beneath a Bitmap Heap Scan, which is reported with the indexes they read."""


def family(node: PlanNode) -> str:
    """What a node does, whichever way: `scan`, `join`, `aggregate`, `sort`, `gather`, `append`,
    else its kind."""
    if node.is_scan:
        return "scan"
    if _JOIN.match(node.kind):
        return "join"
    if _AGGREGATE.match(node.kind):
        return "aggregate"
    return _FAMILIES.get(node.kind, node.kind)


@dataclass(frozen=True)
class Pair:
    """A node of the control's plan, and its counterpart in the arm's."""

    control: PlanNode
    arm: PlanNode
    moved: bool = False
    """A join, of other rows than the one it is paired with: the order of joins differs."""


@dataclass
class Matching:
    """The nodes of two plans: those with a partner, and those that only one plan has."""

    pairs: list[Pair] = field(default_factory=list)
    control: list[PlanNode] = field(default_factory=list)
    arm: list[PlanNode] = field(default_factory=list)

    def join(self, control: PlanNode, arm: PlanNode, *, moved: bool = False) -> None:
        """Make a pair of two nodes that have no partner."""
        self.pairs.append(Pair(control, arm, moved))
        self.control.remove(control)
        self.arm.remove(arm)


Role = Callable[[PlanNode], Hashable]


def match(control: PlanNode, arm: PlanNode) -> Matching:
    """Every node of both plans, with its partner or without."""
    matching = Matching(control=list(_counted(control)), arm=list(_counted(arm)))
    _match_by(matching, _role)
    _match_partitions(matching)
    _match_by(matching, _loose_role)
    joins = (
        [node for node in side if family(node) == "join"]
        for side in (matching.control, matching.arm)
    )
    for ours, theirs in list(zip(*joins, strict=False)):
        matching.join(ours, theirs, moved=True)
    _match_in_place(matching, control, arm)
    return matching


def _counted(plan: PlanNode) -> Iterator[PlanNode]:
    return (node for node in plan.nodes() if node.kind not in _OF_A_BITMAP)


def _match_by(matching: Matching, role: Role) -> None:
    """Pair nodes of one role in the order of the plan."""
    waiting: defaultdict[Hashable, list[PlanNode]] = defaultdict(list)
    for node in matching.arm:
        waiting[role(node)].append(node)
    for node in list(matching.control):
        if same := waiting[role(node)]:
            matching.join(node, same.pop(0))


def _role(node: PlanNode) -> Hashable:
    kind = family(node)
    return kind, node.alias if node.alias else frozenset(node.sources())


def _loose_role(node: PlanNode) -> Hashable:
    """As `_role`, but without the number in the alias of a partition (`orders_1` → `orders`), so
    that the scan of a partition matches that of its table."""
    kind = family(node)
    return kind, _base(node.alias) if node.alias else frozenset(map(_base, node.sources()))


def _base(alias: str) -> str:
    return _NUMBERED.sub("", alias)


def _match_partitions(matching: Matching) -> None:
    """Pair the scan of a table with the Append of the scans of its partitions."""
    _match_scans(matching.control, matching.arm, matching.join)
    _match_scans(matching.arm, matching.control, lambda arm, control: matching.join(control, arm))


def _match_scans(
    ours: Sequence[PlanNode],
    theirs: list[PlanNode],
    join: Callable[[PlanNode, PlanNode], None],
) -> None:
    for scan in [node for node in ours if family(node) == "scan" and node.alias]:
        for append in [node for node in theirs if family(node) == "append"]:
            sources = set(append.sources())
            if sources and {_base(source) for source in sources} == {_base(scan.alias)}:
                join(scan, append)
                beneath = list(append.nodes())
                theirs[:] = [node for node in theirs if node not in beneath]
                break


def _match_in_place(matching: Matching, control: PlanNode, arm: PlanNode) -> None:
    """Pair what is left, where nothing else is left at its place: the root, or beneath a pair."""
    if control in matching.control and arm in matching.arm:
        matching.join(control, arm)
    for pair in matching.pairs:  # it grows meanwhile
        families = family(pair.control), family(pair.arm)
        if "join" in families and pair.control.kind != pair.arm.kind:
            continue  # each join method has helpers of its own beneath it
        ours = [child for child in pair.control.children if child in matching.control]
        theirs = [child for child in pair.arm.children if child in matching.arm]
        if len(ours) == len(theirs) == 1:
            matching.join(ours[0], theirs[0])


Plans = Mapping[str, str]
"""`script: statement` → its plan."""
_VARIABLE = re.compile(r"(?<!:):[A-Za-z_]\w*|\$\d+")
_PLACE = re.compile(r"(?s)(.*?):(\d+) (.*)")
US_PER_MS = 1000.0


def statement_times(
    statements: Sequence[Statement], queries: Sequence[Query], arm: str, plans: Plans
) -> dict[str, StatementTime]:
    """`script: statement` → its time, of those that were timed one by one, or whose script is
    this statement alone and a slice of its own. The rows are a verdict's."""
    alone = _alone(plans)
    times = {
        alone[query.query]: _time(
            query, "script", query.control_ms * US_PER_MS, query.arm_ms * US_PER_MS
        )
        for query in queries
        if query.arm == arm and query.query in alone
    }
    rows = match_times(plans, [statement for statement in statements if statement.arm == arm])
    return times | {
        statement: _time(row, "statement", row.control_us, row.arm_us)
        for statement, row in rows.items()
        if row.control_us and row.arm_us
    }


def script_alone_times(
    scripts: Sequence[ScriptTime], arm: str, plans: Plans
) -> dict[str, StatementTime]:
    """`script: statement` → the time of its script, of those that are this statement alone."""
    alone = _alone(plans)
    return {
        alone[script.script]: _time(script, "script", script.control_us, script.arm_us)
        for script in scripts
        if script.arm == arm and script.script in alone and script.control_us and script.arm_us
    }


def _time(
    row: Compared, of: Literal["statement", "script"], control_us: float, arm_us: float
) -> StatementTime:
    fields = {name: getattr(row, name) for name in Compared.model_fields}
    return StatementTime(of=of, control_us=control_us, arm_us=arm_us, **fields)


def _alone(plans: Iterable[str]) -> dict[str, str]:
    """Script → its statement, of scripts that have one."""
    by_script: dict[str, list[str]] = {}
    for statement in plans:
        by_script.setdefault(statement.partition(": ")[0], []).append(statement)
    return {
        script: statements[0] for script, statements in by_script.items() if len(statements) == 1
    }


def match_times(plans: Iterable[str], rows: Sequence[Statement]) -> dict[str, Statement]:
    """`script: statement` → its row, which is named `script:LINE` and by the statement's first
    line alone: the first statement of the script, in its order, that begins so."""
    matched: dict[str, Statement] = {}
    left = list(plans)
    for row in sorted(rows, key=lambda row: statement_place(row.statement)):
        script, _, text = statement_place(row.statement)
        begins = _plain(text)
        if not begins:
            continue  # a backslash command
        opening = f"{script}: {begins}"
        same = next(
            (statement for statement in left if _is_beginning(_plain(statement), opening)), None
        )
        if same is not None:
            matched[same] = row
            left.remove(same)
    return matched


def statement_place(name: str) -> tuple[str, int, str]:
    """Script, line and words of a row that is named `script:LINE words`."""
    parts = _PLACE.fullmatch(name)
    if parts is None:
        script, _, text = name.partition(":")
        return script, 0, text
    return parts[1], int(parts[2]), parts[3]


def _is_beginning(planned: str, line: str) -> bool:
    """Whether a statement begins with a line, or is the first of several on it."""
    return planned.startswith(line) or line.startswith(f"{planned};")


def _plain(text: str) -> str:
    """Words in one form: variables alike, no comment, no end of a statement."""
    line = _VARIABLE.sub("$", text.partition(" --")[0].partition("\\")[0])
    return " ".join(line.split()).rstrip("; ")
