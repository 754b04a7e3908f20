"""What nothing but tests uses is not kept: public functions and classes have a user."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from tidy.syntax import syntax_of

PACKAGE = "python/steelyard/"
USERS = (PACKAGE, "validation/", "benches/", ".ci/")


def unused_names(sources: Mapping[str, str], words: Counter[str]) -> Iterator[str]:
    """Public names of the package that occur nowhere but where they are defined.

    What is decorated is used by its decorator; a protocol by being implemented.
    """
    for path, text in sources.items():
        for node in syntax_of(text).body:
            if not isinstance(node, ast.FunctionDef | ast.ClassDef) or node.name.startswith("_"):
                continue
            bases = [getattr(b, "id", "") for b in getattr(node, "bases", ())]
            applied = [d for d in node.decorator_list if "dataclass" not in ast.dump(d)]
            if words[node.name] <= 1 and not applied and "Protocol" not in bases:
                yield f"{path}:{node.lineno}: {node.name} is not used here; use it or remove it"


def test_every_public_name_is_used_by_more_than_tests(tree: Any) -> None:
    every = {path: text for path, text in tree.ending(".py", ".rs") if path.startswith(USERS)}
    every |= {p: t for p, t in tree.ending(".rs") if p.startswith("crates/bindings/")}
    words = Counter(word for text in every.values() for word in re.findall(r"\w+", text))
    package = {p: t for p, t in every.items() if p.startswith(PACKAGE) and p.endswith(".py")}
    # A command's `register` and a source's read are called by their module's name.
    found = [m for m in unused_names(package, words) if ": register is" not in m]
    assert not found, "\n" + "\n".join(found)


def test_the_rule_sees_a_name_that_nothing_uses() -> None:
    text = "def lonely(): ...\ndef used(): ...\n\n@app.command()\ndef told(): ...\nused()\n"
    words = Counter(re.findall(r"\w+", text))
    assert [m.split(": ")[1].split()[0] for m in unused_names({"a.py": text}, words)] == ["lonely"]
