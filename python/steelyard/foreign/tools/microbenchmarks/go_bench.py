"""Reads `go test -bench`: a line is one repetition of its benchmark (`-count` gives several).

    BenchmarkGet-8   	 1088484	      1090 ns/op	      56 B/op	       2 allocs/op

(golang.org/x/perf/benchfmt.) The number of iterations is no result. Benchmarks are paired by name,
and what stands above them (goos, goarch, pkg, cpu) are conditions.
"""

from __future__ import annotations

import re
from dataclasses import replace

from steelyard.foreign.format import TextFormat
from steelyard.foreign.metric import Metric
from steelyard.foreign.series import Sheet
from steelyard.foreign.source import SourceText, TextPosition, quoted
from steelyard.foreign.tools.measured_runs import MeasuredRun, sheet_of_runs
from steelyard.foreign.vocabulary.heading import heading_of

_LINE = re.compile(r"Benchmark(\S*)\s+[0-9]+((?:\s+[-+0-9.eE]+\s+\S+)+)\s*$")
_FIGURE = re.compile(r"([-+0-9.eE]+)\s+(\S+)")
_KEY = re.compile(r"(goos|goarch|pkg|cpu): (.*\S)\s*$")
_FAILED = re.compile(r"--- FAIL: |FAIL\b")


def is_go_bench(source: SourceText) -> bool:
    """Whether a text has a line of a benchmark of Go."""
    return re.search(r"^Benchmark\S*\s+[0-9]+\s+[0-9.e+]+ \S+/op", source.text, re.M) is not None


def read_go_bench(source: SourceText) -> Sheet:
    """One arm: a row a line, labelled by the benchmark's name."""
    runs: list[MeasuredRun] = []
    conditions: dict[str, str] = {}
    for number, line in enumerate(source.text.split("\n"), start=1):
        if match := _KEY.match(line):
            conditions[match[1]] = match[2]
        elif _FAILED.match(line):
            raise source.error(
                f"a benchmark failed: {quoted(line.strip())}",
                TextPosition(number, 1),
                hint="Leave this run out, and ask why it failed: the arm may be the cause.",
            )
        elif match := _LINE.match(line):
            figures = {}
            for text, unit in _FIGURE.findall(match[2]):
                figures[metric_of_unit(unit)] = _number(source, text, number)
            runs.append(MeasuredRun(figures, number, match[1], {}, dict(conditions)))
    return sheet_of_runs(source, "go test -bench", runs)


def metric_of_unit(unit: str) -> Metric:
    """The metric of a unit of Go's: "ns/op", "MB/s", or one that a benchmark reports itself."""
    return replace(heading_of(unit).metric or Metric(unit, unit), column=unit)


def _number(source: SourceText, text: str, line: int) -> float:
    try:
        return float(text)
    except ValueError:
        raise source.error(f"{quoted(text)} is not a number", TextPosition(line, 1)) from None


FORMAT = TextFormat("go", is_go_bench, read_go_bench, precedence=2)
