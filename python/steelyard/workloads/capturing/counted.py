"""Makes a mix of statements that a server only counted: their values are drawn from the planner's
statistics of the columns that they meet."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from steelyard.workloads.capturing.ledger import Outcome
from steelyard.workloads.capturing.meeting import Meeting, meeting
from steelyard.workloads.capturing.mix import MOST_VALUES, Kind, Mix
from steelyard.workloads.capturing.shapes import shape_of
from steelyard.workloads.capturing.transactions import SESSION, first_word

ROWS = 1000
"""Drawn for each kind."""
_LIMIT = "10"


class Counted(Protocol):
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
    counted: Sequence[Counted],
    statistics: Callable[[Sequence[str]], Sequence[Known]],
    seed: int = 0,
) -> Mix:
    """A kind for each statement; `statistics`: of the columns of some tables."""
    read = [(one, meeting(one.text)) for one in counted]
    tables = sorted({name for _, met in read if met is not None for name in met.tables})
    columns = {(one.table, one.column): _Column(one) for one in statistics(tables)}
    mix, draw = Mix([]), random.Random(seed)
    for one, met in read:
        mix.ledger.read += one.calls
        kind = _kind(one, met, columns, draw)
        if isinstance(kind, Outcome):
            mix.ledger.enter(kind, one.seconds, one.calls)
        else:
            mix.kinds.append(kind)
    return mix


def _kind(
    one: Counted,
    met: Meeting | None,
    columns: Mapping[tuple[str, str], _Column],
    draw: random.Random,
) -> Kind | Outcome:
    if first_word(one.text) in SESSION or first_word(one.text) in ("begin", "commit", "rollback"):
        return Outcome.NO_SESSION
    shape = shape_of(one.text)
    if met is None or shape is None:
        return Outcome.SEVERAL
    numbers = shape[0].numbers
    if numbers.count(None) + len({*numbers} - {None}) > MOST_VALUES:
        return Outcome.MANY_VALUES
    drawn: dict[int, Callable[[], str]] = {}
    for number in (n for n in shape[0].numbers if n is not None):
        if number not in met.columns:
            return Outcome.NO_COLUMN
        column = met.columns[number]
        if column is None:
            drawn[number] = lambda: _LIMIT
            continue
        known = _of(met, column.table, column.column, columns)
        if known is None or not (known.known.common or known.known.bounds):
            return Outcome.NO_STATISTICS
        drawn[number] = lambda known=known: known.draw(draw)  # type: ignore[misc]
    kind = Kind((shape[0],), count=one.calls, seconds=one.seconds)
    kind.times_s.append(one.seconds / one.calls)
    kind.protocols["extended"] += one.calls
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
    met: Meeting, table: str | None, column: str, columns: Mapping[tuple[str, str], _Column]
) -> _Column | None:
    """The column's values; without a table's name, of the first of the statement's that has it."""
    named = [table] if table is not None else list(met.tables)
    return next((columns[one, column] for one in named if (one, column) in columns), None)
