"""A world in which one arm stalls: now and then a transaction sleeps for two slices.

Every client goes through its slice as the driver's do: transactions begin until the bell, and the
one that is under way counts with its whole time. A stall is longer than a slice, so that a client
stalls at most once in one. By Wald's identity work per time is 1 ÷ (l + p·S), whatever the slice,
so the truth is ln(l ÷ (l + p·S)).
"""

from __future__ import annotations

import math

import numpy as np

from validation.worlds.bench import (
    CLIENTS,
    LATENCY_NS,
    SLICE_NS,
    Ints,
    Work,
    jitter,
    lay_out,
    read,
    steady,
)
from validation.worlds.world import Bools, Draw, Floats, World

STALL_NS = 200_000_000
LOST = 0.05
"""Mean stall a transaction, in latencies: p·S ÷ l."""
CHANCE = LOST * LATENCY_NS / STALL_NS
TRUTH = -math.log1p(LOST)


def stalling(
    rng: np.random.Generator, log_speed: Floats, counted: bool = True, clients: int = CLIENTS
) -> Work:
    """Slices of an arm that stalls, shape of `log_speed`.

    `counted`: with the border of the driver. Else what straddles the bell is dropped, with its
    time: the border that hides stalls.
    """
    latency_ns = (LATENCY_NS * np.exp(-log_speed))[..., None]
    before = rng.geometric(CHANCE, (*log_speed.shape, clients)) - 1  # good ones before a stall
    stalled = before * latency_ns < SLICE_NS
    if counted:  # the one under way at the bell, and the stall itself, with their whole time
        done = np.where(stalled, before + 1, np.ceil(SLICE_NS / latency_ns))
        busy_ns = done * latency_ns + np.where(stalled, STALL_NS, 0)
    else:
        done = np.minimum(before, np.floor(SLICE_NS / latency_ns))
        busy_ns = done * latency_ns
    return Work(_whole(done.sum(axis=-1)), _whole(busy_ns.sum(axis=-1)))


def _whole(values: Floats) -> Ints:
    return values.astype(np.int64)


def _stalls(rng: np.random.Generator, first: Bools) -> Draw:
    layout = lay_out(rng, first)
    arm = stalling(rng, jitter(rng, layout))
    return Draw(read(arm, steady(jitter(rng, layout))), layout.first, TRUTH)


STALLS = World(
    "stalls in one arm",
    "slices, 8 clients: a transaction of the arm sleeps 200 ms with probability p = .05·l ÷ 200 ms,"
    " about three times an epoch; truth ln(1 ÷ 1.05)",
    _stalls,
    nearly=True,  # skewness −.4
)
