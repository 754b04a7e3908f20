"""A world in memory whose data stand on a device, which counts requests while an arm is driven."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from steelyard.running.laboratory import Laboratory
from steelyard.telemetry.slice_counters import MachineCounters
from story.scripted import ScriptedHost, ScriptedWorld

NAME = "vdx"
NS = 10**9


@dataclass(frozen=True)
class Requests:
    """What a device is asked for in a second, and the time of each request in ms."""

    reads: float = 0.0
    writes: float = 0.0
    read_ms: float = 0.5
    write_ms: float = 2.0


@dataclass
class Counts:
    """The fields of a stat file, in their order; sizes are sectors, times ms."""

    reads: float = 0
    reads_merged: float = 0
    read_sectors: float = 0
    read_ms: float = 0
    writes: float = 0
    writes_merged: float = 0
    written_sectors: float = 0
    write_ms: float = 0
    in_flight: float = 0
    busy_ms: float = 0
    queued_ms: float = 0

    def text(self) -> str:
        return " ".join(str(round(getattr(self, one.name))) for one in fields(self))


class DeviceWorld(ScriptedWorld):
    """Every request is of 8 kB. `asked`: arm and second of its life → what it asks for."""

    asked: Callable[[str, int], Requests]

    def __post_init__(self) -> None:
        super().__post_init__()
        self.asked = lambda arm, second: Requests(1000.0, 200.0)
        self.counts, self.driven = Counts(), {0: 0}
        self.root = lay_device(self.directory)
        self.distort = self._count
        self.facts: dict[str, Any] = {"devices": [NAME]}

    @property
    def laboratory(self) -> Laboratory:
        return replace(super().laboratory, host=DeviceHost(self))

    def environment(self) -> Mapping[str, Any]:
        return {**super().environment(), "disk": self.facts}

    def _count(self, answer: dict[str, Any]) -> None:
        seconds = (answer["end_ns"] - answer["start_ns"]) / NS
        second = self.driven[self.lives] = self.driven.get(self.lives, 0) + 1
        asked, counts, before = self.asked(answer["arm"], second), self.counts, self.counts.text()
        reads, writes = asked.reads * seconds, asked.writes * seconds
        counts.reads += reads
        counts.read_sectors += 16 * reads
        counts.read_ms += reads * asked.read_ms
        counts.writes += writes
        counts.written_sectors += 16 * writes
        counts.write_ms += writes * asked.write_ms
        counts.queued_ms += reads * asked.read_ms + writes * asked.write_ms
        answer["files"] = {"before": [before], "after": [counts.text()]}


@dataclass(frozen=True)
class DeviceHost(ScriptedHost):
    """A machine with a device beneath the data."""

    world: DeviceWorld

    def in_slices(self) -> MachineCounters:
        return MachineCounters(self.world.directory, self.world.root)


def lay_device(directory: Path) -> Path:
    """A root of /sys with one device, on which a directory stands."""
    root = directory / "machine"
    device, block = root / "sys/devices" / NAME, root / "sys/dev/block"
    for each in (device, block, root / "sys/class/block"):
        each.mkdir(parents=True)
    (device / "stat").write_text(Counts().text())
    (root / "sys/class/block" / NAME).symlink_to(device)
    number = os.stat(directory).st_dev
    (block / f"{os.major(number)}:{os.minor(number)}").symlink_to(device)
    return root
