"""Says which processors may be used, and in which order to fill them."""

from __future__ import annotations

import math
import os
from pathlib import Path

from steelyard.telemetry.cgroup import ROOT, processor_quota


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
