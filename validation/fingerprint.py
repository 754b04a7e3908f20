"""Tells versions of code apart by what it does: results made by other code are not mixed.

Comments, docstrings and layout do not count; anything else does.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import textwrap
from collections.abc import Iterable
from typing import Any


def fingerprint(parts: Iterable[Any]) -> str:
    """Twelve hexadecimal digits for modules, classes, functions and numbers, in any order."""
    digests = sorted(hashlib.sha256(_essence(part).encode()).hexdigest() for part in parts)
    return hashlib.sha256("".join(digests).encode()).hexdigest()[:12]


def _essence(part: Any) -> str:
    if isinstance(part, (int, float, tuple)):
        return repr(part)
    if isinstance(part, property):
        part = part.fget
    return essence_of(textwrap.dedent(inspect.getsource(part)))


def essence_of(source: str) -> str:
    """Source text without comments, docstrings, strings that stand alone, and layout."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            kept = [one for one in body if not _is_text(one)]
            node.body = kept or [ast.Pass()]  # type: ignore[attr-defined]
    return ast.unparse(tree)


def _is_text(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
