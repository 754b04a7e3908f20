"""Groups statements that are the same apart from their values, by libpg_query's scanner."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from steelyard.model.errors import UsageError

_LITERALS = {"ICONST", "FCONST", "SCONST", "BCONST", "XCONST", "USCONST"}
_PARAMETER = "PARAM"
_REMEMBERED = 20_000


@dataclass(frozen=True)
class Shape:
    """A statement's text without its values: pieces between which they stand."""

    pieces: tuple[str, ...]
    numbers: tuple[int | None, ...]
    """Of each value between two pieces: the number of its parameter, or None: a literal."""
    fingerprint: str
    """By libpg_query: equal for statements of one kind, however many values a list holds."""
    writes: bool

    def text(self, names: tuple[str, ...]) -> str:
        """The statement with these words in place of its values."""
        woven = [self.pieces[0]]
        for name, piece in zip(names, self.pieces[1:], strict=True):
            woven += [name, piece]
        return "".join(woven)


def require_pglast() -> None:
    """UsageError unless libpg_query is here."""
    try:
        import pglast  # noqa: F401
    except ImportError as error:
        raise UsageError(
            "cannot read statements: pglast is not installed",
            hint="pip install 'steelyard[capture]' brings it.",
        ) from error


@functools.lru_cache(_REMEMBERED)
def shape_of(text: str) -> tuple[Shape, tuple[str, ...]] | None:
    """The shape of a statement, and its literals as they are written, a parameter's place empty.
    None: it cannot be parsed, or is more than one."""
    from pglast import parse_sql
    from pglast.parser import ParseError, fingerprint, scan

    try:
        parsed = parse_sql(text)
        if len(parsed) != 1:
            return None
        mark = fingerprint(text)
        tokens = scan(text)
    except ParseError:
        return None
    pieces, numbers, values, at = [], list[int | None](), list[str](), 0
    for token in tokens:
        if token.name not in _LITERALS and token.name != _PARAMETER:
            continue
        word = text[token.start : token.end + 1]
        pieces.append(text[at : token.start])
        at = token.end + 1
        if token.name == _PARAMETER:
            numbers.append(int(word[1:]))
            values.append("")
        else:
            numbers.append(None)
            values.append(word)
    pieces.append(text[at:].rstrip().rstrip(";"))
    shape = Shape(tuple(pieces), tuple(numbers), mark, _writes(parsed[0].stmt))
    return shape, tuple(values)


_READS = {"SelectStmt", "TransactionStmt", "VariableSetStmt"}
_WRITING = {
    "InsertStmt", "UpdateStmt", "DeleteStmt", "MergeStmt", "IntoClause", "LockingClause",
}  # fmt: skip
_WRITING_CALLS = {"nextval", "setval", "pg_advisory_lock", "pg_advisory_xact_lock", "lo_create"}


def _writes(statement: Any) -> bool:
    """Whether it changes anything, as far as its text says: a function that writes is not seen."""
    if type(statement).__name__ not in _READS:
        return True
    from pglast.visitors import Visitor

    found = False

    class Writing(Visitor):
        def visit(self, ancestors: Any, node: Any) -> None:
            nonlocal found
            name = type(node).__name__
            if name in _WRITING:
                found = True
            elif name == "FuncCall":
                found = found or node.funcname[-1].sval in _WRITING_CALLS

    Writing()(statement)
    return found
