"""A host sample reads what the kernel says, on this machine and on recorded ones."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from steelyard.telemetry.capacity import space
from steelyard.telemetry.host import (
    HostSample,
    host_readings,
    huge_pages_free,
    joined,
    sample_host,
)

STAT = """cpu  300 0 200 1000 50 10 20 60 0 0
cpu0 100 0 100 500 25 5 10 20 0 0
cpu1 200 0 100 500 25 5 10 40 0 0
intr 1 2 3
"""
MEMINFO = """MemTotal:       1000 kB
MemAvailable:    400 kB
SwapTotal:       100 kB
SwapFree:         30 kB
"""
PRESSURE = "some avg10=0.00 avg60=0.00 avg300=0.00 total=7\nfull avg10=0.00 total=3\n"


def recorded(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_ticks_kilobytes_and_microseconds_become_nanoseconds_and_bytes(tmp_path: Path) -> None:
    root = recorded(
        tmp_path,
        {
            "proc/stat": STAT,
            "proc/meminfo": MEMINFO,
            "proc/loadavg": "1.25 0.50 0.10 2/300 4000\n",
            "proc/pressure/io": PRESSURE,
            "proc/sys/kernel/random/boot_id": "an-id\n",
        },
    )
    seen = sample_host(tmp_path, root)
    assert seen.busy_ns == {0: 2_150_000_000, 1: 3_150_000_000}  # a tick is 10 ms
    assert seen.steal_ns == 600_000_000
    assert seen.memory_available_bytes == 400 * 1024
    assert seen.swap_used_bytes == 70 * 1024
    assert seen.pressure_ns == {"io some": 7000, "io full": 3000}
    assert (seen.load_1, seen.boot_id) == (1.25, "an-id")


@pytest.mark.parametrize(
    ("affinity", "steal_ns", "usable"),
    [({0, 1}, 600_000_000, 2), ({1, 9}, 400_000_000, 1), ({7}, 600_000_000, 2)],
)
def test_stolen_time_is_that_of_the_processors_that_may_be_used(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    affinity: set[int],
    steal_ns: int,
    usable: int,
) -> None:
    """A container may see processors of other numbers than those of its affinity."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: affinity)
    seen = sample_host(tmp_path, recorded(tmp_path, {"proc/stat": STAT}))
    assert (seen.steal_ns, seen.usable_processors, len(seen.busy_ns)) == (steal_ns, usable, 2)
    readings = {one.name: one.value for one in host_readings(seen, seen)}
    assert (readings["usable_processors"], readings["processors"]) == (usable, 2)


def test_a_kernel_without_the_files_still_gives_a_sample(tmp_path: Path) -> None:
    seen = sample_host(tmp_path, tmp_path)
    assert (seen.busy_ns, seen.pressure_ns, seen.memory_total_bytes) == ({}, {}, 0)


def test_a_memory_limit_of_the_group_is_the_memory_that_is_left(tmp_path: Path) -> None:
    root = recorded(
        tmp_path,
        {
            "proc/meminfo": MEMINFO,
            "proc/self/cgroup": "0::/\n",
            "sys/fs/cgroup/cgroup.procs": "1\n",
            "sys/fs/cgroup/memory.max": "200000\n",
            "sys/fs/cgroup/memory.current": "150000\n",
        },
    )
    seen = sample_host(tmp_path, root)
    assert (seen.memory_available_bytes, seen.memory_room_bytes) == (50_000, 200_000)
    assert seen.memory_total_bytes == 1000 * 1024
    (root / "sys/fs/cgroup/memory.max").write_text("900000\n")  # more than the machine has left
    seen = sample_host(tmp_path, root)
    assert (seen.memory_available_bytes, seen.memory_room_bytes) == (400 * 1024, 1000 * 1024)


def test_this_machine_agrees_with_psutil(tmp_path: Path) -> None:
    seen = sample_host(tmp_path)
    assert seen.memory_total_bytes == psutil.virtual_memory().total
    assert len(seen.busy_ns) == psutil.cpu_count()
    assert seen.disk_total_bytes == psutil.disk_usage(str(tmp_path)).total
    assert seen.suspended_ns >= 0


def test_work_between_two_samples_shows_as_busy_time(tmp_path: Path) -> None:
    before = sample_host(tmp_path)
    used = psutil.Process().cpu_times()
    while psutil.Process().cpu_times().user - used.user < 0.1:
        sum(range(10_000))
    use = sample_host(tmp_path).since(before)
    assert sum(use.busy_ns.values()) >= 50_000_000
    assert use.elapsed_ns >= 50_000_000


def test_two_samples_make_readings_with_their_units(tmp_path: Path) -> None:
    before = sample_host(tmp_path)
    after = replace(before, monotonic_ns=before.monotonic_ns + 1000, steal_ns=before.steal_ns + 7)
    found = {one.name: one for one in host_readings(before, after)}
    assert (found["elapsed_ns"].value, found["steal_ns"].value) == (1000, 7)
    assert (found["elapsed_ns"].unit, found["disk_free_bytes"].unit) == ("ns", "bytes")
    assert found["started_anew"].value == 0
    assert found["memory_total_bytes"].value == before.memory_total_bytes
    assert found["memory_room_bytes"].value == before.memory_room_bytes > 0


def test_memory_is_what_was_left_while_servers_stood(tmp_path: Path) -> None:
    free = replace(
        sample_host(tmp_path),
        memory_available_bytes=900,
        memory_total_bytes=1000,
        memory_room_bytes=1000,
    )
    full = replace(free, memory_available_bytes=30)
    capped = replace(free, memory_available_bytes=20, memory_room_bytes=25)
    left: dict[tuple[int, int], HostSample | None] = {
        (900, 1000): None,
        (30, 1000): full,
        (20, 25): capped,
    }
    for (available, room), standing in left.items():
        found = {one.name: one.value for one in host_readings(free, free, standing)}
        assert (found["memory_available_bytes"], found["memory_room_bytes"]) == (available, room)


def test_of_several_spans_the_one_counts_that_had_least_left(tmp_path: Path) -> None:
    last = replace(
        sample_host(tmp_path),
        memory_available_bytes=900,
        memory_total_bytes=1000,
        memory_room_bytes=1000,
        disk_free_bytes=5,
        disk_total_bytes=10,
    )
    first = replace(last, memory_available_bytes=20, memory_room_bytes=25, disk_free_bytes=8)
    spans = [host_readings(sample, sample) for sample in (first, last)]
    found = {one.name: one.value for one in joined(spans)}
    assert (found["memory_available_bytes"], found["memory_room_bytes"]) == (20, 25)
    assert (found["disk_free_bytes"], found["disk_total_bytes"]) == (5, 10)
    assert list(found) == [one.name for one in spans[0]]


def test_huge_pages_are_counted_and_are_no_kilobytes(tmp_path: Path) -> None:
    told = f"{MEMINFO}HugePages_Total:      12\nHugePages_Free:        7\nHugepagesize:   2048 kB\n"
    assert huge_pages_free(recorded(tmp_path, {"proc/meminfo": told})) == 7
    assert huge_pages_free(recorded(tmp_path, {"proc/meminfo": MEMINFO})) == 0
    for promised, free in ((3, 4), (7, 0), (9, 0)):
        files = {"proc/meminfo": f"{told}HugePages_Rsvd: {promised}\n"}
        assert huge_pages_free(recorded(tmp_path, files)) == free


def test_a_file_system_that_counts_no_blocks_is_not_full(tmp_path: Path) -> None:
    proc = Path("/proc")
    assert space(proc).free_share == 1.0
    assert sample_host(proc).disk_total_bytes == 0
    assert sample_host(proc, places=[tmp_path]).disk_total_bytes == space(tmp_path).total_bytes
