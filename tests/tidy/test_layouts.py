"""A layout is known in its own rooms: elsewhere nothing branches on its name or on its parts."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from tidy.syntax import nodes_of

ROOMS = (
    "python/steelyard/running/layout.py",
    "python/steelyard/running/layout_choice.py",
    "python/steelyard/running/idle_keys.py",
    "python/steelyard/running/turns/",
    "python/steelyard/running/cycles/",
    "python/steelyard/evaluation/layouts.py",
    "python/steelyard/evaluation/threats/turns.py",
    "python/steelyard/evaluation/threats/cycles.py",
    "python/steelyard/wording/threats/layouts.py",
    "python/steelyard/report/layouts/",
)
"""Where layouts are: what runs, judges and shows each."""
EXCEPTIONS = {
    "python/steelyard/analysis/decision/epoch_reading.py": 3,  # blocks of paired slices
    "python/steelyard/cli/views/reproductions/page.py": 1,  # what a verdict says of cycles
    "python/steelyard/verdict/rejudge.py": 1,  # a record that is older than the word
    "python/steelyard/record/plan.py": 4,  # likewise, and a plan that holds one layout's choices
    "python/steelyard/running/measuring/epoch.py": 2,  # slices by executions
    "python/steelyard/running/measuring/load.py": 2,  # the cost of whole cycles; executions
    "python/steelyard/study/budget.py": 1,  # slices by executions
    "python/steelyard/study/design.py": 1,  # the cost of whole cycles
    "python/steelyard/report/answer/first_page.py": 1,  # only slices forecast by their budget
    "python/steelyard/study/study.py": 3,  # slices by executions
    "validation/cases/covariates.py": 2,  # cases in cycles and in turns beside each other
}
"""File → branches that are still there. This list only becomes shorter."""
_NAMES = {"slices", "turns", "cycles", "counted"}
_CONSTANTS = {"SLICES", "TURNS", "CYCLES"}
_HELD = {"turns", "counted", "layout"}
"""Attributes of plans, choices and budgets that one layout has, and others lack."""
_TEMPLATE = re.compile(r"layout\s*[!=]=|\bif\s+[\w.]*layout\b")


def branches(path: str, text: str) -> Iterator[str]:
    for node in nodes_of(text):
        if isinstance(node, ast.expr | ast.stmt | ast.pattern) and _branches(node):
            yield (
                f"{path}:{node.lineno}: a branch on a layout is not used here; "
                "give the layouts of its room what differs"
            )


def _branches(node: ast.AST) -> bool:
    match node:
        case ast.Compare():
            sides = [node.left, *node.comparators]
            lacking = any(isinstance(each, ast.Constant) and each.value is None for each in sides)
            return any(map(_names, sides)) or (lacking and any(map(_held, sides)))
        case ast.If() | ast.IfExp() | ast.While():
            test = node.test
            return _held(test.operand if isinstance(test, ast.UnaryOp) else test)
        case ast.BoolOp():
            return any(isinstance(x, ast.Attribute) and x.attr == "layout" for x in node.values)
        case ast.MatchValue():
            return _names(node.value)
        case ast.Dict():
            return len(node.keys) > 1 and all(key is not None and _names(key) for key in node.keys)
    return False


def _names(node: ast.expr) -> bool:
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return any(map(_names, node.elts))
    if isinstance(node, ast.Constant):
        return node.value in _NAMES
    return isinstance(node, ast.Name) and node.id in _CONSTANTS


def _held(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in _HELD


def _asserted(text: str) -> int:
    """Comparisons within assertions: they refuse, and branch nowhere."""
    every = [node for node in nodes_of(text) if isinstance(node, ast.Assert)]
    return sum(_branches(inner) for one in every for inner in ast.walk(one.test))


def test_nothing_outside_their_rooms_branches_on_a_layout(tree: Any) -> None:
    found: Counter[str] = Counter()
    for path, text in tree.ending(".py"):
        if path.startswith(("python/", "validation/")) and not path.startswith(ROOMS):
            found[path] = len([*branches(path, text)]) - _asserted(text)
    too_many = [
        f"{path}: {count} branches on a layout, {EXCEPTIONS.get(path, 0)} are known"
        for path, count in found.items()
        if count > EXCEPTIONS.get(path, 0)
    ]
    assert not too_many, "\n".join(too_many)
    shrunk = [path for path, count in EXCEPTIONS.items() if found[path] < count]
    assert not shrunk, f"fewer than the list of exceptions says: {', '.join(shrunk)}"


def test_templates_branch_on_no_layout(tree: Any) -> None:
    found = [path for path, text in tree.ending(".j2") if _TEMPLATE.search(text)]
    assert not found


def test_the_rule_sees_every_kind_of_branch() -> None:
    for text in (
        'if plan.layout == "turns": pass',
        'x = 1 if layout in ("cycles", "turns") else 2',
        "x = plan.layout != CYCLES",
        "if plan.turns is None: pass",
        "if source.turns: pass",
        "x = 1 if not plan.turns else 2",
        "x = plan.layout or 'slices'",
        'x = {"turns": 1, "cycles": 2}[name]',
        'match name:\n    case "turns": pass',
    ):
        assert len([*branches("a.py", text)]) == 1, text
    for text in (
        "x = LAYOUTS[plan.layout.name]",
        'x = {"turns": 1, "title": 2}',
        "assert plan.turns is not None",
        'print("turns")',
    ):
        assert len([*branches("a.py", text)]) - _asserted(text) == 0, text
