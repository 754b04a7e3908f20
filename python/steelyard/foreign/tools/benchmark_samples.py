"""Reads exports that hold every measured time: hyperfine, pytest-benchmark and Criterion.

Hyperfine's `--export-json` has all repetitions of one command, then all of the next; its CSV and
Markdown hold the means alone.

Rounds (pytest-benchmark) and samples (Criterion) of one process are slices of one run. Where a file
holds several benchmarks each counts once, by its mean.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.foreign.format import JsonFormat, TextFormat
from steelyard.foreign.json_document import Document, Number, number_at, numbers_at, words_at
from steelyard.foreign.metric import TIME, Metric
from steelyard.foreign.number import Spot, floats_of
from steelyard.foreign.series import Order, Series, Sheet, TransactionCounts
from steelyard.foreign.source import SourceText, TextPosition, quoted
from steelyard.foreign.tables.table import read_table
from steelyard.foreign.tools.measured_runs import MeasuredRun, csv_rows, float_in, sheet_of_runs
from steelyard.foreign.vocabulary.units import unit_of

_MARKDOWN = re.compile(r"\| Command \| Mean \[\w+\] \| Min")


def is_hyperfine(value: Any) -> bool:
    """Whether a JSON value is an export of hyperfine."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("results"), list)
        and bool(value["results"])
        and all(isinstance(result, dict) and "command" in result for result in value["results"])
    )


def read_hyperfine(document: Document) -> Sheet:
    """An arm a command, its times in seconds (older exports without times: the mean alone)."""
    series, failures = [], dict[str, int]()
    names = _names(document.values[0]["results"])
    for number, result in enumerate(document.values[0]["results"]):
        arm = names[number]
        key = "times" if isinstance(result.get("times"), list) and result["times"] else "mean"
        texts = result["times"] if key == "times" else [result.get("mean")]

        def spot(index: int, number: int = number, key: str = key) -> TextPosition:
            path = ("results", number, key, *((index,) if key == "times" else ()))
            return document.place(0, path)

        wrong = next((i for i, text in enumerate(texts) if not isinstance(text, Number)), None)
        if wrong is not None:
            raise document.source.error(
                f"command {quoted(arm)} has something else than a number among its {key}",
                document.place(0, ("results", number)),
            )
        values, _ = floats_of(texts, document.source, spot)
        series.append(Series(arm, values))
        codes = result.get("exit_codes")
        if isinstance(codes, list):
            failures[arm] = sum(code not in ("0", None) for code in codes)
    return Sheet(
        source=document.source.name,
        form="hyperfine JSON",
        metrics=((Metric(TIME, "s", False), tuple(series)),),
        order=Order.SEQUENTIAL,
        outcomes={arm: TransactionCounts(0, failed) for arm, failed in failures.items()},
        notes=tuple(
            f"some repetitions of {quoted(arm)} ended with an error"
            for arm, failed in failures.items()
            if failed
        ),
    )


def _names(results: Sequence[Mapping[str, Any]]) -> list[str]:
    """The commands; with their parameters where those alone tell them apart."""
    commands = [str(result["command"]) for result in results]
    if len(set(commands)) == len(commands):
        return commands
    labels = []
    for command, result in zip(commands, results, strict=True):
        parameters = result.get("parameters")
        settings = (
            [f"{name}={value}" for name, value in parameters.items()]
            if isinstance(parameters, dict)
            else []
        )
        labels.append(", ".join([command, *settings]))
    if len(set(labels)) == len(labels):
        return labels
    # With the parameters in --setup alone hyperfine does not say them.
    return [f"{name} (result {number})" for number, name in enumerate(labels, start=1)]


def is_hyperfine_table(source: SourceText) -> bool:
    """Whether a text is hyperfine's export as CSV or Markdown."""
    head = source.text.lstrip().partition("\n")[0]
    return head.startswith("command,mean,stddev,median,") or _MARKDOWN.match(head) is not None


def read_hyperfine_table(source: SourceText) -> Sheet:
    """An arm a command, its mean: one value, from which nothing can be judged."""
    table = read_table(source)
    if len(table.columns) < 2:
        raise source.error("a table of hyperfine without its means", TextPosition(1, 1))
    unit = unit_of(table.name(1).rpartition("[")[2].rstrip("]")) or "s"
    series = []
    for row, command in enumerate(table.columns[0]):
        position = table.spot(row, 1)
        values, _ = floats_of([table.columns[1][row]], source, _at(position))
        series.append(Series(command.strip(), values))
    return Sheet(
        source=source.name,
        form="hyperfine table",
        metrics=((Metric(TIME, unit, False), tuple(series)),),
        order=Order.SEQUENTIAL,
        notes=("hyperfine's JSON (--export-json) holds the repetitions, its tables do not",),
    )


def _at(position: TextPosition) -> Spot:
    return lambda _: position


HYPERFINE_TABLE = TextFormat(
    "hyperfine-table", is_hyperfine_table, read_hyperfine_table, precedence=2
)
HYPERFINE = JsonFormat("hyperfine", "an export of hyperfine", is_hyperfine, read_hyperfine)


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
