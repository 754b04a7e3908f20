"""Says which processors may be used, what room there is, and what control groups allow.

Limits of every ancestor hold, so all are read.
"""

from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass
from pathlib import Path

from steelyard.engines.memory.control_groups import ROOT, own_groups, pairs_of, text_of, words_of
from steelyard.model.units import NS_PER_US

_FILE_PAGES = ("inactive_file", "active_file")
_UNLIMITED_BYTES = 1 << 60  # v1 prints the largest page-aligned number for "no limit"


@dataclass(frozen=True)
class Throttling:
    """How often and how long the CPU controller stopped this group, since it was made."""

    periods: int = 0
    throttled_ns: int = 0


def throttling(root: Path = ROOT) -> Throttling:
    """Totals over the group and its ancestors; zeros where no quota is enforced."""
    periods = throttled_ns = 0
    for group in own_groups("cpu", root):
        totals = throttling_of(text_of(group / "cpu.stat")) or Throttling()
        periods += totals.periods
        throttled_ns += totals.throttled_ns
    return Throttling(periods=periods, throttled_ns=throttled_ns)


def throttling_of(text: str) -> Throttling | None:
    """The throttling in a `cpu.stat`; None where no quota is counted in it."""
    counts = pairs_of(text)
    if "nr_throttled" not in counts:
        return None
    throttled_ns = counts.get("throttled_time", 0)  # v1: nanoseconds
    throttled_ns += counts.get("throttled_usec", 0) * NS_PER_US  # v2: microseconds
    return Throttling(periods=counts["nr_throttled"], throttled_ns=throttled_ns)


def statistics_file(controller: str, root: Path = ROOT) -> Path | None:
    """`cpu.stat` of this process's own group, for what is read again and again; None: not seen."""
    group = next(own_groups(controller, root), None)
    return None if group is None else group / f"{controller}.stat"


def hidden_limits(controller: str, root: Path = ROOT) -> bool:
    """Whether this process is in a group of a controller none of whose files are to be seen, as in
    a container, or a root of its own, without /sys/fs/cgroup: a limit may hold all the same."""
    lines = text_of(root / "proc/self/cgroup").splitlines()
    controllers = [line.split(":")[1] for line in lines if line.count(":") >= 2]
    member = "" in controllers or any(controller in each.split(",") for each in controllers)
    return member and next(own_groups(controller, root), None) is None


def processor_quota(root: Path = ROOT) -> float | None:
    """How many processors' worth of time the tightest group allows; None: no quota."""
    quotas = []
    for group in own_groups("cpu", root):
        fields = words_of(group / "cpu.max")  # v2: "200000 100000" or "max 100000"
        if not fields:
            fields = words_of(group / "cpu.cfs_quota_us") + words_of(group / "cpu.cfs_period_us")
        if len(fields) == 2 and fields[0] not in ("max", "-1") and int(fields[1]) > 0:
            quotas.append(int(fields[0]) / int(fields[1]))
    return min(quotas, default=None)


def memory_left(root: Path = ROOT) -> int | None:
    """Bytes that the tightest memory group still allows (page cache it can drop counts as free, as
    in MemAvailable, whether it was used lately or not).

    None: no group has a limit.
    """
    tightest = tightest_memory(root)
    return None if tightest is None else tightest[0]


def tightest_memory(root: Path = ROOT) -> tuple[int, int] | None:
    """The same, and the limit of that group: of how much it is what is left."""
    left = []
    for group in own_groups("memory", root):
        limit = _limit_of(group)
        used = words_of(group / "memory.current") or words_of(group / "memory.usage_in_bytes")
        if limit is None or not used:
            continue
        pairs = pairs_of(text_of(group / "memory.stat"))
        cache = sum(pairs.get(f"total_{each}", pairs.get(each, 0)) for each in _FILE_PAGES)
        left.append((max(0, limit - max(0, int(used[0]) - cache)), limit))
    return min(left, default=None)


def memory_limit(root: Path = ROOT) -> int | None:
    """Bytes that the tightest memory group allows in all; None: no group has a limit."""
    limits = (_limit_of(group) for group in own_groups("memory", root))
    return min((limit for limit in limits if limit is not None), default=None)


_LIMITS = ("memory.max", "memory.high", "memory.limit_in_bytes")
"""Of version 2, and of version 1. Beyond `high` (MemoryHigh= of systemd) nothing is killed, but
every allocation waits until as much has been reclaimed."""


def _limit_of(group: Path) -> int | None:
    limits = [limit[0] for name in _LIMITS if (limit := words_of(group / name))]
    counted = (int(limit) for limit in limits if limit != "max")
    return min((limit for limit in counted if limit < _UNLIMITED_BYTES), default=None)


@dataclass(frozen=True)
class Space:
    """Bytes of the file system that a path stands on; `free` is what this user may take."""

    free_bytes: int
    total_bytes: int

    @property
    def free_share(self) -> float:
        """Of it all; 1 of a file system that counts no blocks, as /proc: it is never full."""
        return self.free_bytes / self.total_bytes if self.total_bytes else 1.0


def space(path: Path) -> Space:
    """Room where `path` is or would be: that of its nearest existing ancestor."""
    status = os.statvfs(existing_ancestor(path))
    return Space(
        free_bytes=status.f_bavail * status.f_frsize,
        total_bytes=status.f_blocks * status.f_frsize,
    )


def filesystem(path: Path, root: Path = ROOT) -> dict[str, str]:
    """`{"mount", "type", "device", "options"}` of the mount `path` is on; empty when unknown.

    Source: /proc/self/mountinfo (proc_pid_mountinfo(5)); the longest mount point wins, and of
    equals the last, which covers those before it.
    """
    target = existing_ancestor(path).resolve()
    best: dict[str, str] = {}
    try:
        # Names are bytes of any encoding, and no letter but a space is a border of fields.
        listing = (root / "proc/self/mountinfo").read_bytes().decode("utf-8", "surrogateescape")
    except OSError:
        return best
    for line in filter(None, listing.split("\n")):
        before, _, after = line.partition(" - ")
        fields = before.split(" ")
        mount = _unescaped(fields[4])
        if not target.is_relative_to(mount) or len(mount) < len(best.get("mount", "")):
            continue
        kind, device, *options = after.split(" ")
        best = {
            "mount": mount,
            "type": kind,
            "device": device,
            "options": ",".join([fields[5], *options]),
        }
    return best


def _unescaped(field: str) -> str:
    """A path of mountinfo: white space and backslashes stand there in octal."""
    return re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), field)


def existing_ancestor(path: Path) -> Path:
    """The path, absolute, or what there is above it."""
    absolute = path.absolute()
    return next(each for each in (absolute, *absolute.parents) if os.path.exists(each))


def allowed_processors(root: Path = ROOT) -> list[int]:
    """The processors this process may use, one of every core first, SMT siblings last.

    The affinity mask already holds what a cpuset allows. A CPU quota cuts the list to as many
    processors as it pays for: pinning work to more of them would only meet the throttle.
    """
    affinity = sorted(os.sched_getaffinity(0))
    ordered = siblings_last(affinity, {p: core_of(p, root) for p in affinity})
    quota = processor_quota(root)
    return ordered if quota is None else ordered[: max(1, math.ceil(quota))]


def siblings_last(processors: list[int], core: dict[int, str]) -> list[int]:
    """Order processors by how many siblings of the same core stand before them, then by number."""
    siblings: dict[str, int] = {}
    rank: dict[int, int] = {}
    for processor in sorted(processors):
        name = core[processor]
        rank[processor] = siblings.get(name, 0)
        siblings[name] = rank[processor] + 1
    return sorted(rank, key=lambda processor: (rank[processor], processor))


def core_of(processor: int, root: Path = ROOT) -> str:
    """A name shared by the hardware threads of one core; the processor's own where unknown."""
    topology = root / f"sys/devices/system/cpu/cpu{processor}/topology/thread_siblings_list"
    try:
        return topology.read_text(encoding="utf-8").strip()
    except OSError:
        return str(processor)
