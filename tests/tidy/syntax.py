"""Parses each source once for all rules that read its syntax, which stay in one process."""

from __future__ import annotations

import ast
from functools import cache


@cache
def syntax_of(text: str) -> ast.Module:
    """The tree of a source; no rule changes it."""
    return ast.parse(text)


@cache
def nodes_of(text: str) -> tuple[ast.AST, ...]:
    """Every node of a source, in the order of `ast.walk`."""
    return tuple(ast.walk(syntax_of(text)))


def forget() -> None:
    """Drop all trees: those of the whole checkout take some 400 MB."""
    syntax_of.cache_clear()
    nodes_of.cache_clear()
