"""The stub of the extension says what the extension has, no more and no less."""

from __future__ import annotations

import ast
from typing import Any

from tidy.syntax import syntax_of

STUB = "python/steelyard/_core.pyi"


def stub_names(text: str) -> set[str]:
    """The public functions, classes and constants that a stub declares."""
    names: set[str] = set()
    for node in syntax_of(text).body:
        if isinstance(node, ast.FunctionDef) or (
            isinstance(node, ast.ClassDef) and not _only_a_shape(node)
        ):
            names.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return {name for name in names if not name.startswith("_")}


def _only_a_shape(node: ast.ClassDef) -> bool:
    """A TypedDict or Protocol: it names what a dictionary holds and exists for type checking."""
    return any(getattr(base, "id", "") in ("TypedDict", "Protocol") for base in node.bases)


def stub_differs(declared: set[str], present: set[str]) -> list[str]:
    missing = [f'"{n}" is in the extension; use the stub to say so' for n in present - declared]
    absent = [f'"{n}" is in the stub; use only what the extension has' for n in declared - present]
    return sorted(missing + absent)


def test_the_stub_names_what_the_extension_has(tree: Any) -> None:
    from steelyard import _core

    present = {name for name in dir(_core) if not name.startswith("_")}
    found = stub_differs(stub_names(tree.text(STUB)), present)
    assert not found, "\n" + "\n".join(found)


def test_the_rule_sees_names_on_one_side_only() -> None:
    text = "from typing import Any\nLIMIT: int\ndef drive(a: int) -> None: ...\nclass Page: ...\n"
    text += "class Shape(TypedDict):\n    a: int\n"
    assert stub_names(text) == {"LIMIT", "drive", "Page"}
    assert stub_differs({"drive"}, {"drive"}) == []
    assert len(stub_differs({"drive", "gone"}, {"drive", "new"})) == 2
