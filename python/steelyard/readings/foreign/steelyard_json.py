"""Steelyard's own JSON: `weigh --json` (or a record's verdict.json) and `drive --json`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from steelyard.readings.foreign.json_place import Path
from steelyard.readings.foreign.json_text import Document, Number
from steelyard.readings.foreign.metric import LATENCY, THROUGHPUT, Metric
from steelyard.readings.foreign.number import floats_of
from steelyard.readings.foreign.series import Floats, Order, Rows, Series, Sheet
from steelyard.readings.foreign.source import Place

_RATE = Metric(THROUGHPUT, "transactions/s", True)
_LATENCY = Metric(LATENCY, "µs", False)


def is_verdict(value: Any) -> bool:
    """Whether a JSON value is the verdict of a weighing."""
    return isinstance(value, dict) and "study" in value and isinstance(value.get("contrasts"), list)


def is_drive(value: Any) -> bool:
    """Whether a JSON value is the summary of `steelyard drive`."""
    return isinstance(value, dict) and {"transactions", "throughput", "latency_us"} <= set(value)


def read_verdict(document: Document) -> Sheet:
    """Throughput of every epoch by arm: epochs are rows, the slots were drawn at random."""
    source, contrasts = document.source, document.values[0]["contrasts"]
    found: dict[str, dict[int, float]] = {}
    for number, contrast in enumerate(contrasts):
        details = contrast.get("details") if isinstance(contrast, dict) else None
        epochs = details.get("epochs") if isinstance(details, dict) else None
        for index, epoch in enumerate(epochs if isinstance(epochs, list) else []):
            path = ("contrasts", number, "details", "epochs", index)
            for arm, text in _throughputs(epoch).items():
                values, _ = floats_of([text], source, partial(_place, document, path))
                found.setdefault(arm, {})[index] = float(values[0])
    arms = _control_first(found, contrasts)
    shared = sorted(set.intersection(*(set(found[arm]) for arm in arms))) if arms else []
    if not shared:
        raise source.error(
            "no epoch in which every arm has a throughput",
            Place(1, 1),
            hint="Name the verdict.json of a record, or what `steelyard weigh --json` printed.",
        )
    dropped = len(set().union(*found.values())) - len(shared)
    return Sheet(
        source=source.name,
        form="a verdict of Steelyard",
        metrics=((_RATE, tuple(Series(a, _column(found[a], shared)) for a in arms)),),
        order=Order.RANDOM,
        rows=Rows.BLOCKS,
        row_names=tuple(f"epoch {index + 1}" for index in shared),
        notes=(f"{dropped} epochs in which an arm has no throughput were left out",)
        if dropped
        else (),
    )


def _place(document: Document, path: Path, index: int) -> Place:
    return document.place(0, path)


def _throughputs(epoch: Any) -> Mapping[str, str]:
    rates = epoch.get("throughput") if isinstance(epoch, dict) else None
    if not isinstance(rates, dict):
        return {}
    return {arm: text for arm, text in rates.items() if isinstance(text, Number)}


def _control_first(found: Mapping[str, Any], contrasts: Sequence[Any]) -> list[str]:
    named = [c.get("control") for c in contrasts if isinstance(c, dict)]
    controls = [name for name in named if isinstance(name, str) and name in found]
    return list(dict.fromkeys([*controls, *found]))


def _column(values: Mapping[int, float], shared: Sequence[int]) -> Floats:
    return np.array([values[index] for index in shared])


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
