"""Says which processors may be used and in which order, and how much room a file system has."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path

from steelyard.engines.memory.control_groups import ROOT
from steelyard.telemetry.cgroup import processor_quota


@dataclass(frozen=True)
class Space:
    """Bytes of the file system that a path stands on; `free` is what this user may take."""

    free_bytes: int
    total_bytes: int


def space(path: Path) -> Space:
    """Room where `path` is or would be: that of its nearest existing ancestor."""
    status = os.statvfs(_standing(path))
    return Space(
        free_bytes=status.f_bavail * status.f_frsize,
        total_bytes=status.f_blocks * status.f_frsize,
    )


def filesystem(path: Path, root: Path = ROOT) -> dict[str, str]:
    """`{"mount", "type", "device", "options"}` of the mount `path` is on; empty when unknown.

    Source: /proc/self/mountinfo (proc_pid_mountinfo(5)); the longest mount point wins, and of
    equals the last, which covers those before it.
    """
    target = _standing(path).resolve()
    best: dict[str, str] = {}
    try:
        lines = (root / "proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return best
    for line in lines:
        before, _, after = line.partition(" - ")
        mount = before.split()[4].replace("\\040", " ")
        if not target.is_relative_to(mount) or len(mount) < len(best.get("mount", "")):
            continue
        kind, device, *options = after.split()
        best = {
            "mount": mount,
            "type": kind,
            "device": device,
            "options": ",".join([before.split()[5], *options]),
        }
    return best


def _standing(path: Path) -> Path:
    absolute = path.absolute()
    return next(each for each in (absolute, *absolute.parents) if each.exists())


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
    seen: dict[str, int] = {}
    rank: dict[int, int] = {}
    for processor in sorted(processors):
        name = core[processor]
        rank[processor] = seen.get(name, 0)
        seen[name] = rank[processor] + 1
    return sorted(rank, key=lambda processor: (rank[processor], processor))


def core_of(processor: int, root: Path = ROOT) -> str:
    """A name shared by the hardware threads of one core; the processor's own where unknown."""
    topology = root / f"sys/devices/system/cpu/cpu{processor}/topology/thread_siblings_list"
    try:
        return topology.read_text(encoding="ascii").strip()
    except OSError:
        return str(processor)
