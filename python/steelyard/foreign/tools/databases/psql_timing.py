r"""Reads what psql prints with `\timing`: the time of each statement, among their results.

    Time: 82.050 ms
    Time: 1235.123 ms (00:01.235)

Each is one repetition. What the server says of the same statement (EXPLAIN ANALYZE) is read beside
it. Lines that do nothing but name numbers are a table, and read as one.
"""

from __future__ import annotations

import re

from steelyard.foreign.format import TextFormat
from steelyard.foreign.metric import TIME, Metric
from steelyard.foreign.series import Sheet
from steelyard.foreign.source import SourceText, TextPosition, quoted
from steelyard.foreign.tools.measured_runs import MeasuredRun, sheet_of_runs

_UNITS = ("ms", "мс", "мсек", "ミリ秒", "毫秒", "milisaniye")
_TIME = re.compile(
    rf"[^\W\d_]+ ?[:：] ?([0-9]{{1,12}}[.,][0-9]{{3}}) (?:{'|'.join(_UNITS)})"
    r"(?: \((?:[0-9]+ \S+ )?[0-9:]+[.,][0-9]{3}\))?\s*"
)
"""In any language: psql always prints three decimals, and no separators of thousands."""
_SERVER = re.compile(r"\s*(Planning|Execution) Time: ([0-9.]{1,20}) ms\s*")
_NAMED = re.compile(r"[^:=]*[:=]\s*[0-9][0-9.,]*\s*\w*\s*")
"""A line that names its number."""
_COMMENT = re.compile(r"\s*#")
_FAILED = re.compile(r"(?:psql:\S+: )?(?:ERROR|FATAL|PANIC|FEHLER|ERREUR|ERRORE|ОШИБКА):  ")
_SERVER_TIMES = {
    "Planning": Metric("planning_time", "ms", False),
    "Execution": Metric("execution_time", "ms", False),
}


def is_psql_timing(source: SourceText) -> bool:
    """Whether a text has times of psql, and more than lines that name their numbers."""
    if not any(f" {unit}" in source.text for unit in _UNITS):
        return False
    lines = [line for line in source.text.split("\n") if line.strip()]
    return any(map(_TIME.fullmatch, lines)) and not all(
        _NAMED.fullmatch(line) or _COMMENT.match(line) for line in lines
    )


def read_psql_timing(source: SourceText) -> Sheet:
    """One arm: a row a statement. NumbersError where a statement failed."""
    runs: list[MeasuredRun] = []
    server: dict[Metric, float] = {}
    for number, line in enumerate(source.text.split("\n"), start=1):
        if match := _TIME.fullmatch(line):
            figures = {Metric(TIME, "ms", False): float(match[1].replace(",", ".")), **server}
            runs.append(MeasuredRun(figures, number))
            server = {}
        elif match := _SERVER.fullmatch(line):
            server[_SERVER_TIMES[match[1]]] = _float(source, match[2], number)
        elif _FAILED.match(line):
            raise source.error(
                f"a statement failed: {quoted(line.strip())}",
                TextPosition(number, 1),
                hint="Leave this run out, and ask why it failed: the arm may be the cause.",
            )
    return sheet_of_runs(source, r"psql \timing", runs)


def _float(source: SourceText, text: str, line: int) -> float:
    try:
        return float(text)
    except ValueError:
        raise source.error(f"{quoted(text)} is not a number", TextPosition(line, 1)) from None


FORMAT = TextFormat("psql", is_psql_timing, read_psql_timing, precedence=9)
