"""Reads what a job of fio was asked to do and did: rates, latencies and percentiles a side.

`iops_stddev` and `bw_dev` are not read: with group_reporting fio adds up means and squares of all
workers (stat.c, sum_stat), and the result is the spread of nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.foreign.json_document import Document, Number, Path
from steelyard.foreign.metric import Metric
from steelyard.foreign.number import floats_of
from steelyard.foreign.source import TextPosition

SIDES = ("read", "write", "trim", "mixed")
"""The last with unified_rw_reporting."""
_PERCENTILE = re.compile(r"[0-9]{1,3}\.[0-9]{1,9}")
_OF_A_PERCENTILE = re.compile(r"_p[0-9.]+$")
Figures = dict[Metric, float]


@dataclass(frozen=True, slots=True)
class FioJob:
    """One object of `jobs`: a job, or one of its workers."""

    document: Document
    run: int
    index: int
    key: str = "jobs"
    """"client_stats" where clients of a server of fio measured."""

    @property
    def value(self) -> Any:
        """As it stands in the file."""
        return self.document.values[self.run][self.key][self.index]

    def place(self, *path: str) -> TextPosition:
        """The place of the entry, or of what lies at a path in it."""
        return self.document.place(self.run, (self.key, self.index, *path))

    def at(self, *path: str) -> Any:
        """What lies at a path; None where there is nothing."""
        node = self.value
        for key in path:
            node = node.get(key) if isinstance(node, dict) else None
        return node

    def figure(self, *path: str) -> float:
        """The number at a path; 0 where there is none."""
        return figure_at(self.document, self.run, (self.key, self.index, *path), self.at(*path))


def figure_at(document: Document, run: int, path: Path, number: Any) -> float:
    """The number that was found at a path, 0 where nothing was; NumbersError for anything else."""
    if number is None:
        return 0.0
    if not isinstance(number, Number):
        raise document.source.error("a number is expected here", document.place(run, path))
    if float(number) == 0:
        return 0.0
    values, _ = floats_of([number], document.source, lambda _: document.place(run, path))
    return float(values[0])


def figures_of(workers: Sequence[FioJob]) -> Figures:
    """Those of the sides on which a job did anything."""
    figures: Figures = {}
    for side in SIDES:
        busy = [worker for worker in workers if worker.figure(side, "total_ios")]
        if busy:
            iops = _rate(busy, side, "iops", "total_ios")
            bandwidth = _rate(busy, side, "bw_bytes", "io_bytes") / 1e6
            figures[Metric(f"{side}_iops", "operations/s", True)] = iops
            figures[Metric(f"{side}_bandwidth", "MB/s", True)] = bandwidth
            figures |= _latencies(busy, side, "latency", "lat_ns")
            figures |= _latencies(busy, side, "clat", "clat_ns")
    # fio 3.33 counts no syncs in `total_ios` and has their latencies all the same.
    figures |= _latencies(workers, "sync", "latency", "lat_ns")
    return {metric: value for metric, value in figures.items() if value}


def is_percentile(metric: Metric) -> bool:
    """Whether a figure is a percentile."""
    return _OF_A_PERCENTILE.search(metric.name) is not None


def did(workers: Sequence[FioJob]) -> tuple[str, ...]:
    """The sides on which a job did anything."""
    return tuple(s for s in SIDES if any(worker.figure(s, "total_ios") for worker in workers))


def seconds_of(entries: Sequence[FioJob]) -> float:
    """How long the longest of them read or wrote."""
    return max(entry.figure(side, "runtime") for entry in entries for side in SIDES) / 1e3


def _rate(busy: Sequence[FioJob], side: str, rate: str, total: str) -> float:
    """A job's rate; of several workers all that they did over the time of the longest, as fio's
    own group_reporting has it (stat.c, sum_thread_stats)."""
    if len(busy) == 1:
        return busy[0].figure(side, rate)
    longest = max(worker.figure(side, "runtime") for worker in busy)
    return 1e3 * sum(worker.figure(side, total) for worker in busy) / longest if longest else 0.0


def _latencies(workers: Sequence[FioJob], side: str, word: str, key: str) -> Figures:
    """Mean and percentiles in µs; of several workers the mean by requests alone."""
    timed = [(worker, n) for worker in workers if (n := worker.figure(side, key, "N"))]
    if not timed:
        return {}
    first = timed[0][0]
    mean = first.figure(side, key, "mean")
    if len(timed) > 1:
        requests = sum(n for _, n in timed)
        mean = sum(worker.figure(side, key, "mean") * n for worker, n in timed) / requests
    figures = {Metric(f"{side}_{word}_mean", "µs", False): mean / 1e3}
    percentiles: Mapping[str, Any] | None = first.at(side, key, "percentile")
    if len(timed) > 1 or not isinstance(percentiles, dict):
        return figures
    for name in filter(_PERCENTILE.fullmatch, percentiles):
        metric = Metric(f"{side}_{word}_p{name.rstrip('0').rstrip('.')}", "µs", False)
        figures[metric] = first.figure(side, key, "percentile", name) / 1e3
    return figures


_DEFAULTS = {
    "rw": "read",
    "rwmixread": "50",
    "bs": "4k",
    "size": "",
    "ioengine": "psync",
    "direct": "0",
    "iodepth": "1",
    "numjobs": "1",
    "sync": "0",
    "fsync": "0",
    "fdatasync": "0",
    "runtime": "0",
    "rate": "",
    "rate_iops": "",
}
"""What fio takes on Linux where an option is not given (HOWTO.rst of 3.33); empty: none."""
LOADS = frozenset(
    {
        "rw",
        "rwmixread",
        "bs",
        "iodepth",
        "numjobs",
        "fsync",
        "fdatasync",
        "sync",
        "rate",
        "rate_iops",
    }
)
"""Other requests, or others at once: a difference in one of them explains any other."""
_SIZES = ("bs", "size")
_SIZE = re.compile(r"([0-9]{1,15})([kmgt]?)(?:i?b)?")
_UNITS = "kmgt"


def conditions_of(value: Mapping[str, Any], job: Mapping[str, Any]) -> dict[str, str]:
    """What makes figures of a job comparable with those of another: name → value in words."""
    options = _options_of(value, job)
    version = value.get("fio version")
    conditions = {"fio version": version.removeprefix("fio-")} if isinstance(version, str) else {}
    for name, default in _DEFAULTS.items():
        option = options.get(name, default).strip().lower()
        conditions[name] = ",".join(map(_size, option.split(","))) if name in _SIZES else option
    return conditions


def has_rate(value: Mapping[str, Any], job: Mapping[str, Any]) -> bool:
    """Whether the job was held to a rate, so that its throughput was given."""
    options = _options_of(value, job)
    return bool(options.get("rate") or options.get("rate_iops"))


def _options_of(value: Mapping[str, Any], job: Mapping[str, Any]) -> dict[str, str]:
    """The options of a job, its own before those of all."""
    every = (value.get("global options"), job.get("job options"))
    return {
        name: option
        for some in every
        if isinstance(some, dict)
        for name, option in some.items()
        if isinstance(option, str)
    }


def _size(text: str) -> str:
    """A size as the largest unit that it is a whole number of: "4k" of "4096" and of "4KiB"."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        return text
    size, power = int(match[1]) * 1024 ** (_UNITS.find(match[2]) + 1 if match[2] else 0), 0
    while size and size % 1024 == 0 and power < len(_UNITS):
        size, power = size // 1024, power + 1
    return f"{size}{_UNITS[power - 1] if power else ''}"
