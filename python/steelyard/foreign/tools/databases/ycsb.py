"""Reads YCSB's summaries: `[OVERALL], Throughput(ops/sec), 1543.2`; each is one repetition."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from steelyard.foreign.format import TextFormat
from steelyard.foreign.metric import LATENCY, THROUGHPUT, Metric
from steelyard.foreign.series import Sheet, TransactionCounts
from steelyard.foreign.source import SourceText
from steelyard.foreign.tools.measured_runs import MeasuredRun, sheet_of_runs
from steelyard.foreign.vocabulary.units import unit_of

_LINE = re.compile(r"\[([A-Za-z_-]+)\], ([A-Za-z0-9.=_-]+?)(?:\(([a-z/]+)\))?, ([0-9.eE+-]+)\s*$")
_STARTS = re.compile(r"^\[OVERALL\], ", re.MULTILINE)
_RATE = Metric(THROUGHPUT, "operations/s", True)
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
            figures[_RATE] = self.overall["Throughput"]
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
        match = _LINE.match(line.strip())
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
    return metric != _RATE, _NO_OPERATION.search(metric.name) is not None, "_p" in metric.name


FORMAT = TextFormat("ycsb", is_ycsb, read_ycsb, precedence=0, like_json=True)
