"""Groups statements that are the same apart from their values, by libpg_query's scanner."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.model.errors import UsageError
from steelyard.workloads.capturing.server_functions import is_of_server
from steelyard.workloads.reading.statements import (
    is_server_call,
    is_writing_call,
    names_server_call,
)

_LITERALS = {"ICONST", "FCONST", "SCONST", "BCONST", "XCONST", "USCONST"}
_PARAMETER = "PARAM"
_COMMENTS = {"C_COMMENT", "SQL_COMMENT"}
_OPERANDS = _LITERALS | {_PARAMETER, "IDENT", "UIDENT", "ASCII_41", "ASCII_93"}
"""Tokens after which a minus subtracts."""
_SEMICOLON, _MINUS, _NATIONAL = "ASCII_59", "ASCII_45", "NCHAR"
_ESCAPES, _UNICODE, _TEXT = "UESCAPE", "USCONST", "SCONST"
_DEEPEST = 4000
"""Levels of a tree, which is read by recursion, on the stack of the processor: UNION ALL fills
8 MiB between 5,000 and 20,000."""
_COMBINED = {"UNION", "INTERSECT", "EXCEPT", "JOIN"}
_CHAINED = {
    *("Op", "OPERATOR", "TYPECAST", "COLLATE", "AT", "IS", "ISNULL", "NOTNULL"),
    *("ASCII_37", "ASCII_42", "ASCII_43", "ASCII_45", "ASCII_47", "ASCII_94"),  # % * + - / ^
}
_UNCHAINED = {_SEMICOLON, "ASCII_44", "AND", "OR"}
"""Between members of a list, or of one level of a tree."""
_OPENING, _CLOSING = {"ASCII_40", "ASCII_91", "CASE"}, {"ASCII_41", "ASCII_93", "END_P"}
_LONG, _REMEMBERED, _REMEMBERED_LONG = 4096, 20_000, 64
"""Characters of a long text; how many of the others, and of these, are read once."""


@dataclass(frozen=True)
class SessionCall:
    """A call by which a query changes its session: of set_config, or of a lock that is its own."""

    setting: str | int = ""
    """Of set_config, or the number of the parameter that names it; empty: none, or a computed
    one."""
    local: str | int = ""
    """Likewise, whether it holds for its transaction alone."""
    locks: float = 0
    """Locks that it takes; below 0: gives back."""

    def is_lasting(self, parameters: Sequence[str | None]) -> bool:
        """Whether it holds for the statements that follow its transaction."""
        return _argument(self.local, parameters) not in _TRUE

    def name(self, parameters: Sequence[str | None]) -> str:
        """The setting; empty: none, or it is not known."""
        return _argument(self.setting, parameters)


def _argument(word: str | int, parameters: Sequence[str | None]) -> str:
    """In lower case, a parameter's by its value."""
    if isinstance(word, int):
        word = (parameters[word - 1] if word <= len(parameters) else None) or ""
    return word.strip().lower()


_TRUE = {"t", "tr", "tru", "true", "y", "ye", "yes", "on", "1"}
"""As boolin reads it."""


@dataclass(frozen=True)
class Shape:
    """A statement's text without its values: pieces between which they stand."""

    pieces: tuple[str, ...]
    numbers: tuple[int | None, ...]
    """Of each value between two pieces: the number of its parameter, or None: a literal."""
    fingerprint: str
    """By libpg_query: equal for statements of one kind, however many values a list holds."""
    writes: bool
    key: str
    """Equal for statements that differ in nothing but values, comments, blanks and case, which
    share a fingerprint then; lists of different length have different keys."""
    controls: bool = False
    """Whether it begins, ends or sets up a transaction, and does no work of its own."""
    savepoint: str | None = None
    to_server: bool = False
    """Whether it acts on the whole server, its files or another server: pg_reload_conf()."""
    calls: tuple[str, ...] = ()
    """Functions of a query that do not come with PostgreSQL: what they do is not known. A name that
    needs quotes is not said: it may hold anything."""
    permits_writes: bool = False
    """Whether it may let a transaction write where the session's may not: BEGIN READ WRITE."""
    session_calls: tuple[SessionCall, ...] = ()
    temporary: str | None = None
    """A table, view or sequence of its session that it makes, and cannot make again."""
    drops: tuple[str, ...] = ()
    """Tables, views and sequences."""


def require_pglast() -> None:
    """UsageError unless libpg_query is here."""
    try:
        import pglast  # noqa: F401
    except ImportError as error:
        raise UsageError(
            "cannot read statements: pglast is not installed",
            hint="pip install 'steelyard[capture]' brings it.",
        ) from error


def parsed_statements(text: str, scanned: Sequence[Any] = ()) -> tuple[Any, ...] | None:
    """The trees of a text's statements; None: it cannot be parsed, or a chain of operators in it is
    so long that the parser, which knows no bound, would end this process. `scanned`: its tokens."""
    from pglast import parse_sql
    from pglast.parser import ParseError, scan

    try:
        if len(text) > 2 * _DEEPEST and _levels(scanned or scan(text)) > _DEEPEST:
            return None
        return tuple(parse_sql(text))
    except (ParseError, UnicodeEncodeError):  # a mark in place of what was not read
        return None


@dataclass
class _Group:
    """What stands between two brackets, or in a whole text."""

    combined: int = 0
    chained: int = 0
    inner: int = 0
    """Levels of the deepest group since the last comma."""
    deepest: int = 0
    """Levels of a member that has ended."""

    @property
    def levels(self) -> int:
        return self.combined + max(self.deepest, self.chained + self.inner)

    def end_member(self) -> None:
        self.deepest = max(self.deepest, self.chained + self.inner)
        self.chained = self.inner = 0


def _levels(tokens: Sequence[Any]) -> int:
    """At most so many levels has a tree of operators and brackets."""
    groups = [_Group()]
    for name in (token.name for token in tokens):
        group = groups[-1]
        if name in _OPENING:
            groups.append(_Group())
        elif name in _CLOSING and len(groups) > 1:
            groups.pop()
            groups[-1].inner = max(groups[-1].inner, group.levels + 1)
        elif name in _UNCHAINED:
            group.end_member()
        elif name in _COMBINED:
            group.combined += 1
        elif name in _CHAINED:
            group.chained += 1
    return groups[0].levels


_Reading = tuple[Shape, tuple[str, ...]]


def shape_of(text: str) -> _Reading | None:
    """The shape of a statement, and its literals as they are written, a parameter's place empty.
    None: it cannot be parsed, or is more than one."""
    return (_of_short if len(text) < _LONG else _of_long)(text)


@functools.lru_cache(_REMEMBERED)
def _of_short(text: str) -> _Reading | None:
    return _parsed(text)


@functools.lru_cache(_REMEMBERED_LONG)
def _of_long(text: str) -> _Reading | None:
    return _parsed(text)


def _parsed(text: str) -> _Reading | None:
    from pglast.parser import ParseError, fingerprint, scan

    try:
        tokens = scan(text)
        parsed = parsed_statements(text, tokens)
        if parsed is None or len(parsed) != 1:
            return None
        mark = fingerprint(text)
    except (ParseError, UnicodeEncodeError):  # a mark in place of what was not read
        return None
    statement: Any = parsed[0].stmt
    controls = type(statement).__name__ in _CONTROLS
    pieces, numbers, values, key = _cut(text, tokens)
    to_server = _is_to_server(statement, text)
    writes, calls, session_calls = _effects(statement)
    shape = Shape(
        pieces, numbers, mark, to_server or writes, f"{mark} {key}",
        controls=controls, savepoint=getattr(statement, "savepoint_name", None),
        to_server=to_server, calls=calls, permits_writes=bool(_PERMITS_WRITES.search(text)),
        session_calls=session_calls, temporary=_temporary(statement), drops=_drops(statement),
    )  # fmt: skip
    return shape, values


_Pieces = tuple[tuple[str, ...], tuple[int | None, ...], tuple[str, ...], str]


def _cut(text: str, tokens: Sequence[Any]) -> _Pieces:
    """The pieces between values, the values' numbers and words, and all words but theirs."""
    pieces, numbers, values, key, at = [], list[int | None](), list[str](), list[str](), 0
    before: list[Any] = []
    for token in tokens:
        word = text[token.start : token.end + 1]
        if token.name in _COMMENTS:
            if word.startswith("/*+"):  # hints for the planner, which are no mere comments
                key.append(word)
            continue
        if token.name not in _LITERALS and token.name != _PARAMETER:
            if token.name == _SEMICOLON:
                continue
            key.append(word if word.startswith(('"', "U&", "u&")) else word.lower())
            before.append(token)
            continue
        if before and before[-1].name == _ESCAPES and token.name == _TEXT:
            # It says how the name or text before it is read, and is no value.
            before.append(token)
            key.append(word)
            if before[-3].name == _UNICODE:
                del key[-2:]
                values[-1] += f" UESCAPE {word}"
                at = token.end + 1
            continue
        start = token.start
        if token.name != _PARAMETER and _belongs(before, token):
            start = before[-1].start
            key.pop()
        pieces.append(text[at:start])
        at = token.end + 1
        numbers.append(int(word[1:]) if token.name == _PARAMETER else None)
        values.append("" if token.name == _PARAMETER else text[start:at])
        key.append(word if token.name == _PARAMETER else "?")
        before.append(token)
    pieces.append(_without_semicolons(text, at, tokens).rstrip())
    return tuple(pieces), tuple(numbers), tuple(values), " ".join(key)


def _without_semicolons(text: str, at: int, tokens: Sequence[Any]) -> str:
    """The text from a place on without the semicolons that end it, before comments too."""
    for token in reversed(tokens):
        if token.name == _SEMICOLON and token.start >= at:
            text = text[: token.start] + text[token.end + 1 :]
        elif token.name not in _COMMENTS:
            break
    return text[at:]


def _belongs(before: Sequence[Any], literal: Any) -> bool:
    """Whether the token before a literal is its sign, or the N of N'text'."""
    if not before:
        return False
    last = before[-1]
    if last.name == _NATIONAL:
        return bool(last.end + 1 == literal.start)
    if last.name != _MINUS or literal.name not in ("ICONST", "FCONST"):
        return False
    return (
        len(before) > 1
        and before[-2].name not in _OPERANDS
        and (before[-2].kind in ("NO_KEYWORD", "RESERVED_KEYWORD"))
    )


_CONTROLS = {"TransactionStmt", "VariableSetStmt", "ConstraintsSetStmt"}
_READS = {"SelectStmt", *_CONTROLS}
_WRITING = {
    "InsertStmt", "UpdateStmt", "DeleteStmt", "MergeStmt", "IntoClause", "LockingClause",
}  # fmt: skip
_OF_SERVER = {
    "AlterSystemStmt", "CheckPointStmt", "LoadStmt",
    "CreatedbStmt", "DropdbStmt", "AlterDatabaseStmt", "AlterDatabaseSetStmt",
    "AlterDatabaseRefreshCollStmt", "CreateTableSpaceStmt", "DropTableSpaceStmt",
    "AlterTableSpaceOptionsStmt", "CreateRoleStmt", "AlterRoleStmt", "AlterRoleSetStmt",
    "DropRoleStmt", "GrantRoleStmt", "ReassignOwnedStmt", "DropOwnedStmt",
    "CreateSubscriptionStmt", "AlterSubscriptionStmt", "DropSubscriptionStmt",
    "CreateFdwStmt", "AlterFdwStmt", "CreateForeignServerStmt", "AlterForeignServerStmt",
    "CreateUserMappingStmt", "AlterUserMappingStmt", "DropUserMappingStmt",
    "ImportForeignSchemaStmt",
}  # fmt: skip
"""Statements that act on more than a database, or on another server."""


_PERMITS_WRITES = re.compile(r"\bread\s+write\b|transaction_read_only", re.IGNORECASE)
_PLAIN_NAME = re.compile(r"[a-z_][a-z0-9_$]*")
_SESSION_LOCK = re.compile(r"pg_(?:try_)?advisory_(?P<un>un)?lock(?:_shared|(?P<all>_all))?")


def _effects(statement: Any) -> tuple[bool, tuple[str, ...], tuple[SessionCall, ...]]:
    """Whether it changes anything, as far as its text says; the functions that do not come with
    PostgreSQL, which may write too; and what it changes of its session."""
    if type(statement).__name__ not in _READS:
        return True, (), ()
    from pglast.visitors import Visitor

    writes, calls, session_calls = False, dict[str, None](), list[SessionCall]()

    class Effects(Visitor):
        def visit(self, ancestors: Any, node: Any) -> None:
            nonlocal writes
            name = type(node).__name__
            if name in _WRITING:
                writes = True
            elif name == "FuncCall":
                words = [word.sval for word in node.funcname]
                writes = writes or is_writing_call(words[-1])
                if words[-1] == "set_config":
                    setting, _, local = (*map(_constant, node.args or ()), "", "", "")[:3]
                    session_calls.append(SessionCall(setting, local))
                elif (lock := _SESSION_LOCK.fullmatch(words[-1])) is not None:
                    given_back = -math.inf if lock["all"] else -1
                    session_calls.append(SessionCall(locks=given_back if lock["un"] else 1))
                if not is_of_server(words[-2] if len(words) > 1 else None, words[-1]):
                    is_plain = all(map(_PLAIN_NAME.fullmatch, words))
                    calls[f"{'.'.join(words)}()" if is_plain else '"..."()'] = None

    Effects()(statement)
    return writes, tuple(calls), tuple(session_calls)


def _constant(node: Any) -> str | int:
    """The text of an argument, or the number of its parameter, casts aside; empty: neither."""
    while type(node).__name__ == "TypeCast":
        node = node.arg
    if type(node).__name__ == "ParamRef":
        return int(node.number)
    value: Any = node.val if type(node).__name__ == "A_Const" else None
    kind = type(value).__name__
    if kind == "Boolean":
        return "true" if value.boolval else "false"
    return str(value.sval) if kind == "String" else ""


_MADE = {"CreateStmt": "relation", "ViewStmt": "view", "CreateSeqStmt": "sequence"}


def _temporary(statement: Any) -> str | None:
    into = getattr(statement, "into", None) or getattr(statement, "intoClause", None)
    relation = getattr(statement, _MADE.get(type(statement).__name__, ""), None)
    on_commit = getattr(statement, "oncommit", None)
    if into is not None:
        relation, on_commit = into.rel, into.onCommit
    if relation is None or not (relation.relpersistence == "t" or relation.schemaname == "pg_temp"):
        return None
    is_repeatable = getattr(statement, "if_not_exists", False) or getattr(
        statement, "replace", False
    )
    is_gone = on_commit is not None and on_commit.name == "ONCOMMIT_DROP"
    return None if is_repeatable or is_gone else str(relation.relname)


def _drops(statement: Any) -> tuple[str, ...]:
    if type(statement).__name__ != "DropStmt" or statement.removeType.name not in _DROPPED:
        return ()
    return tuple(name[-1].sval for name in statement.objects)


_DROPPED = {"OBJECT_TABLE", "OBJECT_VIEW", "OBJECT_SEQUENCE"}


def _is_to_server(statement: Any, text: str) -> bool:
    """Whether it is such a command or calls such a function; a DO block: whether it names one."""
    name = type(statement).__name__
    if name in _OF_SERVER or (name == "RenameStmt" and _renames_of_server(statement)):
        return True
    if not names_server_call(text):  # Few do: the tree of every statement would take long.
        return False
    if name == "DoStmt":
        return True
    from pglast.visitors import Visitor

    calls = False

    class Calling(Visitor):
        def visit(self, ancestors: Any, node: Any) -> None:
            nonlocal calls
            if type(node).__name__ == "FuncCall":
                calls = calls or is_server_call(*(word.sval for word in node.funcname))

    Calling()(statement)
    return calls


def _renames_of_server(statement: Any) -> bool:
    return statement.renameType.name in ("OBJECT_DATABASE", "OBJECT_ROLE", "OBJECT_TABLESPACE")
