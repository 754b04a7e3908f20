"""Computes the fingerprint of code: results made by code that does something else are not mixed.

Comments, docstrings, layout, the names of local variables and the place of code do not count:
neither the module in which a function lies, nor the order of the statements of a module, nor the
imports that bring a name of this project. Anything else does.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

from validation.local_names import without_local_names

PACKAGES = ("steelyard", "validation", "__future__")
"""Of imports from these only the renamed names count (`from … import a as b`)."""


def fingerprint(parts: Iterable[Any]) -> str:
    """Twelve hexadecimal digits for modules, classes, functions and numbers, in any order."""
    essence = "\0".join(sorted(_united(statement for part in parts for statement in _of(part))))
    return hashlib.sha256(essence.encode()).hexdigest()[:12]


def essence_of(source: str) -> list[str]:
    """The statements of a source text, without what does not count, sorted."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            body = getattr(node, name, None)
            if isinstance(body, list) and body:
                statements = [counted for statement in body for counted in _counted(statement)]
                setattr(node, name, statements or ([ast.Pass()] if name == "body" else []))
    return sorted(ast.unparse(statement) for statement in without_local_names(tree).body)


def _of(part: Any) -> list[str]:
    if isinstance(part, (int, float, tuple)):
        return [repr(part)]
    if isinstance(part, property):
        part = part.fget
    return essence_of(textwrap.dedent(inspect.getsource(part)))


def _united(statements: Iterable[str]) -> Iterator[str]:
    """Each import once, however many modules have it, and every other statement as often as it is
    there."""
    imports = set[str]()
    for statement in statements:
        if statement.startswith(("import ", "from ")):
            imports.add(statement)
        elif statement != "pass":
            yield statement
    yield from imports


def _counted(statement: ast.stmt) -> Iterator[ast.stmt]:
    """The statement as it counts; nothing where it is a text, or an import of names as they are."""
    if isinstance(statement, ast.ImportFrom) and _is_ours(statement):
        renamed = [alias for alias in statement.names if alias.asname not in (None, alias.name)]
        yield from (ast.ImportFrom("", [alias], 0) for alias in renamed)
    elif not _is_text(statement):
        yield statement


def _is_ours(statement: ast.ImportFrom) -> bool:
    return (statement.module or "").partition(".")[0] in PACKAGES


def _is_text(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
