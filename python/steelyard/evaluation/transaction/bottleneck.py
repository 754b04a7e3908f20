"""Finds an arm's bottleneck, and what shows it: the part that takes most of its time.

What a device did while an arm was driven is compared with what a probe of it found before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from steelyard.model.readings import (
    SLICES_NS,
    EpochTotals,
    device_reading,
    known_values,
    usable_processors,
)
from steelyard.model.units import NS_PER_S
from steelyard.record.machine import PEAK_READ, PEAK_WRITE, Probe
from steelyard.record.verdict import BottleneckKind, TimeParts

LEAST_SHARE = 0.4
"""Of a transaction's time, that goes to what is called the bottleneck."""
WITHHELD_SHARE = 0.02
"""Of the time, that processors were withheld by a quota or another guest: then waiting for one does
not mean that there are too few."""
DEVICE_SHARE = 0.5
"""Of its probed ceiling, from which on a device that sessions read from is what holds them up. Of
a ceiling that was the processors' nothing follows: the device's own is higher, and not known."""
GROUPS: Mapping[BottleneckKind, Sequence[str]] = {
    "processor": ("processor", "queue"),
    "reading": ("read",),
    "WAL flush": ("wal",),
    "lock": ("locks",),
    "client": ("client",),
}


@dataclass(frozen=True)
class Ceiling:
    """Requests a second of a device while an arm was driven, and of its probe at the most.

    Both are what the file system requests of the device that it is on, whatever that rests on.
    """

    device: str
    reads: float
    most_reads: float
    writes: float
    most_writes: float
    by_processors: bool
    """Whether the probe's processors were at their limit at a peak: the device can do more."""

    @property
    def share(self) -> float:
        """Of what the probe got from the device: reads and writes take their turns."""
        return self.reads / self.most_reads + self.writes / self.most_writes


@dataclass(frozen=True, slots=True)
class BottleneckFacts:
    """What an arm is held up by, and what shows it."""

    arm: str
    kind: BottleneckKind
    part: BottleneckKind
    """The group of parts that takes most of a transaction's time, whether or not it is enough."""
    share: float
    """Of it in a transaction's time."""
    transaction_us: float
    waited: float | None = None
    """Of the time on processors, that was spent waiting for one."""
    withheld: float | None = None
    """Of the processors' time, where that is why it waited."""
    device: Ceiling | None = None
    """What the device did, where it may be what holds the arm up."""


def bottlenecks(
    epochs: Sequence[EpochTotals], parts: TimeParts, probe: Probe | None = None
) -> tuple[BottleneckFacts, BottleneckFacts]:
    """Of the control, and of the arm, whose times these are; `probe`: of their device."""
    withheld = withheld_share(epochs)
    control: dict[str, float] = {part.part: part.control_us for part in parts.parts}
    arm: dict[str, float] = {part.part: part.arm_us for part in parts.parts}
    return (
        _on_device(_bottleneck(parts.control, control, withheld), epochs, probe),
        _on_device(_bottleneck(parts.arm, arm, withheld), epochs, probe),
    )


def _on_device(
    bottleneck: BottleneckFacts, epochs: Sequence[EpochTotals], probe: Probe | None
) -> BottleneckFacts:
    """With what the device did, where it may be what holds the arm up."""
    if bottleneck.kind not in ("reading", "WAL flush"):
        return bottleneck
    read = [epoch.readings.get(bottleneck.arm, {}) for epoch in epochs]
    counts = [known_values(readings.values()) for readings in read]
    used = ceiling(counts, probe)
    if used is None:
        return bottleneck
    near = used.share >= DEVICE_SHARE and not used.by_processors
    kind: BottleneckKind = "device" if near and bottleneck.kind == "reading" else bottleneck.kind
    return replace(bottleneck, kind=kind, device=used)


def withheld_share(epochs: Sequence[EpochTotals]) -> float:
    """Of the time of all processors, what a quota or other guests withheld; 0 where unknown."""
    shares = []
    for epoch in epochs:
        machine = known_values(epoch.machine.values())
        whole = machine.get("elapsed_ns", 0.0) * usable_processors(machine)
        lost = machine.get("throttled_ns", 0.0) + machine.get("steal_ns", 0.0)
        shares.append(lost / whole if whole else 0.0)
    return float(np.mean(shares)) if shares else 0.0


def _bottleneck(arm: str, parts: Mapping[str, float], withheld: float) -> BottleneckFacts:
    whole = sum(parts.values())
    sizes = {kind: sum(parts.get(name, 0.0) for name in names) for kind, names in GROUPS.items()}
    kind = max(sizes, key=lambda group: sizes[group])
    share = sizes[kind] / whole if whole > 0 else 0.0
    if share < LEAST_SHARE:
        return BottleneckFacts(arm, "none", kind, share, whole)
    if kind != "processor":
        return BottleneckFacts(arm, kind, kind, share, whole)
    waited = parts.get("queue", 0.0) / sizes[kind]
    if withheld > WITHHELD_SHARE and waited > 0.5:
        return BottleneckFacts(arm, "waiting for a processor", kind, share, whole, waited, withheld)
    return BottleneckFacts(arm, kind, kind, share, whole, waited)


Known = Mapping[str, float]
"""Name of a reading of an arm → its value, in one epoch."""


def ceiling(epochs: Iterable[Known], probe: Probe | None) -> Ceiling | None:
    """None where there is no probe of the device (one through the page cache measured memory), or
    the device was not read at the borders of slices."""
    reads, writes = (probe and probe.figure(name) for name in (PEAK_READ, PEAK_WRITE))
    if probe is None or not probe.direct or not reads or not writes:
        return None
    if not (reads.iops and writes.iops):
        return None
    members = probe.members or (probe.device,)
    names = [[device_reading(member, side) for member in members] for side in ("reads", "writes")]
    elapsed, counts = 0.0, [0.0, 0.0]
    for epoch in epochs:
        if all(name in epoch for name in (*names[0], *names[1], SLICES_NS)):
            for side, side_names in enumerate(names):
                counts[side] += sum(epoch[name] for name in side_names)
            elapsed += epoch[SLICES_NS] / NS_PER_S
    if not elapsed:
        return None
    return Ceiling(
        device=", ".join(members),
        reads=counts[0] / elapsed,
        most_reads=reads.iops,
        writes=counts[1] / elapsed,
        most_writes=writes.iops,
        by_processors=reads.processor_bound or writes.processor_bound,
    )
