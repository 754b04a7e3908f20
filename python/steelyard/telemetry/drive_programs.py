"""Reads what programs print of a drive: smartctl of smartmontools, and nvme-cli; and numbers out of
it, whatever form they have there.

`smartctl --json=c -a DEVICE` is read of NVMe and SATA drives, whatever its version. Its exit status
is a bit mask (smartctl.h): 1 command line, 2 the device was not opened or did not identify itself,
4 a command failed, 8 failing, 16 and 32 thresholds, 64 and 128 logs with errors. Only the first two
mean that there is nothing to read.

Of a SATA drive device statistics come first, then attributes by their names. The number of an
attribute says little, since makers differ: its name in smartctl's database says what is counted and
in which unit. Names of drives that are not in it are smartctl's guesses, and names that do not say
a unit are left alone. Of a SAS drive only what both have in common is read.

Of `nvme smart-log DEVICE -o json` temperatures are in kelvin. Keys as in nvme-print-json.c,
json_smart_log; with `--verbose` the critical warning is an object.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from steelyard.record.machine import ONCE_AT_THRESHOLD, TOO_HOT

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
SMARTCTL = "smartctl"
_NOTHING = 1 | 2
_A_COMMAND_FAILED = 4
TELLS_THROTTLING = (8, 0)
"""From this version on smartctl's JSON has the thermal counters, and only where one is not 0."""
_THROTTLING = {
    "light_throttling_count": "thermal_mgmt_temperature_1_transition_count",
    "light_throttling_s": "thermal_mgmt_temperature_1_total_time",
    "heavy_throttling_count": "thermal_mgmt_temperature_2_transition_count",
    "heavy_throttling_s": "thermal_mgmt_temperature_2_total_time",
}
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


def smartctl_command(program: str, device: str) -> list[str]:
    """What is called; it reads only. Of SATA drives the device statistics are asked for too."""
    further = () if Path(device).name.startswith(NVME) else ("-l", "devstat")
    return [program, "--json=c", "-a", *further, device]


def source_of(report: SmartReport) -> str:
    """smartctl with its version."""
    return " ".join((SMARTCTL, ".".join(map(str, _version(report))))).strip()


def smartctl_facts(report: SmartReport, status: int) -> Facts:
    """What the drive says; nothing of its health where `smartctl_refusal` has a reason."""
    identity: Facts = {
        "model": text(report, "model_name"),
        "firmware": text(report, "firmware_version"),
    }
    health = part(report, "nvme_smart_health_information_log")
    if health:
        return {**identity, **_nvme(report, health)}
    return {**identity, **ata_facts(report, _status(report, status))}


def smartctl_refusal(report: SmartReport, status: int) -> str:
    """Why there is nothing to read, in smartctl's own words; empty: there is."""
    mask = _status(report, status)
    message = "; ".join(text(each, "string") for each in parts(part(report, SMARTCTL), "messages"))
    if mask & _NOTHING:
        return message or f"{SMARTCTL} ended with status {mask}"
    facts = smartctl_facts(report, status)
    if any(value is not None for key, value in facts.items() if key not in ("model", "firmware")):
        return ""
    failed = "a command to the drive failed" if mask & _A_COMMAND_FAILED else "it keeps no health"
    return message or failed


def _nvme(report: SmartReport, health: SmartReport) -> Facts:
    written = count(health, "data_units_written")
    celsius = whole(health.get("temperature"))
    silent = 0 if _version(report) >= TELLS_THROTTLING else None
    throttling = {field: count(health, key) for field, key in _THROTTLING.items()}
    return {
        "temperature_celsius": whole(part(report, "temperature").get("current"))
        if celsius is None
        else celsius,
        "read_bytes": times(count(health, "data_units_read"), NVME_UNIT_BYTES),
        "written_bytes": times(written, NVME_UNIT_BYTES),
        "step_bytes": None if written is None else NVME_UNIT_BYTES,
        "spare_percent": count(health, "available_spare"),
        "spare_threshold_percent": count(health, "available_spare_threshold"),
        "used_percent": count(health, "percentage_used"),
        "media_errors": count(health, "media_errors"),
        "error_log_entries": count(health, "num_err_log_entries"),
        "warnings": words_of(whole(health.get("critical_warning"))),
        "warning_temperature_min": count(health, "warning_temp_time"),
        "critical_temperature_min": count(health, "critical_comp_time"),
        **{field: silent if number is None else number for field, number in throttling.items()},
        "power_on_h": count(health, "power_on_hours"),
    }


def _version(report: SmartReport) -> tuple[int, ...]:
    version = part(report, SMARTCTL).get("version")
    numbers = [whole(each) for each in version] if isinstance(version, list) else []
    return tuple(each for each in numbers if each is not None)


def _status(report: SmartReport, status: int) -> int:
    exit_status = whole(part(report, SMARTCTL).get("exit_status"))
    return status if exit_status is None else exit_status


def ata_facts(report: SmartReport, status: int) -> Facts:
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


NVME_CLI = "nvme-cli"
_ZERO_CELSIUS_K = 273
"""As smartctl and the kernel round it: a drive's kelvins are whole."""


def nvme_cli_command(program: str, device: str) -> list[str]:
    """What is called; it reads log page 02h."""
    return [program, "smart-log", device, "-o", "json"]


def nvme_cli_facts(report: SmartReport) -> Facts:
    """What a smart log says."""
    kelvin = whole(report.get("temperature"))
    written = count(report, "data_units_written")
    return {
        "temperature_celsius": kelvin - _ZERO_CELSIUS_K if kelvin else None,
        "read_bytes": times(count(report, "data_units_read"), NVME_UNIT_BYTES),
        "written_bytes": times(written, NVME_UNIT_BYTES),
        "step_bytes": None if written is None else NVME_UNIT_BYTES,
        "spare_percent": count(report, "avail_spare"),
        "spare_threshold_percent": count(report, "spare_thresh"),
        "used_percent": count(report, "percent_used"),
        "media_errors": count(report, "media_errors"),
        "error_log_entries": count(report, "num_err_log_entries"),
        "warnings": words_of(_critical_warning(report)),
        "warning_temperature_min": count(report, "warning_temp_time"),
        "critical_temperature_min": count(report, "critical_comp_time"),
        "light_throttling_count": count(report, "thm_temp1_trans_count"),
        "light_throttling_s": count(report, "thm_temp1_total_time"),
        "heavy_throttling_count": count(report, "thm_temp2_trans_count"),
        "heavy_throttling_s": count(report, "thm_temp2_total_time"),
        "power_on_h": count(report, "power_on_hours"),
    }


def _critical_warning(report: SmartReport) -> int | None:
    warning = report.get("critical_warning")
    return whole(
        part(report, "critical_warning").get("value") if isinstance(warning, Mapping) else warning
    )
