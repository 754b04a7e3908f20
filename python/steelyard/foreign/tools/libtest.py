"""Reads what `cargo bench` prints of the benchmarks of Rust's libtest, and of harnesses that print
like it (bencher, criterion --output-format bencher).

    test tree::get ... bench:       1,090.51 ns/iter (+/- 12.03) = 85 MB/s

A line is one repetition of its benchmark: the median of its samples, whose range stands behind it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from steelyard.foreign.format import TextFormat
from steelyard.foreign.metric import THROUGHPUT, TIME, Metric
from steelyard.foreign.series import Sheet
from steelyard.foreign.source import SourceText, TextPosition, quoted
from steelyard.foreign.tools.measured_runs import MeasuredRun, sheet_of_runs
from steelyard.foreign.vocabulary.units import TIME_UNITS

_NUMBER = r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?"
_RESULT = re.compile(
    rf"test (?P<name>\S.*?) +\.\.\. bench: +(?P<time>{_NUMBER}) (?P<unit>ns|us|µs|ms|s)/iter"
    rf"(?: \(\+/- (?:{_NUMBER})\))?(?: = (?P<rate>{_NUMBER}) MB/s)?\s*"
)
_FAILED = re.compile(r"test (?P<name>\S.*?) +\.\.\. FAILED\b")


def is_libtest(source: SourceText) -> bool:
    """Whether a text has a line of a benchmark of libtest's."""
    return any(map(_RESULT.fullmatch, _lines_of_tests(source)))


def _lines_of_tests(source: SourceText) -> Iterator[str]:
    return (line[0] for line in re.finditer(r"^test .* bench: .*$", source.text, re.MULTILINE))


def read_libtest(source: SourceText) -> Sheet:
    """One arm: a row a line, labelled by the benchmark's name."""
    runs = []
    for number, line in enumerate(source.text.split("\n"), start=1):
        if match := _FAILED.match(line):
            raise source.error(
                f"a benchmark failed: {quoted(match['name'])}",
                TextPosition(number, 1),
                hint="Leave this run out, and ask why it failed: the arm may be the cause.",
            )
        if match := _RESULT.fullmatch(line):
            unit = TIME_UNITS[match["unit"]]
            time = Metric(TIME, unit, False, f"{match['unit']}/iter")
            figures = {time: _number(match["time"])}
            if match["rate"]:
                figures[Metric(THROUGHPUT, "MB/s", True, "MB/s")] = _number(match["rate"])
            runs.append(MeasuredRun(figures, number, match["name"]))
    return sheet_of_runs(source, "cargo bench", runs)


def _number(text: str) -> float:
    return float(text.replace(",", ""))


FORMAT = TextFormat("libtest", is_libtest, read_libtest, precedence=2)
