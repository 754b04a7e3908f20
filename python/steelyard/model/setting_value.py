"""Reads and writes values of PostgreSQL's settings (bytes, times, and what a server counts in), and
holds which values a server accepts.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

KB, MB, GB = 1 << 10, 1 << 20, 1 << 30
_BYTES = {"B": 1, "kB": KB, "MB": MB, "GB": GB, "TB": 1 << 40}
_NS = {"us": 1e3, "ms": 1e6, "s": 1e9, "min": 6e10, "h": 3.6e12, "d": 8.64e13}
_UNIT = re.compile(r"(\d*)(B|kB|MB|GB|TB|us|ms|s|min|h|d)")
_VALUE = re.compile(
    r"\s*([-+]?(?:(0x[0-9a-f]{1,16})|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]+)?))\s*([a-z]*)\s*",
    re.IGNORECASE,
)
"""As parse_int and parse_real of src/backend/utils/misc/guc.c have it, but for octal numbers."""
_WRITTEN = (*("GB", "MB", "kB", "B"), *("h", "min", "s", "ms", "us"))
"""Units of a configuration file, the largest of each kind first."""


def size_text(size_bytes: float) -> str:
    """Bytes as a setting has them, rounded down to two figures and more: `"5632MB"`, `"94GB"`."""
    for unit, name in ((GB, "GB"), (MB, "MB")):
        if size_bytes >= 10 * unit or (size_bytes >= unit and size_bytes % unit == 0):
            return f"{int(size_bytes // unit)}{name}"
    return f"{int(size_bytes // KB)}kB"


def number_in(value: str, unit: str) -> float | None:
    """A value in the unit that the server counts in; a bare number is in it already. None where it
    is no number (`"on"`, `"lz4"`), or one of another kind."""
    match = _VALUE.fullmatch(value)
    if match is None:
        return None
    number = float(int(match[1], 16)) if match[2] else float(match[1])
    suffix = match[3]
    if not math.isfinite(number):
        return None
    if not suffix:
        return number
    source, target = _worth(suffix), _worth(unit)
    if source is None or target is None or source[0] != target[0]:
        return None
    return number * source[1] / target[1]


def quantity(value: str, unit: str) -> tuple[str, float] | None:
    """What a value is of, and how much: `("bytes", 131072.0)`, or of `"ns"`. It is in the unit
    where it has none of its own; None: it is no size and no time."""
    number, worth = number_in(value, unit), _worth(unit)
    return None if number is None or worth is None else (worth[0], number * worth[1])


def size_bytes(value: str, unit: str) -> float | None:
    """Bytes of a value, which is in the unit where it has none of its own; None: it is no size."""
    measure = quantity(value, unit)
    return measure[1] if measure is not None and measure[0] == "bytes" else None


def reported(text: str) -> tuple[float | None, str]:
    """Number and unit of a value with its unit behind it, as a server reports it: `"300 s"`."""
    value, _, unit = text.partition(" ")
    try:
        return float(value), unit
    except ValueError:
        return None, unit


def with_unit(value: str, unit: str) -> str:
    """A value in a unit as a configuration file has it, in the largest unit that holds it whole:
    `"128MB"`, `"5min"`; a word, a count, 0 and what is below (`"-1"`: off) as they are."""
    if (
        number_in(value, "") is None
        or (measure := quantity(value, unit)) is None
        or measure[1] <= 0
    ):
        return value
    kind, amount = measure
    scale: dict[str, float] = {**_BYTES} if kind == "bytes" else _NS
    for name in _WRITTEN:
        if name in scale and amount % scale[name] == 0:
            return f"{amount / scale[name]:.0f}{name}"
    return f"{value}{unit}"


def _worth(unit: str) -> tuple[str, float] | None:
    """Bytes or nanoseconds of one: of `"8kB"` 8,192 bytes."""
    match = _UNIT.fullmatch(unit)
    if match is None:
        return None
    kind, each = ("bytes", _BYTES[match[2]]) if match[2] in _BYTES else ("ns", _NS[match[2]])
    return kind, int(match[1] or 1) * float(each)


@dataclass(frozen=True)
class Allowed:
    """Values that a build accepts, and the one that it assumes."""

    kind: str  # "bool", "enum", "integer", "real" or "string"
    default: str | None  # in `unit`
    unit: str  # of default, low and high: "kB", "8kB", "MB", "ms", "s", "min", ... or ""
    low: float | None  # None: it has no bounds
    high: float | None
    values: tuple[str, ...]  # of an enum
    context: str  # "internal", "postmaster", "sighup", "superuser", "user", ...

    @property
    def needs_restart(self) -> bool:
        """Whether it is read only when the server starts."""
        return self.context == "postmaster"
