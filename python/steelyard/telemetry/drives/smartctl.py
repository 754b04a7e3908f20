"""Reads `smartctl --json=c -a DEVICE` of smartmontools: NVMe and SATA, whatever version.

Its exit status is a bit mask (smartctl.h): 1 command line, 2 the device was not opened or did not
identify itself, 4 a command failed, 8 failing, 16 and 32 thresholds, 64 and 128 logs with errors.
Only the first two mean that there is nothing to read.
"""

from __future__ import annotations

from pathlib import Path

from steelyard.telemetry.drives import ata
from steelyard.telemetry.drives.facts import (
    NVME,
    NVME_UNIT_BYTES,
    Facts,
    SmartReport,
    count,
    part,
    parts,
    text,
    times,
    whole,
    words_of,
)

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


def command(program: str, device: str) -> list[str]:
    """What is called; it reads only. Of SATA drives the device statistics are asked for too."""
    further = () if Path(device).name.startswith(NVME) else ("-l", "devstat")
    return [program, "--json=c", "-a", *further, device]


def source_of(report: SmartReport) -> str:
    """smartctl with its version."""
    return " ".join((SMARTCTL, ".".join(map(str, _version(report))))).strip()


def facts_of(report: SmartReport, status: int) -> Facts:
    """What the drive says; nothing of its health where `why_not` has a reason."""
    identity: Facts = {
        "model": text(report, "model_name"),
        "firmware": text(report, "firmware_version"),
    }
    health = part(report, "nvme_smart_health_information_log")
    if health:
        return {**identity, **_nvme(report, health)}
    return {**identity, **ata.facts_of(report, _status(report, status))}


def why_not(report: SmartReport, status: int) -> str:
    """Why there is nothing to read, in smartctl's own words; empty: there is."""
    mask = _status(report, status)
    message = "; ".join(text(each, "string") for each in parts(part(report, SMARTCTL), "messages"))
    if mask & _NOTHING:
        return message or f"{SMARTCTL} ended with status {mask}"
    facts = facts_of(report, status)
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
