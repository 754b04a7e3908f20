"""Files and classes are named by their nouns, never by a drawer for everything."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from tidy.syntax import nodes_of

DRAWERS = {"util", "utils", "helper", "helpers", "common", "misc", "manager", "managers", "types"}
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


def drawers(path: str) -> Iterator[str]:
    for part in PurePosixPath(path).parts:
        stem = part.partition(".")[0]
        for word in stem.lower().split("_"):
            if word in DRAWERS:
                yield f'{path}: the name "{word}" is not used here; use the noun it holds'


def drawer_classes(path: str, text: str) -> Iterator[str]:
    if path.endswith(".py"):
        named = [n.name for n in nodes_of(text) if isinstance(n, ast.ClassDef)]
    else:
        named = re.findall(r"\b(?:struct|enum|trait|mod)\s+(\w+)", text)
    for name in named:
        words = {word.lower() for word in _WORDS.findall(name)}
        if words & DRAWERS:
            yield f'{path}: the name "{name}" is not used here; use the noun it stands for'


def test_no_file_is_a_drawer_for_everything(tree: Any) -> None:
    found = [m for path in tree.paths for m in drawers(path)]
    assert not found, "\n" + "\n".join(found)


def test_no_type_is_a_drawer_for_everything(tree: Any) -> None:
    files = tree.ending(".py", ".rs")
    found = [m for path, text in files for m in drawer_classes(path, text)]
    assert not found, "\n" + "\n".join(found)


def test_the_rule_sees_drawers_wherever_they_stand() -> None:
    for path in ("a/utils.py", "a/helpers/b.py", "common.rs", "a/slot_manager.py", "types.py"):
        assert list(drawers(path)), path
    for path in ("a/commonplace.py", "a/typesetting.rs", "docs/reference/engines.md"):
        assert not list(drawers(path)), path


def test_the_rule_sees_classes_that_manage_or_help() -> None:
    assert list(drawer_classes("a.py", "class SlotManager: ..."))
    assert list(drawer_classes("a.rs", "pub struct Misc;"))
    assert not list(drawer_classes("a.py", "class Slot: ..."))
    assert not list(drawer_classes("a.rs", "pub enum TypesetError {}"))


TWINS = {
    "Added": "engines added, of either kind of server",
    "Build": "of either kind of server",
    "Contrast": "judged, and as the public API shows it",
    "DiscoveredBuild": "of either kind of server",
    "Reading": "of an arm's epoch, and of a search for a rate",
    "Series": "of rows from elsewhere, and of the pieces of a turn",
    "Server": "of either kind",
}
"""Classes that share a name, and what keeps them apart. This list only becomes shorter."""


def classes_of(text: str) -> Iterator[str]:
    yield from (
        node.name
        for node in nodes_of(text)
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )


def test_a_name_is_one_classs(tree: Any) -> None:
    texts = [text for path, text in tree.ending(".py") if path.startswith("python/steelyard/")]
    counted = Counter(name for text in texts for name in classes_of(text))
    assert {name for name, count in counted.items() if count > 1} == {*TWINS}
