"""Every finding of the doctor is provoked on a host that is made of files."""

from __future__ import annotations

import os
import resource
from collections.abc import Mapping
from pathlib import Path

import pytest

from steelyard.record.machine import ONCE_AT_THRESHOLD, DriveHealth
from steelyard.telemetry.capacity import Space
from steelyard.telemetry.doctor import memory, processors, storage
from steelyard.telemetry.doctor.examine import CHECKS
from steelyard.telemetry.doctor.finding import Check, HostFacts, Lately, Level

CPU = "sys/devices/system/cpu"
CLOCK = "sys/devices/system/clocksource/clocksource0/current_clocksource"
THP = "sys/kernel/mm/transparent_hugepage/enabled"
MEMINFO = "proc/meminfo"
GROUP = {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cgroup.procs": ""}
Files = Mapping[str, str]


def host(root: Path, files: Files, lately: Lately = Lately()) -> HostFacts:  # noqa: B008  frozen
    """A host with these files below a root of its own."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    return HostFacts(root, root, lately)


def frequencies(low: int, high: int, governor: str = "performance") -> dict[str, str]:
    return {
        f"{CPU}/cpu0/cpufreq/scaling_governor": "performance",
        f"{CPU}/cpu1/cpufreq/scaling_governor": governor,
        f"{CPU}/cpu1/cpufreq/scaling_min_freq": str(low),
        f"{CPU}/cpu1/cpufreq/scaling_max_freq": str(high),
    }


def meminfo(**kilobytes: int) -> dict[str, str]:
    return {MEMINFO: "\n".join(f"{name}: {size} kB" for name, size in kilobytes.items())}


def huge(total: int, free: int) -> dict[str, str]:
    return {MEMINFO: f"HugePages_Total: {total}\nHugePages_Free: {free}"}


GB = 1 << 20  # in kB
NODES = {f"sys/devices/system/node/node{n}/cpulist": str(n) for n in (0, 1)}
SAMPLE_RATE = "proc/sys/kernel/perf_event_max_sample_rate"
BALANCING, RECLAIM = "proc/sys/kernel/numa_balancing", "proc/sys/vm/zone_reclaim_mode"
CASES: list[tuple[Check, Files, Lately, Level]] = [
    (processors.governor, frequencies(1, 1), Lately(), "good"),
    (processors.governor, frequencies(1, 1, "powersave"), Lately(), "warning"),
    (processors.governor, {}, Lately(), "unseen"),
    (processors.turbo, {f"{CPU}/intel_pstate/no_turbo": "0"}, Lately(), "note"),
    (processors.turbo, {f"{CPU}/intel_pstate/no_turbo": "1"}, Lately(), "good"),
    (processors.turbo, {f"{CPU}/cpufreq/boost": "1"}, Lately(), "note"),
    (processors.turbo, {f"{CPU}/cpufreq/boost": "0"}, Lately(), "good"),
    (processors.turbo, {}, Lately(), "unseen"),
    (processors.frequency_range, frequencies(800_000, 3_000_000), Lately(), "note"),
    (processors.frequency_range, frequencies(3_000_000, 3_000_000), Lately(), "good"),
    (processors.frequency_range, {}, Lately(), "unseen"),
    (processors.smt, {f"{CPU}/smt/active": "1"}, Lately(), "note"),
    (processors.smt, {f"{CPU}/smt/active": "0"}, Lately(), "good"),
    (processors.smt, {}, Lately(), "unseen"),
    (processors.heat, {f"{CPU}/cpu0/thermal_throttle/core_throttle_count": "0"}, Lately(), "good"),
    (processors.heat, {f"{CPU}/cpu0/thermal_throttle/core_throttle_count": "3"}, Lately(), "note"),
    (
        processors.heat,
        {f"{CPU}/cpu0/thermal_throttle/core_throttle_count": "3"},
        Lately(heat_events=1),
        "warning",
    ),
    (processors.heat, {}, Lately(), "unseen"),
    (processors.steal, {}, Lately(steal_share=0.03), "warning"),
    (processors.steal, {}, Lately(steal_share=0.01), "good"),
    (processors.steal, {}, Lately(), "unseen"),
    (processors.quota, {}, Lately(), "good"),
    (processors.quota, {**GROUP, "sys/fs/cgroup/cpu.max": "150000 100000"}, Lately(), "note"),
    (
        processors.quota,
        {**GROUP, "sys/fs/cgroup/cpu.max": "150000 100000"},
        Lately(throttled_share=0.02),
        "warning",
    ),
    (processors.neighbours, {}, Lately(busy_processors=0.2), "warning"),
    (processors.neighbours, {}, Lately(busy_processors=0.01), "good"),
    (processors.neighbours, {}, Lately(), "unseen"),
    (processors.numa, {}, Lately(), "good"),
    (processors.numa, NODES, Lately(), "note"),
    (processors.numa, {**NODES, BALANCING: "1"}, Lately(), "warning"),
    (processors.numa, {**NODES, BALANCING: "2"}, Lately(), "warning"),
    (processors.numa, {**NODES, BALANCING: "0"}, Lately(), "note"),
    (processors.numa, {**NODES, RECLAIM: "1"}, Lately(), "warning"),
    (processors.clock, {CLOCK: "tsc"}, Lately(clock_ns=30.0), "good"),
    (processors.clock, {CLOCK: "tsc"}, Lately(clock_ns=400.0), "warning"),
    (processors.clock, {CLOCK: "hpet"}, Lately(), "warning"),
    (processors.clock, {}, Lately(), "unseen"),
    (processors.autogroup, {"proc/sys/kernel/sched_autogroup_enabled": "1"}, Lately(), "note"),
    (processors.autogroup, {"proc/sys/kernel/sched_autogroup_enabled": "0"}, Lately(), "good"),
    (processors.autogroup, {}, Lately(), "unseen"),
    (processors.isolation, {"proc/cmdline": "ro quiet isolcpus=2-3"}, Lately(), "note"),
    (processors.isolation, {"proc/cmdline": "ro quiet"}, Lately(), "good"),
    (processors.interrupts, {"proc/7/comm": "irqbalance"}, Lately(), "note"),
    (processors.interrupts, {"proc/7/comm": "sshd"}, Lately(), "good"),
    (processors.address_space, {"proc/sys/kernel/randomize_va_space": "2"}, Lately(), "good"),
    (processors.address_space, {"proc/sys/kernel/randomize_va_space": "0"}, Lately(), "note"),
    (processors.address_space, {}, Lately(), "unseen"),
    (processors.sampling, {SAMPLE_RATE: "100000"}, Lately(), "good"),
    (processors.sampling, {SAMPLE_RATE: "200000"}, Lately(), "note"),
    (processors.sampling, {}, Lately(), "unseen"),
    (processors.power, {"sys/class/power_supply/AC/online": "0"}, Lately(), "warning"),
    (processors.power, {"sys/class/power_supply/AC/online": "1"}, Lately(), "good"),
    (processors.power, {}, Lately(), "good"),
    (memory.transparent_huge_pages, {THP: "[always] madvise never"}, Lately(), "warning"),
    (memory.transparent_huge_pages, {THP: "always [madvise] never"}, Lately(), "good"),
    (memory.transparent_huge_pages, {}, Lately(), "unseen"),
    (memory.huge_pages, {}, Lately(), "good"),
    (memory.huge_pages, huge(100, 100), Lately(), "good"),
    (memory.huge_pages, huge(100, 0), Lately(), "warning"),
    (memory.swap, meminfo(SwapTotal=0), Lately(), "good"),
    (
        memory.swap,
        {**meminfo(SwapTotal=4 * GB, SwapFree=GB), "proc/sys/vm/swappiness": "60"},
        Lately(),
        "warning",
    ),
    (
        memory.swap,
        {**meminfo(SwapTotal=4 * GB, SwapFree=GB), "proc/sys/vm/swappiness": "1"},
        Lately(),
        "note",
    ),
    (
        memory.waiting_to_be_written,
        {"proc/sys/vm/dirty_background_bytes": "67108864"},
        Lately(),
        "good",
    ),
    (
        memory.waiting_to_be_written,
        {
            **meminfo(MemAvailable=20 * GB),
            "proc/sys/vm/dirty_background_bytes": "0",
            "proc/sys/vm/dirty_background_ratio": "10",
        },
        Lately(),
        "warning",
    ),
    (memory.waiting_to_be_written, {}, Lately(), "unseen"),
    (memory.memory, meminfo(MemAvailable=2 * GB), Lately(), "good"),
    (memory.memory, meminfo(MemAvailable=GB // 2), Lately(), "warning"),
    (
        memory.memory,
        {
            **meminfo(MemAvailable=20 * GB),
            **GROUP,
            "sys/fs/cgroup/memory.max": "600000000",
            "sys/fs/cgroup/memory.current": "100000000",
        },
        Lately(),
        "warning",
    ),
    (memory.memory, {}, Lately(), "unseen"),
    (memory.shared_memory, {}, Lately(), "unseen"),
    (storage.durable_write, {}, Lately(sync_us=3.0), "warning"),
    (storage.durable_write, {}, Lately(sync_us=300.0), "good"),
    (storage.durable_write, {}, Lately(sync_us=9000.0), "note"),
    (storage.durable_write, {}, Lately(), "unseen"),
    (storage.pressure, {"proc/pressure/cpu": "some avg10=0"}, Lately(), "good"),
    (storage.pressure, {}, Lately(), "unseen"),
]


@pytest.mark.parametrize(("check", "files", "lately", "level"), CASES)
def test_a_check_finds_what_is_there(
    tmp_path: Path, check: Check, files: Files, lately: Lately, level: Level
) -> None:
    found = check(host(tmp_path, files, lately))
    assert found.level == level, found.seen
    assert all((found.name, found.seen, found.matters_for, found.advice, found.source))


SOUND = DriveHealth(
    device="nvme0n1", source="smartctl 7.3", model="Maker DC", temperature_celsius=35,
    used_percent=12, spare_percent=100, media_errors=0, warnings=(),
)  # fmt: skip
UNREAD = DriveHealth(device="nvme0n1", source="sysfs", why_not="not available: no right")


@pytest.mark.parametrize(
    ("drives", "level", "seen"),
    [
        ((), "unseen", "it was not read"),
        ((UNREAD,), "unseen", "no right"),
        (
            (DriveHealth(why_not="not available: tmpfs"),),
            "unseen",
            "no drive, not available: tmpfs",
        ),
        ((SOUND,), "good", "nvme0n1: Maker DC, 35 °C, 12 % of its endurance used, spare 100 %"),
        ((SOUND, UNREAD), "good", "no right"),
        ((SOUND.model_copy(update={"media_errors": 2}),), "note", "2 media errors"),
        ((SOUND.model_copy(update={"used_percent": 104}),), "note", "104 % of its endurance"),
        (
            (SOUND.model_copy(update={"light_throttling_count": 3}),),
            "note",
            "3 times throttled lightly",
        ),
        (
            (SOUND.model_copy(update={"warning_temperature_min": 4}),),
            "note",
            "4 min above its warning temperature",
        ),
        (
            (SOUND.model_copy(update={"warnings": (ONCE_AT_THRESHOLD,)}),),
            "note",
            "at its threshold at some time",
        ),
        ((SOUND, SOUND.model_copy(update={"warnings": ("it fails",)})), "warning", "it fails"),
    ],
)
def test_the_health_of_the_drives_beneath_is_told(
    tmp_path: Path, drives: tuple[DriveHealth, ...], level: Level, seen: str
) -> None:
    found = storage.drive_health(HostFacts(tmp_path, tmp_path, drives=drives))
    assert found.level == level
    assert seen in found.seen


DEVICE = "sys/class/block/{}/queue/{}"


def drive(root: Path, name: str, **files: str) -> HostFacts:
    """A host whose data stand on this drive."""
    device = root / "sys/devices" / name
    (device / "queue").mkdir(parents=True)
    (root / "sys/class/block").mkdir(parents=True)
    (root / "sys/class/block" / name).symlink_to(device)
    number = os.stat(root).st_dev
    (root / "sys/dev/block").mkdir(parents=True)
    (root / f"sys/dev/block/{os.major(number)}:{os.minor(number)}").symlink_to(device)
    for file, text in files.items():
        (device / file.replace("queue_", "queue/")).write_text(text + "\n")
    return HostFacts(root, root)


@pytest.mark.parametrize(
    ("name", "modes", "level"),
    [
        ("nvme0n1", "[none] mq-deadline", "good"),
        ("nvme0n1", "none [mq-deadline]", "note"),
        ("sda", "none [mq-deadline] bfq", "good"),
        ("sda", "none mq-deadline [bfq]", "warning"),
    ],
)
def test_the_scheduler_of_the_device_beneath_is_told(
    tmp_path: Path, name: str, modes: str, level: Level
) -> None:
    found = storage.scheduler(drive(tmp_path.resolve(), name, queue_scheduler=modes))
    assert (found.level, found.seen.partition(":")[0]) == (level, name)
    better = "none" if name == "nvme0n1" else "mq-deadline"
    advised = f"echo {better} > /sys/class/block/{name}/queue/scheduler"
    assert found.advice == ("none needed" if level == "good" else advised)


def test_a_directory_without_a_device_has_no_scheduler_and_no_cache(tmp_path: Path) -> None:
    for check in (storage.scheduler, storage.write_cache):
        assert check(host(tmp_path, {})).level == "unseen"


@pytest.mark.parametrize(
    ("cache", "flushes", "level"),
    [("write back", 7, "good"), ("write back", 0, "warning"), ("write through", 0, "good")],
)
def test_a_cache_that_is_never_flushed_is_a_warning(
    tmp_path: Path, cache: str, flushes: int, level: Level
) -> None:
    counts = f"1 0 8 1 500 0 4000 9 0 9 9 0 0 0 0 {flushes} 1"
    made = drive(tmp_path.resolve(), "sda", queue_write_cache=cache, stat=counts)
    assert storage.write_cache(made).level == level


@pytest.mark.parametrize("counts", ["1 0 8 1 500 0 4000 9 0 9 9", "1 0 8 1 5 0 4 9 0 9 9 0 0 0 0"])
def test_of_a_kernel_that_counts_no_flush_it_is_not_told_that_there_was_none(
    tmp_path: Path, counts: str
) -> None:
    made = drive(tmp_path.resolve(), "sda", queue_write_cache="write back", stat=counts)
    found = storage.write_cache(made)
    assert found.level == "unseen"
    assert found.seen == (
        "sda: write back; this kernel does not count flushes of sda (Linux 5.5 and later do)"
    )


def test_of_a_drive_that_counts_nothing_it_is_not_known_whether_it_is_flushed(
    tmp_path: Path,
) -> None:
    counts = "1 0 8 1 500 0 4000 9 0 9 9 0 0 0 0 0 1"
    files = {"queue_write_cache": "write back", "queue_iostats": "0", "stat": counts}
    made = drive(tmp_path.resolve(), "sda", **files)
    (tmp_path / "sys/devices/sda/mq").mkdir()
    found = storage.write_cache(made)
    assert found.level == "unseen"
    assert found.seen == (
        "sda: write back; sda counts nothing: echo 1 > /sys/class/block/sda/queue/iostats"
    )


@pytest.mark.parametrize(
    ("kind", "options", "level"),
    [
        ("ext4", "rw,relatime", "good"),
        ("xfs", "rw,noatime", "good"),
        ("ext4", "rw,relatime,discard", "note"),
        ("ext4", "rw", "note"),
        ("btrfs", "rw,noatime", "note"),
        ("ext4", "rw,noatime,nobarrier", "warning"),
        ("tmpfs", "rw,relatime", "warning"),
        ("overlay", "rw,relatime", "warning"),
        ("nfs4", "rw,relatime", "warning"),
        *((kind, "rw,relatime", "warning") for kind in ("fuse", "fuse.sshfs", "fuse.mergerfs")),
        *((kind, "rw,relatime", "warning") for kind in ("fuseblk", "ceph", "smb3")),
    ],
)
def test_the_file_system_and_its_options_are_told(
    tmp_path: Path, kind: str, options: str, level: Level
) -> None:
    line = f"1 0 8:1 / / rw - {kind} /dev/x {options}"
    found = storage.file_system(host(tmp_path, {"proc/self/mountinfo": line}))
    assert found.level == level
    assert found.seen.startswith(kind)


def test_an_unknown_file_system_is_unseen(tmp_path: Path) -> None:
    assert storage.file_system(host(tmp_path, {})).level == "unseen"


@pytest.mark.parametrize(("free", "level"), [(1 << 30, "warning"), (50 << 30, "good")])
def test_little_room_on_disk_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, level: Level
) -> None:
    monkeypatch.setattr(storage, "space", lambda path: Space(free, 100 << 30))
    assert storage.room(host(tmp_path, {})).level == level


@pytest.mark.parametrize(("hard", "level"), [(512, "warning"), (1024, "good"), (-1, "good")])
def test_few_open_files_are_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hard: int, level: Level
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (256, hard))
    assert storage.open_files(host(tmp_path, {})).level == level


@pytest.mark.parametrize(("user", "level"), [(0, "good"), (1000, "note")])
def test_the_account_is_told_with_what_limits_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, user: int, level: Level
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: user)
    found = storage.rights(host(tmp_path, {"proc/sys/kernel/yama/ptrace_scope": "1"}))
    assert found.level == level
    assert "ptrace_scope 1" in found.seen


@pytest.mark.parametrize(("blocks", "level"), [(10, "warning"), (10**6, "good")])
def test_little_room_for_shared_memory_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, blocks: int, level: Level
) -> None:
    (tmp_path / "dev/shm").mkdir(parents=True)
    real = os.statvfs(tmp_path / "dev/shm")
    told = os.statvfs_result((4096, 4096, blocks, blocks, blocks, *tuple(real)[5:10]))
    monkeypatch.setattr(os, "statvfs", lambda path: told)
    assert memory.shared_memory(HostFacts(tmp_path, tmp_path)).level == level


def test_every_check_has_a_name_of_its_own_and_survives_a_host_that_shows_nothing(
    tmp_path: Path,
) -> None:
    found = [check(host(tmp_path, {})) for check in CHECKS]
    assert len({one.name for one in found}) == len(CHECKS)
