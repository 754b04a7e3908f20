"""Reads YCSB's summaries: `[OVERALL], Throughput(ops/sec), 1543.2`; each is one repetition."""

from __future__ import annotations

import re

from steelyard.foreign.format import TextFormat
from steelyard.foreign.metric import LATENCY, THROUGHPUT, Metric
from steelyard.foreign.series import Sheet, TransactionCounts
from steelyard.foreign.source import SourceText
from steelyard.foreign.tools.measured_runs import MeasuredRun, sheet_of_runs
from steelyard.foreign.vocabulary.units import unit_of

_LINE = re.compile(r"\[([A-Za-z_-]+)\], ([A-Za-z0-9.=_-]+?)(?:\(([a-z/]+)\))?, ([0-9.eE+-]+)\s*$")
_STARTS = re.compile(r"^\[OVERALL\], ", re.MULTILINE)
_RATE = Metric(THROUGHPUT, "operations/s", True)
_GOOD = {"Return=OK", "Return=0"}


def is_ycsb(source: SourceText) -> bool:
    """Whether a text holds a summary of YCSB."""
    return _STARTS.search(source.text) is not None


def read_ycsb(source: SourceText) -> Sheet:
    """One arm: throughput, and the latencies of each operation."""
    runs: list[MeasuredRun] = []
    figures: dict[Metric, float] = {}
    tried = troubled = 0
    for number, line in enumerate(source.text.split("\n"), start=1):
        match = _LINE.match(line.strip())
        if match is None:
            continue
        section, name, unit, value = match.groups()
        amount = _float(value)
        if (section, name) == ("OVERALL", "RunTime"):
            figures = {}
            runs.append(MeasuredRun(figures, number))
        elif (section, name) == ("OVERALL", "Throughput"):
            if not runs or _RATE in figures:
                figures = {}
                runs.append(MeasuredRun(figures, number))
            figures[_RATE] = amount
        elif name == "Operations":
            failed = section.upper().endswith("-FAILED")
            troubled += round(amount) if failed else 0
            tried += round(amount)
        elif name.startswith("Return=") and name not in _GOOD:
            troubled += round(amount)
        elif runs and (metric := _latency(section, name, unit)) is not None:
            figures[metric] = amount
    ordered = [
        MeasuredRun({m: run.figures[m] for m in sorted(run.figures, key=_rank)}, run.line)
        for run in runs
    ]
    outcome = TransactionCounts(max(tried, troubled), troubled) if tried else None
    return sheet_of_runs(source, "YCSB", ordered, outcome=outcome)


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _latency(section: str, name: str, unit: str | None) -> Metric | None:
    """`AverageLatency` and percentiles of an operation; the others are extremes."""
    called, canonical = section.lower(), unit_of(unit or "") or ""
    if name == "AverageLatency":
        return Metric(f"{called}:{LATENCY}", canonical, False)
    match = re.fullmatch(r"([0-9.]+)(?:th)?PercentileLatency", name)
    return Metric(f"{called}:latency_p{match[1]}", canonical, False) if match else None


def _rank(metric: Metric) -> tuple[bool, bool]:
    return metric is not _RATE and metric != _RATE, "_p" in metric.name


FORMAT = TextFormat("ycsb", is_ycsb, read_ycsb, precedence=0, like_json=True)
