"""The summaries of `steelyard drive --json`: each a repetition of one arm."""

from __future__ import annotations

from typing import Any

import numpy as np

from steelyard.readings.foreign.json_text import Document, Number
from steelyard.readings.foreign.metric import LATENCY, THROUGHPUT, Metric
from steelyard.readings.foreign.number import floats_of
from steelyard.readings.foreign.series import Series, Sheet

_RATE = Metric(THROUGHPUT, "transactions/s", True)
_LATENCY = Metric(LATENCY, "µs", False)


def is_drive(value: Any) -> bool:
    """Whether a JSON value is the summary of `steelyard drive`."""
    return isinstance(value, dict) and {"transactions", "throughput", "latency_us"} <= set(value)


def read_drive(document: Document) -> Sheet:
    """One arm, one repetition an object: throughput and mean latency, and how many clients."""
    rates, latencies, clients = [], [], set()
    for number, value in enumerate(document.values):
        rates.append(_number(document, number, value, ("throughput",)))
        latency = value["latency_us"]
        mean = latency.get("mean") if isinstance(latency, dict) else None
        latencies.append(
            _number(document, number, value, ("latency_us", "mean")) if mean is not None else None
        )
        if isinstance(value.get("clients"), Number):
            clients.add(_number(document, number, value, ("clients",)))
    metrics = [(_RATE, (Series("", np.array(rates)),))]
    known = [latency for latency in latencies if latency is not None]
    if len(known) == len(latencies):
        metrics.append((_LATENCY, (Series("", np.array(known)),)))
    return Sheet(
        source=document.source.name,
        form="`steelyard drive --json`",
        metrics=tuple(metrics),
        clients={"": clients.pop()} if len(clients) == 1 else {},
    )


def _number(document: Document, number: int, value: Any, path: tuple[str, ...]) -> float:
    for key in path:
        value = value[key]
    if not isinstance(value, Number):
        raise document.source.error("a number is expected here", document.place(number, path))
    values, _ = floats_of([value], document.source, lambda _: document.place(number, path))
    return float(values[0])
