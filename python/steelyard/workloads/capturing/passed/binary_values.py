"""Names PostgreSQL's own types, and writes values of its binary format as the text that it reads.

The binary forms are those of each type's send function (src/backend/utils/adt).
"""

from __future__ import annotations

import ipaddress
import math
import struct
import uuid
from collections.abc import Callable
from datetime import date, datetime, timedelta

_NAMES = {
    16: "bool", 17: "bytea", 18: '"char"', 19: "name", 20: "int8", 21: "int2",
    23: "int4", 25: "text", 26: "oid", 114: "json", 142: "xml", 650: "cidr", 700: "float4",
    701: "float8", 790: "money", 829: "macaddr", 869: "inet", 1042: "bpchar", 1043: "varchar",
    1082: "date", 1083: "time", 1114: "timestamp", 1184: "timestamptz", 1186: "interval",
    1266: "timetz", 1560: '"bit"', 1562: "varbit", 1700: "numeric", 2950: "uuid",
    3802: "jsonb",
}  # fmt: skip
_OF_ARRAYS = {
    1000: 16, 1001: 17, 1002: 18, 1003: 19, 1016: 20, 1005: 21, 1007: 23, 1009: 25, 1028: 26,
    199: 114, 143: 142, 651: 650, 1021: 700, 1022: 701, 791: 790, 1040: 829, 1041: 869, 1014: 1042,
    1015: 1043, 1182: 1082, 1183: 1083, 1115: 1114, 1185: 1184, 1187: 1186, 1270: 1266, 1561: 1560,
    1563: 1562, 1231: 1700, 2951: 2950, 3807: 3802,
}  # fmt: skip
"""Array → its elements (pg_type.dat)."""
_EPOCH = date(2000, 1, 1)
_DAY_US = 86_400_000_000
_INFINITY_32, _INFINITY_64 = 2**31 - 1, 2**63 - 1
_NUMERIC_SIGNS = {0x0000: "", 0x4000: "-"}
_NUMERIC_WORDS = {0xC000: "NaN", 0xD000: "Infinity", 0xF000: "-Infinity"}
_MOST_DIMENSIONS = 6
_FAMILIES = {2: 4, 3: 16}
"""PGSQL_AF_INET and PGSQL_AF_INET6 with the bytes of their addresses."""


class UndecodableError(ValueError):
    """A value of a type, or in a form, that is not read here."""


def type_name(oid: int) -> str | None:
    """As SQL names one of PostgreSQL's own types; None: another one, or none was said."""
    if oid in _OF_ARRAYS:
        return f"{_NAMES[_OF_ARRAYS[oid]]}[]"
    return _NAMES.get(oid)


def text_of(oid: int, data: bytes, codec: str) -> str:
    """A value in its text form. `codec`: Python's name of the session's encoding.

    UndecodableError: its type is not known, or its bytes are not of it.
    """
    try:
        if oid in _OF_ARRAYS:
            return _array(data, codec)
        if oid in _TEXTS:
            return data.decode(codec)
        read = _READERS.get(oid)
        if read is None:
            raise UndecodableError(f"type {oid}")
        return read(data)
    except (struct.error, UnicodeDecodeError, IndexError, OverflowError) as error:
        raise UndecodableError(str(error)) from error
    except ValueError as error:
        raise (
            error if isinstance(error, UndecodableError) else UndecodableError(str(error))
        ) from error


_TEXTS = {19, 25, 114, 142, 705, 1042, 1043}
"""Whose binary form is their text; 705: of no type yet."""


def _number(form: str) -> Callable[[bytes], str]:
    return lambda data: str(struct.unpack(form, data)[0])


def _bool(data: bytes) -> str:
    return "t" if struct.unpack("?", data)[0] else "f"


def _float4(data: bytes) -> str:
    [value] = struct.unpack(">f", data)
    texts = (f"{value:.{digits}g}" for digits in range(6, 10))
    same = (text for text in texts if struct.pack(">f", float(text)) == data)
    return _float_word(value) or next(same)


def _float8(data: bytes) -> str:
    [value] = struct.unpack(">d", data)
    return _float_word(value) or repr(value)


def _float_word(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return ""


def _numeric(data: bytes) -> str:
    count, weight, sign, scale = struct.unpack_from(">hhHh", data)
    if sign in _NUMERIC_WORDS:
        return _NUMERIC_WORDS[sign]
    if sign not in _NUMERIC_SIGNS or len(data) != 8 + 2 * count:
        raise UndecodableError("a numeric of another form")
    digits = struct.unpack_from(f">{count}H", data, 8)
    group = dict(zip(range(weight, weight - count, -1), digits, strict=True))
    whole = "".join(f"{group.get(at, 0):04}" for at in range(max(weight, 0), -1, -1))
    groups = -(-scale // 4)
    part = "".join(f"{group.get(-at, 0):04}" for at in range(1, groups + 1))[:scale]
    return f"{_NUMERIC_SIGNS[sign]}{whole.lstrip('0') or '0'}{'.' if scale else ''}{part}"


def _date(data: bytes) -> str:
    [days] = struct.unpack(">i", data)
    if days in (_INFINITY_32, -_INFINITY_32 - 1):
        return "infinity" if days > 0 else "-infinity"
    return (_EPOCH + timedelta(days=days)).isoformat()


def _timestamp(data: bytes) -> str:
    [us] = struct.unpack(">q", data)
    if us in (_INFINITY_64, -_INFINITY_64 - 1):
        return "infinity" if us > 0 else "-infinity"
    return str(datetime(2000, 1, 1) + timedelta(microseconds=us))


def _timestamptz(data: bytes) -> str:
    text = _timestamp(data)
    return text if text.endswith("infinity") else f"{text}+00"


def _time(data: bytes) -> str:
    [us] = struct.unpack(">q", data)
    if not 0 <= us <= _DAY_US:
        raise UndecodableError("no time of a day")
    seconds, us = divmod(us, 1_000_000)
    minutes, seconds = divmod(seconds, 60)
    return f"{minutes // 60:02}:{minutes % 60:02}:{seconds:02}.{us:06}"


def _interval(data: bytes) -> str:
    us, days, months = struct.unpack(">qii", data)
    if abs(months) >= _INFINITY_32:
        raise UndecodableError("an interval without end")
    return f"{months} mons {days} days {us} microseconds"


def _jsonb(data: bytes) -> str:
    if data[:1] != b"\x01":
        raise UndecodableError("a jsonb of another version")
    return data[1:].decode()


def _network(data: bytes) -> str:
    family, bits, is_cidr, length = data[0], data[1], data[2], data[3]
    if _FAMILIES.get(family) != length or len(data) != 4 + length:
        raise UndecodableError("no address")
    address = ipaddress.ip_address(data[4:])
    whole = bits == 8 * length and not is_cidr
    return str(address) if whole else f"{address}/{bits}"


_READERS: dict[int, Callable[[bytes], str]] = {
    16: _bool, 17: lambda data: f"\\x{data.hex()}", 20: _number(">q"), 21: _number(">h"),
    23: _number(">i"), 26: _number(">I"), 650: _network, 700: _float4, 701: _float8,
    869: _network, 1082: _date, 1083: _time, 1114: _timestamp, 1184: _timestamptz,
    1186: _interval, 1700: _numeric, 2950: lambda data: str(uuid.UUID(bytes=data)), 3802: _jsonb,
}  # fmt: skip


def _array(data: bytes, codec: str) -> str:
    dimensions, _, oid = struct.unpack_from(">iiI", data)
    if not 0 <= dimensions <= _MOST_DIMENSIONS:
        raise UndecodableError("no array")
    at = 12 + 8 * dimensions
    bounds = [struct.unpack_from(">ii", data, 12 + 8 * n) for n in range(dimensions)]
    elements: list[str] = []
    while at < len(data):
        [length] = struct.unpack_from(">i", data, at)
        at += 4
        if length < 0:
            elements.append("NULL")
            continue
        value = data[at : at + length]
        if len(value) != length:
            raise UndecodableError("half an array")
        elements.append(_quoted(text_of(oid, value, codec)))
        at += length
    expected = 1 if dimensions else 0
    for size, _ in bounds:
        expected *= size
    if len(elements) != expected:
        raise UndecodableError("half an array")
    shifted = any(low != 1 for _, low in bounds)
    head = "".join(f"[{low}:{low + size - 1}]" for size, low in bounds) + "=" if shifted else ""
    return head + _nested(elements, [size for size, _ in bounds])


def _nested(elements: list[str], sizes: list[int]) -> str:
    if len(sizes) > 1:
        each = len(elements) // sizes[0] if sizes[0] else 0
        parts = [elements[n * each : (n + 1) * each] for n in range(sizes[0])]
        elements = [_nested(part, sizes[1:]) for part in parts]
    return "{" + ",".join(elements) + "}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
