"""Every doubt has a cause that raises it, and a quiet machine raises none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evaluation.made import MakeEpoch
from steelyard.evaluation.threats.machine import (
    AboveTemperature,
    DrivesFailing,
    DrivesHot,
    DriveWarning,
    GroupThrottled,
    InEpochs,
    LittleDiskLeft,
    LittleMemoryLeft,
    MediaErrors,
    MemoryChanged,
    OtherLoads,
    ProcessorsChanged,
    ProcessorShared,
    ProcessorTimeStolen,
    SlowedDown,
    StartedAnew,
    StoodStillForMemory,
    Suspended,
    SwappedOut,
    drive_threats,
    machine_observations,
    machine_threats,
)
from steelyard.model.threat import Observation
from steelyard.record.epoch import OtherLoadLine
from steelyard.record.machine import ONCE_AT_THRESHOLD, TOO_HOT, DriveHealth
from steelyard.running.measuring.arm_readings import reading_lines
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


def seen_of(before: HostSample, after: HostSample, *, processors: list[int]) -> list[Observation]:
    readings = {reading.name: reading.value or 0.0 for reading in host_readings(before, after)}
    return machine_observations(readings, processors)


def test_a_quiet_machine_leaves_no_doubt() -> None:
    quiet = later(busy_ns={0: 90 * SECOND, 1: 90 * SECOND}, steal_ns=SECOND)
    assert seen_of(QUIET, quiet, processors=[0, 1]) == []


@pytest.mark.parametrize(
    ("changes", "doubt", "kind"),
    [
        ({"steal_ns": 10 * SECOND}, ProcessorTimeStolen(0.05), "steal or throttling"),
        (
            {"throttled_ns": 2 * SECOND},
            GroupThrottled(2 * SECOND, 100 * SECOND),
            "steal or throttling",
        ),
        (
            {"memory_available_bytes": 1 << 29},
            LittleMemoryLeft(1 << 29),
            "memory or disk nearly full",
        ),
        ({"swap_used_bytes": 1 << 28}, SwappedOut(1 << 28), "memory or disk nearly full"),
        (
            {"pressure_ns": {"memory full": 3 * SECOND}},
            StoodStillForMemory(3 * SECOND),
            "memory or disk nearly full",
        ),
        ({"disk_free_bytes": 1 << 30}, LittleDiskLeft(1 << 30), "memory or disk nearly full"),
        ({"boot_id": "b"}, StartedAnew(), "machine changed"),
        ({"suspended_ns": 30 * SECOND}, Suspended(30 * SECOND), "machine changed"),
        ({"busy_ns": {0: 0}}, ProcessorsChanged(2, 1), "machine changed"),
        ({"memory_total_bytes": 8 << 30}, MemoryChanged(16 << 30, 8 << 30), "machine changed"),
    ],
)
def test_each_cause_raises_its_own_doubt(
    changes: dict[str, object], doubt: Observation, kind: str
) -> None:
    assert seen_of(QUIET, later(**changes), processors=[0, 1]) == [doubt]
    assert doubt.name == kind


@pytest.mark.parametrize(
    ("usable", "doubts"), [(2, [ProcessorTimeStolen(0.05)]), (64, []), (0, [])]
)
def test_stolen_time_is_compared_with_that_of_the_processors_that_may_be_used(
    usable: int, doubts: list[Observation]
) -> None:
    before = replace(QUIET, busy_ns=dict.fromkeys(range(64), 0), usable_processors=usable)
    after = replace(before, monotonic_ns=100 * SECOND, steal_ns=10 * SECOND)
    assert seen_of(before, after, processors=[0, 1]) == doubts


@pytest.mark.parametrize(
    ("room", "available", "doubts"),
    [
        (4 << 30, 3 << 30, []),  # a container with 4 GB on a machine with 256
        (4 << 30, 1 << 27, [LittleMemoryLeft(1 << 27)]),
        (0, 3 << 30, [LittleMemoryLeft(3 << 30)]),  # of all that the machine has
        (256 << 30, 3 << 30, [LittleMemoryLeft(3 << 30)]),
    ],
)
def test_what_is_left_of_a_groups_memory_is_compared_with_its_limit(
    room: int, available: int, doubts: list[Observation]
) -> None:
    before = replace(QUIET, memory_total_bytes=256 << 30)
    after = replace(
        later(memory_total_bytes=256 << 30),
        memory_available_bytes=available,
        memory_room_bytes=room,
    )
    assert seen_of(before, after, processors=[0, 1]) == doubts


def test_one_processor_is_a_doubt_of_its_own() -> None:
    assert seen_of(QUIET, later(), processors=[3]) == [ProcessorShared(3)]
    assert ProcessorShared(3).name == "one processor"


def test_of_each_kind_the_first_is_said_with_how_often_it_was_seen(make_epoch: MakeEpoch) -> None:
    throttled = reading_lines(host_readings(QUIET, later(throttled_ns=2 * SECOND)))
    stolen = reading_lines(host_readings(QUIET, later(steal_ns=10 * SECOND)))
    loads = (OtherLoadLine(pid=7, command="weigh checksums"),)
    epochs = [
        make_epoch(0),
        make_epoch(1, machine=throttled),
        make_epoch(2, machine=stolen, other_loads=loads),
    ]
    assert list(machine_threats(epochs, (0, 1))) == [
        InEpochs(GroupThrottled(2 * SECOND, 100 * SECOND), 1, 2, 3),
        InEpochs(OtherLoads(loads), 2, 1, 3),
    ]
    both = make_epoch(
        0,
        machine=reading_lines(
            host_readings(QUIET, later(throttled_ns=2 * SECOND, steal_ns=10 * SECOND))
        ),
    )
    [once] = machine_threats([both, make_epoch(1)], (0, 1))
    assert isinstance(once, InEpochs)
    assert (once.times, once.epochs) == (1, 2)


DEVICE = "nvme0n1"
READ_ONLY = "its media are read-only"
COOL = DriveHealth(
    device=DEVICE,
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


def drive_doubts(**changes: object) -> list[Observation]:
    return list(drive_threats([COOL], [COOL.model_copy(update=changes)]))


def test_a_drive_that_stayed_as_it_was_leaves_no_doubt_whatever_it_had_before() -> None:
    assert drive_doubts() == []
    assert list(drive_threats([], [COOL])) == []
    assert list(drive_threats([COOL], [])) == []


@pytest.mark.parametrize(
    ("changes", "doubt", "kind"),
    [
        (
            {"light_throttling_count": 4, "light_throttling_s": 17},
            DrivesHot((SlowedDown(DEVICE, "light", 3, 12),)),
            "drive too hot",
        ),
        (
            {"heavy_throttling_s": 2},
            DrivesHot((SlowedDown(DEVICE, "heavy", 0, 2),)),
            "drive too hot",
        ),
        (
            {"warning_temperature_min": 3},
            DrivesHot((AboveTemperature(DEVICE, "warning", 1),)),
            "drive too hot",
        ),
        (
            {"warnings": (TOO_HOT,)},
            DrivesHot((DriveWarning(DEVICE, TOO_HOT, new=True),)),
            "drive too hot",
        ),
        ({"media_errors": 9}, DrivesFailing((MediaErrors(DEVICE, 2),)), "drive failing"),
        (
            {"warnings": (READ_ONLY,)},
            DrivesFailing((DriveWarning(DEVICE, READ_ONLY, new=True),)),
            "drive failing",
        ),
    ],
)
def test_heat_and_failures_of_a_drive_are_doubts_that_take_no_verdict_away(
    changes: dict[str, object], doubt: Observation, kind: str
) -> None:
    assert drive_doubts(**changes) == [doubt]
    assert (doubt.name, doubt.invalidates) == (kind, False)


def test_a_warning_from_before_is_a_doubt_and_says_that_it_is_old() -> None:
    failing = COOL.model_copy(update={"warnings": (READ_ONLY,)})
    [doubt] = drive_threats([failing], [failing])
    assert doubt == DrivesFailing((DriveWarning(DEVICE, READ_ONLY, new=False),))


def test_what_an_attribute_was_at_some_time_is_a_doubt_only_where_it_is_new() -> None:
    past = COOL.model_copy(update={"warnings": (ONCE_AT_THRESHOLD,)})
    assert list(drive_threats([past], [past])) == []
    assert drive_doubts(warnings=(ONCE_AT_THRESHOLD,)) == [
        DrivesFailing((DriveWarning(DEVICE, ONCE_AT_THRESHOLD, new=True),))
    ]


def test_a_counter_that_was_not_read_before_raises_nothing() -> None:
    unknown = COOL.model_copy(update={"light_throttling_count": None, "light_throttling_s": None})
    assert list(drive_threats([unknown], [COOL])) == []
