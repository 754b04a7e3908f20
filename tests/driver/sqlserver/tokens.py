"""What a SQL Server sends and is sent, as far as its double needs it ([MS-TDS])."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

BATCH, CALL, REPLY, ATTENTION, LOGIN, PRELOGIN = 0x01, 0x03, 0x04, 0x06, 0x10, 0x12
EXECUTE_TEXT, EXECUTE, PREPARE_AND_EXECUTE = 10, 12, 13
MORE, ERROR, IN_TRANSACTION, COUNTED, ACKNOWLEDGED = 0x01, 0x02, 0x04, 0x10, 0x20
_PLACES = 36
"""Where the places of a login's names begin."""

Value = int | float | bool | str | None


@dataclass(frozen=True)
class Request:
    """A statement as it was sent."""

    transaction: int
    """The transaction of which it says that it is a part; 0: none."""
    procedure: int = 0
    """0: a text alone."""
    handle: int | None = None
    declared: str = ""
    text: str = ""
    values: tuple[Value, ...] = ()


def packets(kind: int, content: bytes, share: int = 4088) -> bytes:
    """A message in packets."""
    parts = [content[at : at + share] for at in range(0, len(content), share)] or [b""]
    out = []
    for number, part in enumerate(parts, 1):
        last = number == len(parts)
        out += [struct.pack(">BBHHBB", kind, last, len(part) + 8, 51, number % 256, 0), part]
    return b"".join(out)


def short(text: str) -> bytes:
    """A text after its length in one byte."""
    return bytes([len(text)]) + text.encode("utf-16-le")


def long(text: str) -> bytes:
    """A text after its length in two bytes."""
    return struct.pack("<H", len(text)) + text.encode("utf-16-le")


def _sized(token: int, body: bytes) -> bytes:
    return struct.pack("<BH", token, len(body)) + body


def done(status: int = 0, rows: int = 0, token: int = 0xFD) -> bytes:
    """The end of a statement."""
    return struct.pack("<BHHQ", token, status, 0xC1, rows)


def error(number: int, message: str, severity: int = 16) -> bytes:
    """An error, and the end of its statement."""
    body = struct.pack("<IBB", number, 1, severity) + long(message) + short("double") + short("")
    return _sized(0xAA, body + struct.pack("<I", 1)) + done(ERROR)


def rows(name: str, *values: int) -> bytes:
    """A result of one column of `bigint`."""
    out = struct.pack("<BHIH", 0x81, 1, 0, 9) + b"\x26\x08" + short(name)
    for value in values:
        out += b"\xd1\x08" + struct.pack("<q", value)
    return out + done(COUNTED, len(values))


def table(columns: Sequence[str], *rows: Sequence[int | str | None]) -> bytes:
    """A result: a column is of `bigint` where its first value is a number, else `nvarchar`."""
    numbers = [bool(rows) and isinstance(value, int) for value in (rows or [columns])[0]]
    out = struct.pack("<BH", 0x81, len(columns))
    for name, number in zip(columns, numbers, strict=True):
        kind = b"\x26\x08" if number else b"\xe7" + struct.pack("<H", 8000) + bytes(5)
        out += struct.pack("<IH", 0, 9) + kind + short(name)
    told = [b"\xd1" + b"".join(map(_value, row)) for row in rows]
    return b"".join((out, *told, done(COUNTED, len(rows))))


def _value(value: int | str | None) -> bytes:
    if value is None:
        return b"\xff\xff"
    if isinstance(value, int):
        return b"\x08" + struct.pack("<q", value)
    wide = value.encode("utf-16-le")
    return struct.pack("<H", len(wide)) + wide


def began(number: int) -> bytes:
    """A transaction began."""
    return _sized(0xE3, b"\x08\x08" + struct.pack("<Q", number) + b"\x00")


def ended(number: int, *, committed: bool) -> bytes:
    """A transaction ended."""
    how = 9 if committed else 10
    return _sized(0xE3, bytes([how, 0, 8]) + struct.pack("<Q", number))


def returned(handle: int) -> bytes:
    """What follows the results of `sp_prepexec`: its status, the handle, its end."""
    value = struct.pack("<BHBBIH", 0xAC, 0, 0, 1, 0, 0) + b"\x26\x04\x04"
    return b"\x79" + bytes(4) + value + struct.pack("<i", handle) + done(0, 0, 0xFE)


def within_procedure(tokens: bytes) -> bytes:
    """The results of a text (of one statement) as those of a statement in a procedure."""
    _, status, command, count = struct.unpack("<BHHQ", tokens[-13:])
    return tokens[:-13] + struct.pack("<BHHQ", 0xFF, status | MORE, command, count)


def prelogin(encryption: int) -> bytes:
    """The answer that precedes a login."""
    return bytes.fromhex("00000b0006010011 0001ff") + bytes([16, 0, 3, 0xE8, 0, 0, encryption])


def let_in(version: bytes) -> bytes:
    """The answer to a login, by the version of TDS that it named."""
    body = b"\x01" + version[::-1] + short("Double") + bytes([16, 0, 3, 0xE8])
    size = _sized(0xE3, b"\x04" + short("4096") + short("4096"))
    return _sized(0xAD, body) + size + done()


def read_login(content: bytes) -> dict[str, str]:
    """The names of a login, by their places."""
    names = ("host", "user", "password", "program", "server", "", "library", "", "database")
    found = {}
    for number, name in enumerate(names):
        offset, length = struct.unpack_from("<HH", content, _PLACES + 4 * number)
        piece = content[offset : offset + 2 * length]
        if name == "password":
            piece = bytes(((byte ^ 0xA5) >> 4 | (byte ^ 0xA5) << 4) & 0xFF for byte in piece)
        found[name] = piece.decode("utf-16-le")
    return found


def read_request(kind: int, content: bytes) -> Request:
    """A request with its headers."""
    total, length, header, transaction, outstanding = struct.unpack_from("<IIHQI", content)
    assert (total, length, header, outstanding) == (22, 18, 2, 1)
    if kind == BATCH:
        return Request(transaction, text=content[22:].decode("utf-16-le"))
    by_number, procedure, options = struct.unpack_from("<HHH", content, 22)
    assert (by_number, options) == (0xFFFF, 0)
    values: list[Value] = []
    at = 28
    while at < len(content):
        value, at = _read_parameter(content, at)
        values.append(value)
    handle, declared, text = None, "", ""
    if procedure in (EXECUTE, PREPARE_AND_EXECUTE):
        handle = values.pop(0)
    if procedure == PREPARE_AND_EXECUTE:
        declared, text = str(values.pop(0) or ""), str(values.pop(0))
    if procedure == EXECUTE_TEXT:
        text = str(values.pop(0))
        declared = str(values.pop(0)) if values else ""
    assert handle is None or isinstance(handle, int)
    return Request(transaction, procedure, handle, declared, text, tuple(values))


def _read_parameter(content: bytes, at: int) -> tuple[Value, int]:
    assert content[at] == 0, "parameters go by their places"
    kind = content[at + 2]
    if kind == 0xE7:
        return _read_text(content, at + 3)
    width, length = content[at + 3], content[at + 4]
    start, end = at + 5, at + 5 + length
    assert length in (0, width)
    if length == 0:
        return None, end
    piece = content[start:end]
    if kind == 0x26:
        return int.from_bytes(piece, "little", signed=True), end
    if kind == 0x68:
        return bool(piece[0]), end
    assert kind == 0x6D
    [number] = struct.unpack("<d", piece)
    return float(number), end


def _read_text(content: bytes, at: int) -> tuple[Value, int]:
    [size] = struct.unpack_from("<H", content, at)
    at += 2 + 5
    if size != 0xFFFF:
        [length] = struct.unpack_from("<H", content, at)
        if length == 0xFFFF:
            return None, at + 2
        assert length <= size
        return content[at + 2 : at + 2 + length].decode("utf-16-le"), at + 2 + length
    [total] = struct.unpack_from("<Q", content, at)
    at += 8
    if total == 2**64 - 1:
        return None, at
    whole = b""
    while True:
        [length] = struct.unpack_from("<I", content, at)
        at += 4 + length
        if length == 0:
            assert len(whole) == total
            return whole.decode("utf-16-le"), at
        whole += content[at - length : at]
