"""Finds the columns that a statement's parameters meet, in its parse tree (libpg_query's).

Makes a mix of statements that a server only counted: their values are drawn from the planner's
statistics of the columns that they meet.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from steelyard.workloads.capturing.ledger import StatementOutcome
from steelyard.workloads.capturing.mix import MOST_VALUES, Mix, TransactionKind
from steelyard.workloads.capturing.shapes import shape_of
from steelyard.workloads.capturing.transactions import SESSION, first_word

_OTHERS = {"SelectStmt", "SubLink", "TypeCast", "FuncCall"}
_OF_ARRAYS = {"AEXPR_OP_ANY", "AEXPR_OP_ALL"}


@dataclass(frozen=True)
class ParameterColumn:
    """A column whose values a parameter is compared with or put into."""

    table: str | None  # None: whichever of the statement's tables has it
    column: str


@dataclass(frozen=True)
class ParameterColumns:
    """What the parameters of a statement meet."""

    tables: tuple[str, ...]
    """Every table that it names, in their order."""
    columns: Mapping[int, ParameterColumn | None]
    """Number of the parameter → its column; None: it counts rows (LIMIT, OFFSET)."""


def parameter_columns(text: str) -> ParameterColumns | None:
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
    return ParameterColumns(tuple(finder.aliases.values()), finder.found())


class _Finder:
    """Walks a tree; names of tables are known when it ends."""

    def __init__(self) -> None:
        self.aliases: dict[str, str] = {}
        self._met: dict[int, tuple[str | None, str] | None] = {}

    def found(self) -> dict[int, ParameterColumn | None]:
        """The columns with their tables in place of aliases."""
        columns = dict[int, ParameterColumn | None]()
        for number, reference in self._met.items():
            if reference is None:
                columns[number] = None
                continue
            alias, column = reference
            table = self.aliases.get(alias, alias) if alias is not None else None
            columns[number] = ParameterColumn(table, column)
        return columns

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
            for clause in (node.limitCount, node.limitOffset):
                for number in _parameters(clause):
                    self._met.setdefault(number, None)
        for inner in _beneath(node):
            self.look(inner)

    def _expression(self, node: Any) -> None:
        if getattr(node.kind, "name", "") in _OF_ARRAYS:
            return
        for side, other in ((node.lexpr, node.rexpr), (node.rexpr, node.lexpr)):
            column = _column(side)
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
        yield from (child for child in node if child is not None)
        return
    for name in getattr(node, "__slots__", ()) or ():
        value = getattr(node, name, None)
        if isinstance(value, tuple | list) or hasattr(value, "__slots__"):
            yield value


ROWS = 1000
"""Drawn for each kind."""
_LIMIT = "10"


class CalledStatement(Protocol):
    """A statement without its values, and how often it was called."""

    @property
    def text(self) -> str: ...
    @property
    def calls(self) -> int: ...
    @property
    def seconds(self) -> float: ...


class Known(Protocol):
    """The planner's statistics of a column."""

    @property
    def table(self) -> str: ...
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


def mix_of_counted(
    counted: Sequence[CalledStatement],
    statistics: Callable[[Sequence[str]], Sequence[Known]],
    seed: int = 0,
) -> Mix:
    """A kind for each statement; `statistics`: of the columns of some tables."""
    read = [(statement, parameter_columns(statement.text)) for statement in counted]
    tables = sorted(
        {name for _, parameters in read if parameters is not None for name in parameters.tables}
    )
    columns = {
        (statistic.table, statistic.column): _Column(statistic) for statistic in statistics(tables)
    }
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
    columns: Mapping[tuple[str, str], _Column],
    draw: random.Random,
) -> TransactionKind | StatementOutcome:
    if first_word(statement.text) in SESSION or first_word(statement.text) in (
        "begin",
        "commit",
        "rollback",
    ):
        return StatementOutcome.NO_SESSION
    shape = shape_of(statement.text)
    if parameters is None or shape is None:
        return StatementOutcome.SEVERAL
    numbers = shape[0].numbers
    if numbers.count(None) + len({*numbers} - {None}) > MOST_VALUES:
        return StatementOutcome.MANY_VALUES
    drawn: dict[int, Callable[[], str]] = {}
    for number in (n for n in shape[0].numbers if n is not None):
        if number not in parameters.columns:
            return StatementOutcome.NO_COLUMN
        column = parameters.columns[number]
        if column is None:
            drawn[number] = lambda: _LIMIT
            continue
        distribution = _of(parameters, column.table, column.column, columns)
        if distribution is None or not (distribution.known.common or distribution.known.bounds):
            return StatementOutcome.NO_STATISTICS
        drawn[number] = partial(distribution.draw, draw)
    kind = TransactionKind((shape[0],), count=statement.calls, seconds=statement.seconds)
    kind.times_s.append(statement.seconds / statement.calls)
    kind.protocols["extended"] += statement.calls
    for _ in range(ROWS if drawn else 1):
        values = {number: draw_one() for number, draw_one in drawn.items()}
        kind.rows.append(
            tuple(
                literal if number is None else values[number]
                for number, literal in zip(shape[0].numbers, shape[1], strict=True)
            )
        )
    return kind


def _of(
    parameters: ParameterColumns,
    table: str | None,
    column: str,
    columns: Mapping[tuple[str, str], _Column],
) -> _Column | None:
    """The column's values; without a table's name, of the first of the statement's that has it."""
    tables = [table] if table is not None else list(parameters.tables)
    return next((columns[name, column] for name in tables if (name, column) in columns), None)
