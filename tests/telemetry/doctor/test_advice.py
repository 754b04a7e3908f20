"""Advice of the doctor can be followed on the host that it is given for."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.telemetry.doctor import memory, processors, storage
from steelyard.telemetry.doctor.finding import Check, Host, Lately
from telemetry.doctor.test_findings import (
    CLOCK,
    CPU,
    GB,
    NODES,
    RECLAIM,
    Files,
    frequencies,
    host,
    meminfo,
)

AVAILABLE = CLOCK.replace("current", "available")
GOVERNORS = f"{CPU}/cpu0/cpufreq/scaling_available_governors"


@pytest.mark.parametrize(
    ("check", "files", "lately", "advised", "not_advised"),
    [
        (
            processors.clock,
            {CLOCK: "tsc"},
            Lately(clock_ns=400.0),
            "while nothing else runs",
            "echo",
        ),
        (
            processors.clock,
            {CLOCK: "hpet", AVAILABLE: "tsc hpet acpi_pm"},
            Lately(),
            "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource",
            "hypervisor",
        ),
        (
            processors.clock,
            {CLOCK: "hpet", AVAILABLE: "hpet acpi_pm"},
            Lately(),
            "only hpet, acpi_pm are offered",
            "echo",
        ),
        (processors.clock, {CLOCK: "acpi_pm"}, Lately(), "no other is offered", "echo"),
        (
            processors.governor,
            {**frequencies(1, 1, "powersave"), GOVERNORS: "powersave schedutil"},
            Lately(),
            "this driver offers powersave, schedutil only",
            "cpupower",
        ),
        (
            processors.governor,
            {**frequencies(1, 1, "powersave"), GOVERNORS: "performance powersave"},
            Lately(),
            "cpupower frequency-set -g performance",
            "only",
        ),
        (processors.turbo, {f"{CPU}/cpufreq/boost": "1"}, Lately(), "/cpufreq/boost", "intel"),
        (
            processors.turbo,
            {f"{CPU}/intel_pstate/no_turbo": "0"},
            Lately(),
            "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo",
            "boost",
        ),
        (
            processors.frequency_range,
            frequencies(800_000, 3_000_000),
            Lately(),
            "cpupower frequency-set -d 3000MHz",
            "MAX",
        ),
        (processors.numa, NODES, Lately(), "interleave", "= 0"),
        (
            processors.numa,
            {**NODES, RECLAIM: "1"},
            Lately(),
            "vm.zone_reclaim_mode = 0",
            "numa_balancing",
        ),
        (
            memory.swap,
            {**meminfo(SwapTotal=4 * GB, SwapFree=GB), "proc/sys/vm/swappiness": "1"},
            Lately(),
            "no swap",
            "swappiness",
        ),
        (storage.durable_write, {}, Lately(sync_us=3.0), "write cache", "synchronous_commit"),
        (storage.durable_write, {}, Lately(sync_us=9000.0), "synchronous_commit", "above"),
    ],
)
def test_advice_can_be_followed_here_and_is_not_followed_already(
    tmp_path: Path, check: Check, files: Files, lately: Lately, advised: str, not_advised: str
) -> None:
    found = check(host(tmp_path, files, lately))
    assert found.level in ("note", "warning")
    assert advised in found.advice
    assert not_advised not in found.advice


@pytest.mark.parametrize(
    ("kind", "options", "advised", "not_advised"),
    [
        ("ext4", "rw,relatime,discard", "without discard; fstrim", "noatime"),
        ("xfs", "rw", "mount -o remount,noatime /", "ext4"),
        ("ext4", "rw,relatime,nobarrier", "mount / without nobarrier", "noatime"),
        ("tmpfs", "rw,relatime", "ext4 or xfs", "remount"),
        ("ext4", "rw,relatime", "none needed", "ext4"),
    ],
)
def test_advice_on_a_file_system_names_what_is_wrong_with_this_one(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    options: str,
    advised: str,
    not_advised: str,
) -> None:
    facts = {"type": kind, "options": options, "mount": "/"}
    monkeypatch.setattr(storage, "filesystem", lambda *_: facts)
    found = storage.file_system(Host(tmp_path, tmp_path))
    assert advised in found.advice
    assert not_advised not in found.advice
