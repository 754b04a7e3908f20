"""Reads numbers out of what programs print of drives, whatever form they have there."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from steelyard.record.machine.drive_health import TOO_HOT

SmartReport = Mapping[str, Any]
"""A JSON object."""
Facts = dict[str, Any]
"""Fields of `DriveHealth` by their names; None: it was not said."""
NVME = "nvme"
"""What names of NVMe drives begin with."""
NVME_UNIT_BYTES = 512_000
"""A data unit is a thousand of 512 bytes, rounded up (NVMe base specification, log page 02h)."""
NVME_WARNINGS = {
    1: "its spare is below the threshold",
    2: TOO_HOT,
    4: "its reliability is degraded",
    8: "its media are read-only",
    16: "the backup of its volatile memory has failed",
    32: "its persistent memory region is read-only or unreliable",
}
"""Bit of the critical warning → what it says."""


def object_of(text: str) -> SmartReport | None:
    """The JSON object that a program printed; None: it is none."""
    try:
        report = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return report if isinstance(report, Mapping) else None


def part(report: SmartReport, *keys: str) -> SmartReport:
    """The object within an object; empty where it is missing."""
    for key in keys:
        inner = report.get(key)
        report = inner if isinstance(inner, Mapping) else {}
    return report


def parts(report: SmartReport, key: str) -> Iterator[SmartReport]:
    """The objects of a list within an object."""
    rows = report.get(key)
    for each in rows if isinstance(rows, list) else ():
        if isinstance(each, Mapping):
            yield each


def text(report: SmartReport, key: str) -> str:
    """A text within an object; empty where it is missing."""
    value = report.get(key)
    return value.strip() if isinstance(value, str) else ""


def whole(value: object) -> int | None:
    """A whole number; numbers of 128 bits are printed as a float or as a text by some versions."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return round(value) if math.isfinite(value) else None
    if isinstance(value, str):
        return int(value) if re.fullmatch(r"[0-9]{1,39}", value) else None
    return None


def count(report: SmartReport, key: str) -> int | None:
    """A number that only grows. Beyond 2^53 smartctl prints it exactly as a text beside it."""
    exact = whole(report.get(f"{key}_s"))
    number = whole(report.get(key)) if exact is None else exact
    return number if number is not None and number >= 0 else None


def times(number: int | None, unit: int | None) -> int | None:
    """The product of two numbers that are known."""
    return None if number is None or unit is None else number * unit


def words_of(critical_warning: int | None) -> tuple[str, ...] | None:
    """The critical warnings of an NVMe drive in words."""
    if critical_warning is None:
        return None
    warnings = [warning for bit, warning in NVME_WARNINGS.items() if critical_warning & bit]
    other = critical_warning & ~sum(NVME_WARNINGS)
    return (*warnings, *((f"critical warning {other:#04x}",) if other else ()))
