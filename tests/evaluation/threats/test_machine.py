"""Every doubt has a cause that raises it, and a quiet machine raises none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from steelyard.evaluation.threats.machine import drive_threats, seen_on
from steelyard.record.machine.drive_health import ONCE_AT_THRESHOLD, TOO_HOT, DriveHealth
from steelyard.telemetry.host import HostSample, host_readings

SECOND = 1_000_000_000
QUIET = HostSample(
    monotonic_ns=0,
    boot_id="a",
    busy_ns={0: 0, 1: 0},
    steal_ns=0,
    throttled_ns=0,
    throttled_periods=0,
    pressure_ns={"memory full": 0},
    memory_available_bytes=8 << 30,
    memory_total_bytes=16 << 30,
    swap_used_bytes=0,
    disk_free_bytes=100 << 30,
    disk_total_bytes=200 << 30,
    load_1=2.0,
    suspended_ns=0,
)


def later(**changes: object) -> HostSample:
    return replace(QUIET, monotonic_ns=100 * SECOND, **changes)  # type: ignore[arg-type]


def seen_of(
    before: HostSample, after: HostSample, *, processors: list[int]
) -> list[tuple[str, str]]:
    readings = {one.name: one.value or 0.0 for one in host_readings(before, after)}
    return [(kind.value, seen) for kind, seen in seen_on(readings, processors)]


def test_a_quiet_machine_leaves_no_doubt() -> None:
    quiet = later(busy_ns={0: 90 * SECOND, 1: 90 * SECOND}, steal_ns=SECOND)
    assert seen_of(QUIET, quiet, processors=[0, 1]) == []


@pytest.mark.parametrize(
    ("changes", "kind", "seen"),
    [
        ({"steal_ns": 10 * SECOND}, "steal or throttling", "5.0% of processor time was stolen"),
        ({"throttled_ns": 2 * SECOND}, "steal or throttling", "throttled for 2 s of 1 min 40 s"),
        ({"memory_available_bytes": 1 << 29}, "memory or disk nearly full", "of memory available"),
        ({"swap_used_bytes": 1 << 28}, "memory or disk nearly full", "256 MB were swapped out"),
        ({"pressure_ns": {"memory full": 3 * SECOND}}, "memory or disk nearly full", "for 3 s"),
        ({"disk_free_bytes": 1 << 30}, "memory or disk nearly full", "of disk free"),
        ({"boot_id": "b"}, "machine changed", "started anew"),
        ({"suspended_ns": 30 * SECOND}, "machine changed", "suspended for 30 s"),
        ({"busy_ns": {0: 0}}, "machine changed", "2 processors were online, then 1"),
        ({"memory_total_bytes": 8 << 30}, "machine changed", "memory was 16 GB, then 8192 MB"),
    ],
)
def test_each_cause_raises_its_own_doubt(changes: dict[str, object], kind: str, seen: str) -> None:
    (doubt,) = seen_of(QUIET, later(**changes), processors=[0, 1])
    assert doubt[0] == kind
    assert seen in doubt[1]


def test_one_processor_is_a_doubt_of_its_own() -> None:
    assert seen_of(QUIET, later(), processors=[3]) == [
        ("one processor", "driver and servers share processor 3")
    ]


COOL = DriveHealth(
    device="nvme0n1",
    source="nvme-cli",
    model="Maker DC",
    warnings=(),
    media_errors=7,
    warning_temperature_min=2,
    critical_temperature_min=0,
    light_throttling_count=1,
    light_throttling_s=5,
    heavy_throttling_count=0,
    heavy_throttling_s=0,
)


def drive_doubts(**changes: object) -> list[tuple[str, str, bool]]:
    after = COOL.model_copy(update=changes)
    return [(one.name, one.seen, one.invalidates) for one in drive_threats([COOL], [after])]


def test_a_drive_that_stayed_as_it_was_leaves_no_doubt_whatever_it_had_before() -> None:
    assert drive_doubts() == []
    assert list(drive_threats([], [COOL])) == []
    assert list(drive_threats([COOL], [])) == []


@pytest.mark.parametrize(
    ("changes", "kind", "seen"),
    [
        (
            {"light_throttling_count": 4, "light_throttling_s": 17},
            "drive too hot",
            "nvme0n1 slowed itself down lightly 3 times, for 12 s in all",
        ),
        (
            {"heavy_throttling_s": 2},
            "drive too hot",
            "nvme0n1 slowed itself down heavily 0 times, for 2 s in all",
        ),
        (
            {"warning_temperature_min": 3},
            "drive too hot",
            "nvme0n1 was above its warning temperature for 1 min",
        ),
        ({"warnings": (TOO_HOT,)}, "drive too hot", f"nvme0n1 warns: {TOO_HOT}"),
        ({"media_errors": 9}, "drive failing", "nvme0n1 found 2 media errors"),
        (
            {"warnings": ("its media are read-only",)},
            "drive failing",
            "nvme0n1 warns: its media are read-only",
        ),
    ],
)
def test_heat_and_failures_of_a_drive_are_doubts_that_take_no_verdict_away(
    changes: dict[str, object], kind: str, seen: str
) -> None:
    assert drive_doubts(**changes) == [(kind, seen, False)]


def test_a_warning_from_before_is_a_doubt_and_says_that_it_is_old() -> None:
    failing = COOL.model_copy(update={"warnings": ("its media are read-only",)})
    [doubt] = drive_threats([failing], [failing])
    assert doubt.seen.endswith("read-only, as it did before the weighing")


def test_what_an_attribute_was_at_some_time_is_a_doubt_only_where_it_is_new() -> None:
    past = COOL.model_copy(update={"warnings": (ONCE_AT_THRESHOLD,)})
    assert list(drive_threats([past], [past])) == []
    assert drive_doubts(warnings=(ONCE_AT_THRESHOLD,)) == [
        ("drive failing", f"nvme0n1 warns: {ONCE_AT_THRESHOLD}", False)
    ]


def test_a_counter_that_was_not_read_before_raises_nothing() -> None:
    unknown = COOL.model_copy(update={"light_throttling_count": None, "light_throttling_s": None})
    assert list(drive_threats([unknown], [COOL])) == []
