"""Reads Google Benchmark's JSON and CSV: a repetition of a benchmark is a row.

Aggregates over repetitions (mean, median, stddev, cv) are left out; one that failed is refused.
"""

from __future__ import annotations

import re
from typing import Any

from steelyard.foreign.format import JsonFormat, TextFormat
from steelyard.foreign.json.document import Document, number_at, words_at
from steelyard.foreign.metric import TIME, Metric
from steelyard.foreign.series import Sheet
from steelyard.foreign.source import SourceText, TextPosition, quoted
from steelyard.foreign.tools.measured_runs import MeasuredRun, csv_rows, float_in, sheet_of_runs
from steelyard.foreign.vocabulary.units import unit_of

_AGGREGATE = re.compile(r"_(mean|median|stddev|cv|min|max|BigO|RMS)$")
"""The last two say how time grows over sizes."""
_HEAD = "name,iterations,real_time,cpu_time,time_unit"


def is_google_benchmark(value: Any) -> bool:
    """Whether a JSON value is an output of Google Benchmark."""
    benchmarks = value.get("benchmarks") if isinstance(value, dict) else None
    return isinstance(benchmarks, list) and any(
        isinstance(entry, dict) and "real_time" in entry for entry in benchmarks
    )


def read_google_benchmark(document: Document) -> Sheet:
    """One arm, a row a repetition: wall time, and processor time."""
    runs = []
    for index, entry in enumerate(document.values[0]["benchmarks"]):
        position = document.place(0, ("benchmarks", index))
        if not isinstance(entry, dict) or words_at(entry, ("run_type",)) == "aggregate":
            continue
        name = words_at(entry, ("run_name",)) or words_at(entry, ("name",))
        if entry.get("error_occurred") is True:
            raise _failed(document.source, name, position)
        if _AGGREGATE.search(words_at(entry, ("name",))) and "run_type" not in entry:
            continue
        unit = words_at(entry, ("time_unit",)) or "ns"
        real, cpu = (
            number_at(document, entry, (key,), base=("benchmarks", index))
            for key in ("real_time", "cpu_time")
        )
        runs.append(MeasuredRun(_figures(unit, real, cpu), position.line, name))
    return sheet_of_runs(document.source, "Google Benchmark JSON", runs)


def is_google_csv(source: SourceText) -> bool:
    """Whether a text is Google Benchmark's CSV."""
    return re.search(rf"^{_HEAD}", source.text, re.M) is not None


def read_google_csv(source: SourceText) -> Sheet:
    """One arm, a row a repetition."""
    lines = source.text.split("\n")
    first = next((n for n, line in enumerate(lines) if line.startswith(_HEAD)), 0)
    runs = []
    for number, row in csv_rows(source, "Google Benchmark's CSV", _HEAD.split(","), first=first):
        if _AGGREGATE.search(row["name"]):
            continue
        if row.get("error_occurred", "").lower() == "true":
            raise _failed(source, row["name"], TextPosition(number, 1))
        real, cpu = (float_in(source, row, key, number) for key in ("real_time", "cpu_time"))
        runs.append(MeasuredRun(_figures(row["time_unit"] or "ns", real, cpu), number, row["name"]))
    return sheet_of_runs(source, "Google Benchmark CSV", runs)


def _figures(unit: str, real: float | None, cpu: float | None) -> dict[Metric, float]:
    canonical = unit_of(unit) or unit
    figures = {}
    if real is not None:
        figures[Metric(TIME, canonical, False, "real_time")] = real
    if cpu is not None:
        figures[Metric("cpu_time", canonical, False, "cpu_time")] = cpu
    return figures


def _failed(source: SourceText, name: str, position: TextPosition) -> Exception:
    return source.error(
        f"benchmark {quoted(name)} failed",
        position,
        hint="Leave this run out, and ask why it failed: the arm may be the cause.",
    )


JSON = JsonFormat(
    "google-benchmark", "an output of Google Benchmark", is_google_benchmark, read_google_benchmark
)
TEXT = TextFormat("google-benchmark-csv", is_google_csv, read_google_csv, precedence=2)
