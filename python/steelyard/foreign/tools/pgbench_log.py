"""Reads pgbench's log of transactions (`-l`): a line has its latency, and when it ended.

    client  transaction  latency_us  script  seconds  microseconds  [lag_us]  [retries]

The latency of a transaction that was skipped or failed is a word; such lines are counted and left
out of the latency (pgbench's documentation, "Per-Transaction Logging").
"""

from __future__ import annotations

import re

import numpy as np

from steelyard.foreign.format import TextFormat
from steelyard.foreign.metric import LATENCY, THROUGHPUT, Metric
from steelyard.foreign.series import Floats, Grain, Outcome, Series, Sheet
from steelyard.foreign.source import Place, Source, quoted

_LINE = re.compile(r"[0-9]+ [0-9]+ (?:[0-9]+|[a-z]+) [0-9]+ [0-9]{9,11} [0-9]{1,6}(?: [0-9]+){0,2}")
_WORDS = {"skipped", "failed", "serialization", "deadlock", "serialization_failure"}
BIN_S = 1.0
TRANSACTIONS_A_ROW = 10
MOST_LOG_ROWS = 2_000


def is_log(source: Source) -> bool:
    """Whether a text begins as such a log."""
    return _LINE.fullmatch(source.text.lstrip("\n").partition("\n")[0].rstrip()) is not None


def read_log(source: Source) -> Sheet:
    """Mean latency of consecutive transactions, at most 2,000 rows, and throughput by seconds."""
    latencies: list[float] = []
    ends: list[float] = []
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
    if not latencies:
        raise source.error("no transaction that was completed", Place(1, 1))
    return _sheet(source, np.array(latencies), np.array(ends), left_out)


def _sheet(source: Source, latencies: Floats, ends: Floats, left_out: dict[str, int]) -> Sheet:
    order = np.argsort(ends, kind="stable")
    latencies, ends = latencies[order], ends[order]
    notes = [f"{count} transactions were {word}" for word, count in sorted(left_out.items())]
    size = max(TRANSACTIONS_A_ROW, -(-len(ends) // MOST_LOG_ROWS))
    edges = np.arange(0, max(len(ends) // size, 1)) * size
    counts = np.diff([*edges, len(ends)]).astype(np.float64)
    # A latency of 0 µs is a clock's rounding.
    means = np.add.reduceat(np.maximum(latencies, 0.5), edges) / counts
    until = float(ends[-1])
    series = Series("", means, Grain.SLICE, counts, timestamps=ends[edges], until=until)
    metrics = [(Metric(LATENCY, "µs", False), (series,))]
    notes.append(f"a row is the mean of {size} transactions, in the order of their ends")
    whole = int((ends[-1] - ends[0]) // BIN_S)
    if 2 <= whole <= len(ends):
        bins = ends[0] + BIN_S * np.arange(whole + 1)
        inside = ends[ends < bins[-1]]  # the last bin of a histogram is closed
        counted = np.histogram(inside, bins)[0].astype(np.float64) / BIN_S
        rate = Series("", counted, Grain.SLICE, timestamps=bins[:-1], until=until)
        metrics.append((Metric(THROUGHPUT, "transactions/s", True), (rate,)))
    troubled = sum(left_out.values())
    return Sheet(
        source.name,
        "pgbench -l",
        tuple(metrics),
        outcomes={"": Outcome(len(ends) + troubled, troubled)},
        notes=tuple(notes),
    )


def _torn(source: Source, number: int, line: str) -> Exception:
    return source.error(
        f"{quoted(line)} is no line of a log of pgbench",
        Place(number, 1),
        hint="A log that was cut off may end in half a line: remove it.",
    )


FORMAT = TextFormat("pgbench-log", is_log, read_log, precedence=2)
