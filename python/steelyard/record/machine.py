"""What a record holds of the machine: where the files of arms are, and what memory and disk they
share; what drives said of their own health (SMART), before and after the work; and what a probe of
storage found, as it is kept in the cache and in later records.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from steelyard.record.frozen import Frozen

TOO_HOT = "its temperature is beyond a limit"
"""The critical warning that is about heat; the others are about the drive's life."""
ONCE_AT_THRESHOLD = "an attribute was at its threshold at some time"
"""The warning that is about the past, be it of heat or of wear: it says nothing of now."""
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


class DiskPlan(Frozen):
    """The rates that the disk of every arm's server is held to."""

    devices: tuple[str, ...]
    """By their names in /sys/class/block."""
    read_iops: int | None = None
    write_iops: int | None = None
    read_rate: int | None = None
    """Bytes a second."""
    write_rate: int | None = None

    @property
    def rates(self) -> Mapping[str, int]:
        """Those that are held."""
        every = self.model_dump(exclude={"devices"})
        return {name: value for name, value in every.items() if value is not None}


class MemoryPlan(Frozen):
    """The cap on the memory of every arm's server."""

    cap_bytes: int
    """Of shared buffers, backends and page cache together."""
    held_by: Literal["v1", "v2", "systemd-run"]
    """Control groups of version 1 or 2, or scopes of systemd."""
    disk: DiskPlan | None = None
    """None: its disk is as fast as it is."""


class FilesPlace(Frozen):
    """A directory for files of an arm, and the file system that it is on."""

    directory: str = ""
    """As the study names it; empty: in the cache."""
    mount: str = ""
    type: str = ""
    source: str = ""
    """What is mounted: a device, a pool, a server."""
    options: str = ""
    devices: tuple[str, ...] = ()
    """That it rests on in the end, by their names in /sys/class/block."""

    @property
    def words(self) -> str:
        """`"ext4 on /dev/sdb (noatime), /mnt/fast"`."""
        options = f" ({self.options})" if self.options else ""
        mount = f", {self.mount}" if self.mount else ""
        return f"{self.type or 'unknown'} on {self.source or 'nothing'}{options}{mount}"


class ArmPlace(Frozen):
    """Where the files of an arm are."""

    data: FilesPlace
    log: FilesPlace | None = None
    """None: in the data directory."""

    @property
    def words(self) -> str:
        """The file system of its data, and of its log where that is another."""
        log = "" if self.log is None else f"; its log: {self.log.words}"
        return f"{self.data.words}{log}"


class DriveHealth(Frozen):
    """What a drive said of itself; what it did not say is absent. No serial number is kept."""

    device: str = ""
    """Its name in /sys/class/block; empty where no device is to be seen beneath the directory."""
    source: str = ""
    """The programs that read it, or `sysfs`."""
    model: str = ""
    firmware: str = ""
    temperature_celsius: int | None = None
    read_bytes: int | None = None
    """By the host, over the drive's life."""
    written_bytes: int | None = None
    """By the host, over the drive's life."""
    step_bytes: int | None = None
    """The unit in which the drive counts both: 512,000 for NVMe."""
    spare_percent: int | None = None
    """Spare capacity that is left."""
    spare_threshold_percent: int | None = None
    """Below it the drive warns."""
    used_percent: int | None = None
    """Of its endurance, as its maker estimates it; may pass 100."""
    media_errors: int | None = None
    """Times that data could not be read back or were found damaged."""
    error_log_entries: int | None = None
    warnings: tuple[str, ...] = ()
    """Critical warnings in words; absent: it was not said whether there are any."""
    warning_temperature_min: int | None = None
    """Minutes above the temperature at which it warns."""
    critical_temperature_min: int | None = None
    """Minutes above its critical temperature."""
    light_throttling_count: int | None = None
    """Times that it slowed down for its heat (thermal management temperature 1)."""
    light_throttling_s: int | None = None
    heavy_throttling_count: int | None = None
    """Times that it slowed down whatever that cost (thermal management temperature 2)."""
    heavy_throttling_s: int | None = None
    power_on_h: int | None = None
    why_not: str = ""
    """Why it said nothing, or no more than this."""


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
