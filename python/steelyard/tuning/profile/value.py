"""Converts values of settings: from bytes, to bytes, and to the unit that the server counts in."""

from __future__ import annotations

import re

from steelyard.model.allowed import Allowed

KB, MB, GB = 1 << 10, 1 << 20, 1 << 30
_BYTES = {"B": 1, "kB": KB, "MB": MB, "GB": GB, "TB": 1 << 40}
_NS = {"us": 1e3, "ms": 1e6, "s": 1e9, "min": 6e10, "h": 3.6e12, "d": 8.64e13}
_UNIT = re.compile(r"(\d*)(B|kB|MB|GB|TB|us|ms|s|min|h|d)")
_VALUE = re.compile(r"(-?\d+(?:\.\d+)?) ?([A-Za-z]*)")


def size_text(size_bytes: float) -> str:
    """Bytes as a setting has them, rounded down to two figures and more: `"5632MB"`, `"94GB"`."""
    for unit, name in ((GB, "GB"), (MB, "MB")):
        if size_bytes >= 10 * unit or (size_bytes >= unit and size_bytes % unit == 0):
            return f"{int(size_bytes // unit)}{name}"
    return f"{int(size_bytes // KB)}kB"


def counted(value: str, unit: str) -> float | None:
    """A value in the unit that the server counts in; a bare number is in it already. None where it
    is no number (`"on"`, `"lz4"`)."""
    match = _VALUE.fullmatch(value)
    if match is None:
        return None
    number, own = float(match[1]), match[2]
    if not own:
        return number
    worth, base = _worth(own), _worth(unit)
    if worth is None or base is None or (own in _BYTES) is not _counts_bytes(unit):
        return None
    return number * worth / base


def size_bytes(value: str, unit: str) -> float | None:
    """Bytes of a value, which is in the unit where it has none of its own; None: it is no size."""
    number, worth = counted(value, unit), _worth(unit)
    return None if number is None or worth is None or not _counts_bytes(unit) else number * worth


def written(allowed: Allowed) -> str:
    """The default of a setting as a configuration file would have it: `"128MB"`, `"5min"`."""
    if allowed.default is None:
        return ""
    number = counted(allowed.default, "")
    worth = _worth(allowed.unit) if allowed.unit else None
    if number is None or worth is None or number <= 0:
        return allowed.default
    if _counts_bytes(allowed.unit):
        return size_text(number * worth)
    ns = number * worth
    name = next(name for name in ("h", "min", "s", "ms", "us") if ns % _NS[name] == 0)
    return f"{int(ns / _NS[name])}{name}"


def _counts_bytes(unit: str) -> bool:
    match = _UNIT.fullmatch(unit)
    return match is not None and match[2] in _BYTES


def _worth(unit: str) -> float | None:
    """Bytes or nanoseconds of one: of `"8kB"` 8,192."""
    match = _UNIT.fullmatch(unit)
    if match is None:
        return None
    return int(match[1] or 1) * (_BYTES.get(match[2]) or _NS[match[2]])
