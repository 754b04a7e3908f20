"""Checks of the memory: pages, swap, what waits to be written, and limits."""

from __future__ import annotations

import os
from pathlib import Path

from steelyard.engines.capabilities.memory import HUGE_PAGE_BYTES, shared_memory_bytes
from steelyard.engines.memory.control_groups import matching
from steelyard.model.units import format_bytes
from steelyard.telemetry.capacity import hidden_limits, memory_left
from steelyard.telemetry.doctor.finding import Check, HostFacts, HostFinding, Level, bracketed_word
from steelyard.telemetry.host import huge_pages_free, memory_bytes

HUGE_PAGES = "sys/kernel/mm/transparent_hugepage/enabled"
SWAPPINESS = 10
MOST_WAITING_BYTES = 1 << 30
LEAST_SHARED_BYTES = 256 << 20
LEAST_FREE_BYTES = 1 << 30
_POOLS = "sys/kernel/mm/hugepages/hugepages-*kB/nr_hugepages"
_SERVER_NAMES = frozenset({"postgres", "postmaster", "edb-postgres", "edb-postmaster"})
"""What a server's processes are called: by the name of the program that was started, which up to 15
packages for RHEL call postmaster."""


def transparent_huge_pages(host: HostFacts) -> HostFinding:
    """Whether the kernel makes huge pages of anonymous memory by itself."""
    mode = bracketed_word(host.text(HUGE_PAGES))
    level: Level = "unseen" if mode is None else "warning" if mode == "always" else "good"
    return HostFinding(
        "transparent huge pages",
        level,
        mode or "this kernel has none",
        "every server with many connections: khugepaged moves pages about in the background, and "
        "a fault may wait for memory to be compacted. A few percent, at odd times",
        "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
        "tuned's postgresql profile; PostgreSQL docs 18.4.5 on huge pages",
    )


def huge_pages(host: HostFacts) -> HostFinding:
    """Huge pages that were set aside, and how many servers here need."""
    memory = memory_bytes(host.root)
    total, free = memory.get("HugePages_Total", 0), huge_pages_free(host.root)
    page = memory.get("Hugepagesize", 0) or HUGE_PAGE_BYTES
    needed, whose = _pages_needed(host, page)
    level: Level = "good" if not total or free else "warning"
    if needed > free:
        level = "warning" if total else "note"
    state = f"{free} of {total} free" if total else "none set aside"
    if others := _other_pools(host, page):
        state += f" of the default size; {others}, for servers with that huge_page_size alone"
    if needed:
        state += (
            f"; {whose} need{'s' if host.planned is None else ''} {needed} of {format_bytes(page)}"
        )
    return HostFinding(
        "huge pages",
        level,
        state,
        "arms with huge_pages = try: the one that starts first gets them and the others do not, so "
        "that an arm's name decides. They save some percent with a large buffer pool",
        _pages_advice(needed, total, free, page, memory.get("MemAvailable", 0)),
        "PostgreSQL docs: 18.4.5, huge_pages_status (17), shared_memory_size_in_huge_pages (15)",
    )


def _other_pools(host: HostFacts, default_bytes: int) -> str:
    """Huge pages that are set aside of other sizes than the default, as /proc/meminfo has them not:
    "16 of 1024 MB"."""
    pools = {
        int(path.rpartition("-")[2].partition("kB")[0]) << 10: count
        for path, count in host.numbers(_POOLS).items()
    }
    return ", ".join(
        f"{count} of {format_bytes(size)}"
        for size, count in sorted(pools.items())
        if count and size != default_bytes
    )


def _pages_needed(host: HostFacts, page_bytes: int) -> tuple[int, str]:
    """Huge pages that servers need beside those in use, and which servers; 0: no server is known.

    Of a server that runs by its shared memory, as shared_memory_size_in_huge_pages rounds it; of
    planned ones computed, at most.
    """
    if host.planned is not None:
        each = -(-shared_memory_bytes(host.planned.shared_buffers_bytes) // page_bytes)
        pool = format_bytes(host.planned.shared_buffers_bytes)
        return each * host.planned.count, f"{host.planned.count} servers with {pool} each (at most)"
    sizes = shared_segments(host.root / "proc")
    pages = sum(-(-size // page_bytes) for size in sizes)
    return pages, f"the shared memory of PostgreSQL in {len(sizes)} running here"


def _pages_advice(needed: int, total: int, free: int, page_bytes: int, available: int) -> str:
    if not needed:
        return (
            "steelyard doctor --shared-buffers 8GB computes vm.nr_hugepages for all arms together; "
            "or huge_pages = off in all"
        )
    arms = "huge_pages = on in the arms that should have them, off in the others"
    more = needed - free  # what is set aside already is not in what is available
    if more <= 0:
        return f"{arms}: enough are set aside"
    if more * page_bytes > available > 0:
        return (
            f"smaller shared_buffers: {format_bytes(more * page_bytes)} more are more than the "
            f"{format_bytes(available)} that are available"
        )
    command = f"sysctl -w vm.nr_hugepages={total + more}"
    return f"as root: {command}, back to {total} afterwards; then {arms}"


def shared_segments(proc: Path) -> list[int]:
    """Bytes of the shared memory of each PostgreSQL that runs, in no huge pages, as far as their
    maps can be read."""
    sizes: dict[str, int] = {}
    for entry in matching(proc, "[0-9]*/comm"):
        try:
            if entry.read_text(errors="replace").strip() not in _SERVER_NAMES:
                continue
            maps = (entry.parent / "maps").read_text(errors="replace")
        except OSError:  # it has ended, or is another account's
            continue
        for line in maps.splitlines():
            parts = line.split(maxsplit=5)
            if len(parts) == 6 and "s" in parts[1] and parts[5].startswith("/dev/zero"):
                first, _, last = parts[0].partition("-")
                sizes[parts[4]] = max(sizes.get(parts[4], 0), int(last, 16) - int(first, 16))
    return list(sizes.values())


def swap(host: HostFacts) -> HostFinding:
    """Swap, and how eagerly it is used."""
    memory = memory_bytes(host.root)
    total, eager = memory.get("SwapTotal", 0), host.number("proc/sys/vm/swappiness")
    used = total - memory.get("SwapFree", 0)
    level: Level = "good"
    if total:
        level = "warning" if (eager or 0) > SWAPPINESS else "note"
    state = f"{format_bytes(total)}, {format_bytes(used)} in use, swappiness "
    state += "unknown" if eager is None else str(eager)
    lower = "vm.swappiness = 1 to 10, or " if level == "warning" else ""
    return HostFinding(
        "swap",
        level,
        state if total else "none",
        "work that fills the memory: a part of the buffer pool that was swapped out is read back "
        "page by page",
        f"{lower}no swap (swapoff -a)",
        "tuned's postgresql profile (3)",
    )


def waiting_to_be_written(host: HostFacts) -> HostFinding:
    """How much written data the kernel lets pile up before it writes."""
    background = host.number("proc/sys/vm/dirty_background_bytes") or 0
    ratio = host.number("proc/sys/vm/dirty_background_ratio")
    if not background and ratio is not None:
        background = memory_bytes(host.root).get("MemAvailable", 0) * ratio // 100
    level: Level = "warning" if background > MOST_WAITING_BYTES else "good"
    if not background:
        level = "unseen"
    return HostFinding(
        "write-back",
        level,
        f"from {format_bytes(background)} on" if background else "dirty limits cannot be read",
        "work that writes: what has piled up is written at once, and every sync waits behind it, "
        "as stalls of seconds",
        "vm.dirty_background_bytes = 67108864, vm.dirty_bytes = 536870912",
        "tuned's postgresql profile: 64 and 512 MB",
    )


def memory(host: HostFacts) -> HostFinding:
    """Memory that is free for servers, limits of control groups included."""
    available = memory_bytes(host.root).get("MemAvailable", 0)
    left = memory_left(host.root)
    free = available if left is None else min(left, available)
    level: Level = "warning" if free < LEAST_FREE_BYTES else "good"
    limit = "" if left is None or left >= available else ", by the limit of a control group"
    if hidden := hidden_limits("memory", host.root):
        limit = " to the machine; control groups are not to be seen, and one may allow less"
    return HostFinding(
        "memory",
        level if available and (level == "warning" or not hidden) else "unseen",
        f"{format_bytes(free)} available{limit}",
        "arms that stand beside each other: each has a buffer pool of its own, and the page cache "
        "keeps what is left",
        "a smaller scale or pool; --set memory",
        "1 GB: two servers with pools of 128 MB, and their data",
    )


def shared_memory(host: HostFacts) -> HostFinding:
    """Room in /dev/shm, where parallel queries exchange rows."""
    level: Level = "unseen"
    state = "/dev/shm cannot be seen"
    try:
        status = os.statvfs(host.root / "dev/shm")
    except OSError:
        pass
    else:
        room = status.f_bavail * status.f_frsize
        level = "warning" if room < LEAST_SHARED_BYTES else "good"
        state = f"{format_bytes(room)} free"
    return HostFinding(
        "/dev/shm",
        level,
        state,
        'parallel queries: "could not resize shared memory segment". Containers have 64 MB',
        "mount -o remount,size=1g /dev/shm (containers: docker run --shm-size=1g), or "
        "dynamic_shared_memory_type = mmap in all arms",
        "PostgreSQL docs: dynamic_shared_memory_type",
    )


CHECKS: tuple[Check, ...] = (
    *(transparent_huge_pages, huge_pages, swap, waiting_to_be_written, memory, shared_memory),
)
