"""Ray stands behind one room: everything else weighs without it, and does not know it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from tidy.syntax import nodes_of

MAY = "python/steelyard/fleet/on_ray/"


def imports_of_ray(path: str, text: str) -> Iterator[str]:
    """Imports of Ray outside its module, and within it those that are made when it is imported."""
    for node in nodes_of(text):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        else:
            continue
        if any(name.partition(".")[0] == "ray" for name in names):
            if not path.startswith(MAY):
                yield f"{path}:{node.lineno}: Ray is not used here; use {MAY}"
            elif not _in_a_function(node, text):
                yield f"{path}:{node.lineno}: Ray is imported where it is used, in a function"


def _in_a_function(node: ast.AST, text: str) -> bool:
    functions = (each for each in nodes_of(text) if isinstance(each, ast.FunctionDef))
    return any(node in ast.walk(function) for function in functions)


def test_ray_is_imported_in_one_room_and_there_where_it_is_used(tree: Any) -> None:
    package = ((p, t) for p, t in tree.ending(".py") if p.startswith("python/"))
    found = [message for path, text in package for message in imports_of_ray(path, text)]
    assert not found, "\n" + "\n".join(found)


def test_the_ordinary_install_does_not_need_ray(tree: Any) -> None:
    import tomllib

    project = tomllib.loads(tree.text("pyproject.toml"))["project"]
    assert not [one for one in project["dependencies"] if one.startswith("ray")]
    assert [one for one in project["optional-dependencies"]["fleet"] if one.startswith("ray")]


def test_the_rule_sees_ray_elsewhere_and_at_the_top() -> None:
    assert list(imports_of_ray("python/steelyard/weigh.py", "def f():\n    import ray.util"))
    assert list(imports_of_ray(f"{MAY}a.py", "from ray import init"))
    assert not list(imports_of_ray(f"{MAY}a.py", "def f():\n    import ray"))
