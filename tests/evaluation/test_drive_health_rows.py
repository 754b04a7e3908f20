"""The rows about drives say what they are, what the work did to them, and what is left."""

from __future__ import annotations

from typing import Any

from steelyard.evaluation.drive_health_rows import drive_rows
from steelyard.record.machine import DriveHealth

GB = 10**9
BEFORE = DriveHealth(
    device="nvme0n1",
    source="smartctl 7.3, nvme-cli",
    model="Maker DC 7.68T",
    firmware="FW01",
    temperature_celsius=35,
    read_bytes=7_230_000 * GB,
    written_bytes=6_180_000 * GB,
    step_bytes=512_000,
    spare_percent=100,
    spare_threshold_percent=10,
    used_percent=12,
    media_errors=0,
    error_log_entries=3,
    warnings=(),
    light_throttling_count=4,
    heavy_throttling_count=0,
    power_on_h=6679,
)


def after(**changes: Any) -> DriveHealth:
    moved: dict[str, Any] = {
        "temperature_celsius": 37,
        "read_bytes": 7_230_105 * GB,
        "written_bytes": 6_180_268 * GB,
    }
    return BEFORE.model_copy(update={**moved, **changes})


def rows_of(last: DriveHealth | None, **more: Any) -> dict[str, str]:
    later = [] if last is None else [last]
    return dict(drive_rows([BEFORE], later, "weighing", 240.0, **more))


def test_a_drive_has_three_rows() -> None:
    rows = rows_of(after(), included="pilot included")
    assert rows == {
        "drive nvme0n1": "Maker DC 7.68T, firmware FW01; 12 % of its endurance used; spare 100 % "
        "(it warns below 10 %); media errors 0; entries of its error log 3; no critical warning; "
        "6 680 h in use; read by smartctl 7.3, nvme-cli",
        "drive nvme0n1, this weighing": "98 GB read, 250 GB written (pilot included); 35 → 37 °C; "
        "no new media errors; never slowed itself down for its heat",
        "drive nvme0n1, endurance": "about 51 500 TB (49 400 to 53 700; of 10¹² bytes, as makers "
        "rate drives) in all; left at its lifetime's rate 49 000 h (46 800 to 51 400, 5.6 years); "
        "at this weighing's rate (at most 1065 MB/s under load) 11 300 h (10 800 to 11 800, "
        "1.3 years)",
    }


def test_heat_errors_and_warnings_of_the_time_between_are_told() -> None:
    row = rows_of(
        after(light_throttling_count=9, media_errors=1, warnings=("its media are read-only",))
    )["drive nvme0n1, this weighing"]
    assert "slowed itself down lightly 5 times, heavily 0 times" in row
    assert "1 new media error;" in row
    assert row.endswith("new: its media are read-only")


def test_a_counter_that_hardly_moved_says_so_and_gives_no_rate() -> None:
    little = 6_180_000 * GB + 3 * 512_000
    rows = rows_of(after(written_bytes=little))
    assert (
        "its counters go up by 512 000 bytes: what is a few of them is not exact"
        in (rows["drive nvme0n1, this weighing"])
    )
    assert "at this weighing's rate not known" in rows["drive nvme0n1, endurance"]


def test_a_new_drive_has_no_endurance_but_the_reason() -> None:
    fresh = {"used_percent": 1}
    rows = dict(
        drive_rows([BEFORE.model_copy(update=fresh)], [after(**fresh)], "probe", 100.0),
    )
    assert rows["drive nvme0n1, endurance"].startswith("not computed: only 1 % of it is used")


def test_a_drive_that_was_not_read_afterwards_says_so() -> None:
    rows = rows_of(None)
    assert "it was not read afterwards" in rows["drive nvme0n1, this weighing"]
    assert "49 000 h" in rows["drive nvme0n1, endurance"]


def test_a_drive_that_says_nothing_has_one_row_and_a_record_without_drives_none() -> None:
    none = DriveHealth(device="vda", why_not="not available on this device: a virtual device")
    assert drive_rows([none], [none], "weighing", 1.0) == [
        ("drive vda", "not available on this device: a virtual device")
    ]
    nowhere = DriveHealth(why_not="not available on this device: tmpfs")
    assert drive_rows([nowhere], [nowhere], "weighing", 1.0) == [
        ("drives", "not available on this device: tmpfs")
    ]
    assert drive_rows([], [], "weighing", 1.0) == []
