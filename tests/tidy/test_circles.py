"""Files import each other in no circle, and a small file has two users or a reason."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tidy.file_graph import circles, import_graph, module_of

PACKAGE = "python/steelyard/"
FEWEST_LINES = 40
EXCEPTIONS = tomllib.loads((Path(__file__).parent / "exceptions/files.toml").read_text("utf-8"))
CIRCLES = [frozenset(circle) for circle in EXCEPTIONS["circles"]]
"""Circles that are still there. This list only becomes shorter, and its circles smaller."""
SMALL: dict[str, str] = EXCEPTIONS["small"]
"""Small files with one user or none, each with its reason. This list only becomes shorter."""


def new_circles(
    present: Iterable[frozenset[str]], known: Iterable[frozenset[str]]
) -> Iterator[str]:
    """What differs from the circles that are known, both as paths from the package's folder."""
    present, known = list(present), list(known)
    for circle in present:
        if circle not in known:
            files = ", ".join(sorted(circle))
            yield f"{files}: a circle of imports is not used here; use a direction"
    for circle in known:
        if circle not in present:
            yield f"{', '.join(sorted(circle))}: no such circle any more; take it off the list"


def small_files(
    sources: Mapping[str, str], graph: Mapping[str, set[str]], reasons: Mapping[str, str]
) -> Iterator[str]:
    """Files under 40 lines with fewer than two users, and reasons that no file needs."""
    users = Counter(used for uses in graph.values() for used in uses)
    lines = {path: len(text.splitlines()) for path, text in sources.items()}
    small = {
        path
        for path, count in lines.items()
        if count < FEWEST_LINES and users[path] < 2 and not path.endswith("__init__.py")
    }
    for path in sorted(small - {*reasons}):
        yield f"{path}: a file of {lines[path]} lines for one user is not used here; use its user"
    for path in sorted({*reasons} - small):
        yield f"{path}: needs no reason any more; take it off the list"


def _package(tree: Any) -> dict[str, str]:
    return {p: t for p, t in tree.ending(".py") if p.startswith(PACKAGE)}


def test_files_import_each_other_in_no_circle(tree: Any) -> None:
    sources = {p: t for p, t in _package(tree).items() if not p.endswith("__init__.py")}
    present = [
        frozenset(path.removeprefix(PACKAGE) for path in circle)
        for circle in circles(import_graph(sources))
    ]
    messages = list(new_circles(present, CIRCLES))
    assert not messages, "\n" + "\n".join(messages)


def test_a_small_file_has_two_users_or_a_reason(tree: Any) -> None:
    sources = {p.removeprefix(PACKAGE): t for p, t in _package(tree).items()}
    graph = {
        path.removeprefix(PACKAGE): {used.removeprefix(PACKAGE) for used in uses}
        for path, uses in import_graph(_package(tree)).items()
    }
    messages = list(small_files(sources, graph, SMALL))
    assert not messages, "\n" + "\n".join(messages)
    assert all(len(reason) > 20 for reason in SMALL.values())


def test_the_graph_sees_imports_wherever_they_are() -> None:
    sources = {
        "python/steelyard/a/b.py": "from steelyard.a.c import x",
        "python/steelyard/a/c.py": "def f():\n    from steelyard.a import d",
        "python/steelyard/a/d.py": "if TYPE_CHECKING:\n    from . import b",
        "python/steelyard/a/e.py": "import steelyard.a.b\nfrom ..f import g",
        "python/steelyard/f.py": "import os",
        "python/steelyard/a/__init__.py": "from .b import x\nfrom . import c",
    }
    graph = {
        module_of(p): {module_of(u) for u in uses} for p, uses in import_graph(sources).items()
    }
    assert graph == {
        "steelyard.a.b": {"steelyard.a.c"},
        "steelyard.a.c": {"steelyard.a.d"},
        "steelyard.a.d": {"steelyard.a.b"},
        "steelyard.a.e": {"steelyard.a.b", "steelyard.f"},
        "steelyard.f": set(),
        "steelyard.a": {"steelyard.a.b", "steelyard.a.c"},
    }
    (circle,) = circles(import_graph(sources))
    assert {module_of(path) for path in circle} == {f"steelyard.a.{name}" for name in "bcd"}


NODES = st.sampled_from("abcdefg")


@given(st.dictionaries(NODES, st.sets(NODES)))
def test_a_circle_is_what_each_of_its_files_reaches_and_is_reached_from(
    uses: dict[str, set[str]],
) -> None:
    graph = {node: uses.get(node, set()) - {node} for node in "abcdefg"}
    reach = {node: _reachable(graph, node) for node in graph}
    both = {n: frozenset(m for m in reach[n] if n in reach[m]) for n in graph}
    assert {*circles(graph)} == {circle for circle in both.values() if len(circle) > 1}


def _reachable(graph: Mapping[str, set[str]], start: str) -> set[str]:
    reached, todo = set[str](), [start]
    while todo:
        todo += [following for following in graph[todo.pop()] if following not in reached]
        reached |= {*todo}
    return reached


def test_the_rule_sees_new_circles_and_those_that_are_gone() -> None:
    circle, larger = frozenset({"a.py", "b.py"}), frozenset({"a.py", "b.py", "c.py"})
    assert list(new_circles([circle], [circle])) == []
    assert len(list(new_circles([circle], []))) == 1
    assert len(list(new_circles([], [circle]))) == 1
    assert len(list(new_circles([larger], [circle]))) == 2
    assert len(list(new_circles([circle], [larger]))) == 2


def test_the_rule_sees_small_files_and_reasons_without_need() -> None:
    long, short = "x\n" * 40, "x\n" * 39
    sources = {"one.py": short, "two.py": short, "long.py": long, "__init__.py": ""}
    graph = {"long.py": {"one.py", "two.py"}, "one.py": {"two.py"}, "two.py": set[str]()}
    (message,) = small_files(sources, graph, {})
    assert message.startswith("one.py: a file of 39 lines")
    assert list(small_files(sources, graph, {"one.py": "why"})) == []
    assert len(list(small_files(sources, graph, {"one.py": "", "two.py": "", "no.py": ""}))) == 2
