"""Reads summaries of load generators: wrk, oha, vegeta, k6 and locust; each is one repetition.

Where the generator held the load to a rate (wrk2, vegeta, executors of k6 by arrival) throughput
was given, and latency comes first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from steelyard.foreign.fixed_rates import round_rate
from steelyard.foreign.format import JsonFormat, TextFormat
from steelyard.foreign.json_document import Document, number_at
from steelyard.foreign.metric import LATENCY, THROUGHPUT, Metric
from steelyard.foreign.series import Sheet, TransactionCounts
from steelyard.foreign.source import SourceText, TextPosition
from steelyard.foreign.tools.measured_runs import MeasuredRun, csv_rows, float_in, sheet_of_runs
from steelyard.foreign.vocabulary.units import unit_of

_RATE = Metric(THROUGHPUT, "requests/s", True)
_RUNNING = re.compile(r"Running (\S+) test @ (?:https?://[^/\s]+)?(\S*)")
"""The same path on another host is the same thing."""
_LOAD = re.compile(r"\s+([0-9]+) threads and ([0-9]+) connections")
_MEAN = re.compile(r"\s+Latency\s+([0-9.]+)(us|ms|s|m|h)\s")
_PER_SECOND = re.compile(r"Requests/sec:\s+([0-9.]+)")
_DONE = re.compile(r"\s+([0-9]+) requests in ")
_SOCKETS = re.compile(
    r"\s+Socket errors: connect ([0-9]+), read ([0-9]+), write ([0-9]+), time\S+ ([0-9]+)"
)
_STATUS = re.compile(r"\s+Non-2xx or 3xx responses: ([0-9]+)")
_OF_WRK2 = re.compile(r"^ +Thread calibration: |HdrHistogram - ", re.MULTILINE)
"""What only wrk2 prints, which always holds a rate."""
_MILLISECONDS = {"us": 1e-3, "ms": 1.0, "s": 1e3, "m": 6e4, "h": 3.6e6}


def is_wrk(source: SourceText) -> bool:
    """Whether a text is what wrk or wrk2 printed."""
    return _PER_SECOND.search(source.text) is not None and "Thread Stats" in source.text


def read_wrk(source: SourceText) -> Sheet:
    """One arm: a row a summary, its rate and mean latency."""
    runs: list[MeasuredRun] = []
    figures: dict[Metric, float] = {}
    loads: dict[str, str] = {}
    conditions: dict[str, str] = {}
    rated = _OF_WRK2.search(source.text) is not None
    done = troubled = 0
    for number, line in enumerate(source.text.split("\n"), start=1):
        if match := _RUNNING.match(line):
            figures, loads, conditions = {}, {"duration": match[1]}, {"path": match[2] or "/"}
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
            rate = float(match[1])
            asked_for = rounded_rate(rate) if rated else ""
            requested = loads | ({"rate": asked_for} if asked_for else {})
            runs.append(MeasuredRun({_RATE: rate, **figures}, number, "", requested, conditions))
    outcome = TransactionCounts(max(done, troubled), troubled) if done else None
    return sheet_of_runs(source, "wrk", runs, outcome=outcome, rated=rated)


def rounded_rate(measured: float) -> str:
    """The round rate per second that a measured one is next to; "" where it is next to none."""
    rounded = round_rate(measured)
    return f"{rounded:g}/s" if rounded else ""


def is_load_summary(value: Any) -> bool:
    """Whether a JSON value is a summary of oha, vegeta or k6."""
    return isinstance(value, dict) and (_is_oha(value) or _is_vegeta(value) or _is_k6(value))


def _is_oha(value: dict[str, Any]) -> bool:
    return isinstance(value.get("summary"), dict) and "requestsPerSec" in value["summary"]


def _is_vegeta(value: dict[str, Any]) -> bool:
    return isinstance(value.get("latencies"), dict) and {"throughput", "success"} <= set(value)


def _is_k6(value: dict[str, Any]) -> bool:
    return isinstance(value.get("metrics"), dict) and "http_reqs" in value["metrics"]


@dataclass(frozen=True, slots=True)
class _Summary:
    """What a summary in JSON holds."""

    figures: Mapping[Metric, float | None]
    outcome: TransactionCounts
    loads: Mapping[str, str] = field(default_factory=dict)
    conditions: Mapping[str, str] = field(default_factory=dict)
    rated: bool = False
    """Whether its load was held to a rate."""


_At = Callable[..., float | None]
"""The number at a path in a summary; None where there is none."""


def read_load_summary(document: Document) -> Sheet:
    """One arm: a row a summary."""
    summaries = [_read(document, number) for number in range(len(document.values))]
    runs = [
        MeasuredRun(
            {metric: amount for metric, amount in summary.figures.items() if amount is not None},
            document.place(number, ()).line,
            "",
            summary.loads,
            summary.conditions,
        )
        for number, summary in enumerate(summaries)
    ]
    outcome = sum((summary.outcome for summary in summaries), TransactionCounts(0, 0))
    form = "oha" if _is_oha(document.values[0]) else "k6"
    form = "vegeta" if _is_vegeta(document.values[0]) else form
    return sheet_of_runs(
        document.source,
        f"{form} JSON",
        runs,
        outcome=outcome if outcome.tried else None,
        rated=any(summary.rated for summary in summaries),
    )


def _read(document: Document, number: int) -> _Summary:
    value = document.values[number]

    def at(*path: str) -> float | None:
        return number_at(document, value, path, number)

    if _is_oha(value):
        return _of_oha(at, value)
    return _of_vegeta(at) if _is_vegeta(value) else _of_k6(at, value)


def _of_oha(at: _At, value: dict[str, Any]) -> _Summary:
    """Its success rate counts every answer, an error of the server too."""
    statuses, errors = (
        {name: at(key, name) or 0 for name in _names(value, key)}
        for key in ("statusCodeDistribution", "errorDistribution")
    )
    # What was on its way when the time was up, one request a connection, is not an error.
    failed = sum(count for text, count in errors.items() if "deadline" not in text)
    bad = sum(count for status, count in statuses.items() if status[:1] not in ("1", "2", "3"))
    answered = sum(statuses.values())
    outcome = _counts(answered + failed, failed + bad)
    if not statuses and not errors:
        done = (at("summary", "requestsPerSec") or 0) * (at("summary", "total") or 0)
        outcome = _outcome(done or 1_000_000, at("summary", "successRate"))
    figures = {
        _RATE: at("summary", "requestsPerSec"),
        Metric(LATENCY, "s", False): at("summary", "average"),
    }
    return _Summary(figures, outcome)


def _names(value: dict[str, Any], key: str) -> list[str]:
    return list(value[key]) if isinstance(value.get(key), dict) else []


def _of_vegeta(at: _At) -> _Summary:
    """It always holds a rate, but for `-rate 0`, where its latency is the same as its rate."""
    figures = {
        _RATE: at("throughput"),
        Metric(LATENCY, unit_of("ns") or "", False): at("latencies", "mean"),
    }
    requests, duration = at("requests") or 0, at("duration") or 0
    # A duration is from the first request to the last.
    asked_for = rounded_rate((requests - 1) / duration * 1e9) if duration > 0 else ""
    loads = {"rate": asked_for} if asked_for else {}
    return _Summary(figures, _outcome(requests, at("success")), loads, rated=True)


def _of_k6(at: _At, value: dict[str, Any]) -> _Summary:
    inner = ("values",) if _has_values(value) else ()
    requests = at("metrics", "http_reqs", *inner, "count") or 0
    bad = at("metrics", "http_req_failed", *inner, "rate" if inner else "value")
    passed, failed, dropped = (
        at("metrics", *path[:1], *inner, *path[1:]) or 0
        for path in (("checks", "passes"), ("checks", "fails"), ("dropped_iterations", "count"))
    )
    outcome = _outcome(requests, None if bad is None else 1 - bad)
    outcome += _counts(passed + failed + dropped, failed + dropped)
    loads, conditions = _users_of_k6(at, inner)
    figures = {
        _RATE: at("metrics", "http_reqs", *inner, "rate"),
        Metric(LATENCY, "ms", False): at("metrics", "http_req_duration", *inner, "avg"),
    }
    # Iterations are dropped where they were due at a time.
    rated = "dropped_iterations" in value["metrics"]
    return _Summary(figures, outcome, loads, conditions, rated)


def _users_of_k6(at: _At, inner: tuple[str, ...]) -> tuple[dict[str, str], dict[str, str]]:
    """The greatest number of virtual users: of the load, or a mere condition where it grew, as it
    does where a slow server makes an executor begin more of them."""
    most, least = (at("metrics", "vus_max", *inner, key) for key in ("max", "min"))
    most = most if most is not None else at("metrics", "vus_max", *inner, "value")
    if not most:
        return {}, {}
    users = {"virtual users": f"{most:g}"}
    return (users, {}) if least in (None, most) else ({}, users)


def _has_values(value: Any) -> bool:
    return (
        isinstance(value["metrics"]["http_reqs"], dict)
        and "values" in value["metrics"]["http_reqs"]
    )


_MOST = 1e15


def _outcome(requests: float, success: float | None) -> TransactionCounts:
    """What became of requests by the share that succeeded; nothing where it is not said."""
    if success is None or not 0 <= success <= 1:
        return TransactionCounts(0, 0)
    return _counts(requests, requests * (1 - success))


def _counts(tried: float, troubled: float) -> TransactionCounts:
    """Counts as whole numbers; nothing for what can be none."""
    possible = 0 <= troubled <= tried < _MOST
    return TransactionCounts(round(tried), round(troubled)) if possible else TransactionCounts(0, 0)


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
