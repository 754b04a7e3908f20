"""Reads samples that one process took of itself: pytest-benchmark and Criterion.

Rounds and samples of one process are slices of one run. Where a file holds several benchmarks each
counts once, by its mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.foreign.format import JsonFormat, TextFormat
from steelyard.foreign.json.document import Document, number_at, numbers_at, words_at
from steelyard.foreign.metric import TIME, Metric
from steelyard.foreign.series import Sheet
from steelyard.foreign.source import SourceText, TextPosition
from steelyard.foreign.tools.measured_runs import MeasuredRun, csv_rows, float_in, sheet_of_runs
from steelyard.foreign.vocabulary.units import unit_of

_SECONDS = Metric(TIME, "s", False)
_RAW = "group,function,value,throughput_num,throughput_type,sample_measured_value,unit"
_ROUNDS = "rounds of one process are of one run"


def is_pytest_benchmark(value: Any) -> bool:
    """Whether a JSON value is an export of pytest-benchmark."""
    benchmarks = value.get("benchmarks") if isinstance(value, dict) else None
    return isinstance(benchmarks, list) and any(
        isinstance(entry, dict) and isinstance(entry.get("stats"), dict) for entry in benchmarks
    )


def read_pytest_benchmark(document: Document) -> Sheet:
    """One arm: the rounds of a benchmark, or the means of several."""
    samples: dict[str, list[float]] = {}
    for index, entry in enumerate(document.values[0]["benchmarks"]):
        stats = entry.get("stats") if isinstance(entry, dict) else None
        if not isinstance(stats, dict):
            continue
        name = words_at(entry, ("fullname",)) or words_at(entry, ("name",))
        path = ("benchmarks", index, "stats", "data")
        data = stats.get("data")
        if isinstance(data, list) and data:
            samples[name] = numbers_at(document, data, path)
        elif (mean := number_at(document, stats, ("mean",), base=path[:-1])) is not None:
            samples[name] = [mean]
    return _sheet(document.source, "pytest-benchmark JSON", samples, _SECONDS)


def is_criterion(source: SourceText) -> bool:
    """Whether a text is a raw.csv of Criterion."""
    return source.text.lstrip().startswith(_RAW)


def read_criterion(source: SourceText) -> Sheet:
    """One arm: time of one iteration in every sample."""
    samples: dict[str, list[float]] = {}
    unit = "ns"
    columns = (*_RAW.split(","), "iteration_count")
    for number, row in csv_rows(source, "Criterion's raw.csv", columns):
        count = float_in(source, row, "iteration_count", number)
        value = float_in(source, row, "sample_measured_value", number)
        if not count > 0:
            raise source.error("a sample without iterations", TextPosition(number, 1))
        unit = unit_of(row["unit"]) or row["unit"]
        name = "/".join(row[key] for key in ("group", "function", "value") if row[key])
        samples.setdefault(name, []).append(value / count)
    return _sheet(source, "Criterion raw.csv", samples, Metric(TIME, unit, False))


def is_criterion_sample(value: Any) -> bool:
    """Whether a JSON value is a sample.json of Criterion."""
    return isinstance(value, dict) and {"iters", "times", "sampling_mode"} <= set(value)


def read_criterion_sample(document: Document) -> Sheet:
    """One arm: nanoseconds of one iteration in every sample."""
    value = document.values[0]
    iterations = numbers_at(document, value["iters"], ("iters",))
    times = numbers_at(document, value["times"], ("times",))
    if len(iterations) != len(times) or not all(iterations):
        raise document.source.error("samples without their iterations", document.place(0, ()))
    each = [time / count for time, count in zip(times, iterations, strict=True)]
    metric = Metric(TIME, "ns", False)
    return _sheet(document.source, "Criterion sample.json", {"": each}, metric)


def _sheet(
    source: SourceText, form: str, samples: Mapping[str, Sequence[float]], metric: Metric
) -> Sheet:
    if len(samples) == 1:
        ((name, values),) = samples.items()
        runs = [MeasuredRun({metric: value}, 1, name) for value in values]
        return sheet_of_runs(source, form, runs, slices=_ROUNDS if len(values) > 1 else "")
    runs = [
        MeasuredRun({metric: sum(sample) / len(sample)}, 1, name)
        for name, sample in samples.items()
    ]
    return sheet_of_runs(source, form, runs)


PYTEST = JsonFormat(
    "pytest-benchmark", "an export of pytest-benchmark", is_pytest_benchmark, read_pytest_benchmark
)
CRITERION = TextFormat("criterion", is_criterion, read_criterion, precedence=2)
CRITERION_SAMPLE = JsonFormat(
    "criterion-sample", "a sample of Criterion", is_criterion_sample, read_criterion_sample
)
