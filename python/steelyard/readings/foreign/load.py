"""The load that an arm stood under: clients, throughput and mean latency, where all are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.readings.foreign.metric import LATENCY, SECONDS, THROUGHPUT, per_second
from steelyard.readings.foreign.series import Grain, Sheet


@dataclass(frozen=True, slots=True)
class Load:
    """In a closed loop clients = throughput × latency (Little's law)."""

    clients: float
    throughput: float
    """Transactions per second."""
    latency_s: float


def load_of(sheets: Sequence[Sheet], arm: str, clients: float | None = None) -> Load | None:
    """The load of an arm over all sheets that hold it; `clients`: as the user said."""
    known = clients or _agreed([sheet.clients.get(arm) for sheet in sheets])
    rates, latencies = [], []
    for sheet in sheets:
        for metric, series in sheet.metrics:
            for one in series:
                if one.arm != arm:
                    continue
                scale = per_second(metric)
                if metric.name == THROUGHPUT and scale:
                    rates.append(float(np.mean(one.values)) * scale)
                if metric.name == LATENCY and metric.unit in SECONDS:
                    weights = one.weights if one.grain is Grain.SLICE else None
                    mean = float(np.average(one.values, weights=weights))
                    latencies.append(mean * SECONDS[metric.unit])
    if not known or not rates or not latencies:
        return None
    return Load(known, float(np.mean(rates)), float(np.mean(latencies)))


def _agreed(clients: Sequence[float | None]) -> float | None:
    return clients[0] if len(set(clients)) == 1 else None
