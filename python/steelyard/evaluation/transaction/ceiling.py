"""Compares what a device did while an arm was driven with what a probe of it found before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from steelyard.model.readings import SLICES_NS, device_reading
from steelyard.model.units import NS_PER_S
from steelyard.record.machine.probe import PEAK_READ, PEAK_WRITE, Probe


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
