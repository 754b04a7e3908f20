"""What is otherwise when a weighing goes on is said in plain words, and nothing else is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from steelyard.engines.differences import SettingRules
from steelyard.record.environment import ArmFacts, DiskFacts, Environment
from steelyard.telemetry.environment import (
    disks_differ,
    machine,
    machines_differ,
    settings_differ,
)

Facts = dict[str, Any]


@pytest.mark.parametrize(
    ("key", "before", "now", "words"),
    [
        ("allowed_processors", [0, 1, 2, 3], [0, 1], "allowed processors was 0-3, is 0-1"),
        ("allowed_processors", (0, 2, 1, 3, 8), (3,), "allowed processors was 0-3,8, is 3"),
        ("allowed_processors", [0, 2, 1, 3], (0, 1, 2, 3), ""),  # the order of siblings
        ("allowed_processors", (), (0, 1), ""),  # an older record
        ("processor_quota", 2.0, 0.5, "processor quota was 2.0, is 0.5"),
        ("processor_quota", None, 2.0, "processor quota was None, is 2.0"),
        ("memory_limit_bytes", 8 << 30, 4 << 30,
         "memory limit bytes was 8589934592, is 4294967296"),
        ("memory_limit_bytes", None, 4 << 30, "memory limit bytes was None, is 4294967296"),
        ("memory_limit_bytes", 4 << 30, None, "memory limit bytes was 4294967296, is None"),
        ("memory_limit_bytes", 0, 4 << 30, ""),  # an older record
        ("governor", "performance", "powersave", "governor was performance, is powersave"),
        ("governor", "", "powersave", ""),
        ("clocksource", "tsc", "hpet", "clocksource was tsc, is hpet"),
        ("huge_pages", "always [madvise]", "[always] madvise",
         "huge pages was always [madvise], is [always] madvise"),
        ("distribution", "Debian 12", "Debian 13", "distribution was Debian 12, is Debian 13"),
    ],
)  # fmt: skip
def test_a_machine_that_gives_an_arm_less_is_another_one(
    key: str, before: object, now: object, words: str
) -> None:
    here = machine()
    assert machines_differ({**here, key: before}, {**here, key: now}) == ([words] if words else [])


def test_a_record_that_does_not_say_so_much_is_of_the_same_machine() -> None:
    here = json.loads(json.dumps(machine()))
    older = {
        name: here[name]
        for name in ("hostname", "kernel", "processor", "processors", "memory_bytes", "boot_id")
    }
    assert machines_differ(older, here) == []


NVME = DiskFacts(mount="/mnt/nvme", type="ext4", device="/dev/nvme0n1p1", options="rw")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, ""),
        ({"options": "rw,noatime", "free_bytes": 5, "devices": ("sda",)}, ""),
        ({"mount": "/"}, "ext4 on /dev/nvme0n1p1, /"),
        ({"type": "xfs"}, "xfs on /dev/nvme0n1p1, /mnt/nvme"),
        ({"device": "/dev/sda1"}, "ext4 on /dev/sda1, /mnt/nvme"),
    ],
)
def test_slots_on_another_file_system_are_seen(changes: Facts, words: str) -> None:
    said = [*disks_differ(NVME, NVME.model_copy(update=changes))]
    before = "the slots were on ext4 on /dev/nvme0n1p1, /mnt/nvme"
    assert said == ([f"{before}, are on {words}"] if words else [])
    assert [*disks_differ(DiskFacts(), NVME.model_copy(update=changes))] == []


RULES = SettingRules(
    slot=frozenset({"port"}),
    places=frozenset({"dynamic_library_path"}),
    derived={"shared_memory_size": frozenset(), "wal_buffers": frozenset({"shared_buffers"})},
)


def environment_of(**settings: dict[str, str]) -> Environment:
    arms = {arm: ArmFacts(build={}, settings=values) for arm, values in settings.items()}
    return Environment(arms=arms)


@pytest.mark.parametrize(
    ("control", "arm", "words"),
    [
        ({}, {}, []),
        ({"work_mem": "8MB"}, {"work_mem": "8MB"}, ["work_mem was 4MB, is 8MB"]),
        ({}, {"work_mem": "8MB"}, ["work_mem of off was 4MB, is 8MB"]),
        ({"work_mem": "8MB"}, {"work_mem": "16MB"},
         ["work_mem of on was 4MB, is 8MB", "work_mem of off was 4MB, is 16MB"]),
        ({"wal_buffers": "2"}, {"wal_buffers": "2"}, ["wal_buffers was 1, is 2"]),
        ({"port": "2", "dynamic_library_path": "/b", "shared_memory_size": "2"}, {}, []),
        ({"new": "on"}, {"new": "on"}, []),  # read by a later version
    ],
)  # fmt: skip
def test_a_server_that_was_set_otherwise_meanwhile_is_seen(
    control: dict[str, str], arm: dict[str, str], words: list[str]
) -> None:
    usual = dict.fromkeys(("port", "dynamic_library_path", "shared_memory_size"), "1")
    usual |= {"work_mem": "4MB", "wal_buffers": "1"}
    before = environment_of(on=usual, off=usual)
    now = environment_of(on={**usual, **control}, off={**usual, **arm})
    assert [*settings_differ(before, now, RULES)] == words


def test_of_many_settings_some_are_named_and_the_rest_counted() -> None:
    before, now = ({f"s{n:02}": f"{value} {'x' * 99}" for n in range(9)} for value in "12")
    said = [*settings_differ(environment_of(on=before), environment_of(on=now), RULES)]
    assert [line.partition(" ")[0] for line in said] == ["s00", "s01", "s02", "s03", "5"]
    assert said[-1] == "5 more settings are not what they were"
    assert all(len(line) < 120 for line in said)
