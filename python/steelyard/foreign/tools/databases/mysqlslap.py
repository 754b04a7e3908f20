"""Reads mysqlslap: its report and `--csv`; each is one repetition, the mean of its iterations."""

from __future__ import annotations

import re
from dataclasses import replace

from steelyard.foreign.format import TextFormat
from steelyard.foreign.metric import TIME, Metric
from steelyard.foreign.series import Sheet
from steelyard.foreign.source import SourceText, TextPosition, quoted
from steelyard.foreign.tools.measured_runs import MeasuredRun, sheet_of_runs

_SECONDS = Metric(TIME, "s", False)
_AVERAGE = re.compile(r"\s*Average number of seconds to run all queries: ([0-9.]+) seconds")
_ENGINE = re.compile(r"\s*Running for engine (\S+)")
_CLIENTS = re.compile(r"\s*Number of clients running queries: ([0-9]+)")
_QUERIES = re.compile(r"\s*Average number of queries per client: ([0-9]+)")
_CSV = re.compile(
    r"(\w*),(\w*,)?([0-9]+\.[0-9]{3}),[0-9]+\.[0-9]{3},[0-9]+\.[0-9]{3},([0-9]+),([0-9]+)\s*"
)


def is_mysqlslap(source: SourceText) -> bool:
    """Whether a text is mysqlslap's report, or its CSV."""
    first = source.text.lstrip().partition("\n")[0]
    return "Average number of seconds to run all queries" in source.text or bool(
        _CSV.fullmatch(first)
    )


def read_mysqlslap(source: SourceText) -> Sheet:
    """One arm: seconds to run all queries."""
    runs: list[MeasuredRun] = []
    loads: dict[str, str] = {}
    engine, engines = "", list[str]()
    for number, line in enumerate(source.text.split("\n"), start=1):
        if match := _CSV.fullmatch(line):
            load = {"clients": match[4], "queries a client": match[5]}
            kind = f"{match[2] or ''}{match[1]}"
            runs.append(MeasuredRun({_SECONDS: float(match[3])}, number, kind, load))
            engines.append(kind)
        elif match := _AVERAGE.match(line):
            loads = {}
            runs.append(MeasuredRun({_SECONDS: float(match[1])}, number, "", loads))
            engines.append(engine)
        elif match := _ENGINE.match(line):
            engine = match[1]
        elif match := _CLIENTS.match(line):
            loads["clients"] = match[1]
        elif match := _QUERIES.match(line):
            loads["queries a client"] = match[1]
        elif runs and _CSV.fullmatch(source.text.lstrip().partition("\n")[0]) and line.strip():
            raise source.error(
                f"{quoted(line)} is no line of mysqlslap's CSV", TextPosition(number, 1)
            )
    if len({*engines}) > 1:  # --engine=innodb,myisam: each is run alone
        runs = [replace(run, label=name) for run, name in zip(runs, engines, strict=True)]
    return sheet_of_runs(source, "mysqlslap", runs, label="load")


FORMAT = TextFormat("mysqlslap", is_mysqlslap, read_mysqlslap, precedence=5)
