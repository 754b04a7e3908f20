"""Reads the summaries of `steelyard drive --json`: each a repetition of one arm."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from steelyard.foreign.format import JsonFormat
from steelyard.foreign.json.document import Document, Number
from steelyard.foreign.metric import LATENCY, THROUGHPUT, Metric
from steelyard.foreign.number import floats_of
from steelyard.foreign.series import Series, Sheet, TransactionCounts
from steelyard.foreign.tools.steelyard_verdict import is_verdict
from steelyard.model.threat import ThreatKind

_COUNT = re.compile(r"[0-9]{1,15}")
_RATE = Metric(THROUGHPUT, "transactions/s", True)
_LATENCY = Metric(LATENCY, "µs", False)


def is_drive(value: Any) -> bool:
    """Whether a JSON value is the summary of `steelyard drive`."""
    return isinstance(value, dict) and {"transactions", "throughput", "latency_us"} <= set(value)


def read_drive(document: Document) -> Sheet:
    """One arm, one repetition an object: throughput and mean latency, and how many clients.

    NumbersError where the object is a verdict.
    """
    if is_verdict(document.values[0]):
        raise document.source.error(
            "a verdict of Steelyard is no list of numbers: its weighing's own plan judged it",
            document.place(0, ()),
            hint="Name it alone: steelyard judge RECORD shows what it says.",
        )
    rates, latencies, clients = [], [], set()
    outcome, machine = TransactionCounts(0, 0), []
    for number, value in enumerate(document.values):
        rates.append(_number(document, number, value, ("throughput",)))
        outcome += _outcome(value)
        run = f"{document.source.name}, run {number + 1}"
        machine += [(kind, f"{sentence} ({run})") for kind, sentence in _machine(value)]
        latency = value["latency_us"]
        mean = latency.get("mean") if isinstance(latency, dict) else None
        latencies.append(
            _number(document, number, value, ("latency_us", "mean")) if mean is not None else None
        )
        if isinstance(value.get("clients"), Number):
            clients.add(_number(document, number, value, ("clients",)))
    metrics = [(_RATE, (Series("", np.array(rates)),))]
    means = [latency for latency in latencies if latency is not None]
    if len(means) == len(latencies):
        metrics.append((_LATENCY, (Series("", np.array(means)),)))
    return Sheet(
        source=document.source.name,
        form="`steelyard drive --json`",
        metrics=tuple(metrics),
        outcomes={"": outcome},
        clients={"": clients.pop()} if len(clients) == 1 else {},
        machine=tuple(machine),
    )


def _machine(value: Mapping[str, Any]) -> list[tuple[ThreatKind, str]]:
    """What a summary says of its machine that leaves to doubt; nothing where it does not say all
    that is looked at."""
    from steelyard.evaluation.threats.machine import MACHINE_READINGS, machine_observations
    from steelyard.wording.threats.threat import threat_of

    machine = value.get("machine")
    readings = machine.items() if isinstance(machine, dict) else ()
    values = {name: float(reading) for name, reading in readings if isinstance(reading, Number)}
    sound = all(0 <= reading < math.inf for reading in values.values())
    if not sound or not values.keys() >= MACHINE_READINGS:
        return []
    observations = machine_observations(values, range(int(values["processors"])))
    threats = map(threat_of, observations)
    return [(ThreatKind(threat.name), threat.seen) for threat in threats]


def _outcome(value: Mapping[str, Any]) -> TransactionCounts:
    """What became of the transactions of a summary; counts that it does not give are 0."""

    def count(key: str) -> int:
        return _count(value.get(key))

    errors = value.get("errors")
    raised = sum(map(_count, errors.values())) if isinstance(errors, dict) else 0
    failed = count("failed") if "failed" in value else raised
    idle = count("skipped") + count("unstarted")
    troubled = max(failed + count("retried"), raised) + idle
    tried = max(count("transactions") + failed + idle, troubled)
    return TransactionCounts(tried, troubled, count("wrong_rows"))


def _count(count: Any) -> int:
    """A count as it was written; 0 for what is none."""
    return int(count) if isinstance(count, Number) and _COUNT.fullmatch(count) else 0


def _number(document: Document, number: int, value: Any, path: tuple[str, ...]) -> float:
    for key in path:
        value = value[key]
    if not isinstance(value, Number):
        raise document.source.error("a number is expected here", document.place(number, path))
    values, _ = floats_of([value], document.source, lambda _: document.place(number, path))
    return float(values[0])


FORMAT = JsonFormat(
    "steelyard",
    "Steelyard's JSON",
    holds=lambda value: is_verdict(value) or is_drive(value),
    read=read_drive,
    repeats=is_drive,
)
