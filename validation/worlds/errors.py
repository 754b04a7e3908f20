"""A world in which transactions of one arm fail: time without work."""

from __future__ import annotations

import math

import numpy as np

from validation.worlds.bench import LATENCY_NS, LOAD_NS, Work, jitter, lay_out, read, steady
from validation.worlds.world import Bools, Draw, Floats, World

CHANCE = 0.02
LENGTH = 3.0
"""A failed transaction takes so many times the latency of a good one."""
TRUTH = math.log((1 - CHANCE) / (1 - CHANCE + CHANCE * LENGTH))


def failing(rng: np.random.Generator, log_speed: Floats) -> Work:
    """Slices of an arm whose transactions fail now and then; only the good ones count."""
    latency_ns = LATENCY_NS * np.exp(-log_speed)
    tried = np.floor(LOAD_NS / latency_ns / (1 - CHANCE + CHANCE * LENGTH)).astype(np.int64)
    failed = rng.binomial(tried, CHANCE)
    busy_ns = ((tried - failed) + LENGTH * failed) * latency_ns
    return Work(tried - failed, busy_ns.astype(np.int64))


def _errors(rng: np.random.Generator, first: Bools) -> Draw:
    layout = lay_out(rng, first)
    arm = failing(rng, jitter(rng, layout))
    return Draw(read(arm, steady(jitter(rng, layout))), layout.first, TRUTH)


ERRORS = World(
    "errors in one arm",
    "slices: 2 % of the arm's transactions fail after three times the latency; "
    "truth ln(.98 ÷ 1.04)",
    _errors,
)
