"""What smartctl and nvme-cli print of drives, built from their schemas; programs that print it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

Json = dict[str, Any]


def smartctl(version: tuple[int, int] = (7, 3), status: int = 0, *messages: str) -> Json:
    """What every answer of smartctl begins with."""
    said = [{"string": one, "severity": "error"} for one in messages]
    head: Json = {"version": [*version], "exit_status": status}
    return {"json_format_version": [1, 0], "smartctl": head | ({"messages": said} if said else {})}


def nvme(version: tuple[int, int] = (7, 3), status: int = 0, **changes: Any) -> Json:
    """An NVMe drive by smartctl; keys of its log may be changed, or left out by None."""
    log = {
        "critical_warning": 0,
        "temperature": 35,
        "available_spare": 100,
        "available_spare_threshold": 10,
        "percentage_used": 12,
        "data_units_read": 14_121_094,
        "data_units_written": 12_070_313,
        "host_reads": 901,
        "host_writes": 902,
        "controller_busy_time": 903,
        "power_cycles": 17,
        "power_on_hours": 6679,
        "unsafe_shutdowns": 4,
        "media_errors": 0,
        "num_err_log_entries": 3,
        "warning_temp_time": 0,
        "critical_comp_time": 0,
        "temperature_sensors": [35, 41],
        **changes,
    }
    return {
        **smartctl(version, status),
        "device": {"name": "/dev/nvme0n1", "type": "nvme", "protocol": "NVMe"},
        "model_name": "Maker DC 7.68T",
        "serial_number": "SECRET-1",
        "firmware_version": "FW01",
        "smart_status": {"passed": not log["critical_warning"]},
        "nvme_smart_health_information_log": {k: v for k, v in log.items() if v is not None},
        "temperature": {"current": 35},
        "power_on_time": {"hours": 6679},
    }


def smart_log(**changes: Any) -> Json:
    """The same drive by nvme-cli."""
    log = {
        "critical_warning": 0,
        "temperature": 308,
        "avail_spare": 100,
        "spare_thresh": 10,
        "percent_used": 12,
        "data_units_read": 14_121_094,
        "data_units_written": 12_070_313,
        "power_on_hours": 6679,
        "media_errors": 0,
        "num_err_log_entries": 3,
        "warning_temp_time": 0,
        "critical_comp_time": 0,
        "temperature_sensor_1": 308,
        "thm_temp1_trans_count": 4,
        "thm_temp2_trans_count": 0,
        "thm_temp1_total_time": 61,
        "thm_temp2_total_time": 0,
        **changes,
    }
    return {key: value for key, value in log.items() if value is not None}


def sata(*attributes: tuple[int, str, int], status: int = 0, **changes: Any) -> Json:
    """A SATA drive by smartctl, with attributes as (id, name, raw value)."""
    table = [
        {"id": number, "name": name, "value": 99, "worst": 99, "thresh": 0, "raw": {"value": raw}}
        for number, name, raw in attributes
    ]
    return {
        **smartctl((7, 3), status),
        "device": {"name": "/dev/sda", "type": "sat", "protocol": "ATA"},
        "model_name": "Maker SATA 480G",
        "serial_number": "SECRET-2",
        "firmware_version": "SF01",
        "in_smartctl_database": True,
        "logical_block_size": 512,
        "smart_status": {"passed": True},
        "ata_smart_attributes": {"revision": 1, "table": table},
        "ata_smart_error_log": {"summary": {"revision": 1, "count": 0}},
        "power_on_time": {"hours": 20_000},
        "temperature": {"current": 31},
        **changes,
    }


def statistics(*values: tuple[int, str, int], valid: bool = True) -> Json:
    """Device statistics, as (page, name, value)."""
    pages = [
        {
            "number": page,
            "name": f"page {page}",
            "table": [{"offset": 8, "name": name, "value": value, "flags": {"valid": valid}}],
        }
        for page, name, value in values
    ]
    return {"pages": pages}


def program(place: Path, name: str, printed: Json | str, status: int = 0, errors: str = "") -> Path:
    """A program of this name that prints this, and writes down how it was called."""
    text = printed if isinstance(printed, str) else json.dumps(printed)
    place.mkdir(parents=True, exist_ok=True)
    (place / f"{name}.said").write_text(text)
    lines = [
        "#!/bin/sh",
        f'echo "$*" >> "{place}/{name}.called"',
        f'[ -z "{errors}" ] || echo "{errors}" >&2',
        f'while IFS= read -r line || [ -n "$line" ]; do echo "$line"; done < "{place}/{name}.said"',
        f"exit {status}",
    ]
    path = place / name
    path.write_text("\n".join(lines) + "\n")
    path.chmod(0o755)
    return path


def called(place: Path, name: str) -> list[str]:
    """How a program was called, every time."""
    file = place / f"{name}.called"
    return file.read_text().splitlines() if file.exists() else []


def machine(root: Path, *names: str, bus: str = "pci0", node: bool = True) -> Path:
    """A /sys and a /dev with drives; the last is beneath the directory that is given back."""
    directory = root / "data"
    directory.mkdir(parents=True, exist_ok=True)
    number = os.stat(directory).st_dev
    for place in ("sys/dev/block", "sys/class/block", "dev"):
        (root / place).mkdir(parents=True, exist_ok=True)
    for name in names:
        device = root / "sys/devices" / bus / "block" / name
        (device / "device").mkdir(parents=True)
        (root / "sys/class/block" / name).symlink_to(device)
        if node:
            (root / "dev" / name).touch()
    mounted = root / "sys/dev/block" / f"{os.major(number)}:{os.minor(number)}"
    mounted.symlink_to(root / "sys/class/block" / names[-1])
    return directory
