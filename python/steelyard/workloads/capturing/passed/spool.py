"""Reads what a proxy noted (crates/proxy, notes.rs) as the statements of sessions."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import IO

from steelyard.workloads.capturing.ledger import CaptureLedger, StatementOutcome
from steelyard.workloads.capturing.logs.opening import codec_of
from steelyard.workloads.capturing.passed.binary_values import UndecodableError, text_of
from steelyard.workloads.capturing.passed.startup_settings import startup_settings
from steelyard.workloads.capturing.passed.type_names import NO_TYPES, Types, type_name
from steelyard.workloads.capturing.statements import (
    Event,
    LoggedStatement,
    Protocol,
    SessionEnd,
    of_database,
)

_NS_PER_S = 1e9
_PIECE = struct.Struct("<II")
_RECORD = struct.Struct("<BI")
_STATEMENT = struct.Struct("<QQBBBI")
_U16, _U32 = struct.Struct("<H"), struct.Struct("<I")
_VALUE = struct.Struct("<Bi")
_TEXT_CUT, _VALUES_CUT, _NESTED = 1, 2, 4
_PROTOCOLS: tuple[Protocol, ...] = ("simple", "extended", "prepared")
_OUTCOMES = (
    None, StatementOutcome.FAILED, StatementOutcome.FETCH, StatementOutcome.FASTPATH,
    StatementOutcome.NOT_EXECUTED, StatementOutcome.RUNNING,
)  # fmt: skip
"""By notes.rs, `Became`."""
_TEXT, _BINARY = 0, 1
TypesOf = Callable[[str], Types]
"""Database → the types that it defines itself."""
_FIRST_DEFINED = 10_000
"""Oid of the first type that initdb or a user makes (FirstGenbkiObjectId)."""


@dataclass
class _Prepared:
    text: bytes
    types: tuple[int, ...]
    """As its client declared them; 0: not at all."""
    inferred: tuple[int, ...] = ()
    """As the server said, where its client had it described."""
    executed: bool = False


@dataclass
class _Session:
    name: str
    user: str = ""
    database: str = ""
    application: str = ""
    settings: tuple[str, ...] = ()
    """That its startup message made."""
    is_counted: bool = False
    codec: str | None = "utf-8"
    """None: it is not known here."""
    prepared: dict[int, _Prepared] = field(default_factory=dict)
    unnamed: tuple[int, ...] = ()
    """Types that the server said of the unnamed statement."""
    texts: dict[bytes, bytes] = field(default_factory=dict)
    """Of all sessions' prepared statements, each once."""
    types_of: TypesOf | None = None
    """None: types that a database defines are not known."""
    transactions: int = 0
    """Those that were noted: of statements that are not simple."""

    def vxid(self, protocol: Protocol) -> str:
        """What stands for the virtual transaction that was open behind a statement."""
        is_noted = self.transactions and protocol != "simple"
        return f"{self.name}/{self.transactions}" if is_noted else ""

    def types_for(self, prepared: _Prepared) -> Types:
        """The types of its database, where a statement has a parameter of one of them."""
        defined = any(oid >= _FIRST_DEFINED for oid in (*prepared.types, *prepared.inferred))
        return self.types_of(self.database) if defined and self.types_of else NO_TYPES


def passed_statements(
    file: IO[bytes],
    ledger: CaptureLedger,
    database: str | None = None,
    types_of: TypesOf | None = None,
) -> Iterator[Event]:
    """The statements in a file of notes, session by session, and the ends of its sessions; `ledger`
    counts them. A piece that is cut off at the end is not read. `database`: others' are left
    out. `types_of`: called where values are of types that are not built in."""
    sessions: dict[int, _Session] = {}
    texts: dict[bytes, bytes] = {}
    while len(head := file.read(_PIECE.size)) == _PIECE.size:
        connection, length = _PIECE.unpack(head)
        piece = file.read(length)
        if len(piece) < length:
            break
        session = sessions.setdefault(
            connection, _Session(str(connection), texts=texts, types_of=types_of)
        )
        for kind, body in _records(piece):
            if kind == "X":
                yield SessionEnd(sessions.pop(connection).name)
            elif kind == "Q":
                statement = of_database(_statement(session, body), ledger, database)
                if statement.outcome is not StatementOutcome.OTHER_DATABASE:
                    _count_login(session, ledger)
                yield statement
            else:
                _note(session, kind, body)


def _records(piece: bytes) -> Iterator[tuple[str, bytes]]:
    at = 0
    while at < len(piece):
        kind, length = _RECORD.unpack_from(piece, at)
        at += _RECORD.size
        yield chr(kind), piece[at : at + length]
        at += length


def _count_login(session: _Session, ledger: CaptureLedger) -> None:
    """Once for each session that does something."""
    if session.is_counted:
        return
    session.is_counted = True
    ledger.logins[session.database, session.user] += 1
    for name in session.settings:
        ledger.note_setting(name)


def _note(session: _Session, kind: str, body: bytes) -> None:
    """Takes what is said of a session or a prepared statement."""
    if kind == "S":
        names = [name.decode(errors="replace") for name in body.split(b"\0")]
        session.user, session.database, session.application = names[:3]
        session.settings = startup_settings(zip(names[3::2], names[4::2], strict=False))
    elif kind == "E":
        session.codec = codec_of(body.decode("ascii", "replace"))
    elif kind == "P":
        [number] = _U32.unpack_from(body)
        types, at = _types(body, _U32.size)
        text, _ = _text(body, at)
        session.prepared[number] = _Prepared(session.texts.setdefault(text, text), types)
    elif kind == "O":
        [number] = _U32.unpack_from(body)
        types, _ = _types(body, _U32.size)
        if number == 0:
            session.unnamed = types
        elif number in session.prepared:
            session.prepared[number].inferred = types
    elif kind == "T":
        session.transactions += 1


def _statement(session: _Session, body: bytes) -> LoggedStatement:
    ended_ns, took_ns, protocol, became, flags, number = _STATEMENT.unpack_from(body)
    at = _STATEMENT.size
    if number:
        prepared = session.prepared.get(number, _Prepared(b"", ()))
    else:
        declared, at = _types(body, at)
        sent, at = _text(body, at)
        prepared = _Prepared(sent, declared, session.unnamed if protocol else ())
    outcome, parsed = _OUTCOMES[became], not prepared.executed
    prepared.executed = True
    values, types = _values(body, at), session.types_for(prepared)
    statement = LoggedStatement(
        session=session.name,
        ended=ended_ns / _NS_PER_S,
        duration_ms=took_ns / 1e6,
        text="",
        protocol=_PROTOCOLS[protocol],
        types=tuple(type_name(oid, types) for oid in prepared.types),
        user=session.user,
        database=session.database,
        application=session.application,
        outcome=outcome,
        nested=bool(flags & _NESTED),
        parsed=parsed,
        vxid=session.vxid(_PROTOCOLS[protocol]),
    )
    if flags & _TEXT_CUT:
        return replace(statement, outcome=outcome or StatementOutcome.LONG_TEXT)
    if session.codec is None and not prepared.text.isascii():
        return replace(statement, outcome=outcome or StatementOutcome.ENCODING)
    try:
        text = prepared.text.decode(session.codec or "ascii").strip()
        parameters = _parameters(values, prepared, session.codec or "ascii", types)
    except UnicodeDecodeError:
        return replace(statement, outcome=outcome or StatementOutcome.ENCODING)
    except UndecodableError:
        return replace(statement, text=text, outcome=outcome or StatementOutcome.BINARY_VALUES)
    whole = not flags & _VALUES_CUT
    return replace(statement, text=text, parameters=parameters, whole=whole)


def _parameters(
    values: list[tuple[int, bytes | None]], prepared: _Prepared, codec: str, types: Types
) -> tuple[str | None, ...]:
    """The values as text. UnicodeDecodeError, UndecodableError."""
    parameters = list[str | None]()
    for index, (form, value) in enumerate(values):
        if value is None:
            parameters.append(None)
        elif form == _TEXT:
            parameters.append(value.decode(codec))
        elif form == _BINARY:
            parameters.append(text_of(_type_at(prepared, index), value, codec, types))
        else:
            raise UndecodableError(f"format {form}")
    return tuple(parameters)


def _type_at(prepared: _Prepared, index: int) -> int:
    """The type of a parameter as its client or the server said; 0: neither did."""
    oids = (of[index] for of in (prepared.types, prepared.inferred) if index < len(of))
    return next((oid for oid in oids if oid), 0)


def _types(body: bytes, at: int) -> tuple[tuple[int, ...], int]:
    [count] = _U16.unpack_from(body, at)
    at += _U16.size
    return struct.unpack_from(f"<{count}I", body, at), at + 4 * count


def _text(body: bytes, at: int) -> tuple[bytes, int]:
    [length] = _U32.unpack_from(body, at)
    at += _U32.size
    return body[at : at + length], at + length


def _values(body: bytes, at: int) -> list[tuple[int, bytes | None]]:
    """Formats and bytes; None: NULL."""
    [count] = _U16.unpack_from(body, at)
    at += _U16.size
    values = list[tuple[int, bytes | None]]()
    for _ in range(count):
        form, length = _VALUE.unpack_from(body, at)
        at += _VALUE.size
        values.append((form, None if length < 0 else body[at : at + length]))
        at += max(0, length)
    return values
