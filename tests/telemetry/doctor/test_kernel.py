"""What the kernel forbids, preempts and lends to servers is provoked on a host made of files."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.telemetry.doctor import kernel, memory, processors
from steelyard.telemetry.doctor.finding import Check, Lately, Level
from telemetry.doctor.test_findings import MEMINFO, Files, host, huge


def linux(release: str, **files: str) -> dict[str, str]:
    """A kernel of this release, whose files say how it preempts."""
    names = {"chosen": PREEMPT, "booted": "proc/cmdline", "built": f"boot/config-{release}"}
    return {"proc/sys/kernel/osrelease": release, **{names[k]: text for k, text in files.items()}}


def servers(total: int, free: int, available: int = 64 << 20) -> dict[str, str]:
    """Two processes of a PostgreSQL with 143 MB of shared memory, and one of another with 1 GB."""
    shared = "{:x}-{:x} rw-s 00000000 00:01 {} /dev/zero (deleted)"
    kinds = {
        7: shared.format(0x10000000, 0x10000000 + (143 << 20), 31),
        8: shared.format(0x10000000, 0x10000000 + (143 << 20), 31),
        9: shared.format(0x10000000, 0x10000000 + (1 << 30), 32),
    }
    pages = f"HugePages_Total: {total}\nHugePages_Free: {free}\nMemAvailable: {available} kB"
    return {
        MEMINFO: f"{pages}\nHugepagesize: 2048 kB",
        **{f"proc/{pid}/comm": "postgres" for pid in kinds},
        **{
            f"proc/{pid}/maps": f"00400000-00452000 r-xp 0 08:02 1 /x\n{line}"
            for pid, line in kinds.items()
        },
    }


def promised(total: int, free: int, reserved: int) -> dict[str, str]:
    """Of the free pages some were promised to a server that has not touched them yet."""
    files = servers(total, free)
    return {**files, MEMINFO: f"{files[MEMINFO]}\nHugePages_Rsvd: {reserved}"}


VERSION = "proc/sys/kernel/version"
PREEMPT, REALTIME = "sys/kernel/debug/sched/preempt", "sys/kernel/realtime"
URING = "proc/sys/kernel/io_uring_disabled"
OTHER = {
    "proc/7/stat": "7 (steelyard) S 1 1 1 0",
    "proc/7/cmdline": "python3\0/x/steelyard\0weigh\0checksums",
}
CASES: list[tuple[Check, Files, Lately, Level]] = [
    (memory.huge_pages, servers(0, 0), Lately(), "note"),
    (memory.huge_pages, servers(1000, 100), Lately(), "warning"),
    (memory.huge_pages, servers(1000, 1000), Lately(), "good"),
    (memory.huge_pages, servers(1000, 1000, 1 << 10), Lately(), "good"),
    (memory.huge_pages, promised(1000, 1000, 500), Lately(), "warning"),
    (memory.huge_pages, promised(1000, 1000, 100), Lately(), "good"),
    (kernel.preemption, linux("7.0.3"), Lately(), "warning"),
    (kernel.preemption, {**linux("7.0.3"), **huge(100, 100)}, Lately(), "good"),
    (kernel.preemption, linux("7.1.0", chosen="full (lazy)"), Lately(), "warning"),
    (kernel.preemption, linux("6.14.0", chosen="none voluntary full (lazy)"), Lately(), "warning"),
    (kernel.preemption, linux("6.14.0", chosen="none (voluntary) full lazy"), Lately(), "good"),
    (kernel.preemption, linux("6.14.0", booted="ro preempt=lazy quiet"), Lately(), "warning"),
    (kernel.preemption, linux("6.14.0", built="CONFIG_PREEMPT_LAZY=y"), Lately(), "warning"),
    (kernel.preemption, linux("6.1.0", built="CONFIG_PREEMPT_VOLUNTARY=y"), Lately(), "good"),
    (kernel.preemption, linux("6.1.0", built="CONFIG_PREEMPT=y"), Lately(), "good"),
    (kernel.preemption, {**linux("6.14.0"), REALTIME: "1"}, Lately(), "warning"),
    (
        kernel.preemption,
        {**linux("6.14.0", built="CONFIG_PREEMPT=y"), VERSION: "#1 SMP PREEMPT_RT Debian"},
        Lately(),
        "warning",
    ),
    (
        kernel.preemption,
        {**linux("6.14.0", built="CONFIG_PREEMPT=y"), VERSION: "#1 SMP PREEMPT_DYNAMIC Debian"},
        Lately(),
        "good",
    ),
    (kernel.preemption, linux("6.14.0"), Lately(), "unseen"),
    (kernel.preemption, {}, Lately(), "unseen"),
    (kernel.io_uring, {URING: "0"}, Lately(io_uring=""), "good"),
    (kernel.io_uring, {URING: "0"}, Lately(), "good"),
    (kernel.io_uring, {URING: "1"}, Lately(io_uring=""), "note"),
    (kernel.io_uring, {URING: "2"}, Lately(), "note"),
    (kernel.io_uring, {URING: "0"}, Lately(io_uring="EPERM"), "note"),
    (kernel.io_uring, {}, Lately(io_uring="ENOSYS"), "note"),
    (kernel.io_uring, {}, Lately(io_uring="EINVAL"), "note"),
    (kernel.io_uring, {URING: "0", **linux("5.4.0")}, Lately(locked_bytes=64 << 10), "note"),
    (kernel.io_uring, {URING: "0", **linux("6.1.0")}, Lately(locked_bytes=64 << 10), "good"),
    (kernel.io_uring, {}, Lately(), "unseen"),
    (kernel.other_measurements, OTHER, Lately(), "warning"),
    (kernel.other_measurements, {}, Lately(), "good"),
]


@pytest.mark.parametrize(("check", "files", "lately", "level"), CASES)
def test_a_kernel_is_read_as_its_files_say(
    tmp_path: Path, check: Check, files: Files, lately: Lately, level: Level
) -> None:
    finding = check(host(tmp_path, files, lately))
    assert finding.level == level, finding.seen


@pytest.mark.parametrize(
    ("namespace", "first", "why"),
    [
        ("pid:[4026531836]", True, ""),
        ("pid:[4026531836]", False, "hidepid"),
        ("pid:[4026532281]", True, "a container's"),
        ("", False, ""),  # no /proc of a kernel
    ],
)
def test_what_may_be_hidden_is_not_said_to_be_absent(
    tmp_path: Path, namespace: str, first: bool, why: str
) -> None:
    facts = host(tmp_path, {"proc/1/stat": "1 (systemd) S 0 1 1 0"} if first else {})
    if namespace:
        (tmp_path / "proc/self/ns").mkdir(parents=True)
        (tmp_path / "proc/self/ns/pid").symlink_to(namespace)
    for check in (kernel.other_measurements, processors.interrupts):
        finding = check(facts)
        assert finding.level == ("unseen" if why else "good")
        assert why in finding.seen
    host(tmp_path, {**OTHER, "proc/9/comm": "irqbalance"})
    assert kernel.other_measurements(facts).level == "warning"
    assert processors.interrupts(facts).level == "note"


POOLS = "sys/kernel/mm/hugepages/hugepages-{}kB/nr_hugepages"


@pytest.mark.parametrize(
    ("pools", "beside"),
    [
        ({2048: 0, 1048576: 16}, "16 of 1024 MB"),
        ({64: 3, 2048: 7, 32768: 0, 1048576: 2}, "3 of 64 kB, 2 of 1024 MB"),  # arm64
        ({2048: 7, 1048576: 0}, ""),
        ({}, ""),
    ],
)
def test_the_finding_lists_huge_pages_of_every_size(
    tmp_path: Path, pools: dict[int, int], beside: str
) -> None:
    files = {POOLS.format(size): str(count) for size, count in pools.items()}
    finding = memory.huge_pages(host(tmp_path, {**servers(0, 0), **files}))
    assert finding.seen.startswith("none set aside")
    assert (" of the default size; " in finding.seen) == bool(beside)
    assert beside in finding.seen
    assert finding.level == "note", "by default a server takes those of the default size"


@pytest.mark.parametrize("name", ["postgres", "postmaster", "edb-postgres"])
def test_a_server_is_known_by_whatever_program_it_was_started(tmp_path: Path, name: str) -> None:
    files = servers(0, 0)
    files |= {path: name for path in files if path.endswith("/comm")}
    assert "PostgreSQL in 2 running here" in memory.huge_pages(host(tmp_path, files)).seen


def test_a_limit_that_is_not_to_be_seen_is_not_said_to_be_none(tmp_path: Path) -> None:
    files = {MEMINFO: "MemAvailable: 20000000 kB", "proc/self/cgroup": "0::/\n"}
    facts = host(tmp_path, files)
    for check in (processors.quota, memory.memory):
        finding = check(facts)
        assert (finding.level, "not to be seen" in finding.seen) == ("unseen", True)
    host(tmp_path, {MEMINFO: "MemAvailable: 200000 kB"})
    assert memory.memory(facts).level == "warning", "there is little, whatever is allowed"
    host(tmp_path, {**files, "sys/fs/cgroup/cgroup.procs": ""})
    assert [check(facts).level for check in (processors.quota, memory.memory)] == ["good", "good"]
