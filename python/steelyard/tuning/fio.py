"""Lists the jobs that fio is given, in their order, runs one at a time, and reads what it found.

Only its JSON file is read: notes go to its standard output too. With group_reporting the sums of
`iops` and `bw_bytes` hold for all workers together, their standard deviations for nothing
(stat.c, sum_stat): they are not used. Latencies are of `lat_ns`, from submission to completion.

Two files are laid out by writing them, and used by all jobs: reads of unwritten extents touch no
device, and a first write converts extents (HOWTO.rst of fio, `fallocate`). The log file is written
before it is timed, since a log segment is recycled, not extended.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from steelyard.model.errors import EngineError, UsageError
from steelyard.record.machine import (
    LOG_PATH,
    PAGE_BYTES,
    PEAK_READ,
    PEAK_WRITE,
    RANDOM_READ,
    SEQUENTIAL_READ,
    IoEngine,
    ProbeFigure,
)

ENGINES: tuple[IoEngine, ...] = ("io_uring", "libaio", "psync")
"""In the order in which they are tried; some containers forbid the first."""
PATIENCE_S = 120.0
"""Beyond the time of a job: a device that is stuck is an error, not a wait without end."""

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


@dataclass(frozen=True)
class Fio:
    """The program."""

    path: str
    version: str


def find_fio() -> Fio:
    """The fio of this machine; UsageError says how to get one."""
    path = shutil.which("fio")
    if path is None:
        raise UsageError(
            "fio is needed to probe storage, and is not in PATH",
            hint="Debian and Ubuntu: apt install fio. `steelyard doctor` times durable writes "
            "without it.",
        )
    done = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    return Fio(path, done.stdout.strip())


def run_job(fio: Fio, directory: Path, text: str, seconds: float) -> Mapping[str, Any]:
    """What fio says of the only job of a job file; EngineError: it failed, with its own words."""
    job_path, output_path = directory / "job.fio", directory / "found.json"
    job_path.write_text(text)
    command = [fio.path, "--output-format=json", f"--output={output_path}", str(job_path)]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            cwd=directory,
            timeout=seconds + PATIENCE_S,
        )
    except subprocess.TimeoutExpired as late:
        raise EngineError(
            f"fio did not end within {seconds + PATIENCE_S:.0f} s",
            hint="The device may be stuck: `dmesg` tells.",
        ) from late
    report: Mapping[str, Any] | None
    try:
        [report] = json.loads(output_path.read_text())["jobs"]
    except (OSError, ValueError, KeyError):
        report = None
    if report is None or report.get("error") or done.returncode:
        error = done.returncode if report is None else report.get("error")
        message = (done.stderr or done.stdout).strip() or f"error {error}"
        raise EngineError("fio did not do its job", detail=message[-2000:])
    return report


def figure_of(
    job: Job, engine: IoEngine, report: Mapping[str, Any], processors: float
) -> ProbeFigure:
    """The figures of a job that had so many processors' worth of time; of a mix reads and writes
    together, of the log path write and sync.

    A log write is durable after its sync: their means add up, their percentiles do not; those
    shown are the sync's, which is most of it.
    """
    sides = [report[side] for side in _SIDES[job.side]]
    requests = sum(side["total_ios"] for side in sides)
    slowest = (
        report["sync"] if job.side == "sync" else max(sides, key=lambda side: side["total_ios"])
    )
    latency = slowest["lat_ns"]
    mean = (
        sum(side["lat_ns"]["mean"] * side["total_ios"] for side in sides) / requests
        if requests
        else 0
    )
    if job.side == "sync":
        mean += latency["mean"]
    percentile, job_options = latency.get("percentile", {}), report["job options"]
    workers = int(job_options.get("numjobs", 1))
    return ProbeFigure(
        name=job.name,
        block_bytes=job.block_bytes,
        workers=workers,
        depth=int(job_options.get("iodepth", 1)),
        iops=sum(side["iops"] for side in sides),
        bytes_per_s=sum(side["bw_bytes"] for side in sides),
        mean_ns=mean,
        p50_ns=float(percentile.get("50.000000", 0)),
        p99_ns=float(percentile.get("99.000000", 0)),
        p999_ns=float(percentile.get("99.900000", 0)),
        processor_share=_processor_share(report, workers, processors),
        engine="psync" if job.own.get("ioengine") == "psync" else engine,
    )


def _processor_share(report: Mapping[str, Any], workers: int, processors: float) -> float:
    """Of the processors that the workers could be on at once.

    With group_reporting fio divides the workers' processor time by the sum of their run times
    (stat.c, show_thread_status_json): it is the share of one processor that each used on average,
    and cannot reach 1 where workers share processors.
    """
    of_each = (report["usr_cpu"] + report["sys_cpu"]) / 100
    return float(of_each * workers / min(workers, processors))


_SIDES = {
    "read": ("read",),
    "write": ("write",),
    "both": ("read", "write"),
    "sync": ("write",),
}


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
