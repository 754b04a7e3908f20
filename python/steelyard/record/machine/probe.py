"""What a probe of storage found, as it is kept in the cache and in later records."""

from __future__ import annotations

from typing import Literal

from steelyard.record.frozen import Frozen
from steelyard.record.machine.drive_health import DriveHealth

PAGE_BYTES = 8192
SEQUENTIAL_READ = "sequential read"
RANDOM_READ = "random read, depth 1"
PEAK_READ, PEAK_WRITE = "peak random read", "peak random write"
LOG_PATH = "log write and sync"
PROCESSOR_BOUND = 0.9
"""Share of its processors above which a job measures them, and not the device."""
NOT_DIRECT = "the probe could not bypass the page cache"
"""Why figures of reads and writes that a probe did are no figures of the device."""

IoEngine = Literal["io_uring", "libaio", "psync"]


class ProbeFigure(Frozen):
    """What one job did; latencies in ns, of a request from its submission to its completion."""

    name: str
    block_bytes: int
    workers: int
    depth: int
    """Requests that each worker keeps under way."""
    iops: float
    bytes_per_s: float
    mean_ns: float
    p50_ns: float
    p99_ns: float
    p999_ns: float
    processor_share: float
    """Of the processors that fio's workers could be on at once: one each, or all of them where
    there are more workers than processors."""
    engine: IoEngine

    @property
    def processor_bound(self) -> bool:
        """Whether the processors were measured, and not the device."""
        return self.processor_share > PROCESSOR_BOUND


class Probe(Frozen):
    """What the storage beneath a directory did at some time."""

    version: int = 1
    directory: str
    device: str
    """The device that the file system is on; empty where it has none."""
    members: tuple[str, ...] = ()
    """Devices whose requests add up to the file system's own: all of a btrfs, else the device."""
    file_system: str
    fio: str
    """fio's version."""
    engine: IoEngine
    direct: bool
    """Whether the page cache was bypassed."""
    size_bytes: int
    memory_bytes: int
    """Of the host: reads of less than it may come from a cache beneath the guest."""
    taken: str
    """When, UTC."""
    seconds: float
    figures: tuple[ProbeFigure, ...]
    drives_before: tuple[DriveHealth, ...] = ()
    """The drives beneath the directory, before anything was written."""
    drives_after: tuple[DriveHealth, ...] = ()

    def figure(self, name: str) -> ProbeFigure | None:
        """A figure by its name."""
        return next((figure for figure in self.figures if figure.name == name), None)

    @property
    def random_page_cost(self) -> float | None:
        """Time of a random page over that of a sequential one, which is what `random_page_cost`
        means where `seq_page_cost` is 1: of one reader with one request under way, against one that
        scans. None where one of them is missing, or the page cache answered."""
        random, scan = self.figure(RANDOM_READ), self.figure(SEQUENTIAL_READ)
        if not self.direct or random is None or scan is None:
            return None
        if not scan.bytes_per_s or not random.iops:
            return None
        return (1 / random.iops) / (PAGE_BYTES / scan.bytes_per_s)
