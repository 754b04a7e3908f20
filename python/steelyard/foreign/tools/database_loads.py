"""Reads load generators that may be held to a rate: sysbench and YCSB.

A summary is one repetition; several in one file are several. Of sysbench 0.4 to 1.0 also the lines
of --report-interval are read, and those as CSV: they are slices. Of YCSB a summary is its lines as
`[OVERALL], Throughput(ops/sec), 1543.2`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from steelyard.foreign.format import TextFormat
from steelyard.foreign.metric import LATENCY, THROUGHPUT, Metric
from steelyard.foreign.series import Factor, FactorKind, Grain, Series, Sheet, TransactionCounts
from steelyard.foreign.source import SourceText, TextPosition, quoted
from steelyard.foreign.tools.measured_runs import (
    FIXED_RATE,
    MeasuredRun,
    refuse_rates_alone,
    sheet_of_runs,
)
from steelyard.foreign.vocabulary.units import unit_of

TPS = Metric(THROUGHPUT, "transactions/s", True)
QPS = Metric("queries", "queries/s", True)
LATENCY_MS = Metric(LATENCY, "ms", False)
P95_MS = Metric("latency_p95", "ms", False)
_N = r"([0-9]+(?:\.[0-9]+)?)"
_TRANSACTIONS = re.compile(rf"\s*transactions:\s+([0-9]+)\s+\({_N} per sec")
_QUERIES = re.compile(rf"\s*(?:queries|read/write requests):\s+[0-9]+\s+\({_N} per sec")
_EVENTS = re.compile(rf"\s*events per second:\s+{_N}")
_THREADS = re.compile(r"Number of threads: ([0-9]+)")
_TARGET = re.compile(r"Target transaction rate: ([0-9]+)/sec")
_NO_RATE = "none"
_VERSION = re.compile(r"sysbench v?([0-9][0-9.]*)")
_AVERAGE = re.compile(rf"\s*avg:\s+{_N}(ms|s)?\s*$")
_TROUBLE = re.compile(r"\s*(?:ignored errors|reconnects|deadlocks):\s+([0-9]+)")
_END = re.compile(r"\s*execution time \(avg/stddev\):|Threads fairness|Test execution summary")
_INTERVAL = re.compile(rf"\[\s*([0-9]+)s\s*\] (?:thds|threads): ([0-9]+),? tps: {_N}")
_TAIL = re.compile(rf"err/s:? {_N}")
_PERCENTILE = re.compile(rf"lat \(ms, ?{_N}%\): {_N}|response time: {_N} ?ms \({_N}%\)")
"""Of an interval, since 1.0 and before."""
_OTHER_TEST = re.compile(r"^(?:File operations:|Total operations: [0-9])", re.MULTILINE)
"""Of fileio and memory, which have no transactions."""
_CHECKPOINT = re.compile(r"\[\s*[0-9]+s\s*\] Checkpoint report:")
"""Of --report-checkpoints: what follows is of the time since the one before, and the summary at the
end of the rest."""
_RATED = re.compile(r"^(?:Target transaction rate: |\[ *[0-9]+s *\] queue length: )", re.MULTILINE)
"""Of the heading, or of intervals where it was cut off."""
_OWN = re.compile(
    r"^(?:sysbench v?[0-9]|\[ *[0-9]+s *\] th|\s+transactions: +[0-9]+ +\()", re.MULTILINE
)
_ROW = re.compile(r"[0-9]+,[0-9]+(?:,[0-9]+\.[0-9]+){8}\s*")


@dataclass(frozen=True, slots=True)
class _Interval:
    """A line of --report-interval."""

    threads: str
    tps: float
    errors: float
    percentile: str
    """"95"; empty: it has none."""
    latency_ms: float
    line: int


def is_sysbench(source: SourceText) -> bool:
    """Whether a text is what sysbench printed."""
    return _OWN.search(source.text) is not None


def read_sysbench(source: SourceText) -> Sheet:
    """The sheet of one arm: summaries, or the intervals where no summary is complete."""
    runs: list[MeasuredRun] = []
    intervals: list[_Interval] = []
    figures: dict[Metric, float] = {}
    loads: dict[str, str] = {}
    conditions: dict[str, str] = {}
    done = troubled = 0
    rated = _RATED.search(source.text) is not None
    for number, line in enumerate(source.text.split("\n"), start=1):
        if match := _VERSION.match(line):
            conditions["version of sysbench"] = match[1].rstrip(".")
        elif (requested := _requested(line, loads)) is not None:
            loads = requested
        elif match := _INTERVAL.match(line):
            intervals.append(_interval(match, line, number))
        elif match := _TRANSACTIONS.match(line):
            figures, done = {TPS: float(match[2])}, done + int(match[1])
            runs.append(MeasuredRun(figures, number, "", dict(loads), dict(conditions)))
        elif match := _EVENTS.match(line):
            figures = {Metric(THROUGHPUT, "events/s", True): float(match[1])}
            runs.append(MeasuredRun(figures, number, "", dict(loads), dict(conditions)))
        elif match := _QUERIES.match(line):
            figures[QPS] = float(match[1])
        elif match := _AVERAGE.match(line):
            figures[LATENCY_MS] = float(match[1]) * (1e3 if match[2] == "s" else 1.0)
        elif match := _TROUBLE.match(line):
            troubled += int(match[1])
        elif _CHECKPOINT.match(line):
            raise source.error(
                "reports of checkpoints are parts of one run, and no repetitions of it",
                TextPosition(number, 1),
                hint="Keep one report of each run: of --report-checkpoints=60 the last, without "
                "what stands before it; or run without checkpoints.",
            )
        elif line.startswith("FATAL:"):
            raise source.error(
                f"the run failed, its results are incomplete: {quoted(line)}",
                TextPosition(number, 1),
                hint="Leave this run out, and ask why it failed: the arm may be the cause.",
            )
    if not runs:
        return _of_intervals(source, intervals, loads, rated=rated)
    outcome = TransactionCounts(done + troubled, troubled) if done else None
    notes = ["lines of intervals were left out: the summaries are the repetitions"]
    return sheet_of_runs(
        source, "sysbench", runs, outcome=outcome, notes=notes if intervals else (), rated=rated
    )


def _requested(line: str, loads: Mapping[str, str]) -> dict[str, str] | None:
    """The load with what a line of the heading says of it; None for another line."""
    if match := _THREADS.match(line):
        return {"threads": match[1], "rate": _NO_RATE}
    if match := _TARGET.match(line):
        return {**loads, "rate": f"{match[1]}/s"}
    return None


def _interval(match: re.Match[str], line: str, number: int) -> _Interval:
    tail, latency = _TAIL.search(line), _PERCENTILE.search(line)
    errors = float(tail[1]) if tail else 0.0
    percentile, value = "", "0"
    if latency:
        percentile, value = (latency[1], latency[2]) if latency[1] else (latency[4], latency[3])
    return _Interval(match[2], float(match[3]), errors, percentile, float(value), number)


def _of_intervals(
    source: SourceText, intervals: Sequence[_Interval], loads: Mapping[str, str], *, rated: bool
) -> Sheet:
    if len(intervals) < 2:
        raise source.error(
            "no complete summary of sysbench, and fewer than two lines of intervals",
            TextPosition(1, 1),
            hint="Write what it measured as a table, a row a run: arm,ops"
            if _OTHER_TEST.search(source.text)
            else 'Keep all that sysbench prints, with "transactions: … per sec."',
        )
    rates = np.array([interval.tps for interval in intervals])
    if not rates.any():
        raise source.error("no transaction in any interval", TextPosition(intervals[0].line, 1))
    threads = tuple(interval.threads for interval in intervals)
    factors = [Factor("threads", FactorKind.LOAD, threads)]
    if "rate" in loads:
        factors.append(Factor("rate", FactorKind.LOAD, (loads["rate"],) * len(intervals)))
    done, failed = float(rates.sum()), sum(interval.errors for interval in intervals)
    metrics = [(TPS, Series("", rates, Grain.SLICE, factors=tuple(factors)))]
    latencies = np.array([interval.latency_ms for interval in intervals])
    percentiles = {interval.percentile for interval in intervals}
    if len(percentiles) == 1 and latencies.any():
        metric = Metric(f"latency_p{percentiles.pop()}", "ms", False)
        series = Series("", latencies, Grain.SLICE, weights=rates, factors=tuple(factors))
        metrics.append((metric, series))
    if rated:
        metrics.reverse()
        refuse_rates_alone(source, [metric for metric, _ in metrics])
    return Sheet(
        source.name,
        "sysbench --report-interval",
        tuple((metric, (series,)) for metric, series in metrics),
        outcomes={"": TransactionCounts(round(done + failed), round(failed))},
        lines=tuple(interval.line for interval in intervals),
        notes=(FIXED_RATE,) if rated else (),
    )


def is_sysbench_csv(source: SourceText) -> bool:
    """Whether a text has lines of intervals as CSV: time, threads, tps, qps, reads, writes, other,
    latency, errors, reconnects."""
    first, _, rest = source.text.lstrip().partition("\n")
    return bool(_ROW.fullmatch(first) and _ROW.fullmatch(rest.partition("\n")[0] or first))


def read_sysbench_csv(source: SourceText) -> Sheet:
    """The seconds of one run."""
    rows: list[list[float]] = []
    lines: list[int] = []
    for number, line in enumerate(source.text.split("\n"), start=1):
        if not line.strip():
            continue
        if not _ROW.fullmatch(line):
            raise source.error(
                f"{quoted(line)} is no line of sysbench's CSV", TextPosition(number, 1)
            )
        rows.append([float(cell) for cell in line.split(",")])
        lines.append(number)
    table = np.array(rows)
    if not table[:, 2].any():
        raise source.error("no transaction in any interval", TextPosition(lines[0], 1))
    factors = (
        Factor("threads", FactorKind.LOAD, tuple(f"{threads:g}" for threads in table[:, 1])),
    )
    metrics = [
        (metric, (Series("", table[:, column], Grain.SLICE, weights, factors=factors),))
        for metric, column, weights in ((TPS, 2, None), (QPS, 3, None), (P95_MS, 7, table[:, 2]))
        if (table[:, column] > 0).any()
    ]
    done, failed = float(table[:, 2].sum()), float(table[:, 8].sum())
    return Sheet(
        source.name,
        "sysbench CSV",
        tuple(metrics),
        outcomes={"": TransactionCounts(round(done + failed), round(failed))},
        lines=tuple(lines),
    )


SYSBENCH = TextFormat("sysbench", is_sysbench, read_sysbench, precedence=5, like_json=True)
SYSBENCH_CSV = TextFormat("sysbench-csv", is_sysbench_csv, read_sysbench_csv, precedence=2)


_FIGURE = re.compile(r"\[([A-Za-z_-]+)\], ([A-Za-z0-9.=_-]+?)(?:\(([a-z/]+)\))?, ([0-9.eE+-]+)\s*$")
_STARTS = re.compile(r"^\[OVERALL\], ", re.MULTILINE)
_OPERATIONS = Metric(THROUGHPUT, "operations/s", True)
_GOOD = {"Return=OK", "Return=0"}
_COMMAND = re.compile(r"^(?:Command line:|.*\bycsb\.Client)(?=\s)(.*)")
_NO_TARGET = "none"
_NO_OPERATION = re.compile(r"^(?:cleanup|read-modify-write|intended-.*|.*-failed)(?::|$)")
"""What is done once a thread, what holds other operations, and what did not succeed."""
_JOINT = "read-modify-write"
_SHORT = {"threadcount": "threads"}
_LOADS = (
    *("phase", "threads", "target", "properties", "workload", "recordcount", "fieldcount"),
    *("fieldlength", "readproportion", "updateproportion", "insertproportion", "scanproportion"),
    *("readmodifywriteproportion", "requestdistribution"),
)
_CONDITIONS = ("operationcount", "insertcount", "maxexecutiontime")
"""Others of `-p` are of the database: addresses and passwords among them."""


def is_ycsb(source: SourceText) -> bool:
    """Whether a text holds a summary of YCSB."""
    return _STARTS.search(source.text) is not None


@dataclass
class _Run:
    """A summary as far as it was read."""

    line: int
    asked_for: Mapping[str, str]
    """Properties of its command line."""
    overall: dict[str, float] = field(default_factory=dict)
    figures: dict[Metric, float] = field(default_factory=dict)
    operations: dict[str, float] = field(default_factory=dict)
    """How many there were of each kind."""
    returned: float = 0.0
    """Operations that returned anything but success."""

    def measured(self) -> MeasuredRun:
        """The run: its rate first, then means, then percentiles; what was done once is last."""
        figures = dict(self.figures)
        if "Throughput" in self.overall:
            figures[_OPERATIONS] = self.overall["Throughput"]
        if self.rated and (mean := self._mean()) is not None:
            figures = {mean[0]: mean[1], **figures}
        ordered = {metric: figures[metric] for metric in sorted(figures, key=_rank)}
        loads = {name: self.asked_for[name] for name in _LOADS if name in self.asked_for}
        done = sorted(n for n in self.operations if n == _JOINT or not _NO_OPERATION.search(n))
        if done:
            loads["operations"] = ", ".join(done)
        conditions = {n: self.asked_for[n] for n in _CONDITIONS if n in self.asked_for}
        return MeasuredRun(ordered, self.line, "", loads, conditions)

    @property
    def rated(self) -> bool:
        """Whether it was held to a rate."""
        return self.asked_for.get("target", _NO_TARGET) != _NO_TARGET

    def _mean(self) -> tuple[Metric, float] | None:
        """The mean latency of all operations; None where there is none."""
        parts = [
            (metric, value, self.operations.get(section, 0.0))
            for metric, value in self.figures.items()
            for section, colon, name in [metric.name.partition(":")]
            if colon and name == LATENCY and not _NO_OPERATION.search(section)
        ]
        done = sum(count for _, _, count in parts)
        if not done or len({metric.unit for metric, _, _ in parts}) > 1:
            return None
        mean = sum(value * count for _, value, count in parts) / done
        return Metric(LATENCY, parts[0][0].unit, False), mean

    def outcome(self) -> TransactionCounts:
        """What became of its operations; failures are also in what they returned."""
        failed = sum(count for name, count in self.operations.items() if name.endswith("-failed"))
        troubled = round(max(failed, self.returned))
        return TransactionCounts(max(round(sum(self.operations.values())), troubled), troubled)


def read_ycsb(source: SourceText) -> Sheet:
    """One arm: throughput, and the latencies of each operation; those first under a target."""
    runs: list[_Run] = []
    asked_for: Mapping[str, str] = {}
    for number, line in enumerate(source.text.split("\n"), start=1):
        if command := _COMMAND.search(line):
            asked_for = _properties(command[1].split())
            continue
        match = _FIGURE.match(line.strip())
        if match is None:
            continue
        section, name, unit, value = match.groups()
        amount = _float(value)
        if section == "OVERALL":
            if not runs or name in runs[-1].overall:
                runs.append(_Run(number, asked_for))
            runs[-1].overall[name] = amount
        elif runs:
            _take(runs[-1], section, name, unit, amount)
    outcome = sum((run.outcome() for run in runs), TransactionCounts(0, 0))
    return sheet_of_runs(
        source,
        "YCSB",
        [run.measured() for run in runs],
        outcome=outcome if outcome.tried else None,
        rated=any(run.rated for run in runs),
    )


def _take(run: _Run, section: str, name: str, unit: str | None, amount: float) -> None:
    """Keep a line of a run that is of one kind of operation."""
    if name == "Operations":
        run.operations[section.lower()] = amount
    elif name.startswith("Return=") and name not in _GOOD:
        run.returned += amount
    elif (metric := _latency(section, name, unit)) is not None:
        run.figures[metric] = amount


def _properties(words: Sequence[str]) -> dict[str, str]:
    """What a command line asked for: its options, and properties by `-p`."""
    properties = {"phase": "load" if "-load" in words else "run"}
    files = []
    for option, value in itertools.pairwise(words):
        if option in ("-threads", "-target"):
            properties[option[1:]] = value
        elif option == "-P":
            files.append(value.rpartition("/")[2])
        elif option == "-p":
            name, _, text = value.partition("=")
            properties[_SHORT.get(name, name)] = text
    if files:
        properties["properties"] = " ".join(files)
    if properties.get("target", "0") == "0":
        properties["target"] = _NO_TARGET
    return properties


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _latency(section: str, name: str, unit: str | None) -> Metric | None:
    """`AverageLatency` and percentiles of an operation; the others are extremes."""
    called, canonical = section.lower(), unit_of(unit or "") or ""
    if name == "AverageLatency":
        return Metric(f"{called}:{LATENCY}", canonical, False)
    match = re.fullmatch(r"([0-9.]+)(?:th)?PercentileLatency", name)
    return Metric(f"{called}:latency_p{match[1]}", canonical, False) if match else None


def _rank(metric: Metric) -> tuple[bool, bool, bool]:
    return metric != _OPERATIONS, _NO_OPERATION.search(metric.name) is not None, "_p" in metric.name


YCSB = TextFormat("ycsb", is_ycsb, read_ycsb, precedence=0, like_json=True)
