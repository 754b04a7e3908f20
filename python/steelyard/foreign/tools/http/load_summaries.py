"""Reads summaries of load generators: wrk, oha, vegeta, k6 and locust; each is one repetition."""

from __future__ import annotations

import re
from typing import Any

from steelyard.foreign.format import JsonFormat, TextFormat
from steelyard.foreign.json.document import Document, number_at
from steelyard.foreign.metric import LATENCY, THROUGHPUT, Metric
from steelyard.foreign.series import Sheet, TransactionCounts
from steelyard.foreign.source import SourceText, TextPosition
from steelyard.foreign.tools.measured_runs import MeasuredRun, csv_rows, float_in, sheet_of_runs
from steelyard.foreign.vocabulary.units import unit_of

_RATE = Metric(THROUGHPUT, "requests/s", True)
_RUNNING = re.compile(r"Running (\S+) test @ (\S+)")
_LOAD = re.compile(r"\s+([0-9]+) threads and ([0-9]+) connections")
_MEAN = re.compile(r"\s+Latency\s+([0-9.]+)(us|ms|s|m)\s")
_PER_SECOND = re.compile(r"Requests/sec:\s+([0-9.]+)")
_DONE = re.compile(r"\s+([0-9]+) requests in ")
_SOCKETS = re.compile(
    r"\s+Socket errors: connect ([0-9]+), read ([0-9]+), write ([0-9]+), time\S+ ([0-9]+)"
)
_STATUS = re.compile(r"\s+Non-2xx or 3xx responses: ([0-9]+)")
_MILLISECONDS = {"us": 1e-3, "ms": 1.0, "s": 1e3, "m": 6e4}


def is_wrk(source: SourceText) -> bool:
    """Whether a text is what wrk or wrk2 printed."""
    return _PER_SECOND.search(source.text) is not None and "Thread Stats" in source.text


def read_wrk(source: SourceText) -> Sheet:
    """One arm: a row a summary, its rate and mean latency."""
    runs: list[MeasuredRun] = []
    figures: dict[Metric, float] = {}
    loads: dict[str, str] = {}
    done = troubled = 0
    for number, line in enumerate(source.text.split("\n"), start=1):
        if match := _RUNNING.match(line):
            figures, loads = {}, {"duration": match[1]}
        elif match := _LOAD.match(line):
            loads |= {"threads": match[1], "connections": match[2]}
        elif match := _MEAN.match(line):
            mean = float(match[1]) * _MILLISECONDS[match[2]]
            figures = {Metric(LATENCY, "ms", False): mean}
        elif match := _DONE.match(line):
            done += int(match[1])
        elif match := _SOCKETS.match(line):
            troubled += sum(map(int, match.groups()))
        elif match := _STATUS.match(line):
            troubled += int(match[1])
        elif match := _PER_SECOND.match(line):
            runs.append(MeasuredRun({_RATE: float(match[1]), **figures}, number, "", dict(loads)))
    outcome = TransactionCounts(max(done, troubled), troubled) if done else None
    return sheet_of_runs(source, "wrk", runs, outcome=outcome)


def is_load_summary(value: Any) -> bool:
    """Whether a JSON value is a summary of oha, vegeta or k6."""
    return isinstance(value, dict) and (_is_oha(value) or _is_vegeta(value) or _is_k6(value))


def _is_oha(value: dict[str, Any]) -> bool:
    return isinstance(value.get("summary"), dict) and "requestsPerSec" in value["summary"]


def _is_vegeta(value: dict[str, Any]) -> bool:
    return isinstance(value.get("latencies"), dict) and {"throughput", "success"} <= set(value)


def _is_k6(value: dict[str, Any]) -> bool:
    return isinstance(value.get("metrics"), dict) and "http_reqs" in value["metrics"]


def read_load_summary(document: Document) -> Sheet:
    """One arm: a row a summary."""
    runs, outcome = [], TransactionCounts(0, 0)
    for number, value in enumerate(document.values):
        line = document.place(number, ()).line
        figures, failed = _figures(document, number, value)
        present = {metric: amount for metric, amount in figures.items() if amount is not None}
        runs.append(MeasuredRun(present, line))
        outcome += failed
    form = "oha" if _is_oha(document.values[0]) else "k6"
    form = "vegeta" if _is_vegeta(document.values[0]) else form
    return sheet_of_runs(
        document.source, f"{form} JSON", runs, outcome=outcome if outcome.tried else None
    )


def _figures(
    document: Document, number: int, value: Any
) -> tuple[dict[Metric, float | None], TransactionCounts]:
    def at(*path: str) -> float | None:
        return number_at(document, value, path, number)

    if _is_oha(value):
        success = at("summary", "successRate")
        return {
            _RATE: at("summary", "requestsPerSec"),
            Metric(LATENCY, "s", False): at("summary", "average"),
        }, _outcome(1_000_000, success)
    if _is_vegeta(value):
        return {
            _RATE: at("throughput"),
            Metric(LATENCY, unit_of("ns") or "", False): at("latencies", "mean"),
        }, _outcome(at("requests") or 0, at("success"))
    inner = ("values",) if _has_values(value) else ()
    requests = at("metrics", "http_reqs", *inner, "count") or 0
    bad = at("metrics", "http_req_failed", *inner, "rate" if inner else "value")
    return {
        _RATE: at("metrics", "http_reqs", *inner, "rate"),
        Metric(LATENCY, "ms", False): at("metrics", "http_req_duration", *inner, "avg"),
    }, _outcome(requests, None if bad is None else 1 - bad)


def _has_values(value: Any) -> bool:
    return (
        isinstance(value["metrics"]["http_reqs"], dict)
        and "values" in value["metrics"]["http_reqs"]
    )


def _outcome(requests: float, success: float | None) -> TransactionCounts:
    """What became of requests by the share that succeeded; nothing where it is not said."""
    if success is None or not 0 <= success <= 1 or not 0 < requests < 1e15:
        return TransactionCounts(0, 0)
    return TransactionCounts(round(requests), round(requests * (1 - success)))


WRK = TextFormat("wrk", is_wrk, read_wrk, precedence=4)
JSON = JsonFormat(
    "load-summary",
    "a summary of oha, vegeta or k6",
    is_load_summary,
    read_load_summary,
    repeats=is_load_summary,
)


_HEAD = "Type,Name,Request Count,Failure Count,"
_AGGREGATED = "Aggregated"
_MOST = 1e15


def is_locust(source: SourceText) -> bool:
    """Whether a text is such a file."""
    return source.text.lstrip().startswith(_HEAD)


def read_locust(source: SourceText) -> Sheet:
    """One arm: requests a second and mean latency of every endpoint."""
    runs, tried, failed = [], 0, 0
    columns = (*_HEAD.rstrip(",").split(","), "Requests/s", "Average Response Time")
    for number, row in csv_rows(source, "a *_stats.csv of locust", columns):
        if row["Name"] == _AGGREGATED:
            continue
        rate, mean, done, bad = (
            float_in(source, row, name, number)
            for name in ("Requests/s", "Average Response Time", "Request Count", "Failure Count")
        )
        figures = {
            Metric(THROUGHPUT, "requests/s", True): rate,
            Metric(LATENCY, "ms", False): mean,
        }
        if not 0 <= bad <= done < _MOST:
            raise source.error("counts that cannot be", TextPosition(number, 1))
        tried, failed = tried + int(done), failed + int(bad)
        runs.append(MeasuredRun(figures, number, f"{row['Type']} {row['Name']}".strip()))
    outcome = TransactionCounts(max(tried, failed), failed)
    return sheet_of_runs(source, "locust stats", runs, label="endpoint", outcome=outcome)


FORMAT = TextFormat("locust", is_locust, read_locust, precedence=2)
