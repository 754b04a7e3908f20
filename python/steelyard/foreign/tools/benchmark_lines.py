"""Reads harnesses of microbenchmarks whose results are lines by the name of a benchmark: those of
`go test -bench`, Google Benchmark and JMH.

    BenchmarkGet-8   	 1088484	      1090 ns/op	      56 B/op	       2 allocs/op

Go (golang.org/x/perf/benchfmt): a line is one repetition of its benchmark (`-count` gives several).
The number of iterations is no result. Benchmarks are paired by name, and what stands above them
(goos, goarch, pkg, cpu) are conditions.

Google Benchmark's JSON and CSV: a repetition of a benchmark is a row. Aggregates over repetitions
(mean, median, stddev, cv) are left out; one that failed is refused.

JMH's JSON with the raw data of forks, its CSV, and what it prints: a fork is a JVM of its own and
one repetition, the mean of its iterations. Where there is one fork, its iterations are slices. Of
CSV and text the score is one repetition a benchmark; percentiles of sampled times and the figures
of profilers stand there as benchmarks of their own, and are none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from steelyard.foreign.format import JsonFormat, TextFormat
from steelyard.foreign.json_document import Document, number_at, numbers_at, words_at
from steelyard.foreign.metric import THROUGHPUT, TIME, Metric
from steelyard.foreign.number import floats_of, has_decimal_comma
from steelyard.foreign.series import Sheet
from steelyard.foreign.source import SourceText, TextPosition, quoted
from steelyard.foreign.tools.measured_runs import MeasuredRun, csv_rows, float_in, sheet_of_runs
from steelyard.foreign.vocabulary.heading import heading_of
from steelyard.foreign.vocabulary.units import unit_of
from steelyard.model.units import format_digits

_RESULT = re.compile(r"Benchmark(\S*)\s+[0-9]+((?:\s+[-+0-9.eE]+\s+\S+)+)\s*$")
_FIGURE = re.compile(r"([-+0-9.eE]+)\s+(\S+)")
_CONDITION = re.compile(r"(goos|goarch|pkg|cpu): (.*\S)\s*$")
_FAILED = re.compile(r"--- FAIL: |FAIL\b")


def is_go_bench(source: SourceText) -> bool:
    """Whether a text has a line of a benchmark of Go."""
    return re.search(r"^Benchmark\S*\s+[0-9]+\s+[0-9.e+]+ \S+/op", source.text, re.M) is not None


def read_go_bench(source: SourceText) -> Sheet:
    """One arm: a row a line, labelled by the benchmark's name."""
    runs: list[MeasuredRun] = []
    conditions: dict[str, str] = {}
    for number, line in enumerate(source.text.split("\n"), start=1):
        if match := _CONDITION.match(line):
            conditions[match[1]] = match[2]
        elif _FAILED.match(line):
            raise source.error(
                f"a benchmark failed: {quoted(line.strip())}",
                TextPosition(number, 1),
                hint="Leave this run out, and ask why it failed: the arm may be the cause.",
            )
        elif match := _RESULT.match(line):
            figures = {}
            for text, unit in _FIGURE.findall(match[2]):
                figures[metric_of_unit(unit)] = _figure(source, text, number)
            runs.append(MeasuredRun(figures, number, match[1], {}, dict(conditions)))
    return sheet_of_runs(source, "go test -bench", runs)


def metric_of_unit(unit: str) -> Metric:
    """The metric of a unit of Go's: "ns/op", "MB/s", or one that a benchmark reports itself."""
    return replace(heading_of(unit).metric or Metric(unit, unit), column=unit)


def _figure(source: SourceText, text: str, line: int) -> float:
    try:
        return float(text)
    except ValueError:
        raise source.error(f"{quoted(text)} is not a number", TextPosition(line, 1)) from None


GO = TextFormat("go", is_go_bench, read_go_bench, precedence=2)


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
            raise _failure(document.source, name, position)
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
            raise _failure(source, row["name"], TextPosition(number, 1))
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


def _failure(source: SourceText, name: str, position: TextPosition) -> Exception:
    return source.error(
        f"benchmark {quoted(name)} failed",
        position,
        hint="Leave this run out, and ask why it failed: the arm may be the cause.",
    )


GOOGLE = JsonFormat(
    "google-benchmark", "an output of Google Benchmark", is_google_benchmark, read_google_benchmark
)
GOOGLE_CSV = TextFormat("google-benchmark-csv", is_google_csv, read_google_csv, precedence=2)


_ROUNDED = 1e-3
_EXPONENT = "⁰¹²³⁴⁵⁶⁷⁸⁹⁻"
_ONE_FORK = "iterations of one fork are of one run"
_SCORE = re.compile(
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
        if (match := _SCORE.match(line.strip()))
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


JMH = JsonFormat("jmh", "results of JMH", is_jmh, read_jmh)
JMH_TEXT = TextFormat("jmh-text", is_jmh_text, read_jmh_text, precedence=2)
