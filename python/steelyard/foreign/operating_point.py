"""Finds the operating point of an arm: clients, throughput and mean latency, if all are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.foreign.metric import LATENCY, SECONDS, THROUGHPUT, per_second
from steelyard.foreign.series import Floats, Sheet


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """In a closed loop clients = throughput × latency (Little's law)."""

    clients: float
    throughput: float
    """Transactions per second."""
    latency_s: float


def operating_point_of(
    sheets: Sequence[Sheet], arm: str, clients: float | None = None
) -> OperatingPoint | None:
    """That of an arm over all sheets that hold it; `clients`: as the user said."""
    known = clients or _agreed([sheet.clients.get(arm) for sheet in sheets])
    measured = [pair for sheet in sheets if (pair := _pair(sheet, arm)) is not None]
    if not known or not measured:
        return None
    rates, latencies = (np.concatenate(parts) for parts in zip(*measured, strict=True))
    # By transactions: of runs of unequal speed the plain means would not obey the law.
    mean_latency = float(np.average(latencies, weights=rates))
    return OperatingPoint(known, float(np.mean(rates)), mean_latency)


def _pair(sheet: Sheet, arm: str) -> tuple[Floats, Floats] | None:
    """Throughput per second and latency in seconds of the same times, shapes (n,); of one time
    only, the totals, where a file has more of the one than of the other."""
    rates = latencies = weights = None
    for metric, series in sheet.metrics:
        own = next((one for one in series if one.arm == arm), None)
        scale = per_second(metric)
        if own is not None and metric.name == THROUGHPUT and scale:
            rates = own.values * scale
        if own is not None and metric.name == LATENCY and metric.unit in SECONDS:
            latencies, weights = own.values * SECONDS[metric.unit], own.weights
    if rates is None or latencies is None or not rates.any():
        return None
    if len(rates) != len(latencies):
        rates, latencies = (
            rates.mean(keepdims=True),
            np.average(latencies, weights=weights, keepdims=True),
        )
    return rates, latencies


def _agreed(clients: Sequence[float | None]) -> float | None:
    return clients[0] if len(set(clients)) == 1 else None
