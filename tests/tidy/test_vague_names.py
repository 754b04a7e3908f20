"""Names are nouns of the field or verbs of what they do, never a pronoun or a bare participle."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from tidy.syntax import nodes_of

VAGUE = {
    *("alike", "altered", "asked", "asking", "beside", "bring", "bringing", "brought", "chosen"),
    *("dealing", "done", "found", "gone", "held", "housed", "kept", "look", "looked", "looking"),
    *("looks", "meeting", "met", "nobody", "once", "reached", "readable", "said", "sealing"),
    *("seen", "somebody", "someone", "standing", "taken", "taking", "tell", "telling", "told"),
    *("wanted", "who", "whose"),
}
"""What fits everything names nothing: of 12 bindings in a hundred a reader learnt only that a
value had been found, told or kept."""
REFUSED_VARIABLES = frozenset(
    {
        *("asked", "beside", "brought", "found", "given", "held", "kept", "looked", "made", "met"),
        *("one", "said", "seen", "shown", "standing", "taken", "told", "wanted"),
    }
)
"""What a variable is not called: it holds an epoch, a line, a path, and its name says which."""
HERE = Path(__file__).parent / "exceptions"
NAMES: dict[str, dict[str, int]] = tomllib.loads((HERE / "names.toml").read_text("utf-8"))
"""How many files, classes and functions still have each such name. They only become fewer."""
VARIABLES = {
    path: int(count)
    for count, path in (line.split() for line in (HERE / "variables.txt").read_text().splitlines())
}
"""How many such bindings each file still has. They only become fewer."""
PACKAGE = "python/steelyard/"
SOURCES = (PACKAGE, "validation/", "benches/", ".ci/", "action/")
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


def is_vague(name: str) -> bool:
    """Whether a word of a name, in any of the ways to join words, fits everything."""
    return any(word.lower() in VAGUE for word in _WORDS.findall(name))


def vague_names(path: str, text: str) -> Iterator[tuple[str, str]]:
    """(kind, name) of a file or a package, and of its classes and public functions."""
    file = PurePosixPath(path)
    if is_vague(file.stem):
        yield "files", file.stem
    if file.stem == "__init__" and is_vague(file.parent.name):
        yield "files", file.parent.name
    for node in nodes_of(text):
        if isinstance(node, ast.ClassDef) and is_vague(node.name):
            yield "classes", node.name
        elif (
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and not node.name.startswith("_")
            and is_vague(node.name)
        ):
            yield "functions", node.name


def refused_variables(text: str) -> int:
    """How often a text binds one of the refused names: assignments, loops and parameters."""
    nodes = nodes_of(text)
    names = [n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    names += [n.arg for n in nodes if isinstance(n, ast.arg)]
    names += [n.name for n in nodes if isinstance(n, ast.ExceptHandler) and n.name]
    return sum(name in REFUSED_VARIABLES for name in names)


def differences(present: Mapping[str, int], allowed: Mapping[str, int], what: str) -> Iterator[str]:
    """Where more is present than is allowed, and where the list allows more than there is."""
    for name in sorted({*present, *allowed}):
        here, listed = present.get(name, 0), allowed.get(name, 0)
        if here > listed:
            yield f"{name}: {what} is not used here; use a noun of the field ({here}, not {listed})"
        elif here < listed:
            yield f"{name}: {here} of {listed} are left; write {here} into the list of exceptions"


def test_files_classes_and_functions_have_names_that_say_something(tree: Any) -> None:
    present: dict[str, Counter[str]] = {kind: Counter() for kind in NAMES}
    for path, text in tree.ending(".py"):
        if path.startswith(SOURCES):
            for kind, name in vague_names(path, text):
                present[kind][name] += 1
    messages = [m for kind in NAMES for m in differences(present[kind], NAMES[kind], "the name")]
    assert not messages, "\n" + "\n".join(messages)


def test_no_new_variable_has_a_name_that_says_nothing(tree: Any) -> None:
    present = {p: refused_variables(t) for p, t in tree.ending(".py") if p.startswith(SOURCES)}
    messages = list(differences(present, VARIABLES, "a variable of such a name"))
    assert not messages, "\n" + "\n".join(messages)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("class TurnsTold: ...", [("classes", "TurnsTold")]),
        ("class A:\n    def look(self): ...", [("functions", "look")]),
        ("def held_by(): ...\ndef _told(): ...", [("functions", "held_by")]),
        ("class Lookup: ...\ndef household(): ...\ndef metres(): ...", []),
    ],
)
def test_the_rule_sees_vague_classes_and_functions(
    text: str, expected: list[tuple[str, str]]
) -> None:
    assert list(vague_names("a/turns.py", text)) == expected


def test_the_rule_sees_vague_files_and_folders() -> None:
    assert list(vague_names("a/drives_told.py", "")) == [("files", "drives_told")]
    assert list(vague_names("a/dealing/__init__.py", "")) == [("files", "dealing")]
    assert list(vague_names("a/dealing/cards.py", "")) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one = 1\nfound: int = 2\n(told, x) = f()", 3),
        ("def f(one, *, told=1): ...\nlambda found: found", 3),
        ("[one for one in x]\nfor found in y: print(found)", 2),
        ("with f() as told: ...\ntry: ...\nexcept OSError as found: ...", 2),
        ("one_of = found.told(one)", 0),
    ],
)
def test_the_rule_counts_refused_variables(text: str, expected: int) -> None:
    assert refused_variables(text) == expected


def test_the_lists_only_become_shorter() -> None:
    assert list(differences({"a": 2, "b": 0}, {"a": 2}, "it")) == []
    assert len(list(differences({"a": 3}, {"a": 2}, "it"))) == 1
    assert len(list(differences({"a": 1}, {"a": 2, "c": 1}, "it"))) == 2
