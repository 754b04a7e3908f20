r"""Reads the times that clients of database servers print: psql with `\timing`, and mysqlslap.

    Time: 82.050 ms
    Time: 1235.123 ms (00:01.235)

Each of psql's is one repetition of its statement, which its tag (INSERT) or the heading of its
result names. What only prepares for others (SET, BEGIN) is left out. What the server says of the
same statement (EXPLAIN ANALYZE) is read beside it. Lines that do nothing but name numbers are a
table, and read as one.

A report of mysqlslap, or a line of its `--csv`, is one repetition, the mean of its iterations.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace

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
_TAG = re.compile(
    r"((?:ALTER|ANALYZE|BEGIN|CALL|CHECKPOINT|CLOSE|CLUSTER|COMMENT|COMMIT|COPY|CREATE|DEALLOCATE"
    r"|DECLARE|DELETE|DISCARD|DO|DROP|EXPLAIN|FETCH|GRANT|IMPORT|INSERT|LISTEN|LOAD|LOCK|MERGE|MOVE"
    r"|NOTIFY|PREPARE|REASSIGN|REFRESH|REINDEX|RELEASE|RESET|REVOKE|ROLLBACK|SAVEPOINT|SECURITY"
    r"|SELECT|SET|START|TRUNCATE|UNLISTEN|UPDATE|VACUUM)(?: [A-Z]+)*)(?: [0-9]+)*\s*"
)
"""What psql prints of a statement that returns no rows (PostgreSQL, cmdtaglist.h)."""
_PREPARING = re.compile(
    r"(?:SET|RESET|BEGIN|START TRANSACTION|SAVEPOINT|RELEASE|ROLLBACK|DISCARD|LOAD|DEALLOCATE"
    r"|PREPARE(?! TRANSACTION)|LISTEN|UNLISTEN)\b.*"
)
_RULE = re.compile(r"[+├]?[-─]{2,}[-─+┼ ]*[+┤]?\s*")
"""Between the heading of a result and its rows."""
_ROWS = "rows"
"""What a statement is called that printed neither a tag nor a heading, beside others that did."""
_STATEMENT = "statement"
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
    name = before = ""
    for number, line in enumerate(source.text.split("\n"), start=1):
        if match := _TIME.fullmatch(line):
            figures = {Metric(TIME, "ms", False): float(match[1].replace(",", ".")), **server}
            runs.append(MeasuredRun(figures, number, name))
            server, name = {}, ""
        elif match := _TAG.fullmatch(line):
            name = match[1]
        elif _RULE.fullmatch(line) and (not name or _TAG.fullmatch(name)):
            name = _heading(before, line) or name
        elif match := _SERVER.fullmatch(line):
            server[_SERVER_TIMES[match[1]]] = _float(source, match[2], number)
        elif _FAILED.match(line):
            raise source.error(
                f"a statement failed: {quoted(line.strip())}",
                TextPosition(number, 1),
                hint="Leave this run out, and ask why it failed: the arm may be the cause.",
            )
        before = line
    preparing = _preparing({run.label for run in runs})
    return sheet_of_runs(
        source,
        r"psql \timing",
        _by_statement([run for run in runs if run.label not in preparing]),
        label=_STATEMENT,
        notes=[
            f"times of {', '.join(sorted(preparing))} were left out: they only prepare for the "
            "other statements"
        ]
        if preparing
        else (),
    )


def _by_statement(runs: Sequence[MeasuredRun]) -> list[MeasuredRun]:
    """Runs of several statements are each compared with their own kind; where there is one, it may
    be what the arms differ in, as INSERT and COPY do, and is named only."""
    names = {run.label for run in runs}
    if names == {""}:
        return list(runs)
    if len(names) > 1:
        return [replace(run, label=run.label or _ROWS) for run in runs]
    return [replace(run, label="", conditions={_STATEMENT: run.label}) for run in runs]


def _heading(before: str, rule: str) -> str:
    """The names of a result's columns, where the line before a rule holds them; "" elsewhere."""
    if before.startswith("|") is not rule.startswith("+") or _TIME.fullmatch(before):
        return ""
    names = re.split(r"\s*[|│]\s*", before.strip(" |│\t\r"))
    return quoted(" | ".join(names))[1:-1]


def _preparing(names: Collection[str]) -> set[str]:
    """The statements that only prepare for others; none where there are no others.

    COMMIT is one of them where nothing was written; else it is what writes.
    """
    preparing = {name for name in names if _PREPARING.fullmatch(name)}
    others = {name for name in names if name not in preparing}
    reading = {name for name in others if not _TAG.fullmatch(name)}
    if others - reading == {"COMMIT"} and reading:
        preparing.add("COMMIT")
        others.remove("COMMIT")
    return preparing if others else set()


def _float(source: SourceText, text: str, line: int) -> float:
    try:
        return float(text)
    except ValueError:
        raise source.error(f"{quoted(text)} is not a number", TextPosition(line, 1)) from None


PSQL = TextFormat("psql", is_psql_timing, read_psql_timing, precedence=9)


_ALL_QUERIES = Metric(TIME, "s", False)
_AVERAGE = re.compile(r"\s*Average number of seconds to run all queries: ([0-9.]+) seconds")
_ENGINE = re.compile(r"\s*Running for engine (\S+)")
_CLIENTS = re.compile(r"\s*Number of clients running queries: ([0-9]+)")
_QUERIES = re.compile(r"\s*Average number of queries per client: ([0-9]+)")
_CSV_LINE = re.compile(
    r"(\w*),(\w*,)?([0-9]+\.[0-9]{3}),[0-9]+\.[0-9]{3},[0-9]+\.[0-9]{3},([0-9]+),([0-9]+)\s*"
)


def is_mysqlslap(source: SourceText) -> bool:
    """Whether a text is mysqlslap's report, or its CSV."""
    first = source.text.lstrip().partition("\n")[0]
    return "Average number of seconds to run all queries" in source.text or bool(
        _CSV_LINE.fullmatch(first)
    )


def read_mysqlslap(source: SourceText) -> Sheet:
    """One arm: seconds to run all queries."""
    runs: list[MeasuredRun] = []
    loads: dict[str, str] = {}
    engine = ""
    for number, line in enumerate(source.text.split("\n"), start=1):
        if match := _CSV_LINE.fullmatch(line):
            load = {"clients": match[4], "queries a client": match[5]}
            engine, kind = (match[1], match[2].rstrip(",")) if match[2] else ("", match[1])
            seconds = {_ALL_QUERIES: float(match[3])}
            runs.append(MeasuredRun(seconds, number, kind, load, _of_engine(engine)))
        elif match := _ENGINE.match(line):
            engine = match[1]
        elif match := _AVERAGE.match(line):
            loads = {}
            seconds = {_ALL_QUERIES: float(match[1])}
            runs.append(MeasuredRun(seconds, number, "", loads, _of_engine(engine)))
            engine = ""
        elif match := _CLIENTS.match(line):
            loads["clients"] = match[1]
        elif match := _QUERIES.match(line):
            loads["queries a client"] = match[1]
        elif runs and _CSV_LINE.fullmatch(source.text.lstrip().partition("\n")[0]) and line.strip():
            raise source.error(
                f"{quoted(line)} is no line of mysqlslap's CSV", TextPosition(number, 1)
            )
    return sheet_of_runs(source, "mysqlslap", runs, label="load")


def _of_engine(engine: str) -> dict[str, str]:
    """Arms may be engines, so that another one is named, and is no other load."""
    return {"engine": engine} if engine else {}


MYSQLSLAP = TextFormat("mysqlslap", is_mysqlslap, read_mysqlslap, precedence=5)
