"""Finds the roles of a table's columns: arm, order, block, clients, or a measured number.

By their headings and by what they hold; `--column ROLE=NAME` overrides.

A column called "time" holds timestamps or durations. Taken for the other, either gives a verdict on
something that was not measured: where it cannot be decided, the user has to say.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from steelyard.foreign.metric import metric_of, unit_of
from steelyard.foreign.number import is_number
from steelyard.foreign.source import quoted
from steelyard.foreign.tables.table import Table
from steelyard.foreign.tables.unit_column import HEADINGS as UNIT_HEADINGS
from steelyard.model.errors import UsageError

ROLES = ("arm", "value", "order", "block", "clients")
_ARM = {
    *("arm", "arms", "group", "variant", "treatment", "condition", "config", "configuration"),
    *("setting", "mode", "version", "build", "system", "candidate", "engine", "side", "branch"),
}
_ORDER = {
    *("order", "timestamp", "date", "datetime", "started", "start", "when", "seq", "sequence"),
    *("position", "epoch_time", "unix_time", "ts", "time_stamp", "started_at", "start_time"),
    *("starttime", "begin", "began", "measured_at"),
}
_ENDS = {
    *("end", "ended", "ended_at", "end_time", "endtime", "finish", "finished", "finished_at"),
    *("stop", "stopped"),
}
_BLOCK = {"block", "epoch", "round", "pair", "query", "day", "session", "batch"}
_REPETITION = {
    *("rep", "repetition", "repeat", "run", "run_id", "run_no", "iteration", "iter", "row"),
    *("trial", "attempt", "index"),
}
_INDEX = _REPETITION | {"id", "no", "nr", "number", "#", "n", "k", "i"}
_COUNTS = {"reps", "repetitions", "runs", "iterations", "iters", "trials"}
_CLIENTS = {"clients", "client", "connections", "concurrency", "threads", "users", "vus", "vu"}
_EITHER = "number"
"""Counts the rows beside other numbers; alone it is what was measured."""
_NEVER_MEASURED = (_INDEX - {_EITHER}) | _COUNTS | _CLIENTS | _ORDER | _ENDS
"""What no column called so holds, beside a column of arms: the number to be judged."""


@dataclass(frozen=True, slots=True)
class Roles:
    """Which column has which role; None where no column has it."""

    arm: int | None
    order: int | None
    block: int | None
    clients: int | None
    index: int | None
    unit: int | None
    """Names the unit of the numbers."""
    numbers: tuple[int, ...]
    """Columns of numbers that none of the others is."""


def roles_of(table: Table, given: Mapping[str, str]) -> Roles:
    """The roles; UsageError for a role or a column that there is not."""
    named = {role: _column_named(table, role, name) for role, name in given.items()}
    words = [_word(name) for name in table.names()] if table.header else []
    taken = set(named.values())
    unit = _unit_column(table, words, taken)
    taken |= {unit} if unit is not None else set()
    arm = named.get("arm")
    if arm is None:
        arm = _arm_column(table, words, taken)
    taken |= {arm} if arm is not None else set()
    found = {
        role: named.get(role, _first(words, accepted, taken))
        for role, accepted in (("order", _ORDER), ("block", _BLOCK), ("clients", _CLIENTS))
    }
    if arm is None and "clients" not in named:
        # Without a column of arms every row is another number of clients: a block.
        swept, found["clients"] = found["clients"], None
        found["block"] = swept if found["block"] is None else found["block"]
    taken |= {column for column in found.values() if column is not None}
    index = _index_column(table, words, taken)
    if index is not None and words and words[index] == _EITHER and _alone(table, index, taken):
        index = None
    taken |= {index} if index is not None else set()
    if found["block"] is None and arm is not None and index is not None:
        found["block"], index = index, None
    never = _REPETITION | _COUNTS if arm is None else _NEVER_MEASURED
    rest = [
        column
        for column in range(len(table.columns))
        if column not in taken and not (words and words[column] in never)
    ]
    labels = [c for c in rest if table.is_text(c) and words[c : c + 1] != [TIME_HEADING]]
    if arm is None and found["block"] is None and len(labels) == 1:
        found["block"] = labels[0]
        rest.remove(labels.pop())
    numbers = [c for c in rest if c not in labels]
    chosen = "value" in named
    timestamps = _timestamps(table, words, numbers, by_arm=arm is not None, chosen=chosen)
    if timestamps is not None:
        numbers.remove(timestamps)
        found["order"] = timestamps if found["order"] is None else found["order"]
    measured = (named["value"],) if chosen else tuple(numbers)
    return Roles(arm, found["order"], found["block"], found["clients"], index, unit, measured)


def _timestamps(
    table: Table, words: Sequence[str], numbers: Sequence[int], *, by_arm: bool, chosen: bool
) -> int | None:
    """The column called "time", where it holds when rows were measured."""
    column = next((c for c in numbers if words and words[c] == TIME_HEADING), None)
    if column is None:
        return None
    others = [c for c in numbers if c != column]
    held = time_column(table, column, others, by_arm=by_arm, chosen=chosen)
    return column if held is TimeColumn.TIMESTAMPS else None


def _column_named(table: Table, role: str, name: str) -> int:
    if role not in ROLES:
        raise UsageError(
            f'unrecognized role of a column: "{role}"', hint=f"Accepted: {', '.join(ROLES)}."
        )
    names = table.names()
    for column, own in enumerate(names):
        if own.lower() == name.strip().lower():
            return column
    raise UsageError(
        f'"{table.source.name}" has no column {quoted(name)}',
        hint=f"It has {', '.join(quoted(own) for own in names[:10])}.",
    )


def _word(name: str) -> str:
    return re.sub(r"[\s-]+", "_", name.strip().lower())


def _first(words: Sequence[str], accepted: set[str], taken: set[int]) -> int | None:
    return next((c for c, w in enumerate(words) if w in accepted and c not in taken), None)


def _unit_column(table: Table, words: Sequence[str], taken: set[int]) -> int | None:
    """A column of words that is called so, or that holds nothing but units and names no arm."""
    free = [c for c in range(len(table.columns)) if c not in taken and table.is_text(c)]
    called = next((c for c in free if words and words[c] in UNIT_HEADINGS), None)
    if called is not None:
        return called
    for column in free:
        cells = set(table.columns[column])
        if not (words and words[column] in _ARM) and all(map(unit_of, cells)):
            return column
    return None


def _arm_column(table: Table, words: Sequence[str], taken: set[int]) -> int | None:
    """A column that is called so, else the one column of words in which words come again."""
    called = _first(words, _ARM, taken)
    if called is not None:
        return called
    not_labels = _ORDER | _BLOCK | _CLIENTS | {TIME_HEADING}
    labels = [
        column
        for column in range(len(table.columns))
        if column not in taken
        and (not words or words[column] not in not_labels)
        and table.is_text(column)
    ]
    again = [c for c in labels if len(set(table.columns[c])) < len(table.columns[c])]
    if again:
        return again[0]
    rest = [c for c in range(len(table.columns)) if c not in labels]
    metrics = [c for c in rest if words and metric_of(table.name(c))]
    # Each label once beside a column of one metric: one value an arm.
    alone = len(labels) == 1 and (len(rest) == 1 or (rest and len(metrics) == len(rest)))
    return labels[0] if alone else None


def _alone(table: Table, column: int, taken: set[int]) -> bool:
    others = set(range(len(table.columns))) - taken - {column}
    return all(table.is_text(other) for other in others)


def _index_column(table: Table, words: Sequence[str], taken: set[int]) -> int | None:
    """A column that counts the rows: by its name, or the first one if it counts 0, 1, 2 …"""
    called = _first(words, _INDEX, taken)
    if called is not None:
        return called
    if 0 in taken or len(table.columns) < 3 or table.rows < 3:
        return None
    cells = [cell.strip() for cell in table.columns[0]]
    for first in (0, 1):
        if cells == [str(number) for number in range(first, first + len(cells))]:
            return 0
    return None


TIME_HEADING = "time"
_FINE = (1e3, 1e6, 1e9)
"""Milliseconds to nanoseconds, of clocks that count from 1970: no work takes as long."""
_FROM_2001, _TO_2100 = 1e9, 4.1e9
_FEWEST_RISING = 3


class TimeColumn(StrEnum):
    """What such a column holds."""

    TIMESTAMPS = "timestamps"
    DURATIONS = "durations"


def time_column(
    table: Table, column: int, others: Sequence[int], *, by_arm: bool, chosen: bool
) -> TimeColumn:
    """What it holds; NumbersError with its place where that cannot be decided.

    `others`: the other columns of numbers that may have been measured; `by_arm`: whether a column
    names the arm of each row; `chosen`: whether the user said which column was measured.
    """
    cells = [cell.strip() for cell in table.columns[column]]
    numbers = _numbers(cells)
    known = chosen or all(_is_metric(table.name(other)) for other in others)
    # Seconds since 1970 look like nanoseconds of work, and sizes that grow down the file make
    # times that grow too: what rises tells when rows were measured only beside what surely was
    # measured, or beside columns of several arms.
    if table.is_text(column) or _counts_from_1970(numbers, _FINE):
        return TimeColumn.TIMESTAMPS
    if _counts_from_1970(numbers, (1.0,)) and (known or _in_turn(numbers)):
        return TimeColumn.TIMESTAMPS
    if _with_units(cells) or not (others or chosen):
        return TimeColumn.DURATIONS
    if (known or (not by_arm and len(others) > 1)) and _in_turn(numbers):
        return TimeColumn.TIMESTAMPS
    if chosen:
        return TimeColumn.DURATIONS
    name = table.name(column)
    beside = ", ".join(quoted(table.name(other)) for other in others[:3])
    raise table.source.error(
        f"column {quoted(name)} beside {beside} could hold how long each row took or when it was "
        "measured",
        table.spot(0, column),
        hint=f"Say which column was measured, as --column value={name}, or that this one tells "
        f"when: --column order={name}.",
    )


def _counts_from_1970(numbers: Sequence[float], scales: Sequence[float]) -> bool:
    return bool(numbers) and any(
        all(_FROM_2001 * scale <= number <= _TO_2100 * scale for number in numbers)
        for scale in scales
    )


def _with_units(cells: Sequence[str]) -> bool:
    return any(cell[-1:].isalpha() and is_number(cell) for cell in cells)


def _numbers(cells: Sequence[str]) -> list[float]:
    """The numbers of all cells; none where one is no plain number."""
    try:
        return [float(cell) for cell in cells]
    except ValueError:
        return []


def _in_turn(numbers: Sequence[float]) -> bool:
    """Whether they rise down the file, or count its rows in whatever order."""
    if len(set(numbers)) < _FEWEST_RISING:
        return False
    first = min(numbers)
    counted = sorted(numbers) == [first + step for step in range(len(numbers))]
    return counted or all(one <= other for one, other in itertools.pairwise(numbers))


def _is_metric(name: str) -> bool:
    return metric_of(name) is not None or name.lower() in ("value", "values", "result")
