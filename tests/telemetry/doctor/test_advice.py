"""Advice of the doctor can be followed on the host that it is given for."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from steelyard.telemetry.doctor import kernel, memory, processors, storage
from steelyard.telemetry.doctor.finding import Check, HostFacts, Lately, PlannedServers
from telemetry.doctor.test_findings import (
    CLOCK,
    CPU,
    GB,
    NODES,
    RECLAIM,
    Files,
    drive,
    frequencies,
    host,
    meminfo,
)
from telemetry.doctor.test_kernel import URING, linux, promised, servers

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
        *(
            (processors.clock, {CLOCK: name, AVAILABLE: name}, Lately(clock_ns=400.0), name, "tsc")
            for name in ("arch_sys_counter", "timebase")
        ),
        (kernel.preemption, linux("7.0.0"), Lately(), "huge_pages = on", "debugfs"),
        (kernel.io_uring, {URING: "2"}, Lately(), "kernel.io_uring_disabled=0", "group"),
        (kernel.io_uring, {URING: "1"}, Lately(), "kernel.io_uring_group", "seccomp"),
        (
            kernel.io_uring,
            {"proc/self/status": "Seccomp:\t2"},
            Lately(io_uring="EPERM"),
            "seccomp=unconfined",
            "sysctl",
        ),
        (kernel.io_uring, {}, Lately(io_uring="ENOMEM"), "ulimit -l 2400", "seccomp"),
        (memory.huge_pages, servers(0, 0), Lately(), "sysctl -w vm.nr_hugepages=584,", "smaller"),
        (memory.huge_pages, servers(1000, 100), Lately(), "nr_hugepages=1484, back to 1000", "x"),
        (memory.huge_pages, servers(580, 580, 1 << 14), Lately(), "nr_hugepages=584,", "smaller"),
        (memory.huge_pages, promised(1000, 600, 100), Lately(), "vm.nr_hugepages=1084,", "enough"),
        (
            kernel.io_uring,
            {"proc/self/status": "Seccomp:\t2"},
            Lately(io_uring="ENOSYS"),
            "seccomp=unconfined",
            "sysctl",
        ),
        (kernel.io_uring, {}, Lately(io_uring="ENOSYS"), "CONFIG_IO_URING=y", "seccomp"),
        (memory.huge_pages, servers(900, 0), Lately(), "vm.nr_hugepages=1484, back to 900", "x"),
        (memory.huge_pages, servers(0, 0, 1 << 20), Lately(), "smaller", "sysctl"),
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
    found = storage.file_system(HostFacts(tmp_path, tmp_path))
    assert advised in found.advice
    assert not_advised not in found.advice


def test_enough_huge_pages_are_not_advised_again_however_little_else_is_free(
    tmp_path: Path,
) -> None:
    finding = memory.huge_pages(host(tmp_path, servers(1000, 600, 1 << 10)))
    assert finding.level == "good"
    assert "sysctl" not in finding.advice
    assert "smaller" not in finding.advice


def test_huge_pages_of_planned_servers_are_computed_for_all_of_them(tmp_path: Path) -> None:
    made = host(tmp_path, servers(0, 0))
    planned = replace(made, planned=PlannedServers(8 << 30, 3))
    assert "vm.nr_hugepages=12705," in memory.huge_pages(planned).advice
    assert memory.huge_pages(planned).level == "note"


def test_builds_are_named_with_what_they_have_of_io_uring(tmp_path: Path) -> None:
    made = replace(host(tmp_path, {URING: "0"}), io_uring={"a-19": True, "b-18.4": False})
    assert kernel.io_uring(made).seen == "allowed; a-19 has it; b-18.4 lacks it"


def test_a_ring_that_the_kernel_gives_is_closed_again() -> None:
    before = set(os.listdir("/proc/self/fd"))
    assert kernel.ring_refusal() in ("", "EPERM", "ENOSYS")
    assert set(os.listdir("/proc/self/fd")) == before


def test_what_is_to_be_seen_or_computed_is_typed(tmp_path: Path) -> None:
    unseen = kernel.preemption(host(tmp_path, linux("6.14.0")))
    assert (unseen.level, "mount -t debugfs" in unseen.advice) == ("unseen", True)
    assert "--shared-buffers" in memory.huge_pages(host(tmp_path, {})).advice


@pytest.mark.parametrize(
    ("name", "modes", "better"),
    [
        ("sda", "noop deadline [cfq]", "deadline"),
        ("sda", "noop [deadline] cfq", None),
        ("sda", "[kyber] none", "none"),
        ("sda", "[bfq]", None),
        ("sda", "none", None),
        ("nvme0n1", "noop [deadline] cfq", "noop"),
        ("nvme0n1", "[bfq] mq-deadline", None),
        ("vda", "[none] mq-deadline", None),
    ],
)
def test_a_scheduler_is_advised_that_the_device_offers(
    tmp_path: Path, name: str, modes: str, better: str | None
) -> None:
    finding = storage.scheduler(drive(tmp_path.resolve(), name, queue_scheduler=modes))
    advised = f"echo {better} > /sys/class/block/{name}/queue/scheduler"
    assert finding.advice == ("none needed" if better is None else advised)


def supply(name: str, kind: str, online: str = "", scope: str = "") -> dict[str, str]:
    place = f"sys/class/power_supply/{name}"
    files = {"type": kind, "online": online, "scope": scope}
    return {f"{place}/{file}": text for file, text in files.items() if text}


MOUSE = supply("hidpp_battery_0", "Battery", "1", "Device")
BATTERY = supply("BAT0", "Battery")


@pytest.mark.parametrize(
    ("files", "state"),
    [
        ({}, "no battery"),
        (MOUSE, "no battery"),
        (supply("hidpp_battery_0", "Battery", "0", "Device"), "no battery"),
        (supply("ucsi-source-psy-1", "USB", "0"), "no battery"),
        ({**BATTERY, **supply("AC", "Mains", "0"), **MOUSE}, "battery"),
        ({**BATTERY, **supply("AC", "Mains", "1")}, "mains"),
        ({**BATTERY, **supply("ucsi-1", "USB", "0")}, "battery"),
        ({**BATTERY, **supply("AC", "Mains", "0"), **supply("ucsi-1", "USB", "1")}, "mains"),
        ({**BATTERY, **supply("ucsi-source-psy-1", "USB", "2")}, "mains"),
        (BATTERY, "battery"),
    ],
)
def test_a_battery_is_that_of_the_machine(tmp_path: Path, files: Files, state: str) -> None:
    finding = processors.power(host(tmp_path, files))
    assert (finding.level, finding.seen) == ("warning" if state == "battery" else "good", state)
