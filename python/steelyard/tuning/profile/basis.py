"""Holds what a profile is made from: memory, processors, storage and the kind of work."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from steelyard.engines.memory.control_groups import ROOT
from steelyard.model.errors import UsageError
from steelyard.model.readings import WorkKind
from steelyard.model.units import NS_PER_S
from steelyard.record.machine import NOT_DIRECT, PEAK_READ, RANDOM_READ, Probe
from steelyard.telemetry.capacity import (
    allowed_processors,
    hidden_limits,
    memory_limit,
    space,
)
from steelyard.telemetry.host import memory_bytes


@dataclass(frozen=True)
class Storage:
    """What a probe found of the device, as far as settings depend on it; nothing of a device that
    it did not measure."""

    device: str
    probed_at: str  # UTC
    random_page_cost: float | None  # time of a random page over that of a sequential one
    useful_depth: float | None  # random reads under way with which the most were read
    most_by_processors: bool = False  # the most that the processors asked for; the device has more
    why_not: str = ""  # why the device was not measured; empty: it was

    @staticmethod
    def of_probe(probe: Probe) -> Storage:
        """Depth by Little's law: most reads a second times the time of a lone one."""
        if not probe.direct:
            why = f"{NOT_DIRECT}: its figures are memory's"
            return Storage(probe.device, probe.taken, None, None, why_not=why)
        lone, peak = probe.figure(RANDOM_READ), probe.figure(PEAK_READ)
        if lone is None or peak is None:
            return Storage(probe.device, probe.taken, probe.random_page_cost, None)
        depth = peak.iops * lone.mean_ns / NS_PER_S
        cost = probe.random_page_cost
        return Storage(probe.device, probe.taken, cost, depth, peak.processor_bound)


@dataclass(frozen=True)
class Basis:
    """What a profile is made from. Memory is the server's own: its cap, not the host's."""

    kind: WorkKind
    memory_bytes: int
    memory_from: str  # where that figure comes from, in words
    processors: int
    clients: int
    version_number: int  # 180004
    free_disk_bytes: int | None = None  # None: no disk was looked at
    disk_from: str = ""  # where that figure comes from, in words
    clients_from: str = "as given"
    data_bytes: int | None = None  # None: not said
    storage: Storage | None = None  # None: no probe of the device is kept

    @property
    def uncached(self) -> float:
        """Share of random page reads that the server's memory does not answer.

        From the size of the data where that is said; else a tenth, which is what the planner's own
        default assumes (PostgreSQL documentation, 19.7.2: random_page_cost).
        """
        if self.data_bytes is None:
            return 0.1
        return max(0.0, 1 - 0.75 * self.memory_bytes / max(1, self.data_bytes))


def memory_here(cap_bytes: int | None, arms: int = 1, root: Path = ROOT) -> tuple[int, str]:
    """Bytes that one server may use, and where they come from: its cap, or its share of what this
    machine or control group has where several stand at once."""
    if cap_bytes is not None:
        return cap_bytes, "as given"
    host = memory_bytes(root).get("MemTotal", 0)
    limit = memory_limit(root)  # whatever is used of it now: a server to be tuned may run here
    have, source = host, "of this machine"
    if hidden_limits("memory", root):
        source = "of this machine, whose control groups are not to be seen: one may allow less"
    if limit is not None and limit < host:
        have, source = limit, "that the control group allows"
    if arms > 1:
        return have // arms, f"one of {arms} parts of the memory {source}"
    return have, f"the memory {source}"


def processors_here() -> int:
    """Processors that this process may use."""
    return len(allowed_processors())


ANOTHER_DIRECTORY = ", or name another directory of the same disk."
"""What else can be done where a directory stands for its disk alone."""


def require_accessible(
    directory: Path, otherwise: str = "; or leave it out, and say what is free there: --disk SIZE"
) -> None:
    """UsageError: this account may not see what stands at a path, or whether anything does; or
    nothing ever can."""
    try:
        directory.stat()
    except FileNotFoundError:
        return  # it may not be there yet
    except PermissionError as error:
        raise UsageError(
            f'could not read "{directory}": {error.strerror}',
            hint=f"Run as the account that it belongs to, or as root{otherwise}",
        ) from error
    except OSError as error:  # a part of it is a file, it is too long, or it leads to itself
        raise UsageError(
            f'could not read "{directory}": {error.strerror}',
            hint=f"Name a directory that is there, or that can be made{otherwise}",
        ) from error


def free_disk(directory: Path) -> int:
    """Bytes free where data would stand."""
    return math.floor(space(directory).free_bytes)
