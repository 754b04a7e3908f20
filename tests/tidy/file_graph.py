"""Draws which file of the package imports which, lazy imports and those for types included."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from tidy.syntax import nodes_of

SOURCES = "python/"


def module_of(path: str) -> str:
    """The dotted name of a source: `python/steelyard/a/b.py` is `steelyard.a.b`."""
    name = path.removeprefix(SOURCES).removesuffix(".py").removesuffix("/__init__")
    return name.replace("/", ".")


def import_graph(sources: Mapping[str, str]) -> dict[str, set[str]]:
    """Each path with the paths that it imports, of sources by their path."""
    paths = {module_of(path): path for path in sources}
    return {
        path: {
            paths[module]
            for module in _imported(text, module_of(path), path.endswith("/__init__.py"), paths)
            if paths[module] != path
        }
        for path, text in sources.items()
    }


def _imported(text: str, own: str, is_package: bool, modules: Mapping[str, str]) -> Iterator[str]:
    for node in nodes_of(text):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom):
            base = _base(node, own, is_package)
            for alias in node.names:
                below = f"{base}.{alias.name}"
                if below in modules or base in modules:
                    yield below if below in modules else base


def _base(node: ast.ImportFrom, own: str, is_package: bool) -> str:
    """The dotted name after `from`, a relative one made whole."""
    if not node.level:
        return node.module or ""
    parts = own.split(".")
    up = node.level - is_package
    parents = parts[: len(parts) - up] if up else parts
    return ".".join([*parents, *([node.module] if node.module else [])])


def circles(graph: Mapping[str, set[str]]) -> list[frozenset[str]]:
    """The largest sets of files in which each reaches every other: Tarjan's components of two
    and more, without recursion (SIAM Journal on Computing 1, 1972)."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    open_nodes: list[str] = []
    components: list[frozenset[str]] = []
    for root in graph:
        calls = [] if root in order else [(root, iter(sorted(graph[root])))]
        while calls:
            node, rest = calls[-1]
            if node not in order:
                order[node] = lowest[node] = len(order)
                open_nodes.append(node)
            following = next((n for n in rest if n not in order or n in open_nodes), None)
            if following is None:
                calls.pop()
                if calls:
                    lowest[calls[-1][0]] = min(lowest[calls[-1][0]], lowest[node])
                if lowest[node] == order[node]:
                    start = open_nodes.index(node)
                    components.append(frozenset(open_nodes[start:]))
                    del open_nodes[start:]
            elif following in order:
                lowest[node] = min(lowest[node], order[following])
            else:
                calls.append((following, iter(sorted(graph[following]))))
    return [component for component in components if len(component) > 1]
