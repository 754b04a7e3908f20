"""Reads locust's *_stats.csv: each endpoint is one row, the sum over all is left out."""

from __future__ import annotations

from steelyard.foreign.format import TextFormat
from steelyard.foreign.metric import LATENCY, THROUGHPUT, Metric
from steelyard.foreign.series import Outcome, Sheet
from steelyard.foreign.source import Place, Source
from steelyard.foreign.tools.csv_rows import csv_rows, float_in
from steelyard.foreign.tools.measured_runs import Run, sheet_of_runs

_HEAD = "Type,Name,Request Count,Failure Count,"
_AGGREGATED = "Aggregated"
_MOST = 1e15


def is_locust(source: Source) -> bool:
    """Whether a text is such a file."""
    return source.text.lstrip().startswith(_HEAD)


def read_locust(source: Source) -> Sheet:
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
            raise source.error("counts that cannot be", Place(number, 1))
        tried, failed = tried + int(done), failed + int(bad)
        runs.append(Run(figures, number, f"{row['Type']} {row['Name']}".strip()))
    outcome = Outcome(max(tried, failed), failed)
    return sheet_of_runs(source, "locust stats", runs, label="endpoint", outcome=outcome)


FORMAT = TextFormat("locust", is_locust, read_locust, precedence=2)
