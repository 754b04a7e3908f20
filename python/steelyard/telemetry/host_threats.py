"""Finds what the machine did between two samples that threatens a reading.

Each is a threat of the closed list and what was seen; evaluation adds cause and advice.
"""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.model.threat import ThreatKind
from steelyard.model.units import NS_PER_MS, format_bytes, format_duration
from steelyard.telemetry.host import HostSample, HostUse

SeenThreat = tuple[ThreatKind, str]
"""(threat, what was seen)."""

STEAL_SHARE = 0.02
THROTTLED_SHARE = 0.005
MEMORY_SHARE = 0.05
DISK_SHARE = 0.02
SWAPPED_BYTES = 16 << 20
SUSPENDED_NS = 50 * NS_PER_MS
"""The two clocks are read one after the other and differ by microseconds when nothing slept."""

MEMORY_PRESSURE_SHARE = 0.01


def host_threats(
    before: HostSample,
    after: HostSample,
    *,
    processors: Sequence[int],
    disk_needed_bytes: int = 0,
) -> list[SeenThreat]:
    """The threats that two samples of the host and the processors in use show.

    `disk_needed_bytes`: what the weighing may still write; less room than that is nearly full.
    """
    use = after.since(before)
    found = [
        *_withheld_time(use),
        *_nearly_full(after, use, disk_needed_bytes),
        *_changed(before, after, use),
    ]
    if len(processors) == 1:
        found.append(
            (ThreatKind.ONE_PROCESSOR, f"driver and servers share processor {processors[0]}")
        )
    return found


def _withheld_time(use: HostUse) -> list[SeenThreat]:
    found: list[SeenThreat] = []
    if use.steal_share > STEAL_SHARE:
        seen = f"{use.steal_share:.1%} of processor time was stolen by other guests"
        found.append((ThreatKind.STEAL, seen))
    if use.throttled_share > THROTTLED_SHARE:
        seen = (
            f"the control group was throttled for {format_duration(use.throttled_ns)} "
            f"of {format_duration(use.elapsed_ns)}"
        )
        found.append((ThreatKind.STEAL, seen))
    return found


def _nearly_full(after: HostSample, use: HostUse, disk_needed_bytes: int) -> list[SeenThreat]:
    found: list[SeenThreat] = []
    if after.memory_available_bytes < MEMORY_SHARE * after.memory_total_bytes:
        seen = f"{format_bytes(after.memory_available_bytes)} of memory available"
        found.append((ThreatKind.NEARLY_FULL, seen))
    if use.swapped_bytes > SWAPPED_BYTES:
        found.append(
            (ThreatKind.NEARLY_FULL, f"{format_bytes(use.swapped_bytes)} were swapped out")
        )
    stalled_ns = use.pressure_ns.get("memory full", 0)
    if stalled_ns > MEMORY_PRESSURE_SHARE * use.elapsed_ns > 0:
        seen = f"everything stood still for memory for {format_duration(stalled_ns)}"
        found.append((ThreatKind.NEARLY_FULL, seen))
    if after.disk_free_bytes < max(disk_needed_bytes, DISK_SHARE * after.disk_total_bytes):
        found.append(
            (ThreatKind.NEARLY_FULL, f"{format_bytes(after.disk_free_bytes)} of disk free")
        )
    return found


def _changed(before: HostSample, after: HostSample, use: HostUse) -> list[SeenThreat]:
    if before.boot_id != after.boot_id:
        return [(ThreatKind.MACHINE_CHANGED, "the machine was started anew, or is another one")]
    found: list[SeenThreat] = []
    if use.suspended_ns > SUSPENDED_NS:
        seen = f"the machine was suspended for {format_duration(use.suspended_ns)}"
        found.append((ThreatKind.MACHINE_CHANGED, seen))
    if before.busy_ns.keys() != after.busy_ns.keys():
        seen = f"{len(before.busy_ns)} processors were online, then {len(after.busy_ns)}"
        found.append((ThreatKind.MACHINE_CHANGED, seen))
    if before.memory_total_bytes != after.memory_total_bytes:
        seen = (
            f"memory was {format_bytes(before.memory_total_bytes)}, "
            f"then {format_bytes(after.memory_total_bytes)}"
        )
        found.append((ThreatKind.MACHINE_CHANGED, seen))
    return found
