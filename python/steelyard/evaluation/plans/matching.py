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
    found = Matching(control=list(_counted(control)), arm=list(_counted(arm)))
    _match_by(found, _role)
    _match_partitions(found)
    _match_by(found, _loose_role)
    joins = ([one for one in side if family(one) == "join"] for side in (found.control, found.arm))
    for ours, theirs in list(zip(*joins, strict=False)):
        found.join(ours, theirs, moved=True)
    _match_in_place(found, control, arm)
    return found


def _counted(plan: PlanNode) -> Iterator[PlanNode]:
    return (node for node in plan.nodes() if node.kind not in _OF_A_BITMAP)


def _match_by(found: Matching, role: Role) -> None:
    """Pair nodes of one role in the order of the plan."""
    waiting: defaultdict[Hashable, list[PlanNode]] = defaultdict(list)
    for node in found.arm:
        waiting[role(node)].append(node)
    for node in list(found.control):
        if same := waiting[role(node)]:
            found.join(node, same.pop(0))


def _role(node: PlanNode) -> Hashable:
    kind = family(node)
    return kind, node.alias if node.alias else frozenset(node.sources())


def _loose_role(node: PlanNode) -> Hashable:
    """The same where a partition stands for its table: PostgreSQL numbers their aliases."""
    kind = family(node)
    return kind, _base(node.alias) if node.alias else frozenset(map(_base, node.sources()))


def _base(alias: str) -> str:
    return _NUMBERED.sub("", alias)


def _match_partitions(found: Matching) -> None:
    """Pair the scan of a table with the Append of the scans of its partitions."""
    _match_scans(found.control, found.arm, found.join)
    _match_scans(found.arm, found.control, lambda arm, control: found.join(control, arm))


def _match_scans(
    ours: Sequence[PlanNode],
    theirs: list[PlanNode],
    join: Callable[[PlanNode, PlanNode], None],
) -> None:
    for scan in [one for one in ours if family(one) == "scan" and one.alias]:
        for append in [one for one in theirs if family(one) == "append"]:
            sources = set(append.sources())
            if sources and {_base(one) for one in sources} == {_base(scan.alias)}:
                join(scan, append)
                beneath = list(append.nodes())
                theirs[:] = [node for node in theirs if node not in beneath]
                break


def _match_in_place(found: Matching, control: PlanNode, arm: PlanNode) -> None:
    """Pair what is left, where nothing else is left at its place: the root, or beneath a pair."""
    if control in found.control and arm in found.arm:
        found.join(control, arm)
    for pair in found.pairs:  # it grows meanwhile
        families = family(pair.control), family(pair.arm)
        if "join" in families and pair.control.kind != pair.arm.kind:
            continue  # each join method has helpers of its own beneath it
        ours = [one for one in pair.control.children if one in found.control]
        theirs = [one for one in pair.arm.children if one in found.arm]
        if len(ours) == len(theirs) == 1:
            found.join(ours[0], theirs[0])


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
        alone[one.query]: _time(one, "script", one.control_ms * US_PER_MS, one.arm_ms * US_PER_MS)
        for one in queries
        if one.arm == arm and one.query in alone
    }
    found = match_times(plans, [one for one in statements if one.arm == arm])
    return times | {
        statement: _time(row, "statement", row.control_us, row.arm_us)
        for statement, row in found.items()
        if row.control_us and row.arm_us
    }


def script_alone_times(
    scripts: Sequence[ScriptTime], arm: str, plans: Plans
) -> dict[str, StatementTime]:
    """`script: statement` → the time of its script, of those that are this statement alone."""
    alone = _alone(plans)
    return {
        alone[one.script]: _time(one, "script", one.control_us, one.arm_us)
        for one in scripts
        if one.arm == arm and one.script in alone and one.control_us and one.arm_us
    }


def _time(
    row: Compared, of: Literal["statement", "script"], control_us: float, arm_us: float
) -> StatementTime:
    kept = {name: getattr(row, name) for name in Compared.model_fields}
    return StatementTime(of=of, control_us=control_us, arm_us=arm_us, **kept)


def _alone(plans: Iterable[str]) -> dict[str, str]:
    """Script → its statement, of scripts that have one."""
    by_script: dict[str, list[str]] = {}
    for one in plans:
        by_script.setdefault(one.partition(": ")[0], []).append(one)
    return {script: own[0] for script, own in by_script.items() if len(own) == 1}


def match_times(plans: Iterable[str], rows: Sequence[Statement]) -> dict[str, Statement]:
    """`script: statement` → its row, which is named `script:LINE` and by the statement's first
    line alone: the first statement of the script, in its order, that begins so."""
    found: dict[str, Statement] = {}
    left = list(plans)
    for row in sorted(rows, key=lambda row: statement_place(row.statement)):
        script, _, words = statement_place(row.statement)
        begins = _plain(words)
        if not begins:
            continue  # a backslash command
        known = f"{script}: {begins}"
        same = next((one for one in left if _begins_alike(_plain(one), known)), None)
        if same is not None:
            found[same] = row
            left.remove(same)
    return found


def statement_place(name: str) -> tuple[str, int, str]:
    """Script, line and words of a row that is named `script:LINE words`."""
    parts = _PLACE.fullmatch(name)
    if parts is None:
        script, _, words = name.partition(":")
        return script, 0, words
    return parts[1], int(parts[2]), parts[3]


def _begins_alike(planned: str, line: str) -> bool:
    """Whether a statement begins with a line, or is the first of several on it."""
    return planned.startswith(line) or line.startswith(f"{planned};")


def _plain(text: str) -> str:
    """Words in one form: variables alike, no comment, no end of a statement."""
    words = _VARIABLE.sub("$", text.partition(" --")[0].partition("\\")[0])
    return " ".join(words.split()).rstrip("; ")
