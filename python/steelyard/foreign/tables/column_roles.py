"""Finds the roles of a table's columns: arm, order, block, label, parameter, or a measured number.

By the meaning of their headings (`vocabulary/`) and by what they hold; `--column ROLE=NAME`
overrides. A column that could be one or the other is asked about, never guessed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from steelyard.foreign.number import is_number
from steelyard.foreign.tables.moments import are_dates, are_days, are_times_of_day
from steelyard.foreign.tables.named_arms import headings_with_arms
from steelyard.foreign.tables.table import Table
from steelyard.foreign.tables.table_headings import (
    headings_by_content,
    headings_of,
    is_subject,
    is_swept,
    names_kinds,
    names_versions,
    requested_rates,
)
from steelyard.foreign.tables.time_column import (
    TIME_HEADING,
    TimeColumn,
    counts_rows,
    dense_column,
    finer_clock,
    stays,
    steady_column,
    time_before_arms,
    time_column,
    with_epochs,
)
from steelyard.foreign.tables.word_columns import arm_column, unit_column
from steelyard.foreign.vocabulary.heading import Heading, Role
from steelyard.foreign.vocabulary.words import CLIENT_WORDS
from steelyard.model.errors import UsageError

ROLES = ("arm", "value", "order", "block", "clients")
_EITHER = "number"
"""Counts the rows beside other numbers; alone it is what was measured."""
_NOT_NUMBERS = {
    *(Role.CLOCK, Role.START, Role.END, Role.CODE, Role.DERIVED, Role.OUTCOME, Role.LABEL),
    *(Role.METRIC_NAME, Role.UNIT, Role.PARAMETER, Role.COUNT, Role.COUNTER, Role.BLOCK),
}
"""What no column with such a heading holds: a number to be judged unless it is asked for."""
_MAY_NAME_ROWS = (Role.UNKNOWN, Role.ARM, Role.METRIC_NAME)


@dataclass(frozen=True, slots=True)
class Roles:
    """Which column has which role; None where no column has it."""

    headings: tuple[Heading, ...]
    arm: int | None
    order: int | None
    clock: bool
    """Whether the column of the order tells seconds of a run, and not starts of runs."""
    day: int | None
    """Dates the column of the order, which holds times of day."""
    block: int | None
    clients: int | None
    index: int | None
    unit: int | None
    """Names the unit of the numbers."""
    numbers: tuple[int, ...]
    """Columns of numbers that none of the others is."""
    labels: tuple[int, ...] = ()
    parameters: tuple[int, ...] = ()
    outcomes: tuple[int, ...] = ()
    spare: tuple[int, ...] = ()
    """Counts, outcomes and the like: judged where they are asked for."""
    chosen: bool = False
    """Whether the user said which column was measured."""
    start: int | None = None
    """Starts of runs, or dates, that stay the same while the clock ticks."""
    ordered: bool = False
    """Whether the user named the column of the order."""


def roles_of(table: Table, columns: Mapping[str, str], alone: bool = True) -> Roles:
    """The roles; UsageError for a role or a column that there is not, NumbersError where a column
    could have several. `alone`: whether the table holds all arms, and not one of several files."""
    return _Finder(table, columns, alone).roles()


class _Finder:
    """Gives each column one role, in a fixed order of roles."""

    def __init__(self, table: Table, columns: Mapping[str, str], alone: bool) -> None:
        self.table, self.alone = table, alone
        self.named = {role: _column_named(table, role, name) for role, name in columns.items()}
        count = len(table.columns)
        unnamed = tuple(Heading("", Role.UNKNOWN) for _ in range(count))
        headings = headings_of(tuple(table.names())) if table.header else unnamed
        self.headings = with_epochs(table, headings_by_content(table, headings))
        self.text = [table.is_text(column) for column in range(count)]
        self.taken = set(self.named.values())
        self.lone: int | None = None
        """A column called "number" that is the only one."""

    def roles(self) -> Roles:
        """The roles of all columns."""
        unit = self._take(unit_column(self.table, self.headings, self.taken))
        arm = self.named.get("arm")
        if arm is None:
            arm = self._take(arm_column(self.table, self.headings, self.taken, self.alone))
        if arm is None and self.alone and "value" not in self.named:
            self.headings = headings_with_arms(self.table, self.headings, self.taken)
        clients = self.named.get("clients", self._clients(arm))
        block = self._take(self.named.get("block", self._first(Role.BLOCK)))
        order = self.named.get("order", self._first(Role.START, Role.CLOCK))
        order = self._dates() if order is None else order
        clock = order is not None and self.headings[order].role not in (Role.START, Role.END)
        self._take(order)
        order, day = self._with_day(order)
        start = self._start(order, day, arm)
        finer = None if start is None else self._take(self._finer_clock(start, arm))
        order, clock = (order, clock) if finer is None else (finer, True)
        if order is None:
            free = [c for c in self._rest() if c != self.named.get("value")]
            order = self._take(dense_column(self.table, self.headings, free, self._cells(arm)))
            clock = order is not None
        elif start is None and "order" not in self.named and not clock:
            free = [order, *self._rest()]
            clock = order == dense_column(self.table, self.headings, free, self._cells(arm))
        index = self._index(arm)
        labels, parameters = self._labels(arm), self._parameters(arm)
        rest = self._rest()
        since = self._time_since(rest, arm, start) if start is not None and start == order else None
        order, clock = (since, True) if since is not None else self._time(rest, arm, order, clock)
        if arm is None and block is None and not labels:
            labels = self._lone_label(rest)
        numbers = [c for c in rest if not self.text[c] and self._measured(c)]
        chosen = self.named.get("value")
        if not numbers:
            # The size of an index is measured where nothing else is.
            numbers = [
                c
                for c in parameters
                if self.headings[c].name.strip().lower() not in CLIENT_WORDS and not self.text[c]
            ]
        swept = self._swept(numbers, arm)
        numbers = [c for c in numbers if c not in swept]
        spare = [c for c in range(len(self.text)) if self._spare(c, (*numbers, order, index, arm))]
        return Roles(
            headings=self.headings,
            arm=arm,
            order=order,
            clock=clock,
            day=day,
            block=block,
            clients=clients,
            index=index,
            unit=unit,
            numbers=(chosen,) if chosen is not None else tuple(numbers),
            labels=tuple(labels),
            parameters=(*(c for c in parameters if c not in numbers), *swept),
            outcomes=tuple(c for c, heading in enumerate(self.headings) if heading.failures),
            spare=(*spare, *(c for c in swept if self._measured(c))) if chosen is None else (),
            chosen=chosen is not None,
            start=start if start != order else None,
            ordered="order" in self.named,
        )

    def _take(self, column: int | None) -> int | None:
        self.taken |= {column} if column is not None else set()
        return column

    def _first(self, *roles: Role) -> int | None:
        """The first free column with the first of the roles that any has."""
        for role in roles:
            for column, heading in enumerate(self.headings):
                if heading.role is role and column not in self.taken:
                    return column
        return None

    def _dates(self) -> int | None:
        """The first free column of dates, whatever its heading: when rows were measured."""
        for column, heading in enumerate(self.headings):
            cells = self.table.columns[column]
            named = heading.role in (Role.ARM, Role.BLOCK) or column in self.taken
            in_words = self.text[column] or not is_number(cells[0])
            if not named and in_words and are_dates(cells):
                return column
        return None

    def _with_day(self, order: int | None) -> tuple[int | None, int | None]:
        """The column of the order and, where that holds times of day, the one of their dates."""
        if order is None or not are_days(self.table.columns[order]):
            return order, None
        for column, heading in enumerate(self.headings):
            clock = heading.role in (Role.UNKNOWN, Role.CLOCK, Role.START, Role.END)
            clock = clock or heading.name.strip().lower() == TIME_HEADING
            if column in self.taken or not clock or not self._others_measured(column):
                continue
            if are_times_of_day(self.table.columns[column]):
                return self._take(column), order
        return order, None

    def _start(self, order: int | None, day: int | None, arm: int | None) -> int | None:
        """The column of the order, unless the user named it, where several rows of an arm have each
        of its moments: starts of runs, or dates."""
        if order is None or day is not None or "order" in self.named:
            return None
        return order if stays(self.table.columns[order], self._cells(arm)) else None

    def _cells(self, column: int | None) -> Sequence[str]:
        return self.table.columns[column] if column is not None else ("",) * self.table.rows

    def _finer_clock(self, start: int, arm: int | None) -> int | None:
        """The first free column that ticks while the starts of runs stay."""
        free = [c for c in self._rest() if c not in self.taken and self._others_measured(c)]
        return finer_clock(self.table, self.headings, free, self._cells(arm), self._cells(start))

    def _time_since(self, rest: list[int], arm: int | None, start: int) -> int | None:
        """The column that rises at equal steps while the starts of runs stay, out of the rest."""
        stretches = [f"{a}\n{s}" for a, s in zip(self._cells(arm), self._cells(start), strict=True)]
        column = steady_column(self.table, self.headings, rest, stretches)
        if column is not None:
            rest.remove(column)
        return column

    def _others_measured(self, column: int) -> bool:
        """Whether numbers are left to be judged without a column."""
        free = set(range(len(self.text))) - self.taken - {column}
        return any(not self.text[other] and self._measured(other) for other in free)

    def _clients(self, arm: int | None) -> int | None:
        if arm is None:
            return None
        keys = [heading.name.strip().lower() for heading in self.headings]
        return next((c for c, key in enumerate(keys) if key in CLIENT_WORDS and c != arm), None)

    def _index(self, arm: int | None) -> int | None:
        """A column that counts the rows: by its heading, or the first one if it counts 0, 1, 2 …
        under none."""
        called = self._counter(arm)
        name = self.headings[called].name.strip().lower() if called is not None else ""
        if called is not None and name == _EITHER and self._only_number(called):
            self.lone = called
            return None
        if called is None and 0 not in self.taken and len(self.text) > 2:
            header = self.table.header
            bare = not header[0].strip() if header else arm is None
            called = 0 if bare and counts_rows(self.table.columns[0]) else None
        return self._take(called)

    def _counter(self, arm: int | None) -> int | None:
        """The first free column called so, but one whose numbers come again in an arm before one
        that numbers its rows."""
        columns = [c for c, each in enumerate(self.headings) if each.role is Role.COUNTER]
        columns = [c for c in columns if c not in self.taken]
        if len(columns) < 2:
            return next(iter(columns), None)
        arms = self.table.columns[arm] if arm is not None else ("",) * self.table.rows
        cells = self.table.columns
        again = (c for c in columns if len({*zip(arms, cells[c], strict=True)}) < len(arms))
        return next(again, columns[0])

    def _only_number(self, column: int) -> bool:
        others = set(range(len(self.text))) - self.taken - {column}
        return all(self.text[other] for other in others)

    def _labels(self, arm: int | None) -> list[int]:
        """What rows are about: a heading that says so, or words under one that says nothing, or
        codes that come again."""
        columns = []
        for column, heading in enumerate(self.headings):
            has_words = self.text[column] and heading.role in _MAY_NAME_ROWS
            has_words = has_words and heading.name.strip().lower() != TIME_HEADING
            if column in self.taken or not (heading.role is Role.LABEL or has_words):
                continue
            if arm is None and self.alone and has_words and heading.role is Role.UNKNOWN:
                continue
            columns.append(column)
        arms = self.table.columns[arm] if arm is not None else None
        for column, heading in enumerate(self.headings):
            free = column not in self.taken and (arm is not None or not self.alone)
            if free and is_subject(self.table, column, heading, arms, columns):
                columns.append(column)
        self.taken |= set(columns)
        return columns

    def _swept(self, numbers: Sequence[int], arm: int | None) -> list[int]:
        """Steps of a parameter beside what surely was measured, in a table whose rows name their
        arm, or are of one."""
        measured = (Role.METRIC, Role.STATISTIC, Role.VALUE)
        metrics = [
            c
            for c, heading in enumerate(self.headings)
            if c == self.named.get("value")
            or (c in numbers and heading.role in measured and not (heading.weak and heading.rest))
        ]
        if (arm is None and self.alone) or not self.table.header:
            return []
        arms = self.table.columns[arm] if arm is not None else None
        rates = requested_rates(self.table, self.headings, numbers, arms)
        rates = [c for c in rates if c != self.named.get("value")]
        self.headings = tuple(
            Heading(h.name, Role.PARAMETER) if c in rates else h
            for c, h in enumerate(self.headings)
        )
        swept = (c for c in numbers if c not in metrics)
        known = (c for c in swept if is_swept(self.table, c, self.headings[c], arms, metrics))
        return [*rates, *known]

    def _parameters(self, arm: int | None) -> list[int]:
        arms = self.table.columns[arm] if arm is not None else None
        parameters = [h.role is Role.PARAMETER and not h.rest for h in self.headings]
        columns = [
            column
            for column, heading in enumerate(self.headings)
            if column not in self.taken
            and (parameters[column] or names_versions(self.table, column, heading, arms))
        ]
        self.taken |= set(columns)
        return columns

    def _rest(self) -> list[int]:
        """Free columns; those of counters are never judged, given that others are."""
        return [
            column
            for column in range(len(self.text))
            if column not in self.taken or column == self.named.get("value")
        ]

    def _time(
        self, rest: list[int], arm: int | None, order: int | None, clock: bool
    ) -> tuple[int | None, bool]:
        """The column that dates the rows, taken out of the rest, and whether it is a clock."""
        chosen, by_arm = "value" in self.named, arm is not None
        column = next(
            (c for c in rest if self.headings[c].name.strip().lower() == TIME_HEADING), None
        )
        if column is not None and column != self.named.get("value"):
            excluded = (Role.OUTCOME, Role.CODE, Role.DERIVED, Role.END, Role.START, Role.CLOCK)
            others = [
                c
                for c in sorted({*rest, *(k for k in self.taken if self._sized(k, arm))})
                if c != column and not self.text[c] and self.headings[c].role not in excluded
            ]
            content = time_column(
                self.table, column, others, by_arm=by_arm, chosen=chosen, headings=self.headings
            )
            if content is TimeColumn.TIMESTAMPS:
                rest.remove(column)
                return (column, True) if order is None else (order, clock)
        if order is None:
            column = steady_column(self.table, self.headings, rest, self._cells(arm))
            if column is None and arm is None and "value" not in self.named:
                column = time_before_arms(self.table, self.headings, rest)
            if column is not None:
                rest.remove(column)
                return column, True
        return order, clock

    def _sized(self, column: int, arm: int | None) -> bool:
        """Whether a column of a parameter could be what grows with the time."""
        heading = self.headings[column]
        client = heading.name.strip().lower() in CLIENT_WORDS
        return column != arm and heading.role is Role.PARAMETER and not client

    def _lone_label(self, rest: list[int]) -> list[int]:
        """The only column of words of a table without arms: the names of its rows."""
        text_columns = [
            c
            for c in rest
            if self.text[c]
            and (self.headings[c].role is not Role.CODE or names_kinds(self.headings[c]))
        ]
        if len(text_columns) != 1:
            return []
        rest.remove(text_columns[0])
        return text_columns

    def _measured(self, column: int) -> bool:
        if column in (self.named.get("value"), self.lone):
            return True
        return self.headings[column].role not in _NOT_NUMBERS or bool(
            self.headings[column].role is Role.PARAMETER and self.headings[column].rest
        )

    def _spare(self, column: int, used: Sequence[int | None]) -> bool:
        if column in used or self.text[column]:
            return False
        return self.headings[column].role in (Role.OUTCOME, Role.COUNT, Role.DERIVED)


def _column_named(table: Table, role: str, name: str) -> int:
    if role not in ROLES:
        raise UsageError(
            f'unrecognized role of a column: "{role}"', hint=f"Accepted: {', '.join(ROLES)}."
        )
    return table.column_called(name)
