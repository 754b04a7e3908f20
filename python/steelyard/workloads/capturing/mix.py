"""Groups transactions into kinds: what they do, how often, how long, and with which values."""

from __future__ import annotations

import hashlib
import random
import re
import sys
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from steelyard.workloads.capturing.completeness import Completeness
from steelyard.workloads.capturing.leading_words import name_with_effect, setting_of_session
from steelyard.workloads.capturing.ledger import CaptureLedger, StatementOutcome
from steelyard.workloads.capturing.logs.opening import is_decoded
from steelyard.workloads.capturing.memory import MOST_MEMORY, Row, bytes_of, thin
from steelyard.workloads.capturing.shapes import Shape, shape_of
from steelyard.workloads.capturing.statements import LoggedStatement, Protocol
from steelyard.workloads.capturing.transactions import (
    MOST_LENGTH,
    LoggedTransaction,
    first_word,
    is_of_session,
)
from steelyard.workloads.reading.arrivals import MOST_ARRIVALS

KEPT_ROWS = 10_000
"""Executions of a kind whose values are kept; of more, a fair sample. Of fewer, where the values of
all kinds together are too large (memory.py)."""
MOST_VALUES = 255
"""Of one statement: pgbench's limit of variables."""
MOST_CONSTANTS = 8
"""Beside parameters so many literals, or sets of them, are parts of statements: as parameters they
would be planned otherwise, as text the parameters would be. Of more they are values."""

Key = tuple[str, ...]


@dataclass
class TransactionKind:
    """Transactions that do the same with other values."""

    shapes: tuple[Shape, ...]
    count: int = 0
    seconds: float = 0.0
    times_s: array[float] = field(default_factory=lambda: array("d"))
    """Of the first executions."""
    think_s: array[float] = field(default_factory=lambda: array("d"))
    rows: list[Row] = field(default_factory=list)
    rows_bytes: int = 0
    most_rows: int = field(default_factory=lambda: KEPT_ROWS)
    thinned: bool = False
    """Whether values of fewer executions are kept, since they are large."""
    protocols: Counter[Protocol] = field(default_factory=Counter)
    """Of its statements, those that begin and end transactions aside."""
    parsed: int = 0
    """Prepared ones among them that were parsed for that execution."""
    types: Counter[tuple[str | None, ...]] = field(default_factory=Counter)
    """Of the values of an execution, as its client declared them; None: not at all."""
    arrivals_s: array[float] = field(default_factory=lambda: array("d"))
    """When each execution began, on the log's clock; fewer than `count`: some are not known, or
    they are more than a workload has."""
    timed: bool = True
    """Whether the log says how long all of them took."""
    implicit: bool = False
    """Whether its statements were one transaction without BEGIN and COMMIT, as those of a pipeline
    are: a script says both."""

    @property
    def declared(self) -> list[str | None]:
        """The type of each place of a row, where every execution declared the same."""
        if not self.types:
            return [None] * self.columns
        by_place = zip(*self.types, strict=True)
        return [
            first if all(other == first for other in rest) else None for first, *rest in by_place
        ]

    @property
    def writes(self) -> bool:
        """Whether a statement of it does, as far as its text says; or it calls functions that may,
        where sessions that begin read-only would not keep them from it."""
        permitted = any(shape.permits_writes for shape in self.shapes)
        return any(shape.writes or (permitted and shape.calls) for shape in self.shapes)

    @property
    def calls(self) -> tuple[str, ...]:
        """The functions of its queries that do not come with PostgreSQL, and may write."""
        return tuple(dict.fromkeys(call for shape in self.shapes for call in shape.calls))

    @property
    def fingerprint(self) -> str:
        """By libpg_query, of all its statements: equal for kinds that differ in the length of a
        list."""
        marks = " ".join(shape.fingerprint for shape in self.shapes)
        return hashlib.sha256(marks.encode()).hexdigest()[:16]

    @property
    def columns(self) -> int:
        """Values of one execution."""
        return sum(len(shape.numbers) for shape in self.shapes)

    @property
    def literals(self) -> list[int]:
        """Places of a row that hold literals."""
        numbers = [number for shape in self.shapes for number in shape.numbers]
        return [column for column, number in enumerate(numbers) if number is None]


@dataclass
class Mix:
    """All kinds of a log, and what of it is in none."""

    kinds: list[TransactionKind]
    ledger: CaptureLedger = field(default_factory=CaptureLedger)
    """Of what is in no kind."""

    @property
    def statements(self) -> int:
        """Of the log: those of the kinds, and those that are left out."""
        return self.ledger.total + sum(kind.count * len(kind.shapes) for kind in self.kinds)

    @property
    def seconds(self) -> float:
        """Of all statements."""
        return self.ledger.total_s + sum(kind.seconds for kind in self.kinds)


Readings = list[tuple[Shape, tuple[str, ...]]]


def mix_of(
    logged: Iterable[LoggedTransaction], seed: int = 0, ledger: CaptureLedger | None = None
) -> Mix:
    """The kinds of a log's transactions, the most frequent first. `seed`: of the sample of values
    where a kind has more than are kept. `ledger`: gets what is in no kind."""
    groups = _Groups(random.Random(seed))
    mix = Mix([], ledger if ledger is not None else CaptureLedger())
    for transaction in logged:
        _note(mix.ledger.completeness, transaction)
        read = transaction.outcome or _read(transaction)
        if isinstance(read, StatementOutcome):
            for statement in transaction.statements:
                mix.ledger.enter(statement.outcome or read, statement.seconds)
                if read is StatementOutcome.SESSION and statement.outcome is None:
                    _note_settings(mix.ledger, statement)
            continue
        if not groups.add(transaction, read):
            for statement in transaction.statements:
                mix.ledger.enter(StatementOutcome.NO_ROOM, statement.seconds)
    mix.kinds = sorted(groups.kinds(), key=lambda kind: -kind.count)
    return mix


def _note(completeness: Completeness, transaction: LoggedTransaction) -> None:
    """Whether an explicit transaction has its BEGIN in the log. COMMIT where there is none to
    commit needs none: the server warns of it."""
    statements = transaction.statements
    session = statements[0].session
    if transaction.outcome is StatementOutcome.NO_BEGIN:
        if not any(statement.stray for statement in statements):
            completeness.note_transaction(session, has_begin=False)
    elif len(statements) > 1 and not transaction.implicit:
        completeness.note_transaction(session, has_begin=True)


def _note_settings(ledger: CaptureLedger, statement: LoggedStatement) -> None:
    reading = shape_of(statement.text) if _SETTING_CALL.search(statement.text) else None
    calls = () if reading is None else reading[0].session_calls
    values = statement.parameters
    names = [call.name(values) for call in calls if call.is_lasting(values)]
    for name in (setting_of_session(statement.text), *map(name_with_effect, names)):
        if name:
            ledger.note_setting(name)


_SETTING_CALL = re.compile("set_config", re.IGNORECASE)


class _Groups:
    """Transactions by their keys, in bounded memory: a half is for the texts of kinds, and beyond
    it what has a new key has no room; the other for values, of which fewer are kept beyond it."""

    def __init__(self, draw: random.Random) -> None:
        self._groups: dict[Key, _Group] = {}
        self._draw = draw
        self._text_bytes = self._rows_bytes = 0
        self._has_room = True
        """For values, of which each kind has one at least."""

    def kinds(self) -> Iterator[TransactionKind]:
        return (kind for group in self._groups.values() for kind in group.kinds.values())

    def add(self, transaction: LoggedTransaction, read: Readings) -> bool:
        """Whether there is room for it."""
        key = (*_key(read), *(["implicit"] if transaction.implicit else []))
        group = self._groups.get(key)
        is_full = not self._has_room or self._text_bytes > MOST_MEMORY // 2
        if group is None and is_full:
            return False
        if group is None:
            group = self._groups[key] = _Group()
            texts = (text for shape, _ in read for text in shape.pieces)
            self._text_bytes += sum(map(sys.getsizeof, (*key, *texts)))
        kinds, rows_bytes = len(group.kinds), group.rows_bytes
        kind = group.kind_for(transaction, read, self._draw, most=1 if is_full else MOST_CONSTANTS)
        _add(kind, transaction, read)
        if self._has_room:
            _sample(kind, transaction, read, self._draw)
        else:
            kind.thinned = kind.columns > 0
        self._text_bytes += _OF_A_KIND * (len(group.kinds) - kinds)
        self._rows_bytes += group.rows_bytes - rows_bytes
        if self._rows_bytes > MOST_MEMORY // 2 and self._has_room:
            most_bytes = MOST_MEMORY * 3 // 8
            self._rows_bytes -= thin(self.kinds(), self._rows_bytes - most_bytes, self._draw)
            self._has_room = self._rows_bytes <= most_bytes
        return True


_OF_A_KIND = 4096
"""Bytes of a kind beside its text and values."""


class _Group:
    """Transactions of one key: one kind, or one for each of a few sets of literals that stand
    beside parameters."""

    def __init__(self) -> None:
        self.kinds: dict[tuple[str, ...], TransactionKind] = {}
        self._is_split = True

    @property
    def rows_bytes(self) -> int:
        """Memory of the values of its kinds."""
        return sum(kind.rows_bytes for kind in self.kinds.values())

    def kind_for(
        self, transaction: LoggedTransaction, read: Readings, draw: random.Random, *, most: int
    ) -> TransactionKind:
        """The kind of a transaction. `most`: of so many sets of literals; with more all are
        values."""
        literals: tuple[str, ...] = ()
        has_parameters = any(number for shape, _ in read for number in shape.numbers)
        if self._is_split and has_parameters:
            literals = tuple(
                word
                for shape, texts in read
                for number, word in zip(shape.numbers, texts, strict=True)
                if number is None
            )
            if literals not in self.kinds and len(self.kinds) >= most:
                self.kinds = {(): _joined(list(self.kinds.values()), draw)}
                self._is_split, literals = False, ()
        shapes = tuple(shape for shape, _ in read)
        fresh = TransactionKind(shapes, implicit=transaction.implicit)
        return self.kinds.setdefault(literals, fresh)


def _joined(kinds: Sequence[TransactionKind], draw: random.Random) -> TransactionKind:
    """One kind of several, with a fair sample of their values."""
    first, total = kinds[0], sum(kind.count for kind in kinds)
    seconds = sum(kind.seconds for kind in kinds)
    joined = TransactionKind(first.shapes, total, seconds, implicit=first.implicit)
    most = min(KEPT_ROWS, sum(len(kind.rows) for kind in kinds))
    for kind in kinds:
        joined.times_s = (joined.times_s + kind.times_s)[:KEPT_ROWS]
        joined.think_s = (joined.think_s + kind.think_s)[:KEPT_ROWS]
        joined.protocols += kind.protocols
        joined.parsed += kind.parsed
        joined.types += kind.types
        joined.arrivals_s += kind.arrivals_s
        joined.timed = joined.timed and kind.timed
        share = min(len(kind.rows), round(most * kind.count / total))
        joined.rows += draw.sample(kind.rows, share)
    joined.rows_bytes = sum(map(bytes_of, joined.rows))
    if any(kind.thinned for kind in kinds):
        joined.thinned, joined.most_rows = True, max(1, len(joined.rows))
    return joined


def _key(read: Readings) -> Key:
    """Equal for transactions that do the same. Names of savepoints count by their order."""
    names: dict[str, int] = {}
    key = []
    for shape, _ in read:
        key.append(shape.key)
        if shape.savepoint is not None:
            key[-1] = f"{shape.fingerprint} {names.setdefault(shape.savepoint, len(names))}"
    return tuple(key)


def _read(transaction: LoggedTransaction) -> Readings | StatementOutcome:
    """Its statements' shapes with their literals, or why it cannot be repeated."""
    if sum(statement.length for statement in transaction.statements) > MOST_LENGTH:
        return StatementOutcome.LARGE
    readings: Readings = []
    locks, temporary, dropped = 0.0, set[str](), set[str]()
    is_single = len(transaction.statements) == 1
    for statement in transaction.statements:
        if is_of_session(statement.text, alone=is_single):
            return StatementOutcome.SESSION
        reading = shape_of(statement.text)
        if reading is None:
            is_text = is_decoded(statement.text)
            return StatementOutcome.SEVERAL if is_text else StatementOutcome.ENCODING
        calls = [c for c in reading[0].session_calls if c.is_lasting(statement.parameters)]
        locks += sum(call.locks for call in calls)
        if any(is_single or not call.locks for call in calls):
            return StatementOutcome.SESSION
        if (why := _unrepeatable(statement, reading[0])) is not None:
            return why
        readings.append(reading)
        temporary.update([reading[0].temporary] if reading[0].temporary else [])
        dropped.update(reading[0].drops)
    is_undone = first_word(transaction.statements[-1].text) in ("rollback", "abort")
    leaves_tables = bool(temporary - dropped) and not is_undone
    return StatementOutcome.SESSION if locks > 0 or leaves_tables else readings


def _unrepeatable(statement: LoggedStatement, shape: Shape) -> StatementOutcome | None:
    """Why a statement cannot be repeated, by its shape and its values; None: it may be."""
    if shape.to_server:
        return StatementOutcome.SERVER
    if not all(is_decoded(value) for value in statement.parameters if value):
        return StatementOutcome.ENCODING
    numbers = shape.numbers
    highest = max((number for number in numbers if number is not None), default=0)
    if highest > len(statement.parameters) and statement.whole:
        return StatementOutcome.NO_VALUES
    if not statement.whole:
        return StatementOutcome.CUT_VALUES
    if numbers.count(None) + len({*numbers} - {None}) > MOST_VALUES:
        return StatementOutcome.MANY_VALUES
    return None


def _add(kind: TransactionKind, transaction: LoggedTransaction, read: Readings) -> None:
    kind.count += 1
    kind.seconds += transaction.seconds
    if len(kind.times_s) < KEPT_ROWS:
        kind.times_s.append(transaction.seconds)
    if transaction.think_s is not None and len(kind.think_s) < KEPT_ROWS:
        kind.think_s.append(transaction.think_s)
    types = list[str | None]()
    for statement, (shape, _) in zip(transaction.statements, read, strict=True):
        kind.timed = kind.timed and statement.duration_ms is not None
        if not shape.controls:
            kind.protocols[statement.protocol] += 1
            kind.parsed += statement.parsed and statement.protocol == "prepared"
        types += _types(statement, shape)
    kind.types[tuple(types)] += 1
    first = transaction.statements[0]
    if kind.count > MOST_ARRIVALS:
        del kind.arrivals_s[:]
    elif first.exact and first.duration_ms is not None:
        kind.arrivals_s.append(first.ended - first.seconds)


def _sample(
    kind: TransactionKind, transaction: LoggedTransaction, read: Readings, draw: random.Random
) -> None:
    """Keep the values of an execution, or not, so that those that are kept are a fair sample."""
    row = tuple(
        value
        for statement, (shape, literals) in zip(transaction.statements, read, strict=True)
        for value in _values(statement, shape, literals)
    )
    if len(kind.rows) < kind.most_rows:
        kind.rows.append(row)
        kind.rows_bytes += bytes_of(row)
    elif (index := draw.randrange(kind.count)) < kind.most_rows:
        kind.rows_bytes += bytes_of(row) - bytes_of(kind.rows[index])
        kind.rows[index] = row


def _values(statement: LoggedStatement, shape: Shape, literals: Sequence[str]) -> list[str | None]:
    """The values of a statement in the order of their places: literals as they are written,
    parameters as they are."""
    return [
        literal if number is None else statement.parameters[number - 1]
        for number, literal in zip(shape.numbers, literals, strict=True)
    ]


def _types(statement: LoggedStatement, shape: Shape) -> list[str | None]:
    """What the client declared of the values of a statement, in the order of their places."""
    types = statement.types
    return [
        types[number - 1] if number is not None and number <= len(types) else None
        for number in shape.numbers
    ]
