"""Writes values of PostgreSQL's binary format as the text that it reads.

The binary forms are those of each type's send function (src/backend/utils/adt). What types a
database defines itself is the caller's to say.
"""

from __future__ import annotations

import ipaddress
import math
import struct
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from steelyard.workloads.capturing.passed.type_names import (
    BOUNDS,
    ELEMENTS,
    NO_TYPES,
    RANGES,
    Defined,
    Types,
)

_RANGE_EMPTY, _LOWER_IN, _UPPER_IN, _NO_LOWER, _NO_UPPER = 0x01, 0x02, 0x04, 0x08, 0x10
"""Flags of rangetypes.h."""
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


def text_of(oid: int, data: bytes, codec: str, types: Types = NO_TYPES) -> str:
    """A value in its text form. `codec`: Python's name of the session's encoding.

    UndecodableError: its type is not known, or its bytes are not of it.
    """
    try:
        return _Value(codec, types).text(oid, data)
    except UndecodableError:
        raise
    except RecursionError as error:
        raise UndecodableError("nested too deep") from error
    except (struct.error, ValueError, IndexError, OverflowError) as error:
        raise UndecodableError(str(error)) from error


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


def _timetz(data: bytes) -> str:
    us, west_s = struct.unpack(">qi", data)
    minutes, seconds = divmod(abs(west_s), 60)
    zone = f"{'-' if west_s > 0 else '+'}{minutes // 60:02}:{minutes % 60:02}:{seconds:02}"
    return _time(struct.pack(">q", us)) + zone


def _bits(data: bytes) -> str:
    [count] = struct.unpack_from(">i", data)
    digits = "".join(f"{byte:08b}" for byte in data[4:])
    if not 0 <= len(digits) - count < 8:
        raise UndecodableError("no bits")
    return digits[:count]


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
    829: lambda data: data.hex(":"), 869: _network, 1266: _timetz, 1560: _bits, 1562: _bits,
    1082: _date, 1083: _time, 1114: _timestamp, 1184: _timestamptz,
    1186: _interval, 1700: _numeric, 2950: lambda data: str(uuid.UUID(bytes=data)), 3802: _jsonb,
}  # fmt: skip


@dataclass(frozen=True)
class _Value:
    """Reads values of a session."""

    codec: str
    types: Types

    def text(self, oid: int, data: bytes) -> str:
        if oid in _TEXTS:
            return data.decode(self.codec)
        read = _READERS.get(oid)
        if read is not None:
            return read(data)
        if oid in ELEMENTS:
            return self._array(data)
        if oid in BOUNDS:
            return self._range(BOUNDS[oid], data)
        if oid in RANGES:
            return self._multirange(RANGES[oid], data)
        defined = self.types.get(oid)
        if defined is None:
            raise UndecodableError(f"type {oid}")
        return self._defined(defined, data)

    def _defined(self, defined: Defined, data: bytes) -> str:
        if defined.kind == "enum":
            return data.decode(self.codec)
        if defined.kind in ("domain", "same"):
            return self.text(defined.of, data)
        if defined.kind == "array":
            return self._array(data)
        if defined.kind == "composite":
            return self._composite(data)
        if defined.kind == "range":
            return self._range(defined.of, data)
        if defined.kind == "multirange":
            return self._multirange(defined.of, data)
        raise UndecodableError(f'type "{defined.name}"')

    def _array(self, data: bytes) -> str:
        dimensions, _, oid = struct.unpack_from(">iiI", data)
        if not 0 <= dimensions <= _MOST_DIMENSIONS:
            raise UndecodableError("no array")
        bounds = [struct.unpack_from(">ii", data, 12 + 8 * n) for n in range(dimensions)]
        elements = [
            "NULL" if value is None else _quoted(self.text(oid, value))
            for value in _pieces(data, 12 + 8 * dimensions)
        ]
        expected = 1 if dimensions else 0
        for size, _ in bounds:
            expected *= size
        if len(elements) != expected:
            raise UndecodableError("half an array")
        shifted = any(low != 1 for _, low in bounds)
        head = "".join(f"[{low}:{low + size - 1}]" for size, low in bounds) + "=" if shifted else ""
        return head + _nested(elements, [size for size, _ in bounds])

    def _composite(self, data: bytes) -> str:
        """record_send: the number of fields, and each with the oid of its type."""
        [count] = struct.unpack_from(">i", data)
        fields, at = list[str](), 4
        while at < len(data):
            [oid] = struct.unpack_from(">I", data, at)
            value, at = _piece(data, at + 4)
            fields.append("" if value is None else _quoted(self.text(oid, value)))
        if len(fields) != count:
            raise UndecodableError("half a row")
        return f"({','.join(fields)})"

    def _range(self, of: int, data: bytes) -> str:
        """range_send: flags, and the bounds that there are."""
        flags = data[0]
        bounds = list(_pieces(data, 1))
        infinite = flags & _NO_LOWER, flags & _NO_UPPER
        if flags & _RANGE_EMPTY:
            infinite = (1, 1)
        if len(bounds) != infinite.count(0) or None in bounds:
            raise UndecodableError("half a range")
        if flags & _RANGE_EMPTY:
            return "empty"
        texts = [_quoted(self.text(of, bound)) for bound in bounds if bound is not None]
        low = "" if infinite[0] else texts.pop(0)
        high = "" if infinite[1] else texts.pop(0)
        ends = "[" if flags & _LOWER_IN else "(", "]" if flags & _UPPER_IN else ")"
        return f"{ends[0]}{low},{high}{ends[1]}"

    def _multirange(self, of: int, data: bytes) -> str:
        """multirange_send: the number of ranges, and each."""
        [count] = struct.unpack_from(">i", data)
        ranges = [self.text(of, value) for value in _pieces(data, 4) if value is not None]
        if len(ranges) != count:
            raise UndecodableError("half a multirange")
        return f"{{{','.join(ranges)}}}"


def _pieces(data: bytes, at: int) -> Iterator[bytes | None]:
    """Values with their lengths before them, to the end; None: NULL."""
    while at < len(data):
        value, at = _piece(data, at)
        yield value


def _piece(data: bytes, at: int) -> tuple[bytes | None, int]:
    """A value with its length before it, and where the next begins."""
    [length] = struct.unpack_from(">i", data, at)
    at += 4
    if length < 0:
        return None, at
    value = data[at : at + length]
    if len(value) != length:
        raise UndecodableError("half a value")
    return value, at + length


def _nested(elements: list[str], sizes: list[int]) -> str:
    if len(sizes) > 1:
        each = len(elements) // sizes[0] if sizes[0] else 0
        parts = [elements[n * each : (n + 1) * each] for n in range(sizes[0])]
        elements = [_nested(part, sizes[1:]) for part in parts]
    return "{" + ",".join(elements) + "}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
