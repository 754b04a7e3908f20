"""Reads the lines of pgbench's `--progress`: slices of the one measurement they belong to.

progress: 5.0 s, 990.2 tps, lat 8.0 ms stddev 3.0, 0 failed, lag 0.1 ms, 0 skipped
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from steelyard.foreign.fixed_rates import requested_rate
from steelyard.foreign.metric import LATENCY, THROUGHPUT, Metric
from steelyard.foreign.series import (
    Factor,
    Grain,
    RequestedRate,
    Series,
    Sheet,
    TransactionCounts,
)
from steelyard.foreign.source import SourceText, TextPosition, quoted
from steelyard.foreign.tools.measured_runs import FIXED_RATE

RATE = Metric(THROUGHPUT, "transactions/s", True)
LATENCY_MS = Metric(LATENCY, "ms", False)
_NUMBER = r"([0-9]+(?:\.[0-9]+)?)"
_LINE = re.compile(
    rf"progress: {_NUMBER} s, {_NUMBER} tps, lat (?:{_NUMBER}|-?nan|NaN) ms stddev \S+?"
    r"(?:,\s*(.*))?$"
)
_LAG = re.compile(rf"\blag (?:{_NUMBER})?")
_COUNTS = re.compile(r"\b([0-9]{1,15}) (failed|skipped|retried)\b")


@dataclass(frozen=True, slots=True)
class ProgressSecond:
    """A line of --progress."""

    moment: float
    tps: float
    latency_ms: float
    lag: float | None
    """How late transactions began, in seconds; None without -R."""
    troubled: int
    """Transactions that failed, were retried or were skipped."""
    missing: int
    """Those of them that are not among its tps."""
    line: int


def progress_second(source: SourceText, number: int, line: str) -> ProgressSecond:
    """A line that begins as one of progress; NumbersError where it is torn."""
    match = _LINE.match(line)
    if match is None:
        raise source.error(
            f"a line of progress that is torn: {quoted(line)}", TextPosition(number, 1)
        )
    late = _LAG.search(match[4] or "")
    counts = [(name, int(count)) for count, name in _COUNTS.findall(match[4] or "")]
    return ProgressSecond(
        moment=float(match[1]),
        tps=float(match[2]),
        latency_ms=float(match[3] or 0),
        lag=float(late[1] or 0) / 1e3 if late else None,
        troubled=sum(count for _, count in counts),
        missing=sum(count for name, count in counts if name != "retried"),
        line=number,
    )


def sheet_of_progress(
    source: SourceText,
    seconds: Sequence[ProgressSecond],
    *,
    conditions: Sequence[Factor],
    clients: Mapping[str, float],
    outcomes: Mapping[str, TransactionCounts],
) -> Sheet:
    """The sheet of one run; `conditions`, `clients` and `outcomes`: what its summary says."""
    tps = np.array([second.tps for second in seconds])
    # Seconds in which nothing was done count as such: time without work.
    if not tps.any():
        raise source.error(
            "no transaction in any line of progress", TextPosition(seconds[0].line, 1)
        )
    latency = np.array([second.latency_ms for second in seconds])
    factors = tuple(replace(each, values=each.values * len(seconds)) for each in conditions)
    rate = RATE, (Series("", tps, Grain.SLICE, factors=factors),)
    mean = LATENCY_MS, (Series("", latency, Grain.SLICE, weights=tps, factors=factors),)
    moments = [second.moment for second in seconds]
    notes = []
    if any(later <= earlier for earlier, later in itertools.pairwise(moments)):
        notes.append("the lines of progress are of several measurements, taken for one")
    rated = any(second.lag is not None for second in seconds)
    if rated:
        notes.append(FIXED_RATE)
    return Sheet(
        source=source.name,
        form="pgbench --progress",
        metrics=(mean, rate) if rated else (rate, mean),
        clients=clients if not rated else {},
        outcomes=outcomes or {"": _outcome(seconds)},
        requested=_requested(seconds),
        lines=tuple(second.line for second in seconds),
        notes=tuple(notes),
    )


def _length(seconds: Sequence[ProgressSecond]) -> float:
    """The time that a line is of; 0 where it cannot be seen."""
    return max(float(np.median(np.diff([second.moment for second in seconds]))), 0.0)


def _outcome(seconds: Sequence[ProgressSecond]) -> TransactionCounts:
    """What became of the transactions by these lines alone."""
    troubled = sum(second.troubled for second in seconds)
    done = sum(second.tps for second in seconds) * _length(seconds)
    return TransactionCounts(round(min(done, 1e15)) + troubled, troubled)


def _requested(seconds: Sequence[ProgressSecond]) -> RequestedRate | None:
    """What the lines say of the rate; None where not all are of a load that was held to one."""
    length = _length(seconds)
    begun = sum(second.tps * length + second.missing for second in seconds)
    if any(second.lag is None for second in seconds):
        return None
    return requested_rate(begun, length * len(seconds), seconds[-1].lag or 0.0)
