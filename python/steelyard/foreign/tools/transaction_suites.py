"""Reads the results of suites of transaction benchmarks: HammerDB and BenchBase.

HammerDB: the lines with NOPM and TPM, and the counter of transactions.

    Vuser 1:TEST RESULT : System achieved 42332 NOPM from 97427 PostgreSQL TPM     since 4.0
    Vuser 1:TEST RESULT : System achieved 6611 PostgreSQL TPM at 2779 NOPM         before
    81318 PostgreSQL tpm @ Fri Jan 18 12:10:57 UTC 2019                  its transaction counter

    Vuser 1:query 14 completed in 2.321 seconds                          TPROC-H

A result is one repetition of its number of virtual users; counted minutes are slices, without those
of ramp-up and ramp-down; times of queries are paired by query. In version 5 and later the same
sentences stand in lists of JSON.

BenchBase: summary.json (one repetition), results.csv and raw.csv (slices of one run).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from steelyard.foreign.format import JsonFormat, TextFormat
from steelyard.foreign.json_document import Document, number_at, words_at
from steelyard.foreign.metric import LATENCY, THROUGHPUT, TIME, Metric
from steelyard.foreign.series import (
    Factor,
    FactorKind,
    Floats,
    Grain,
    Series,
    Sheet,
    TransactionCounts,
)
from steelyard.foreign.source import SourceText, TextPosition, quoted
from steelyard.foreign.tools.measured_runs import MeasuredRun, csv_rows, float_in, sheet_of_runs
from steelyard.foreign.tools.request_logs import sheet_of_requests

_NEW = re.compile(r"System achieved ([0-9]{1,15}) NOPM from ([0-9]{1,15}) (.*?) ?TPM")
_OLD = re.compile(r"System achieved ([0-9]{1,15}) (.*?) ?TPM at ([0-9]{1,15}) NOPM")
_COUNT = re.compile(r"\s*([0-9]{1,15}) (\S.*?) tpm\b")
_USERS = re.compile(r"([0-9]{1,9}) Active Virtual Users configured")
_FAILED = re.compile(r"FINISHED FAILED|Error in Virtual User", re.IGNORECASE)
_PLATEAU = 0.9
"""Of the usual count: less at either end is ramp-up or ramp-down."""
_QUERY = re.compile(r"query ([0-9]{1,2}) completed in ([0-9.]+) seconds")
_HEAD = 50
NOPM = Metric(THROUGHPUT, "NOPM", True)
TPM = Metric("tpm", "TPM", True)


_TCOUNT = re.compile(r'\{\s*"[^"]{1,40} tpm":\s*\{')
_JSON = re.compile(r'\s*[\[{]\s*["\[{]')
"""How JSON begins, and not a line with its time in brackets."""
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_COUNTED = re.compile(r'"([0-9]{1,15})":\s*"[0-9]{4}-')


def is_hammerdb(source: SourceText) -> bool:
    """Whether a text is HammerDB's."""
    head = source.text.split("\n", _HEAD)[:_HEAD]
    if _TCOUNT.match(source.text.lstrip()):
        return True
    recognized = "System achieved " in source.text or _QUERY.search(source.text) is not None
    return recognized or any(_COUNT.match(line) for line in head)


def read_hammerdb(source: SourceText) -> Sheet:
    """The results of one arm; without any, the counter's minutes."""
    nopm, tpm, lines, users = [], [], [], list[str]()
    # `jobs … tcount` of version 5 and later: {"PostgreSQL tpm": {"90204": "2024-07-25 10:11:22"}}.
    tcount = _TCOUNT.match(source.text.lstrip()) is not None
    counted = [float(count) for count in _COUNTED.findall(source.text)] if tcount else []
    latest = ""
    for number, line in _sentences(source.text):
        new, old = _NEW.search(line), _OLD.search(line)
        if new or old:
            nopm.append(float(new[1] if new else old[3] if old else 0))
            tpm.append(float(new[2] if new else old[1] if old else 0))
            lines.append(number)
            users.append(latest)
        elif match := _COUNT.match(line):
            counted.append(float(match[1]))
        elif match := _USERS.search(line):
            latest = match[1]
        elif _FAILED.search(line):
            raise source.error(
                f"virtual users failed, the results are those of fewer: {quoted(line.strip())}",
                TextPosition(number, 1),
                hint="Leave this run out, and ask why they failed: the arm may be the cause.",
            )
    if not lines and (queries := _queries(source)):
        return sheet_of_runs(source, "HammerDB TPROC-H", queries, label="query")
    if not lines:
        return _of_counter(source, counted)
    for name, values in (("NOPM", nopm), ("TPM", tpm)):
        if 0 in values:
            position = TextPosition(lines[values.index(0)], 1)
            raise source.error(f"a result of 0 {name}: the run did no work, or failed", position)
    factors = (Factor("virtual users", FactorKind.LOAD, tuple(users)),) if all(users) else ()
    series = [Series("", np.array(values), factors=factors) for values in (nopm, tpm)]
    return Sheet(
        source=source.name,
        form="HammerDB results",
        metrics=((NOPM, (series[0],)), (TPM, (series[1],))),
        lines=tuple(lines),
        notes=("the results are of different numbers of virtual users",)
        if len(set(users)) > 1
        else (),
    )


def _sentences(text: str) -> Iterator[tuple[int, str]]:
    """Every line with its number; of JSON every line of every string: all of it may stand on one
    line."""
    if not _JSON.match(text):
        yield from enumerate(text.split("\n"), start=1)
        return
    number, at = 1, 0
    for match in _STRING.finditer(text):
        number, at = number + text.count("\n", at, match.start()), match.start()
        try:
            sentences = json.loads(match[0], strict=False)
        except ValueError:
            sentences = match[0]
        for line in sentences.split("\n"):
            yield number, line


def _queries(source: SourceText) -> list[MeasuredRun]:
    """The times of TPROC-H's queries."""
    return [
        MeasuredRun({Metric(TIME, "s", False): float(match[2])}, number, f"query {match[1]}")
        for number, line in _sentences(source.text)
        if (match := _QUERY.search(line)) and match[2].count(".") < 2
    ]


def _of_counter(source: SourceText, counted: list[float]) -> Sheet:
    values = np.array(counted)
    if not values.any():
        raise source.error("no result of HammerDB with NOPM and TPM in it", TextPosition(1, 1))
    # The counter starts before the first transaction and goes on after the last; between lie the
    # minutes in which virtual users begin and end.
    usual = float(np.median(values[values >= values.max() / 2]))
    steady = np.flatnonzero(values >= _PLATEAU * usual)
    series = Series("", values[steady[0] : steady[-1] + 1], Grain.SLICE)
    return Sheet(source.name, "HammerDB's transaction counter", ((TPM, (series,)),))


HAMMERDB = TextFormat("hammerdb", is_hammerdb, read_hammerdb, precedence=4, like_json=True)


_RATE = Metric(THROUGHPUT, "requests/s", True)
_GOODPUT = Metric("goodput", "requests/s", True)
_RATE_KEY = "Throughput (requests/second)"
_GOOD_KEY = "Goodput (requests/second)"
_USUAL_SECONDS = 60.0
"""How long a run is thought to be that does not say."""
_ROUNDED = 1.001
_MOST = 1e15
_LOADS = ("Benchmark Type", "scalefactor", "terminals", "isolation")
_CONDITIONS = ("DBMS Type", "DBMS Version")
_RESULTS = "Time (seconds),Throughput (requests/second),"
_RAW = "Transaction Type Index,Transaction Name,Start Time (microseconds),Latency (microseconds)"


def is_benchbase(value: Any) -> bool:
    """Whether a JSON value is a summary of BenchBase."""
    return isinstance(value, dict) and _RATE_KEY in value and "Latency Distribution" in value


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
        for key in (_RATE_KEY, _GOOD_KEY, "Measured Requests", "Elapsed Time (nanoseconds)")
    )
    if not throughput or goodput is None or not 0 <= goodput <= throughput * _ROUNDED:
        return TransactionCounts(0, 0)
    requests = requests or throughput * (elapsed / 1e9 if elapsed else _USUAL_SECONDS)
    if not 0 < requests < _MOST:
        return TransactionCounts(0, 0)
    failed = requests * max(1 - goodput / throughput, 0.0)
    return TransactionCounts(round(requests), round(failed))


def _summary(document: Document, number: int) -> MeasuredRun:
    value = document.values[number]
    candidates = {
        _RATE: number_at(document, value, (_RATE_KEY,), number),
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
    rates, latencies = _columns(source, _RATE_KEY, "Average Latency (millisecond)")
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


BENCHBASE = JsonFormat(
    "benchbase", "a summary of BenchBase", is_benchbase, read_benchbase, repeats=is_benchbase
)
BENCHBASE_CSV = TextFormat("benchbase-csv", is_benchbase_csv, read_benchbase_csv, precedence=2)
