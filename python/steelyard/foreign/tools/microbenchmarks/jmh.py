"""Reads results of JMH: its JSON with the raw data of forks, its CSV, and what it prints.

A fork is a JVM of its own and one repetition: the mean of its iterations. Where there is one fork,
its iterations are slices. Of CSV and text the score is one repetition a benchmark; percentiles of
sampled times and the figures of profilers stand there as benchmarks of their own, and are none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from steelyard.foreign.format import JsonFormat, TextFormat
from steelyard.foreign.json.document import Document, number_at, numbers_at, words_at
from steelyard.foreign.metric import THROUGHPUT, TIME, Metric
from steelyard.foreign.number import floats_of, has_decimal_comma
from steelyard.foreign.series import Sheet
from steelyard.foreign.source import SourceText, TextPosition
from steelyard.foreign.tools.measured_runs import MeasuredRun, csv_rows, sheet_of_runs
from steelyard.foreign.vocabulary.units import unit_of
from steelyard.model.units import format_digits

_ROUNDED = 1e-3
_EXPONENT = "⁰¹²³⁴⁵⁶⁷⁸⁹⁻"
_ONE_FORK = "iterations of one fork are of one run"
_TEXT = re.compile(
    r"(\S+)((?:\s+\S+)*?)\s+(thrpt|avgt|sample|ss)\s+([0-9]+)?\s*"
    r"(?:≈\s*)?([0-9.,]+(?:[eE][-+]?[0-9]+)?|10[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+)(?:\s+±\s+(\S+))?\s+(\S+/\S+)\s*$"
)
_SECONDARY = re.compile(r".+[:·](?:p[01][.,][0-9]+|gc\..*|stack.*|async.*)")
"""A percentile, or a figure of a profiler, with the name of its benchmark before it."""
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
        return _of_csv(source)
    matches = [
        (number, match)
        for number, line in enumerate(source.text.split("\n"), start=1)
        if (match := _TEXT.match(line.strip()))
    ]
    secondary = _secondary([(match[1], match[7]) for _, match in matches])
    primary = [pair for pair, left_out in zip(matches, secondary, strict=True) if not left_out]
    counted = [(number, match) for number, match in primary if match[5][-1] not in _EXPONENT]
    scores = _scores(
        source,
        [match[5] for _, match in counted],
        [number for number, _ in counted],
        [match[6] or "" for _, match in counted],
    )
    runs = [
        MeasuredRun(
            {score_metric(match[3], match[7]): score},
            number,
            " ".join([match[1], *match[2].split()]),
        )
        for (number, match), score in zip(counted, scores, strict=True)
    ]
    notes = [*_left_out(len(matches) - len(primary))]
    if len(counted) < len(primary):
        notes.append("scores that JMH rounds to a power of ten were left out: see -tu")
    return sheet_of_runs(source, "JMH", runs, notes=notes)


def _secondary(lines: Sequence[tuple[str, str]]) -> list[bool]:
    """Whether each line, of a name and a unit, is no benchmark of its own: by its name, or because
    it has another unit than the benchmark that its name begins with."""
    units = set(lines)
    names = {name for name, _ in lines}
    return [
        _SECONDARY.fullmatch(name) is not None
        or ((whole := name.rpartition(":")[0]) in names and (whole, unit) not in units)
        for name, unit in lines
    ]


def _left_out(count: int) -> Iterator[str]:
    if count:
        yield f"{count} lines of percentiles and of profilers were left out"


def _scores(
    source: SourceText, texts: Sequence[str], lines: Sequence[int], errors: Sequence[str] = ()
) -> list[float]:
    """The numbers of scores; commas are decimal ones in every number or in none, and errors say so
    too. NumbersError with its line for one that could be either."""
    comma = next(filter(has_decimal_comma, (*texts, *errors)), "")
    values, _ = floats_of(
        texts,
        source,
        lambda index: TextPosition(lines[index], 1),
        positive=False,
        decimal_comma=comma,
    )
    return [float(value) for value in values]


def _of_csv(source: SourceText) -> Sheet:
    columns = ("Benchmark", "Mode", "Score", "Unit")
    rows = list(csv_rows(source, "JMH's CSV", columns))
    secondary = _secondary([(row["Benchmark"], row["Unit"]) for _, row in rows])
    primary = [pair for pair, left_out in zip(rows, secondary, strict=True) if not left_out]
    errors = [text for _, row in primary for name, text in row.items() if "Error" in name]
    scores = _scores(source, [row["Score"] for _, row in primary], [n for n, _ in primary], errors)
    runs = []
    for (number, row), score in zip(primary, scores, strict=True):
        params = [f"{k[7:]}={v}" for k, v in row.items() if k.startswith("Param: ")]
        label = " ".join([row["Benchmark"], *params])
        figures = {score_metric(row["Mode"], row["Unit"]): score}
        runs.append(MeasuredRun(figures, number, label, {"threads": row.get("Threads", "")}))
    return sheet_of_runs(source, "JMH CSV", runs, notes=[*_left_out(len(rows) - len(primary))])


JSON = JsonFormat("jmh", "results of JMH", is_jmh, read_jmh)
TEXT = TextFormat("jmh-text", is_jmh_text, read_jmh_text, precedence=2)
