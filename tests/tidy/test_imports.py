"""A stage imports what the graph allows, nothing by star, and swallows or prints nothing."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

import pytest

from tidy.syntax import nodes_of

GRAPH = tomllib.loads((Path(__file__).parent / "import_graph.toml").read_text(encoding="utf-8"))
STAGES: dict[str, list[str]] = GRAPH["stages"]
EVERYTHING = set(GRAPH["everything"])
EXTENSION = {"_core", "__version__"}
PACKAGE = "python/steelyard/"


def part_of(path: str) -> str:
    """The stage, or file, of the package that a path belongs to: "arms", "errors"."""
    return path.removeprefix(PACKAGE).partition("/")[0].removesuffix(".py")


def imported_parts(path: str, text: str) -> Iterator[tuple[int, str]]:
    """(line, part) for every part of the package that a file imports."""
    for node in nodes_of(text):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level:
            names = [f"steelyard.{part_of(path)}"] if node.level == 1 else ["steelyard.?"]
        elif isinstance(node, ast.ImportFrom) and node.module == "steelyard":
            names = [f"steelyard.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        else:
            continue
        for name in names:
            if name.startswith("steelyard."):
                yield node.lineno, name.split(".")[1]


def imports_against_the_graph(path: str, text: str) -> Iterator[str]:
    own = part_of(path)
    if own in EVERYTHING:
        return
    allowed = STAGES.get(own, [])
    for line, part in imported_parts(path, text):
        if part in EXTENSION or part == own or part in allowed:
            continue
        yield (
            f'{path}:{line}: "{part}" is not used in "{own}"; '
            f"use {', '.join(allowed) or 'nothing of the package'}"
        )


def circle_of(stages: Mapping[str, Sequence[str]]) -> list[str]:
    """Stages that import each other in a circle, in order; empty where there is none."""
    try:
        list(TopologicalSorter(stages).static_order())
    except CycleError as found:
        return list(found.args[1])
    return []


def forbidden_constructs(path: str, text: str) -> Iterator[str]:
    for node in nodes_of(text):
        if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names):
            yield f"{path}:{node.lineno}: a star import is not used here; use the names"
        elif isinstance(node, ast.ExceptHandler) and _catches_everything(node):
            yield (
                f"{path}:{node.lineno}: catching every exception is not used here; "
                "use the ones that are expected"
            )


def prints(path: str, text: str) -> Iterator[str]:
    for node in nodes_of(text):
        called = getattr(node.func, "id", "") if isinstance(node, ast.Call) else ""
        if called == "print" and part_of(path) != "cli":
            yield f"{path}:{node.lineno}: print is not used here; use a value or an event"


def _catches_everything(handler: ast.ExceptHandler) -> bool:
    """Bare, Exception, or BaseException; cleaning up and raising again is none."""
    caught = handler.type
    names = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    wide = any(n is None or getattr(n, "id", "") in ("Exception", "BaseException") for n in names)
    last = handler.body[-1]
    return wide and not (isinstance(last, ast.Raise) and last.exc is None)


def _package(tree: Any) -> Iterator[tuple[str, str]]:
    return ((p, t) for p, t in tree.ending(".py") if p.startswith(PACKAGE))


def test_a_stage_imports_what_the_graph_allows(tree: Any) -> None:
    found = [m for p, t in _package(tree) for m in imports_against_the_graph(p, t)]
    assert not found, "\n" + "\n".join(found)


def test_the_graph_has_no_circle_and_one_leaf_and_names_every_stage(tree: Any) -> None:
    assert circle_of(STAGES) == []
    assert [stage for stage, uses in STAGES.items() if not uses] == ["model"]
    present = {part_of(path) for path, _ in _package(tree)} - EXTENSION - {"_core.pyi"}
    assert present - EVERYTHING == {*STAGES}


def test_the_rule_sees_a_circle() -> None:
    assert circle_of({"a": ["b"], "b": ["a"]}) != []
    assert circle_of({"a": ["b"], "b": []}) == []


@pytest.mark.long
def test_nothing_is_imported_by_star_and_no_exception_is_swallowed(tree: Any) -> None:
    found = [m for path, text in tree.ending(".py") for m in forbidden_constructs(path, text)]
    assert not found, "\n" + "\n".join(found)


def test_only_the_command_line_prints(tree: Any) -> None:
    found = [m for path, text in _package(tree) for m in prints(path, text)]
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("study/a.py", "from steelyard.engines.engine import Slot", 1),
        ("study/a.py", "def f():\n    import steelyard.report.page", 1),
        ("telemetry/a.py", "from steelyard import evaluation", 1),
        ("evaluation/a.py", "from steelyard.weigh import weigh", 1),
        ("evaluation/a.py", "from steelyard.running.measuring.epoch import RanEpoch", 1),
        ("model/units.py", "from steelyard.study.study import Study", 1),
        ("evaluation/a.py", "from .. import cli", 1),
        ("evaluation/a.py", "from steelyard.analysis.decision.looks import Looks", 0),
        ("evaluation/a.py", "from steelyard import __version__, _core\nfrom . import rule", 0),
        ("weigh.py", "from steelyard.report.page import write", 0),
        ("cli/app.py", "import steelyard.weigh", 0),
    ],
)
def test_the_rule_sees_imports_against_the_graph(path: str, text: str, expected: int) -> None:
    found = list(imports_against_the_graph(PACKAGE + path, text))
    assert len(found) == expected
    assert all("is not used in" in message and "; use " in message for message in found)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("from os import *", 1),
        ("try:\n    f()\nexcept Exception:\n    pass", 1),
        ("try:\n    f()\nexcept (OSError, Exception) as e:\n    raise X from e", 1),
        ("try:\n    f()\nexcept:\n    pass", 1),
        ("try:\n    f()\nexcept BaseException:\n    clean()\n    raise", 0),
        ("try:\n    f()\nexcept (OSError, ValueError):\n    pass", 0),
    ],
)
def test_the_rule_sees_star_imports_and_swallowed_exceptions(text: str, expected: int) -> None:
    assert len(list(forbidden_constructs("a.py", text))) == expected


def test_the_rule_sees_printing_from_a_middle_layer() -> None:
    assert list(prints(PACKAGE + "report/a.py", "print('x')")) != []
    assert list(prints(PACKAGE + "cli/a.py", "print('x')")) == []
