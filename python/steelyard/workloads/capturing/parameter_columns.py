"""Finds the columns that a statement's parameters meet, in its parse tree (libpg_query's).

Makes a mix of statements that a server only counted: their values are drawn from the planner's
statistics of the columns that they meet.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any, Protocol

from steelyard.workloads.capturing.ledger import StatementOutcome
from steelyard.workloads.capturing.mix import MOST_VALUES, Mix, TransactionKind
from steelyard.workloads.capturing.shapes import Shape, parsed_statements, shape_of
from steelyard.workloads.capturing.transactions import SESSION, first_word
from steelyard.workloads.capturing.workers import is_of_node

_COMPARISONS = {"=", "<>", "!=", "<", ">", "<=", ">="}
_COMPARING = {
    "AEXPR_DISTINCT", "AEXPR_NOT_DISTINCT", "AEXPR_NULLIF", "AEXPR_IN",
    "AEXPR_BETWEEN", "AEXPR_NOT_BETWEEN", "AEXPR_BETWEEN_SYM", "AEXPR_NOT_BETWEEN_SYM",
}  # fmt: skip
_LIST = re.compile(r"/\*\s*,\s*\.\.\.\s*\*/")
"""What PostgreSQL 18 puts in place of a list's other values (squashed constants)."""
_QUERIES = {"SelectStmt", "InsertStmt", "UpdateStmt", "DeleteStmt", "MergeStmt"}
"""Each names tables of its own, which a name in it means before those of the queries around it."""
TableName = tuple[str | None, str]
"""Schema, where it is said, and name."""


@dataclass(frozen=True)
class ParameterColumn:
    """A column whose values a parameter is compared with or put into."""

    table: str | None  # None: whichever of the tables that it may mean has it
    column: str
    schema: str | None = None  # None: it is not said
    tables: tuple[TableName, ...] = field(default=(), compare=False)
    """Of the query in which it stands, then of those around it."""


@dataclass(frozen=True)
class ParameterColumns:
    """What the parameters of a statement meet."""

    tables: tuple[TableName, ...]
    """Every table that it names, in their order."""
    columns: Mapping[int, ParameterColumn | None]
    """Number of the parameter → its column; None: it is the most rows that the statement returns
    (LIMIT without OFFSET). One that meets neither is not there."""


def parameter_columns(text: str) -> ParameterColumns | None:
    """Of one statement; None: it cannot be parsed, or is several."""
    parsed = parsed_statements(text)
    if parsed is None or len(parsed) != 1:
        return None
    finder = _Finder()
    finder.visit(parsed[0].stmt)
    finder.limit(parsed[0].stmt)
    return ParameterColumns(tuple(dict.fromkeys(finder.tables)), finder.columns)


_Reference = tuple[str | None, str | None, str]
"""Schema and table or alias, where they are said, and column."""


_END_OF_QUERY = object()


class _Finder:
    """Walks a tree."""

    def __init__(self) -> None:
        self.tables: list[TableName] = []
        self.columns: dict[int, ParameterColumn | None] = {}
        self._scopes: list[dict[str, TableName]] = []
        """Of the queries around a node, the innermost last, what they call their tables."""

    def visit(self, node: Any) -> None:
        """Into a node and everything beneath it, however deep."""
        waiting = [node]
        while waiting:
            inner = waiting.pop()
            if inner is _END_OF_QUERY:
                self._scopes.pop()
                continue
            kind = type(inner).__name__
            if kind in _QUERIES:
                waiting.append(_END_OF_QUERY)
                self._scopes.append({})
                for table in _own_tables(inner):  # FOR UPDATE OF names one again, by its alias
                    self._scopes[-1].setdefault(_name_in(table), _table(table))
            if kind == "RangeVar":
                self.tables.append(_table(inner))
            elif kind == "A_Expr":
                self._expression(inner)
            elif kind == "InsertStmt":
                self._insert(inner)
            elif kind == "UpdateStmt":
                self._assignments(inner.relation, inner.targetList or ())
            waiting.extend(_beneath(inner))

    def _refer(self, value: Any, reference: _Reference) -> None:
        """The parameters that are a value meet a column."""
        schema, table, column = reference
        innermost_first = self._scopes[::-1]
        if table is not None and schema is None:
            named = (scope[table] for scope in innermost_first if table in scope)
            schema, table = next(named, (None, table))
        tables = tuple(own for scope in innermost_first for own in scope.values())
        for number in _parameters(value):
            self.columns.setdefault(number, ParameterColumn(table, column, schema, tables))

    def limit(self, statement: Any) -> None:
        """Of the whole statement; those within it, and OFFSET, count rows that are not counted."""
        if type(statement).__name__ != "SelectStmt" or statement.limitOffset is not None:
            return
        if statement.limitOption.name == "LIMIT_OPTION_COUNT":
            for number in _parameters(_uncast(statement.limitCount)):
                self.columns.setdefault(number, None)

    def _expression(self, node: Any) -> None:
        kind, operator = getattr(node.kind, "name", ""), node.name[-1].sval
        if kind not in _COMPARING and not (kind == "AEXPR_OP" and operator in _COMPARISONS):
            return  # What is added to a column, or matched with it, is no value of it.
        for side, other in ((node.lexpr, node.rexpr), (node.rexpr, node.lexpr)):
            column = _column(side)
            if column is not None:
                self._refer(other, column)

    def _insert(self, node: Any) -> None:
        table = _name_in(node.relation)
        names = [target.name for target in node.cols or ()]
        rows = getattr(node.selectStmt, "valuesLists", None) or ()
        for row in rows:
            for name, value in zip(names, row, strict=False):
                self._refer(value, (None, table, name))

    def _assignments(self, relation: Any, targets: Any) -> None:
        for target in targets:
            value = target.val
            if type(value).__name__ == "MultiAssignRef":  # (a, b) = (1, 2)
                values = getattr(value.source, "args", None) or ()
                value = values[value.colno - 1] if value.colno <= len(values) else None
            self._refer(value, (None, _name_in(relation), target.name))


def _own_tables(query: Any) -> Iterator[Any]:
    """The tables that a query names, but not those of queries within it."""
    waiting = _beneath(query)
    while waiting:
        inner = waiting.pop()
        name = type(inner).__name__
        if name == "RangeVar":
            yield inner
        elif name not in _QUERIES:
            waiting.extend(_beneath(inner))


def _table(relation: Any) -> TableName:
    return relation.schemaname, relation.relname


def _name_in(relation: Any) -> str:
    """By which a statement refers to a table."""
    return str(relation.alias.aliasname if relation.alias is not None else relation.relname)


def _uncast(node: Any) -> Any:
    while type(node).__name__ == "TypeCast":
        node = node.arg
    return node


def _column(node: Any) -> _Reference | None:
    """The column that a node is, casts aside."""
    node = _uncast(node)
    if type(node).__name__ != "ColumnRef":
        return None
    names = [getattr(field, "sval", None) for field in node.fields]
    if any(name is None for name in names):  # a star
        return None
    schema, table, column = (None, None, *names)[-3:]
    return (schema, table, str(column))


def _parameters(node: Any) -> Iterator[int]:
    """Numbers of the parameters that are the value of a node, or one of a few that it may have: not
    those from which it is computed, or of another type."""
    waiting = [node]
    while waiting:
        inner = waiting.pop()
        name = type(inner).__name__
        if name == "ParamRef":
            yield inner.number
        elif isinstance(inner, tuple | list):
            waiting.extend(reversed(inner))
        elif name in ("CoalesceExpr", "MinMaxExpr"):
            waiting.extend(reversed(inner.args))
        elif name == "CaseExpr":
            waiting.append([*(when.result for when in inner.args), inner.defresult])


def _beneath(node: Any) -> list[Any]:
    """Lists and nodes directly beneath a node, the last first."""
    if not isinstance(node, tuple | list):
        node = [getattr(node, name, None) for name in getattr(node, "__slots__", ()) or ()]
    return [v for v in reversed(node) if isinstance(v, tuple | list) or hasattr(v, "__slots__")]


ROWS = 1000
"""Drawn for each kind."""


class CalledStatement(Protocol):
    """A statement without its values, and how often it was called."""

    @property
    def text(self) -> str:
        """Empty: it is not known."""

    @property
    def calls(self) -> int: ...
    @property
    def seconds(self) -> float: ...
    @property
    def rows(self) -> int: ...


class Known(Protocol):
    """The planner's statistics of a column."""

    @property
    def schema(self) -> str: ...
    @property
    def table(self) -> str: ...
    @property
    def unqualified(self) -> bool: ...
    @property
    def column(self) -> str: ...
    @property
    def null_share(self) -> float: ...
    @property
    def common(self) -> Sequence[str]: ...
    @property
    def common_shares(self) -> Sequence[float]: ...
    @property
    def bounds(self) -> Sequence[str]: ...


@dataclass(frozen=True)
class _Column:
    """Values of a column as ANALYZE saw them."""

    known: Known

    def draw(self, random_: random.Random) -> str:
        """A common value by its share, else one between which as many rows lie."""
        point = random_.random() * (1 - self.known.null_share or 1.0)
        for value, share in zip(self.known.common, self.known.common_shares, strict=False):
            point -= share
            if point < 0:
                return value
        return random_.choice(self.known.bounds or self.known.common)


_Columns = Mapping[tuple[str | None, str, str], _Column]
"""By schema, table and column; without a schema: of the table that its name alone means."""


def mix_of_counted(
    counted: Sequence[CalledStatement],
    statistics: Callable[[Sequence[str]], Sequence[Known]],
    seed: int = 0,
) -> Mix:
    """A kind for each statement; `statistics`: of the columns of tables of some names, where
    several are of one column the last counts."""
    read = [(statement, parameter_columns(statement.text)) for statement in counted]
    tables = sorted(
        {name for _, parameters in read if parameters is not None for _, name in parameters.tables}
    )
    columns = dict[tuple[str | None, str, str], _Column]()
    for known in statistics(tables):
        columns[known.schema, known.table, known.column] = _Column(known)
        if known.unqualified:
            columns[None, known.table, known.column] = _Column(known)
    mix, draw = Mix([]), random.Random(seed)
    for statement, parameters in read:
        mix.ledger.read += statement.calls
        kind = _kind(statement, parameters, columns, draw)
        if isinstance(kind, StatementOutcome):
            mix.ledger.enter(kind, statement.seconds, statement.calls)
        else:
            mix.kinds.append(kind)
    return mix


def _kind(
    statement: CalledStatement,
    parameters: ParameterColumns | None,
    columns: _Columns,
    draw: random.Random,
) -> TransactionKind | StatementOutcome:
    if not statement.text:
        return StatementOutcome.HIDDEN
    if first_word(statement.text) in SESSION | _TRANSACTIONAL:
        return StatementOutcome.NO_SESSION
    shape = shape_of(statement.text)
    if parameters is None or shape is None:
        return StatementOutcome.SEVERAL
    if (why := _not_counted(statement.text, shape[0])) is not None:
        return why
    drawn = _draws(statement, shape[0], parameters, columns, draw)
    if isinstance(drawn, StatementOutcome):
        return drawn
    kind = TransactionKind((shape[0],), count=statement.calls, seconds=statement.seconds)
    kind.times_s.append(statement.seconds / statement.calls)
    for _ in range(ROWS if drawn else 1):
        values = {number: draw_one() for number, draw_one in drawn.items()}
        kind.rows.append(
            tuple(
                literal if number is None else values[number]
                for number, literal in zip(shape[0].numbers, shape[1], strict=True)
            )
        )
    return kind


_TRANSACTIONAL = {"begin", "start", "commit", "end", "rollback", "abort", "savepoint", "release"}
"""By their words: names within them are parameters, which cannot be parsed."""


def _not_counted(text: str, shape: Shape) -> StatementOutcome | None:
    """Why a statement's text does not say what it did."""
    if shape.controls or shape.session_calls:
        return StatementOutcome.NO_SESSION
    if is_of_node("", text):
        return StatementOutcome.NODES
    if shape.to_server:
        return StatementOutcome.SERVER
    numbers = shape.numbers
    if _LIST.search(text) and _has_short_list(text):
        return StatementOutcome.LIST_LENGTH
    if numbers.count(None) + len({*numbers} - {None}) > MOST_VALUES:
        return StatementOutcome.MANY_VALUES
    return None


def _has_short_list(text: str) -> bool:
    """Whether a parameter stands for a list: such a comment elsewhere is the application's own."""
    from pglast.parser import scan

    tokens = scan(text)
    return any(
        first.name == "PARAM" and _LIST.fullmatch(text[second.start : second.end + 1])
        for first, second in pairwise(tokens)
    )


def _draws(
    statement: CalledStatement,
    shape: Shape,
    parameters: ParameterColumns,
    columns: _Columns,
    draw: random.Random,
) -> dict[int, Callable[[], str]] | StatementOutcome:
    """What draws each parameter's values, or why one has none."""
    # As many rows as a call returned come back, if never more than so many were there.
    limit = str(max(1, math.ceil(statement.rows / statement.calls)))
    drawn: dict[int, Callable[[], str]] = {}
    for number in (n for n in shape.numbers if n is not None):
        if number not in parameters.columns:
            return StatementOutcome.NO_COLUMN
        column = parameters.columns[number]
        if column is None:
            drawn[number] = lambda: limit
            continue
        distribution = _of(parameters, column, columns)
        if distribution is None or not (distribution.known.common or distribution.known.bounds):
            return StatementOutcome.NO_STATISTICS
        drawn[number] = partial(distribution.draw, draw)
    return drawn


def _of(
    parameters: ParameterColumns, reference: ParameterColumn, columns: _Columns
) -> _Column | None:
    """The column's values; without a table's name, of the first that has it of those that it may
    mean, or of the statement's: a column of a query in FROM or WITH is one of its tables'."""
    named = None if reference.table is None else (reference.schema, reference.table)
    tables = (*reference.tables, *parameters.tables) if named is None else (named,)
    keys = ((*name, reference.column) for name in tables)
    return next((columns[key] for key in keys if key in columns), None)
