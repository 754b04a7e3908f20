"""Reads `nvme smart-log DEVICE -o json` of nvme-cli: temperatures are in kelvin there.

Keys as in nvme-print-json.c, json_smart_log; with `--verbose` the critical warning is an object.
"""

from __future__ import annotations

from collections.abc import Mapping

from steelyard.telemetry.drives.facts import (
    NVME_UNIT_BYTES,
    Facts,
    SmartReport,
    count,
    part,
    times,
    whole,
    words_of,
)

SOURCE = "nvme-cli"
_ZERO_CELSIUS_K = 273
"""As smartctl and the kernel round it: a drive's kelvins are whole."""


def command(program: str, device: str) -> list[str]:
    """What is called; it reads log page 02h."""
    return [program, "smart-log", device, "-o", "json"]


def facts_of(report: SmartReport) -> Facts:
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
