"""Replaces the names of local variables by their places: what a variable is called does not count.

A function, a lambda and a comprehension are scopes (Python's reference, section 4.2). What one of
them binds gets a name of the scope and of the order in which its names appear there: `_1_0`. The
parameters of functions keep theirs, since a call may give them by name; so do functions, classes,
imports, attributes, and what is declared global or nonlocal.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass
class _Scope:
    """The names that a scope binds, and what each is called instead; itself where that is kept."""

    number: int
    names: dict[str, str] = field(default_factory=dict)
    is_class: bool = False
    _count: int = 0

    def bind(self, name: str, *, keep: bool = False) -> None:
        """The first binding of a name says whether it is kept."""
        if name not in self.names:
            self.names[name] = name if keep else f"_{self.number}_{self._count}"
            self._count += not keep


def without_local_names(tree: ast.Module) -> ast.Module:
    """The same tree, changed in place: each of its statements by itself."""
    for statement in tree.body:
        _Renamer().visit(statement)
    return tree


class _Renamer(ast.NodeVisitor):
    def __init__(self) -> None:
        self._scopes: list[_Scope] = []
        self._count = 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._function(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for outer in (*node.decorator_list, *node.bases, *node.keywords):
            self.visit(outer)
        self._within(_Scope(0, is_class=True), node.body)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        for default in (*node.args.defaults, *filter(None, node.args.kw_defaults)):
            self.visit(default)
        scope = self._new_scope()
        for parameter in _parameters(node.args):
            scope.bind(parameter.arg)
            parameter.arg = scope.names[parameter.arg]
        for bound in _walrus(node.body):
            scope.bind(bound.id)
        self._within(scope, [node.body])

    def visit_ListComp(self, node: ast.ListComp) -> None:
        self._comprehension(node)

    def visit_SetComp(self, node: ast.SetComp) -> None:
        self._comprehension(node)

    def visit_DictComp(self, node: ast.DictComp) -> None:
        self._comprehension(node)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> None:
        self._comprehension(node)

    def visit_Name(self, node: ast.Name) -> None:
        node.id = self._name(node.id)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name is not None:
            node.name = self._name(node.name)
        self.generic_visit(node)

    def visit_MatchAs(self, node: ast.MatchAs) -> None:
        if node.name is not None:
            node.name = self._name(node.name)
        self.generic_visit(node)

    def visit_MatchStar(self, node: ast.MatchStar) -> None:
        if node.name is not None:
            node.name = self._name(node.name)

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        if node.rest is not None:
            node.rest = self._name(node.rest)
        self.generic_visit(node)

    def _function(self, node: _Function) -> None:
        arguments = node.args
        annotations = [parameter.annotation for parameter in _parameters(arguments)]
        for outer in (
            *node.decorator_list,
            *arguments.defaults,
            *arguments.kw_defaults,
            *annotations,
            node.returns,
        ):
            if outer is not None:
                self.visit(outer)
        scope = self._new_scope()
        for parameter in _parameters(arguments):
            scope.bind(parameter.arg, keep=True)
        for name, keep in _bindings(node.body):
            scope.bind(name, keep=keep)
        self._within(scope, node.body)

    def _comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
    ) -> None:
        self.visit(node.generators[0].iter)  # of the scope around it
        scope = self._new_scope()
        for generator in node.generators:
            for target in ast.walk(generator.target):
                if isinstance(target, ast.Name) and isinstance(target.ctx, ast.Store):
                    scope.bind(target.id)
        inner: list[ast.AST] = []
        for place, generator in enumerate(node.generators):
            inner += [generator.target, *generator.ifs]
            inner += [generator.iter] if place else []
        inner += [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        self._within(scope, inner)

    def _new_scope(self) -> _Scope:
        self._count += 1
        return _Scope(self._count)

    def _within(self, scope: _Scope, nodes: Sequence[ast.AST]) -> None:
        self._scopes.append(scope)
        for node in nodes:
            self.visit(node)
        self._scopes.pop()

    def _name(self, name: str) -> str:
        for scope in reversed(self._scopes):
            if not scope.is_class and name in scope.names:
                return scope.names[name]
        return name


def _parameters(arguments: ast.arguments) -> Iterator[ast.arg]:
    yield from (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    yield from filter(None, (arguments.vararg, arguments.kwarg))


def _bindings(body: list[ast.stmt]) -> Iterator[tuple[str, bool]]:
    """(name, whether it is kept) of what a function's own statements bind, those declared to be of
    another scope first."""
    nodes = [node for statement in body for node in _own(statement)]
    for node in nodes:
        if isinstance(node, ast.Global | ast.Nonlocal):
            yield from ((name, True) for name in node.names)
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            yield node.id, False
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            yield node.name, False
        elif isinstance(node, ast.MatchMapping) and node.rest:
            yield node.rest, False
        elif isinstance(node, _Function | ast.ClassDef):
            yield node.name, True
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                yield (alias.asname or alias.name).partition(".")[0], True


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """The node and what is within it, scopes of their own left out but for what they bind here."""
    yield node
    if isinstance(node, _Function | ast.ClassDef | ast.Lambda):
        return
    if isinstance(node, _COMPREHENSIONS):
        yield from _walrus(node)
        return
    for child in ast.iter_child_nodes(node):
        yield from _own(child)


def _walrus(node: ast.AST) -> Iterator[ast.Name]:
    """What `:=` binds beyond a comprehension."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.NamedExpr):
            yield inner.target
