"""Says in plain facts why the machine may have spoilt a reading; the verdict makes threats of it.

Each doubt is a kind, in the words of the closed list of threats, and what was seen.
"""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.model.units import NS_PER_MS, format_bytes, format_duration
from steelyard.telemetry.host import HostSample, HostUse

Doubt = tuple[str, str]
"""(kind, what was seen)."""

STEAL_OR_THROTTLING = "steal or throttling"
NEARLY_FULL = "memory or disk nearly full"
MACHINE_CHANGED = "machine changed"
ONE_PROCESSOR = "one processor"

STEAL_SHARE = 0.02
THROTTLED_SHARE = 0.005
MEMORY_SHARE = 0.05
DISK_SHARE = 0.02
SWAPPED_BYTES = 16 << 20
SUSPENDED_NS = 50 * NS_PER_MS
"""The two clocks are read one after the other and differ by microseconds when nothing slept."""

MEMORY_PRESSURE_SHARE = 0.01


def doubts(
    before: HostSample,
    after: HostSample,
    *,
    processors: Sequence[int],
    disk_needed_bytes: int = 0,
) -> list[Doubt]:
    """What two samples of the host and the processors in use leave to doubt.

    `disk_needed_bytes`: what the weighing may still write; less room than that is nearly full.
    """
    use = after.since(before)
    found = [
        *_withheld_time(use),
        *_nearly_full(after, use, disk_needed_bytes),
        *_changed(before, after, use),
    ]
    if len(processors) == 1:
        found.append((ONE_PROCESSOR, f"driver and servers share processor {processors[0]}"))
    return found


def _withheld_time(use: HostUse) -> list[Doubt]:
    found = []
    if use.steal_share > STEAL_SHARE:
        seen = f"{use.steal_share:.1%} of processor time was stolen by other guests"
        found.append((STEAL_OR_THROTTLING, seen))
    if use.throttled_share > THROTTLED_SHARE:
        seen = (
            f"the control group was throttled for {format_duration(use.throttled_ns)} "
            f"of {format_duration(use.elapsed_ns)}"
        )
        found.append((STEAL_OR_THROTTLING, seen))
    return found


def _nearly_full(after: HostSample, use: HostUse, disk_needed_bytes: int) -> list[Doubt]:
    found = []
    if after.memory_available_bytes < MEMORY_SHARE * after.memory_total_bytes:
        seen = f"{format_bytes(after.memory_available_bytes)} of memory available"
        found.append((NEARLY_FULL, seen))
    if use.swapped_bytes > SWAPPED_BYTES:
        found.append((NEARLY_FULL, f"{format_bytes(use.swapped_bytes)} were swapped out"))
    stalled_ns = use.pressure_ns.get("memory full", 0)
    if stalled_ns > MEMORY_PRESSURE_SHARE * use.elapsed_ns > 0:
        seen = f"everything stood still for memory for {format_duration(stalled_ns)}"
        found.append((NEARLY_FULL, seen))
    if after.disk_free_bytes < max(disk_needed_bytes, DISK_SHARE * after.disk_total_bytes):
        found.append((NEARLY_FULL, f"{format_bytes(after.disk_free_bytes)} of disk free"))
    return found


def _changed(before: HostSample, after: HostSample, use: HostUse) -> list[Doubt]:
    if before.boot_id != after.boot_id:
        return [(MACHINE_CHANGED, "the machine was started anew, or is another one")]
    found = []
    if use.suspended_ns > SUSPENDED_NS:
        seen = f"the machine was suspended for {format_duration(use.suspended_ns)}"
        found.append((MACHINE_CHANGED, seen))
    if before.busy_ns.keys() != after.busy_ns.keys():
        seen = f"{len(before.busy_ns)} processors were online, then {len(after.busy_ns)}"
        found.append((MACHINE_CHANGED, seen))
    if before.memory_total_bytes != after.memory_total_bytes:
        seen = (
            f"memory was {format_bytes(before.memory_total_bytes)}, "
            f"then {format_bytes(after.memory_total_bytes)}"
        )
        found.append((MACHINE_CHANGED, seen))
    return found
