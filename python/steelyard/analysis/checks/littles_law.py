"""Checks Little's law: in a closed loop, clients = throughput × mean latency; and the border.

Each client either waits for its server or is between two transactions in the driver, so the sum of
the latencies fills nearly all of the time under load. Much less means that the driver holds the
clients up (or that transactions were lost); more cannot be, and means that the clock or the counts
are wrong. Little, Operations Research 9 (1961) 383.

A border that leaves out the transactions under way at the bell keeps the law and hides stalls: an
arm that lost 4.75 % to rare stalls read as 0.00 %. What gives it away is time: the slice ended when
its last client was back, and no client was charged for that.
"""

from __future__ import annotations

import math

from steelyard.model.readings import ArmTotals

LOWEST_SHARE = 0.85
"""Below this the clients spend their time in the driver (or in transactions that failed)."""
HIGHEST_SHARE = 1.01
MOST_UNCHARGED = 0.01
"""Share of the time of slices that may come after the bell and be charged to no client. Threads
that start some microseconds apart make .0001–.0004 of it, stalls that are charged add nothing."""


def busy_share(arm: ArmTotals) -> float:
    """Σ latency ÷ Σ time under load without paid debt; NaN where an arm was never loaded."""
    loaded_ns = arm.busy_ns - arm.clients * arm.debt_ns
    return arm.latency_sum_ns / loaded_ns if loaded_ns > 0 else math.nan


def uncharged_share(arm: ArmTotals) -> float:
    """Time after the bell that no client was charged with, ÷ time of the slices; NaN where the
    record does not hold it."""
    return arm.uncharged_ns / arm.elapsed_ns if arm.elapsed_ns > 0 else math.nan


def hides_stalls(share: float) -> bool:
    """The border leaves out what was under way at the bell."""
    return share > MOST_UNCHARGED


def impossible(share: float) -> bool:
    """More latency than time: the counts cannot be trusted."""
    return share > HIGHEST_SHARE


def is_driver_bound(share: float) -> bool:
    """So much less latency than time that the driver, not the server, is measured."""
    return share < LOWEST_SHARE


LARGEST_GAP = 0.03
"""Published rates and latencies that disagree by more are not of the same closed loop."""


def busy_clients(transactions_per_second: float, latency_s: float) -> float:
    """Throughput × mean latency: how many clients were busy on average."""
    return transactions_per_second * latency_s


def disagree(clients: float, transactions_per_second: float, latency_s: float) -> bool:
    """Whether published numbers of a closed loop break the law by more than rounding."""
    return abs(busy_clients(transactions_per_second, latency_s) / clients - 1) > LARGEST_GAP
