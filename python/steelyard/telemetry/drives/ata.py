"""Reads smartctl's JSON of a SATA drive: device statistics first, then attributes by their names.

The number of an attribute says little, since makers differ: its name in smartctl's database says
what is counted and in which unit. Names of drives that are not in it are smartctl's guesses, and
names that do not say a unit are left alone. Of a SAS drive only what both have in common is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from steelyard.record.machine.drive_health import ONCE_AT_THRESHOLD
from steelyard.telemetry.drives.facts import (
    Facts,
    SmartReport,
    count,
    part,
    parts,
    text,
    times,
    whole,
)

_SECTORS = re.compile(r"Total_LBAs_(Written|Read)")
_SIZED = re.compile(
    r"(?:Total_Host|Total|Host|Lifetime)_(Writes|Reads|Written|Read)_(\d*)([KMGT]i?B)"
)
"""`Host_Writes_32MiB`, `Total_Reads_GiB`: by the host. `NAND_Writes_1GiB` is another thing."""
_POWER = {"K": 1, "M": 2, "G": 3, "T": 4}
_UNCORRECTABLE = ("Reported_Uncorrect", "Uncorrectable_Error_Cnt")
_FAILING = 8
_BITS = {
    16: "an attribute is at its failure threshold",
    32: ONCE_AT_THRESHOLD,
    128: "its self-test log has errors",
}
"""Bits of smartctl's exit status (smartctl.h); 64 says that the error log has entries, which are
counted by themselves."""
GENERAL, ERRORS, SOLID_STATE = 1, 4, 7
"""Pages of the device statistics (ACS-4, 9.5)."""


def facts_of(report: SmartReport, status: int) -> Facts:
    """What a SATA drive says; `status`: smartctl's exit status, whose bits are results too."""
    read, written, step = _bytes(report)
    return {
        "temperature_celsius": whole(part(report, "temperature").get("current")),
        "read_bytes": read,
        "written_bytes": written,
        "step_bytes": step,
        "used_percent": _statistic(report, SOLID_STATE, "Percentage Used Endurance Indicator"),
        "media_errors": _media_errors(report),
        "error_log_entries": count(part(report, "ata_smart_error_log", "summary"), "count"),
        "warnings": _warnings(report, status),
        "power_on_h": count(part(report, "power_on_time"), "hours"),
    }


def _bytes(report: SmartReport) -> tuple[int | None, int | None, int | None]:
    """Bytes read and written over its life, and the unit they are counted in."""
    sector = whole(report.get("logical_block_size"))
    sectors = [_statistic(report, GENERAL, f"Logical Sectors {way}") for way in ("Read", "Written")]
    if sectors[1] is not None and sector:
        return times(sectors[0], sector), times(sectors[1], sector), sector
    volumes: dict[str, tuple[int, int]] = {}
    for name, raw in _attributes(report):
        unit = sector if _SECTORS.fullmatch(name) else _unit_of(name)
        if unit:
            volumes.setdefault("read" if "Read" in name else "written", (raw * unit, unit))
    amounts = {way: amount for way, (amount, _) in volumes.items()}
    step = max((unit for _, unit in volumes.values()), default=None)
    return amounts.get("read"), amounts.get("written"), step


def _unit_of(name: str) -> int | None:
    """The unit that an attribute's name says, in bytes."""
    match = _SIZED.fullmatch(name)
    if match is None:
        return None
    base = 1024 if "i" in match[3] else 1000
    unit: int = base ** _POWER[match[3][0]]
    return int(match[2] or 1) * unit


def _media_errors(report: SmartReport) -> int | None:
    counted = _statistic(report, ERRORS, "Number of Reported Uncorrectable Errors")
    uncorrectable = [raw for name, raw in _attributes(report) if name in _UNCORRECTABLE]
    return counted if counted is not None else next(iter(uncorrectable), None)


def _warnings(report: SmartReport, status: int) -> tuple[str, ...] | None:
    passed = part(report, "smart_status").get("passed")
    if not isinstance(passed, bool):
        return None
    failing = not passed or status & _FAILING
    return (
        *(("its own status says that it is failing",) if failing else ()),
        *(warning for bit, warning in _BITS.items() if status & bit),
    )


def _attributes(report: SmartReport) -> Iterator[tuple[str, int]]:
    """Name and raw value of every attribute whose meaning is known."""
    if report.get("in_smartctl_database") is not True:
        return
    for each in parts(part(report, "ata_smart_attributes"), "table"):
        name, raw = text(each, "name"), count(part(each, "raw"), "value")
        if name and raw is not None:
            yield name, raw


def _statistic(report: SmartReport, page: int, name: str) -> int | None:
    """A value of the device statistics that the drive says is valid."""
    for each in parts(part(report, "ata_device_statistics"), "pages"):
        if each.get("number") != page:
            continue
        for row in parts(each, "table"):
            if row.get("name") == name and part(row, "flags").get("valid") is True:
                return count(row, "value")
    return None
