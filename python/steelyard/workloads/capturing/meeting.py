"""Finds the columns that a statement's parameters meet, in its parse tree (libpg_query's)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_OTHERS = {"SelectStmt", "SubLink", "TypeCast", "FuncCall"}
_OF_ARRAYS = {"AEXPR_OP_ANY", "AEXPR_OP_ALL"}


@dataclass(frozen=True)
class Met:
    """A column whose values a parameter is compared with or put into."""

    table: str | None  # None: whichever of the statement's tables has it
    column: str


@dataclass(frozen=True)
class Meeting:
    """What the parameters of a statement meet."""

    tables: tuple[str, ...]
    """Every table that it names, in their order."""
    columns: Mapping[int, Met | None]
    """Number of the parameter → its column; None: it counts rows (LIMIT, OFFSET)."""


def meeting(text: str) -> Meeting | None:
    """Of one statement; None: it cannot be parsed, or is several."""
    from pglast import parse_sql
    from pglast.parser import ParseError

    try:
        parsed = parse_sql(text)
    except ParseError:
        return None
    if len(parsed) != 1:
        return None
    finder = _Finder()
    finder.look(parsed[0].stmt)
    return Meeting(tuple(finder.aliases.values()), finder.found())


class _Finder:
    """Walks a tree; names of tables are known when it ends."""

    def __init__(self) -> None:
        self.aliases: dict[str, str] = {}
        self._met: dict[int, tuple[str | None, str] | None] = {}

    def found(self) -> dict[int, Met | None]:
        """The columns with their tables in place of aliases."""
        told = dict[int, Met | None]()
        for number, met in self._met.items():
            if met is None:
                told[number] = None
                continue
            alias, column = met
            table = self.aliases.get(alias, alias) if alias is not None else None
            told[number] = Met(table, column)
        return told

    def look(self, node: Any) -> None:
        """Into a node and everything beneath it."""
        kind = type(node).__name__
        if kind == "RangeVar":
            name = node.alias.aliasname if node.alias is not None else node.relname
            self.aliases.setdefault(name, node.relname)
        elif kind == "A_Expr":
            self._expression(node)
        elif kind == "InsertStmt":
            self._insert(node)
        elif kind == "UpdateStmt":
            self._assignments(node.relation.relname, node.targetList or ())
        elif kind == "SelectStmt":
            for place in (node.limitCount, node.limitOffset):
                for number in _parameters(place):
                    self._met.setdefault(number, None)
        for inner in _beneath(node):
            self.look(inner)

    def _expression(self, node: Any) -> None:
        if getattr(node.kind, "name", "") in _OF_ARRAYS:
            return
        for one, other in ((node.lexpr, node.rexpr), (node.rexpr, node.lexpr)):
            column = _column(one)
            if column is not None:
                for number in _parameters(other):
                    self._met.setdefault(number, column)

    def _insert(self, node: Any) -> None:
        table = node.relation.relname
        names = [target.name for target in node.cols or ()]
        rows = getattr(node.selectStmt, "valuesLists", None) or ()
        for row in rows:
            for name, value in zip(names, row, strict=False):
                for number in _parameters(value):
                    self._met.setdefault(number, (table, name))

    def _assignments(self, table: str, targets: Any) -> None:
        for target in targets:
            for number in _parameters(target.val):
                self._met.setdefault(number, (table, target.name))


def _column(node: Any) -> tuple[str | None, str] | None:
    """The column that a node is, casts aside."""
    while type(node).__name__ == "TypeCast":
        node = node.arg
    if type(node).__name__ != "ColumnRef":
        return None
    names = [getattr(field, "sval", None) for field in node.fields]
    if any(name is None for name in names):  # a star
        return None
    return (names[-2] if len(names) > 1 else None, str(names[-1]))


def _parameters(node: Any) -> Iterator[int]:
    """Numbers of the parameters in a node: not in a query beneath it, nor in what makes another
    type of them, as a cast or a function does."""
    if node is None or type(node).__name__ in _OTHERS:
        return
    if type(node).__name__ == "ParamRef":
        yield node.number
    for inner in _beneath(node):
        yield from _parameters(inner)


def _beneath(node: Any) -> Iterator[Any]:
    if isinstance(node, tuple | list):
        yield from (one for one in node if one is not None)
        return
    for name in getattr(node, "__slots__", ()) or ():
        value = getattr(node, name, None)
        if isinstance(value, tuple | list) or hasattr(value, "__slots__"):
            yield value
