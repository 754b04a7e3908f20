"""Reads BenchBase: summary.json (one repetition), results.csv and raw.csv (slices of one run)."""

from __future__ import annotations

from typing import Any

import numpy as np

from steelyard.foreign.format import JsonFormat, TextFormat
from steelyard.foreign.json.document import Document, number_at, words_at
from steelyard.foreign.metric import LATENCY, THROUGHPUT, Metric
from steelyard.foreign.series import Floats, Grain, Series, Sheet, TransactionCounts
from steelyard.foreign.source import SourceText, TextPosition
from steelyard.foreign.tools.measured_runs import MeasuredRun, csv_rows, float_in, sheet_of_runs
from steelyard.foreign.tools.request_times import sheet_of_requests

_RATE = Metric(THROUGHPUT, "requests/s", True)
_GOODPUT = Metric("goodput", "requests/s", True)
_KEY = "Throughput (requests/second)"
_GOOD_KEY = "Goodput (requests/second)"
_SECONDS = 60.0
"""How long a run is thought to be that does not say."""
_ROUNDED = 1.001
_MOST = 1e15
_LOADS = ("Benchmark Type", "scalefactor", "terminals", "isolation")
_CONDITIONS = ("DBMS Type", "DBMS Version")
_RESULTS = "Time (seconds),Throughput (requests/second),"
_RAW = "Transaction Type Index,Transaction Name,Start Time (microseconds),Latency (microseconds)"


def is_benchbase(value: Any) -> bool:
    """Whether a JSON value is a summary of BenchBase."""
    return isinstance(value, dict) and _KEY in value and "Latency Distribution" in value


def read_benchbase(document: Document) -> Sheet:
    """One arm: a row a summary."""
    numbers = range(len(document.values))
    runs = [_summary(document, number) for number in numbers]
    outcome = sum((_outcome(document, number) for number in numbers), TransactionCounts(0, 0))
    return sheet_of_runs(
        document.source, "BenchBase summary", runs, outcome=outcome if outcome.tried else None
    )


def _outcome(document: Document, number: int) -> TransactionCounts:
    """What became of the requests of a summary: its throughput counts all, its goodput those that
    succeeded; nothing where it does not say."""
    throughput, goodput, requests, elapsed = (
        number_at(document, document.values[number], (key,), number)
        for key in (_KEY, _GOOD_KEY, "Measured Requests", "Elapsed Time (nanoseconds)")
    )
    if not throughput or goodput is None or not 0 <= goodput <= throughput * _ROUNDED:
        return TransactionCounts(0, 0)
    requests = requests or throughput * (elapsed / 1e9 if elapsed else _SECONDS)
    if not 0 < requests < _MOST:
        return TransactionCounts(0, 0)
    failed = requests * max(1 - goodput / throughput, 0.0)
    return TransactionCounts(round(requests), round(failed))


def _summary(document: Document, number: int) -> MeasuredRun:
    value = document.values[number]
    candidates = {
        _RATE: number_at(document, value, (_KEY,), number),
        _GOODPUT: number_at(document, value, (_GOOD_KEY,), number),
    }
    for name in ("Average", "Median", "95th Percentile", "99th Percentile"):
        path = ("Latency Distribution", f"{name} Latency (microseconds)")
        short = {"Average": LATENCY, "Median": "latency_median"}.get(name, f"latency_p{name[:2]}")
        candidates[Metric(short, "µs", False)] = number_at(document, value, path, number)
    loads = {name: words_at(value, (name,)) for name in _LOADS if name in value}
    conditions = {name: words_at(value, (name,)) for name in _CONDITIONS if name in value}
    figures = {metric: amount for metric, amount in candidates.items() if amount is not None}
    return MeasuredRun(figures, document.place(number, ()).line, "", loads, conditions)


def is_benchbase_csv(source: SourceText) -> bool:
    """Whether a text is a results.csv or raw.csv of BenchBase."""
    return source.text.lstrip().startswith((_RESULTS, _RAW))


def read_benchbase_csv(source: SourceText) -> Sheet:
    """One arm: windows of one run, or its requests."""
    if source.text.lstrip().startswith(_RAW):
        names = [row["Transaction Name"] for _, row in csv_rows(source, "BenchBase's CSV", ())]
        starts, latencies = _columns(source, "Start Time (microseconds)", "Latency (microseconds)")
        return sheet_of_requests(
            source,
            "BenchBase raw.csv",
            latencies,
            starts + latencies / 1e6,
            unit="µs",
            rate="requests/s",
            noun="requests",
            least=0.5,
            labels=names,
            label="transaction",
        )
    rates, latencies = _columns(source, _KEY, "Average Latency (millisecond)")
    if not rates.any():
        raise source.error("no request in any window", TextPosition(2, 1))
    mean = Series("", latencies, Grain.SLICE, weights=rates)
    return Sheet(
        source.name,
        "BenchBase results.csv",
        (
            (_RATE, (Series("", rates, Grain.SLICE),)),
            (Metric(LATENCY, "ms", False), (mean,)),
        ),
    )


def _columns(source: SourceText, first: str, second: str) -> tuple[Floats, Floats]:
    rows = list(csv_rows(source, "BenchBase's CSV", (first, second)))
    table = np.array(
        [[float_in(source, row, name, n) for name in (first, second)] for n, row in rows]
    )
    if not rows or not np.isfinite(table).all():
        raise source.error("no row of numbers", TextPosition(1, 1))
    return table[:, 0], table[:, 1]


JSON = JsonFormat(
    "benchbase", "a summary of BenchBase", is_benchbase, read_benchbase, repeats=is_benchbase
)
CSV = TextFormat("benchbase-csv", is_benchbase_csv, read_benchbase_csv, precedence=2)
