"""A stage imports only earlier stages, nothing by star, and swallows or prints nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import pytest

STAGES = [
    *("study", "arms", "engines", "workloads", "driver"),
    *("telemetry", "readings", "analysis", "verdict", "report", "integrity"),
]
TELLERS = {"weigh", "weighing", "cli", "__main__"}
"""The story, its own parts and the command line name every stage; no stage names them."""
EVERYONES = {"errors", "units", "_core", "__version__"}
PACKAGE = "python/steelyard/"


def part_of(path: str) -> str:
    """The stage, or file, of the package that a path belongs to: "arms", "errors"."""
    return path.removeprefix(PACKAGE).partition("/")[0].removesuffix(".py")


def imported_parts(path: str, text: str) -> Iterator[tuple[int, str]]:
    """(line, part) for every part of the package that a file imports."""
    for node in ast.walk(ast.parse(text)):
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


def imports_backwards(path: str, text: str) -> Iterator[str]:
    own = part_of(path)
    if own in TELLERS:
        return
    rank = STAGES.index(own) if own in STAGES else -1
    for line, part in imported_parts(path, text):
        if part in EVERYONES or part == own or (part in STAGES and STAGES.index(part) < rank):
            continue
        earlier = ", ".join(STAGES[: max(rank, 0)]) or "errors and units only"
        yield f'{path}:{line}: "{part}" is not used in "{own}"; use earlier stages: {earlier}'


def forbidden_constructs(path: str, text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names):
            yield f"{path}:{node.lineno}: a star import is not used here; use the names"
        elif isinstance(node, ast.ExceptHandler) and _catches_everything(node):
            yield (
                f"{path}:{node.lineno}: catching every exception is not used here; "
                "use the ones that are expected"
            )


def prints(path: str, text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
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


def test_a_stage_imports_only_earlier_stages(tree: Any) -> None:
    found = [m for p, t in _package(tree) for m in imports_backwards(p, t)]
    assert not found, "\n" + "\n".join(found)


def test_nothing_is_imported_by_star_and_no_exception_is_swallowed(tree: Any) -> None:
    found = [m for path, text in tree.ending(".py") for m in forbidden_constructs(path, text)]
    assert not found, "\n" + "\n".join(found)


def test_only_the_command_line_prints(tree: Any) -> None:
    found = [m for path, text in _package(tree) for m in prints(path, text)]
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("arms/a.py", "from steelyard.engines.engine import Slot", 1),
        ("arms/a.py", "def f():\n    import steelyard.report.page", 1),
        ("telemetry/a.py", "from steelyard import verdict", 1),
        ("verdict/a.py", "from steelyard.weigh import weigh", 1),
        ("units.py", "from steelyard.study.study import Study", 1),
        ("verdict/a.py", "from .. import cli", 1),
        ("verdict/a.py", "from steelyard.analysis.looks import Looks", 0),
        ("verdict/a.py", "from steelyard import __version__, _core\nfrom . import rule", 0),
        ("weigh.py", "from steelyard.report.page import write", 0),
        ("cli/app.py", "import steelyard.weigh", 0),
    ],
)
def test_the_rule_sees_imports_of_later_stages(path: str, text: str, expected: int) -> None:
    found = list(imports_backwards(PACKAGE + path, text))
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
