"""Names PostgreSQL's own types, and those that a database defines itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

_NAMES = {
    16: "bool", 17: "bytea", 18: '"char"', 19: "name", 20: "int8", 21: "int2",
    23: "int4", 25: "text", 26: "oid", 114: "json", 142: "xml", 650: "cidr", 700: "float4",
    701: "float8", 790: "money", 829: "macaddr", 869: "inet", 1042: "bpchar", 1043: "varchar",
    1082: "date", 1083: "time", 1114: "timestamp", 1184: "timestamptz", 1186: "interval",
    1266: "timetz", 1560: '"bit"', 1562: "varbit", 1700: "numeric", 2950: "uuid",
    3802: "jsonb", 3904: "int4range", 3906: "numrange", 3908: "tsrange", 3910: "tstzrange",
    3912: "daterange", 3926: "int8range", 4451: "int4multirange", 4532: "nummultirange",
    4533: "tsmultirange", 4534: "tstzmultirange", 4535: "datemultirange", 4536: "int8multirange",
}  # fmt: skip
ELEMENTS = {
    1000: 16, 1001: 17, 1002: 18, 1003: 19, 1016: 20, 1005: 21, 1007: 23, 1009: 25, 1028: 26,
    199: 114, 143: 142, 651: 650, 1021: 700, 1022: 701, 791: 790, 1040: 829, 1041: 869, 1014: 1042,
    1015: 1043, 1182: 1082, 1183: 1083, 1115: 1114, 1185: 1184, 1187: 1186, 1270: 1266, 1561: 1560,
    1563: 1562, 1231: 1700, 2951: 2950, 3807: 3802, 3905: 3904, 3907: 3906, 3909: 3908, 3911: 3910,
    3913: 3912, 3927: 3926, 6150: 4451, 6151: 4532, 6152: 4533, 6153: 4534, 6155: 4535, 6157: 4536,
}  # fmt: skip
"""Array → its elements (pg_type.dat)."""
BOUNDS = {3904: 23, 3906: 1700, 3908: 1114, 3910: 1184, 3912: 1082, 3926: 20}
"""Range → its bounds (pg_range.dat)."""
RANGES = {4451: 3904, 4532: 3906, 4533: 3908, 4534: 3910, 4535: 3912, 4536: 3926}
"""Multirange → its ranges (pg_range.dat)."""


class Defined(Protocol):
    """A type that a database defines itself."""

    @property
    def name(self) -> str:
        """As SQL names it, with its schema."""

    @property
    def kind(self) -> str:
        """`enum`, `domain`, `composite`, `range`, `multirange`, `array`; `same`: its binary form is
        that of `of`; else it is not read."""

    @property
    def of(self) -> int:
        """Oid of a domain's base, a range's bounds, a multirange's ranges, an array's elements."""


Types = Mapping[int, Defined]
"""Oid → a type that the session's database defines itself."""
NO_TYPES: Types = {}


def type_name(oid: int, types: Types = NO_TYPES) -> str | None:
    """As SQL names a type; None: it is not known, or none was said."""
    if oid in ELEMENTS:
        return f"{_NAMES[ELEMENTS[oid]]}[]"
    if oid in _NAMES or not oid:
        return _NAMES.get(oid)
    defined = types.get(oid)
    # In a script a colon before a word is a variable, in quotes too.
    return None if defined is None or ":" in defined.name else defined.name
