"""Between measuring and showing values travel: no dict of anything in what is public there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

import pytest

from thinned import thinned
from tidy.syntax import syntax_of

PACKAGE = "python/steelyard/"
STAGES = ("driver", "running", "record", "evaluation", "wording", "verdict", "report", "cli/views")
ROOMS = tuple(f"{PACKAGE}{stage}/" for stage in STAGES)
ANYTHING = re.compile(r"\b(?:dict|Mapping|MutableMapping)\[str, (?:Any|object)\]")
EDGES = {
    "record/record.py": "reads and writes JSON",
    "record/upgrade.py": "changes the JSON of format 1 before it is checked",
    "record/environment.py": "the workload, which is shown key by key",
    "cli/views/drilled.py": "what `drill --json` prints",
    "cli/views/host_view.py": "makes what `engines --json` prints",
    "cli/views/workload_view.py": "makes what `workloads --json` prints",
    "report/drill.py": "the drills' results, which validation keeps as JSON",
}
"""File → the JSON that it stands at the edge of."""


def dicts_of_anything(path: str, text: str) -> Iterator[str]:
    """Public signatures, fields and names for types that say `dict[str, Any]`."""
    for line, name, said in _annotations(syntax_of(text)):
        found = ANYTHING.search(said)
        if found:
            yield (
                f"{path}:{line}: {found[0]} is not used here; "
                f'use a value of record/ or a dataclass for "{name}"'
            )


def _annotations(tree: ast.Module | ast.ClassDef) -> Iterator[tuple[int, str, str]]:
    """Line, name and annotation of what is public; `to_json` and `of_json` are JSON's edge."""
    for node in tree.body:
        name = getattr(node, "name", "")
        if name.startswith("_") or name in ("to_json", "of_json"):
            continue
        if isinstance(node, ast.ClassDef):
            yield from _annotations(node)
        elif isinstance(node, ast.FunctionDef):
            given = node.args
            every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
            said = [one.annotation for one in every if one is not None]
            for annotation in (*said, node.returns):
                if annotation is not None:
                    yield node.lineno, name, ast.unparse(annotation)
        elif isinstance(node, ast.AnnAssign):
            yield node.lineno, ast.unparse(node.target), ast.unparse(node.annotation)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript):
            yield node.lineno, ast.unparse(node.targets[0]), ast.unparse(node.value)


def test_values_travel_from_measuring_to_showing(tree: Any) -> None:
    files = [(p, text) for p, text in tree.ending(".py") if p.startswith(ROOMS)]
    inner = [(p, text) for p, text in files if p.removeprefix(PACKAGE) not in EDGES]
    found = [m for path, text in inner for m in dicts_of_anything(path, text)]
    assert not found, "\n" + "\n".join(found)


def test_every_edge_still_needs_its_leave(tree: Any) -> None:
    done = [p for p in EDGES if not list(dicts_of_anything(p, tree.text(PACKAGE + p)))]
    assert not done, f"not an edge any more; take it out of EDGES: {', '.join(done)}"


@pytest.mark.parametrize(
    "bad",
    [
        "def render(verdict: Mapping[str, Any]) -> str: ...",
        "def facts_of(contrast: Contrast) -> list[dict[str, Any]]: ...",
        "class Contrast:\n    details: Mapping[str, object]",
        "class View:\n    def done(self, *, verdict: dict[str, Any]) -> None: ...",
        "Json = dict[str, Any]",
    ],
)
def test_the_rule_sees_a_dict_of_anything(bad: str) -> None:
    [message] = dicts_of_anything("a.py", bad)
    assert "is not used here; use a value" in message


@thinned(
    "good",
    [
        "def to_json(self) -> dict[str, Any]: ...",
        "def _context(source: Source) -> dict[str, Any]: ...",
        "def render(counts: Mapping[str, int]) -> str: ...",
        "class Contrast:\n    slots: Mapping[str, int]",
    ],
    1,
)
def test_the_rule_lets_json_be_made_and_mappings_of_something_pass(good: str) -> None:
    assert list(dicts_of_anything("a.py", good)) == []
