"""What fio says of a job, as its JSON has it."""

from __future__ import annotations

from typing import Any

from steelyard.record.machine import Probe, ProbeFigure


def latency(mean: float) -> dict[str, Any]:
    percentiles = {"50.000000": mean, "99.000000": 3 * mean, "99.900000": 9 * mean}
    return {"mean": mean, "N": 100, "percentile": percentiles}


def side(requests: int, mean_ns: float, block: int = 8192) -> dict[str, Any]:
    return {
        "total_ios": requests,
        "iops": requests / 9,
        "bw_bytes": block * requests // 9,
        "lat_ns": latency(mean_ns) if requests else {"mean": 0, "N": 0},
    }


def found(read: dict[str, Any], write: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A job of fio's JSON."""
    return {
        "jobname": "job",
        "error": 0,
        "job options": {"numjobs": "1", "iodepth": "1"},
        "read": read,
        "write": write,
        "sync": {"total_ios": 0, "lat_ns": {"mean": 0, "N": 0}},
        "usr_cpu": 5.0,
        "sys_cpu": 15.0,
        **more,
    }


def figure(name: str, iops: float, block: int = 8192, **more: Any) -> ProbeFigure:
    mean = 1e9 / iops
    facts: dict[str, Any] = {
        "name": name,
        "block_bytes": block,
        "workers": 1,
        "depth": 1,
        "iops": iops,
        "bytes_per_s": iops * block,
        "mean_ns": mean,
        "p50_ns": mean,
        "p99_ns": 3 * mean,
        "p999_ns": 9 * mean,
        "processor_share": 0.2,
        "engine": "io_uring",
    }
    return ProbeFigure.model_validate({**facts, **more})


def probe_of(*figures: ProbeFigure, **more: Any) -> Probe:
    facts: dict[str, Any] = {
        "directory": "/data",
        "device": "nvme0n1",
        "file_system": "xfs",
        "fio": "fio-3.33",
        "engine": "io_uring",
        "direct": True,
        "size_bytes": 4 << 30,
        "memory_bytes": 2 << 30,
        "taken": "2026-11-23T05:00:00+00:00",
        "seconds": 150.0,
        "figures": figures,
    }
    return Probe.model_validate({**facts, **more})
