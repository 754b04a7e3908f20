"""Lists what is measured of storage: the jobs that fio is given, in their order.

Two files are laid out by writing them, and used by all jobs: reads of unwritten extents touch no
device, and a first write converts extents (HOWTO.rst of fio, `fallocate`). The log file is written
before it is timed, since a log segment is recycled, not extended.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from steelyard.record.machine.probe import (
    LOG_PATH,
    PAGE_BYTES,
    PEAK_READ,
    PEAK_WRITE,
    RANDOM_READ,
    SEQUENTIAL_READ,
)

DATA, LOG = "data", "log"
LOG_BYTES = 64 << 20
"""Four segments."""
SCAN_BLOCK, SCAN_DEPTH = 128 << 10, 16
"""What a scan of PostgreSQL 18 asks for: io_combine_limit and effective_io_concurrency."""
PEAK_DEPTH = 64
MIX = "70 % random reads, 30 % writes"
Side = Literal["read", "write", "both", "sync"]
_IN_ORDER = ("read", "write")
"""fio's names of what goes through a file from its beginning."""


@dataclass(frozen=True)
class Job:
    """One measurement."""

    name: str
    rw: str
    block_bytes: int = PAGE_BYTES
    workers: int = 1
    depth: int = 1
    side: Side = "read"
    """Which of fio's figures it is about."""
    file: str = DATA
    own: Mapping[str, str] = field(default_factory=dict)


def jobs(processors: int) -> tuple[Job, ...]:
    """All jobs for a host of so many processors."""
    return (
        Job("sequential read, 8 workers", "read", 1 << 20, 8, 8),
        Job("sequential write, 8 workers", "write", 1 << 20, 8, 8, side="write"),
        Job(SEQUENTIAL_READ, "read", SCAN_BLOCK, 1, SCAN_DEPTH),
        Job(RANDOM_READ, "randread"),
        Job("random read, depth 32", "randread", depth=32),
        Job("random write, depth 1", "randwrite", side="write"),
        Job("random write, depth 32", "randwrite", depth=32, side="write"),
        Job(PEAK_READ, "randread", workers=processors, depth=PEAK_DEPTH),
        Job(PEAK_WRITE, "randwrite", workers=processors, depth=PEAK_DEPTH, side="write"),
        Job(MIX, "randrw", depth=32, side="both", own={"rwmixread": "70"}),
        Job(
            LOG_PATH,
            "write",
            side="sync",
            file=LOG,
            own={"fdatasync": "1", "direct": "0", "ioengine": "psync"},
        ),
    )


def layout_options(file: str, size_bytes: int, seed: int) -> dict[str, str]:
    """What writes a file that the jobs use, with bytes that do not compress."""
    return {
        "filename": file,
        "rw": "write",
        "bs": "1M",
        "size": str(size_bytes),
        "ioengine": "psync",
        "end_fsync": "1",
        "refill_buffers": "1",
        "randseed": str(seed),
        "overwrite": "0",
        "fallocate": "none",
    }


def options(
    job: Job,
    engine: str,
    *,
    direct: bool,
    size_bytes: int,
    seconds: float,
    ramp_s: float,
    seed: int,
) -> dict[str, str]:
    """The options of a job, without the directory. With psync a worker has one request under way:
    as many workers as the depth asks for take its place. Workers that go through a file in its
    order have each a part of their own, since those that begin at one place read the same from a
    cache; where the file is too small for so many parts there are fewer workers."""
    alone = engine == "psync" and job.own.get("ioengine") is None
    workers = job.workers * job.depth if alone else job.workers
    amount = LOG_BYTES if job.file == LOG else size_bytes
    apart: dict[str, str] = {}
    if job.rw in _IN_ORDER and workers > 1:
        workers = min(workers, amount // job.block_bytes)
        part = amount // workers // job.block_bytes * job.block_bytes
        apart = {"size": str(part), "offset_increment": str(part)}
    return {
        "filename": job.file,
        "rw": job.rw,
        "bs": str(job.block_bytes),
        "size": str(amount),
        "numjobs": str(workers),
        "iodepth": "1" if alone else str(job.depth),
        "ioengine": engine,
        "direct": str(int(direct)),
        "thread": "1",
        "time_based": "1",
        "runtime": f"{round(1000 * seconds)}ms",
        "ramp_time": f"{round(1000 * ramp_s)}ms",
        "norandommap": "1",
        "randrepeat": "0",
        "randseed": str(seed),
        "group_reporting": "1",
        "refill_buffers": "1",
        "exitall_on_error": "1",
        "overwrite": "1",
        "allow_file_create": "0",
        "lat_percentiles": "1",
        "percentile_list": "50:99:99.9",
        **apart,
        **job.own,
    }


def job_file(name: str, job_options: Mapping[str, str], directory: str) -> str:
    """fio's job file of one job."""
    lines = [f"[{name.replace(']', ')')}]", f"directory={directory.replace(':', chr(92) + ':')}"]
    return "\n".join([*lines, *(f"{key}={value}" for key, value in job_options.items())]) + "\n"
