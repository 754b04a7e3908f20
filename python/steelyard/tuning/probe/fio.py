"""Runs fio, one job at a time, and reads what it found.

Only its JSON file is read: notes go to its standard output too. With group_reporting the sums of
`iops` and `bw_bytes` hold for all workers together, their standard deviations for nothing
(stat.c, sum_stat): they are not used. Latencies are of `lat_ns`, from submission to completion.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.model.errors import EngineError, UsageError
from steelyard.record.machine.probe import IoEngine, ProbeFigure
from steelyard.tuning.probe.jobs import Job

ENGINES: tuple[IoEngine, ...] = ("io_uring", "libaio", "psync")
"""In the order in which they are tried; some containers forbid the first."""
PATIENCE_S = 120.0
"""Beyond the time of a job: a device that is stuck is an error, not a wait without end."""


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
    job: Job, engine: IoEngine, report: Mapping[str, Any], processors: int
) -> ProbeFigure:
    """The figures of a job on so many processors; of a mix reads and writes together, of the log
    path write and sync.

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


def _processor_share(report: Mapping[str, Any], workers: int, processors: int) -> float:
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
