"""Reads results of JMH: its JSON with the raw data of forks, its CSV, and what it prints.

A fork is a JVM of its own and one repetition: the mean of its iterations. Where there is one fork,
its iterations are slices. Of CSV and text the score is one repetition a benchmark.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from steelyard.foreign.format import JsonFormat, TextFormat
from steelyard.foreign.json.document import Document, number_at, numbers_at, words_at
from steelyard.foreign.metric import THROUGHPUT, TIME, Metric
from steelyard.foreign.series import Sheet
from steelyard.foreign.source import SourceText
from steelyard.foreign.tools.measured_runs import MeasuredRun, csv_rows, float_in, sheet_of_runs
from steelyard.foreign.vocabulary.units import unit_of
from steelyard.model.units import format_digits

_ROUNDED = 1e-3
_ONE_FORK = "iterations of one fork are of one run"
_TEXT = re.compile(
    r"(\S+)((?:\s+\S+)*?)\s+(thrpt|avgt|sample|ss)\s+([0-9]+)?\s*"
    r"(?:≈\s*)?([0-9.,]+(?:[eE][-+]?[0-9]+)?)(?:\s+±\s+\S+)?\s+(\S+/\S+)\s*$"
)
_CONDITIONS = ("threads", "forks", "warmupIterations", "measurementIterations", "measurementTime")


def is_jmh(value: Any) -> bool:
    """Whether a JSON value is a list of results of JMH."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(entry, dict) and "primaryMetric" in entry for entry in value)
    )


def read_jmh(document: Document) -> Sheet:
    """One arm, a row a fork of a benchmark."""
    results = document.values[0]
    runs: list[MeasuredRun] = []
    slices, notes = "", list[str]()
    for index, result in enumerate(results):
        fork_values = list(_forks(document, index, result))
        notes += _notes(
            document, index, result, [entry for _, fork in fork_values for entry in fork]
        )
        if len(results) == 1 and len(fork_values) == 1 and len(fork_values[0][1]) > 1:
            slices = _ONE_FORK
            runs += [_run(document, index, result, entry) for entry in fork_values[0][1]]
        else:
            runs += [_run(document, index, result, sum(v) / len(v)) for _, v in fork_values]
    return sheet_of_runs(document.source, "JMH JSON", runs, slices=slices, notes=notes)


def _notes(document: Document, index: int, result: Any, raw: Sequence[float]) -> Iterator[str]:
    """Where the score is not the mean of the raw data, which are judged."""
    path = ("primaryMetric", "score")
    score = number_at(document, result, path, base=(index,)) if _is_object(result) else None
    mean = sum(raw) / len(raw)
    if score is not None and abs(score - mean) > _ROUNDED * abs(mean):
        yield (
            f"result {index + 1}: the score, {format_digits(score, 6)}, is not the mean of its raw "
            f"data, {format_digits(mean, 6)}: the raw data are judged"
        )


def _forks(document: Document, index: int, result: Any) -> Iterator[tuple[int, list[float]]]:
    raw = result["primaryMetric"].get("rawData") if _is_object(result) else None
    if raw is not None and _is_raw(raw):
        for fork, values in enumerate(raw):
            path = (index, "primaryMetric", "rawData", fork)
            yield fork, numbers_at(document, values, path)
        return
    at = ("primaryMetric", "score")
    score = number_at(document, result, at, base=(index,)) if _is_object(result) else None
    if score is None:
        position = document.place(0, (index,))
        raise document.source.error("a result of JMH without a score", position)
    yield 0, [score]


def _is_raw(raw: Any) -> bool:
    """Whether there are numbers of each fork, and not histograms of sampled times."""
    forks = isinstance(raw, list) and bool(raw) and all(isinstance(f, list) and f for f in raw)
    return forks and not any(isinstance(entry, list) for fork in raw for entry in fork)


def _is_object(result: Any) -> bool:
    return isinstance(result.get("primaryMetric"), dict)


def _run(document: Document, index: int, result: Any, score: float) -> MeasuredRun:
    params = result.get("params")
    settings = [f"{k}={v}" for k, v in params.items()] if isinstance(params, dict) else []
    metric = score_metric(
        words_at(result, ("mode",)), words_at(result["primaryMetric"], ("scoreUnit",))
    )
    conditions = {name: words_at(result, (name,)) for name in _CONDITIONS if name in result}
    line = document.place(0, (index,)).line
    label = " ".join([words_at(result, ("benchmark",)), *settings])
    return MeasuredRun({metric: score}, line, label, {}, conditions)


def score_metric(mode: str, unit: str) -> Metric:
    """The metric of a score: of throughput more is better, of all other modes less."""
    canonical = unit_of(unit) or unit
    if mode == "thrpt":
        return Metric(THROUGHPUT, canonical, True, "Score")
    return Metric(TIME, canonical, False, "Score")


def is_jmh_text(source: SourceText) -> bool:
    """Whether a text is JMH's CSV, or has the table that JMH prints."""
    head = source.text.lstrip().split("\n", 1)[0]
    table = re.search(r"^Benchmark\s.*Mode\s+Cnt\s+Score", source.text, re.M)
    return head.startswith('"Benchmark","Mode","Threads"') or table is not None


def read_jmh_text(source: SourceText) -> Sheet:
    """One arm, a row a benchmark: its score."""
    if source.text.lstrip().startswith('"Benchmark"'):
        runs = list(_of_csv(source))
        return sheet_of_runs(source, "JMH CSV", runs)
    runs = []
    for number, line in enumerate(source.text.split("\n"), start=1):
        match = _TEXT.match(line.strip())
        if match:
            label = " ".join([match[1], *match[2].split()])
            score = float(match[5].replace(",", ""))
            runs.append(MeasuredRun({score_metric(match[3], match[6]): score}, number, label))
    return sheet_of_runs(source, "JMH", runs)


def _of_csv(source: SourceText) -> Iterator[MeasuredRun]:
    for number, row in csv_rows(source, "JMH's CSV", ("Benchmark", "Mode", "Score", "Unit")):
        params = [f"{k[7:]}={v}" for k, v in row.items() if k.startswith("Param: ")]
        score = float_in(source, row, "Score", number)
        label = " ".join([row["Benchmark"], *params])
        loads = {"threads": row.get("Threads", "")}
        yield MeasuredRun({score_metric(row["Mode"], row["Unit"]): score}, number, label, loads)


JSON = JsonFormat("jmh", "results of JMH", is_jmh, read_jmh)
TEXT = TextFormat("jmh-text", is_jmh_text, read_jmh_text, precedence=2)
