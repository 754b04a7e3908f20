"""Names metrics in words, and reads the limit of latency in `"rate at p99 ≤ 20ms"`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

from steelyard.model.units import (
    NS_PER_MS,
    NS_PER_S,
    NS_PER_US,
    format_duration,
)

QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}
ACCEPTED = "rate at p99 ≤ 20ms (or <=; p50, p95, p99 or p99.9; us, ms or s)"
_METRIC = re.compile(
    r"\s*rate\s+at\s+(p[0-9.]+)\s*(?:≤|<=)\s*([0-9]+(?:\.[0-9]+)?)\s*(us|µs|μs|ms|s)\s*",
    re.IGNORECASE,
)
_UNITS_NS = {"us": NS_PER_US, "µs": NS_PER_US, "μs": NS_PER_US, "ms": NS_PER_MS, "s": NS_PER_S}
_WRITTEN_IN = (("s", NS_PER_S), ("ms", NS_PER_MS), ("µs", NS_PER_US))
_BEGINS = re.compile(r"\s*rate\b", re.IGNORECASE)
LEAST_NS = 10 * NS_PER_US
MOST_NS = 10 * NS_PER_S


@dataclass(frozen=True)
class LatencyGoal:
    """A quantile of latency, from the scheduled arrival, that is to stay within a limit."""

    quantile: float
    limit_ns: int

    @property
    def quantile_name(self) -> str:
        """`"p99"`."""
        return next(name for name, share in QUANTILES.items() if share == self.quantile)

    @property
    def words(self) -> str:
        """`"p99 ≤ 20 ms"`: with every digit of the limit, which is read again from them."""
        unit, unit_ns = next(each for each in _WRITTEN_IN if self.limit_ns >= each[1])
        limit = format((Decimal(self.limit_ns) / unit_ns).normalize(), "f")
        return f"{self.quantile_name} ≤ {limit} {unit}"

    @property
    def metric(self) -> str:
        """`"rate at p99 ≤ 20 ms"`: the metric as a study and a record have it."""
        return f"rate at {self.words}"


def is_rate_metric(metric: str) -> bool:
    """Whether a metric is meant to be the rate at a limit of latency, rightly written or not."""
    return _BEGINS.match(metric) is not None


METRIC_WORDS = {
    "throughput": "throughput",
    "latency_mean": "mean latency",
    "geometric_mean": "geometric mean time",
}
"""What a study decides by, beside rates at a limit, in words."""


def metric_words(metric: str) -> str:
    """A metric in a sentence: `"mean latency"`, `"the rate at p99 ≤ 20 ms"`; one that no study
    decides by as it is."""
    return f"the {metric}" if is_rate_metric(metric) else METRIC_WORDS.get(metric, metric)


def higher_is_better(metric: str) -> bool:
    """Whether more of a metric that a study decides by is faster: it counts transactions a second,
    the others are times."""
    return metric == "throughput" or is_rate_metric(metric)


def goal_of(metric: str) -> LatencyGoal | None:
    """The limit that a metric names; None: it is another metric. ValueError: it names none."""
    if not is_rate_metric(metric):
        return None
    match = _METRIC.fullmatch(metric)
    quantile, unit = ("", "") if match is None else (match[1].lower(), match[3].lower())
    if match is None or quantile not in QUANTILES or unit not in _UNITS_NS:
        raise ValueError(f"accepted: {ACCEPTED}")
    limit_ns = round(Decimal(match[2]) * _UNITS_NS[unit])
    if not LEAST_NS <= limit_ns <= MOST_NS:
        raise ValueError(
            f"a limit of {format_duration(limit_ns)}; accepted: {format_duration(LEAST_NS)} to "
            f"{format_duration(MOST_NS)}"
        )
    return LatencyGoal(QUANTILES[quantile], limit_ns)
