"""Groups transactions into kinds: what they do, how often, how long, and with which values."""

from __future__ import annotations

import hashlib
import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from steelyard.workloads.capturing.shapes import Shape, shape_of
from steelyard.workloads.capturing.statements import LoggedStatement, Protocol
from steelyard.workloads.capturing.transactions import SESSION, LoggedTransaction, first_word

KEPT_ROWS = 10_000
"""Executions of a kind whose values are kept; of more, a fair sample."""

Key = tuple[tuple[str, ...], ...]
Row = tuple[str | None, ...]


@dataclass
class Kind:
    """Transactions that do the same with other values."""

    shapes: tuple[Shape, ...]
    count: int = 0
    seconds: float = 0.0
    times_s: list[float] = field(default_factory=list)
    """Of the first executions."""
    think_s: list[float] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    protocols: Counter[Protocol] = field(default_factory=Counter)
    incomplete: int = 0
    """Executions whose values the log cuts off."""

    @property
    def writes(self) -> bool:
        """Whether a statement of it does, as far as its text says."""
        return any(shape.writes for shape in self.shapes)

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


@dataclass
class Mix:
    """All kinds of a log, and what of it is in none."""

    kinds: list[Kind]
    statements: int = 0
    seconds: float = 0.0
    left_out: Counter[str] = field(default_factory=Counter)
    """Why → statements."""
    left_out_s: dict[str, float] = field(default_factory=dict)
    """Why → seconds."""


def mix_of(logged: Iterable[LoggedTransaction], seed: int = 0) -> Mix:
    """The kinds of a log's transactions, the most frequent first. `seed`: of the sample of values
    where a kind has more than are kept."""
    kinds: dict[Key, Kind] = {}
    mix, draw = Mix([]), random.Random(seed)
    for one in logged:
        mix.statements += len(one.statements)
        mix.seconds += one.seconds
        known = _read(one)
        if isinstance(known, str):
            mix.left_out[known] += len(one.statements)
            mix.left_out_s[known] = mix.left_out_s.get(known, 0.0) + one.seconds
            continue
        # Beside parameters a literal is part of the statement: another one is another kind.
        key = tuple(
            shape.pieces if statement.protocol == "simple" else (statement.text,)
            for statement, (shape, _) in zip(one.statements, known, strict=True)
        )
        kind = kinds.setdefault(key, Kind(tuple(shape for shape, _ in known)))
        _add(kind, one, known, draw)
    mix.kinds = sorted(kinds.values(), key=lambda kind: -kind.count)
    return mix


def _read(one: LoggedTransaction) -> list[tuple[Shape, tuple[str, ...]]] | str:
    """Its statements' shapes with their literals; why it cannot be repeated, in words."""
    found = []
    for statement in one.statements:
        if first_word(statement.text) in SESSION:
            return "commands of the session, cursors, COPY and maintenance"
        shape = shape_of(statement.text)
        if shape is None:
            return "statements that cannot be parsed, or several in one"
        numbers = [n for n in shape[0].numbers if n is not None]
        if numbers and max(numbers) > len(statement.parameters) and statement.whole:
            return "statements whose parameters are not in the log"
        found.append(shape)
    return found


def _add(
    kind: Kind,
    one: LoggedTransaction,
    known: Sequence[tuple[Shape, tuple[str, ...]]],
    draw: random.Random,
) -> None:
    kind.count += 1
    kind.seconds += one.seconds
    if len(kind.times_s) < KEPT_ROWS:
        kind.times_s.append(one.seconds)
    if one.think_s is not None and len(kind.think_s) < KEPT_ROWS:
        kind.think_s.append(one.think_s)
    kind.protocols.update(statement.protocol for statement in one.statements)
    if not all(statement.whole for statement in one.statements):
        kind.incomplete += 1
        return
    row: list[str | None] = []
    for statement, (shape, literals) in zip(one.statements, known, strict=True):
        row += _values(statement, shape, literals)
    seen = kind.count - kind.incomplete
    if len(kind.rows) < KEPT_ROWS:
        kind.rows.append(tuple(row))
    elif (place := draw.randrange(seen)) < KEPT_ROWS:
        kind.rows[place] = tuple(row)


def _values(statement: LoggedStatement, shape: Shape, literals: Sequence[str]) -> list[str | None]:
    """The values of a statement in the order of their places: literals as they are written,
    parameters as they are."""
    return [
        literal if number is None else statement.parameters[number - 1]
        for number, literal in zip(shape.numbers, literals, strict=True)
    ]


_TEXT_LITERAL = re.compile(
    r"^(?:(?:[eEnN]|[uU]&)?'(?P<text>.*)'|(?P<tag>\$\w*\$)(?P<quoted>.*)(?P=tag))$", re.DOTALL
)
_HEX_LITERAL = re.compile(r"^[xX]'(.*)'$", re.DOTALL)
_PLAIN = re.compile(
    r"^(?:[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|t|f|true|false"
    r"|\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:[-+]\d\d(?::?\d\d)?)?)?"
    r"|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$"
)
_UUID = re.compile(r"^[0-9a-fA-F]{8}-")


def redacted(value: str | None, salt: bytes, *, literal: bool, secret: bool = False) -> str | None:
    """A value with its text hashed, the same text always alike; numbers, dates, truths and UUIDs
    stay, unless it is `secret`: then a number becomes another number, a UUID another UUID."""
    if value is None:
        return None
    if not literal:
        return _hashed(value, salt, secret=secret)
    if (bits := _HEX_LITERAL.match(value)) is not None:
        return f"X'{_hash(bits[1], salt)}'"
    match = _TEXT_LITERAL.match(value)
    if match is None:
        return _hashed(value, salt, secret=secret) if _PLAIN.match(value) else value
    text = match["text"] if match["text"] is not None else match["quoted"]
    return f"'{_hashed(text, salt, secret=secret)}'"


def _hashed(text: str, salt: bytes, *, secret: bool) -> str:
    if not _PLAIN.match(text):
        return _hash(text, salt)
    return _hashed_alike(text, salt) if secret else text


def _hashed_alike(text: str, salt: bytes) -> str:
    """A number of as many digits, or a UUID; a date or a truth is no secret."""
    drawn = hashlib.blake2b(text.encode(), key=salt, digest_size=32).hexdigest()
    if text.isdecimal():
        return str(int(drawn, 16))[: len(text)]
    if _UUID.match(text):
        return f"{drawn[:8]}-{drawn[8:12]}-{drawn[12:16]}-{drawn[16:20]}-{drawn[20:32]}"
    return text


def _hash(text: str, salt: bytes) -> str:
    return hashlib.blake2b(text.encode(), key=salt, digest_size=8).hexdigest()
