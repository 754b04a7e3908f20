"""Checks Little's law: in a closed loop, clients = throughput × mean latency.

Each client either waits for its server or is between two transactions in the driver, so the sum of
the latencies fills nearly all of the time under load. Much less means that the driver holds the
clients up (or that transactions were lost); more cannot be, and means that the clock or the counts
are wrong. Little, Operations Research 9 (1961) 383.
"""

from __future__ import annotations

import math

from steelyard.readings.reading import ArmTotals

LOWEST_SHARE = 0.85
"""Below this the clients spend their time in the driver (or in transactions that failed)."""
HIGHEST_SHARE = 1.01


def busy_share(arm: ArmTotals) -> float:
    """Σ latency ÷ Σ time under load without paid debt; NaN where an arm was never loaded."""
    loaded_ns = arm.busy_ns - arm.clients * arm.debt_ns
    return arm.latency_sum_ns / loaded_ns if loaded_ns > 0 else math.nan


def impossible(share: float) -> bool:
    """More latency than time: the counts cannot be trusted."""
    return share > HIGHEST_SHARE


def held_up(share: float) -> bool:
    """So much less latency than time that the driver, not the server, is measured."""
    return share < LOWEST_SHARE
