"""Reads what pgbench writes while it runs: its log of transactions (`-l`), that of intervals
(`-l --aggregate-interval`), and the lines of `--progress`.

A line of the first has the latency of a transaction, and when it ended; that of one that was
skipped or failed is a word, and is counted and left out of the latency (pgbench's documentation,
"Per-Transaction Logging"). Scripts are only numbered.

    client  transaction  latency_us  script  seconds  microseconds  [lag_us]  [retries]

A line of the second is an interval (the same, "Aggregated Logging"). Intervals begin with the
measurement and not with the clock, so the first and the last are cut off: they count for latency,
not for throughput.

    start  transactions  Σ latency_us  Σ latency²  min  max  Σ lag  Σ lag²  min  max  skipped
           retried  retries  serialization failures  deadlock failures  [other failures]

Lines of `--progress` are slices of the one measurement they belong to.

    progress: 5.0 s, 990.2 tps, lat 8.0 ms stddev 3.0, 0 failed, lag 0.1 ms, 0 skipped
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from steelyard.foreign.fixed_rates import requested_rate
from steelyard.foreign.format import TextFormat
from steelyard.foreign.metric import LATENCY, THROUGHPUT, Metric
from steelyard.foreign.series import (
    Factor,
    Floats,
    Grain,
    RequestedRate,
    Series,
    Sheet,
    TransactionCounts,
)
from steelyard.foreign.source import SourceText, TextPosition, quoted
from steelyard.foreign.tools.measured_runs import FIXED_RATE
from steelyard.foreign.tools.request_logs import sheet_of_requests

_TRANSACTION = re.compile(
    r"[0-9]+ [0-9]+ (?:[0-9]+|[a-z]+) [0-9]+ [0-9]{9,11} [0-9]{1,6}(?: [0-9]+){0,2}"
)
_WORDS = {"skipped", "failed", "serialization", "deadlock", "other", "serialization_failure"}


def is_log(source: SourceText) -> bool:
    """Whether a text begins as a log of transactions."""
    return _TRANSACTION.fullmatch(source.text.lstrip("\n").partition("\n")[0].rstrip()) is not None


def read_log(source: SourceText) -> Sheet:
    """Mean latency of consecutive transactions, at most 2,000 rows, and throughput by seconds."""
    latencies: list[float] = []
    ends: list[float] = []
    scripts: list[str] = []
    left_out: dict[str, int] = {}
    for number, line in enumerate(source.text.split("\n"), start=1):
        if not line or line.isspace():
            continue
        cells = line.split()
        try:
            # All the rest of a line is checked by its shape only where this fails.
            latency, ended = float(int(cells[2])), int(cells[4]) + int(cells[5]) / 1e6
        except (ValueError, IndexError, OverflowError):
            word = cells[2] if len(cells) > 2 else ""
            if word not in _WORDS:
                raise _torn(source, number, line) from None
            left_out[word] = left_out.get(word, 0) + 1
            continue
        if latency < 0 or len(cells[4]) > 11:
            raise _torn(source, number, line)
        latencies.append(latency)
        ends.append(ended)
        scripts.append(cells[3])
    if not latencies:
        raise source.error("no transaction that was completed", TextPosition(1, 1))
    return _sheet_of_transactions(source, np.array(latencies), np.array(ends), scripts, left_out)


def _sheet_of_transactions(
    source: SourceText,
    latencies: Floats,
    ends: Floats,
    scripts: Sequence[str],
    left_out: Mapping[str, int],
) -> Sheet:
    return sheet_of_requests(
        source,
        "pgbench -l",
        latencies,
        ends,
        unit="µs",
        rate="transactions/s",
        noun="transactions",
        least=0.5,
        troubled=sum(left_out.values()),
        notes=[f"{count} transactions were {word}" for word, count in sorted(left_out.items())],
        labels=scripts,
        label="script",
    )


def _torn(source: SourceText, number: int, line: str) -> Exception:
    return source.error(
        f"{quoted(line)} is no line of a log of pgbench",
        TextPosition(number, 1),
        hint="A log that was cut off may end in half a line: remove it.",
    )


LOG = TextFormat("pgbench-log", is_log, read_log, precedence=2)


_INTERVAL = re.compile(r"[0-9]{9,11} [0-9]{1,15}(?: [0-9]{1,30}){4,14}")
_SUM_LAG = 6
_SKIPPED, _RETRIED, _FAILURES = 10, 11, 13
_FEWEST_WHOLE = 2


def is_aggregate(source: SourceText) -> bool:
    """Whether a text begins as a log of intervals."""
    return _INTERVAL.fullmatch(source.text.lstrip("\n").partition("\n")[0].rstrip()) is not None


def read_aggregate(source: SourceText) -> Sheet:
    """Mean latency of the intervals, and throughput of those that are whole."""
    rows: list[list[float]] = []
    lines: list[int] = []
    for number, line in enumerate(source.text.split("\n"), start=1):
        if not line or line.isspace():
            continue
        if not _INTERVAL.fullmatch(line.strip()):
            raise source.error(
                f"{quoted(line)} is no line of an aggregated log of pgbench",
                TextPosition(number, 1),
            )
        cells = [float(cell) for cell in line.split()]
        lag = cells[_SUM_LAG] if len(cells) > _SUM_LAG else 0.0
        rows.append([*cells[:3], lag, *_troubled(cells)])
        lines.append(number)
    table = np.array(rows)
    if not (table[:, 1] * table[:, 2]).any():
        raise source.error(
            "no transaction with a latency in any interval", TextPosition(lines[0], 1)
        )
    return _sheet_of_intervals(source, table, tuple(lines))


def _troubled(cells: Sequence[float]) -> tuple[float, float]:
    """How many transactions of an interval were retried or did not succeed, and how many of these
    are not among its transactions (skipped and failed ones)."""
    skipped = cells[_SKIPPED] if len(cells) > _SKIPPED else 0.0
    retried = cells[_RETRIED] if len(cells) > _RETRIED else 0.0
    failed = sum(cells[_FAILURES:])
    return skipped + retried + failed, skipped + failed


def _sheet_of_intervals(source: SourceText, table: Floats, lines: tuple[int, ...]) -> Sheet:
    starts, counts, sums, lags, troubled, missing = table.T
    served = (counts > 0) & (sums > 0)  # without a transaction there is no latency
    latency = (
        Metric(LATENCY, "µs", False),
        (
            Series(
                "",
                sums[served] / counts[served],
                Grain.SLICE,
                weights=counts[served],
                timestamps=starts[served],
            ),
        ),
    )
    length = float(np.median(np.diff(starts))) if len(starts) > 1 else 0.0
    whole = slice(1, -1)
    notes = []
    metrics = [latency]
    if length > 0 and len(starts) - 2 >= _FEWEST_WHOLE and counts[whole].any():
        rate = Series("", counts[whole] / length, Grain.SLICE, timestamps=starts[whole])
        metrics.append((Metric(THROUGHPUT, "transactions/s", True), (rate,)))
        notes.append("the first and the last interval are cut off and left out of throughput")
    if lags.any():
        notes.append("the load had a fixed rate, so latency is judged: throughput was given")
    else:
        metrics.reverse()
    tried = float((counts + missing).sum())
    return Sheet(
        source=source.name,
        form="pgbench --aggregate-interval",
        metrics=tuple(metrics),
        lines=lines,
        requested=_rate_of_intervals(counts + missing, counts, lags, length),
        outcomes={
            "": TransactionCounts(int((counts + missing).sum()), int(min(troubled.sum(), tried)))
        },
        notes=tuple(notes),
    )


def _rate_of_intervals(
    begun: Floats, counts: Floats, lags: Floats, length: float
) -> RequestedRate | None:
    """What the whole intervals say of the rate; all of shape (n,), `lags`: sums in µs."""
    begun, counts, lags = begun[1:-1], counts[1:-1], lags[1:-1]
    if not (lags.any() and counts.any()):
        return None
    last = int(np.flatnonzero(counts)[-1])
    return requested_rate(float(begun.sum()), length * len(begun), lags[last] / counts[last] / 1e6)


AGGREGATE = TextFormat("pgbench-aggregate", is_aggregate, read_aggregate, precedence=1)


RATE = Metric(THROUGHPUT, "transactions/s", True)
LATENCY_MS = Metric(LATENCY, "ms", False)
_NUMBER = r"([0-9]+(?:\.[0-9]+)?)"
_PROGRESS = re.compile(
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
    match = _PROGRESS.match(line)
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
        requested=_rate_of_progress(seconds),
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


def _rate_of_progress(seconds: Sequence[ProgressSecond]) -> RequestedRate | None:
    """What the lines say of the rate; None where not all are of a load that was held to one."""
    length = _length(seconds)
    begun = sum(second.tps * length + second.missing for second in seconds)
    if any(second.lag is None for second in seconds):
        return None
    return requested_rate(begun, length * len(seconds), seconds[-1].lag or 0.0)
