"""perfgate's rule: pairs of runs, and more of them while the interval holds zero."""

from __future__ import annotations

import math

import numpy as np

from validation.machines.machine import Machine
from validation.rules.rule import Rule, Says
from validation.worlds.world import Floats

PAIRS = 10
RETRIES = 3
SMALL_T, LARGE_T, LARGE = 2.0, 1.96, 30


def judge(machine: Machine, rng: np.random.Generator) -> Says:
    """Ten pairs; as long as they are not significant, 2, 3 and 5 more."""
    pairs = _pairs(machine, PAIRS)
    for retry in range(RETRIES + 1):
        low, high = _interval(pairs)
        if low > 0:
            return Says.SLOWER
        if high < 0:
            return Says.FASTER
        if retry < RETRIES:
            pairs = np.append(pairs, _pairs(machine, math.ceil(1.5 * (retry + 1))))
    return Says.NOTHING


def _pairs(machine: Machine, count: int) -> Floats:
    """Time of B minus time of A, pair by pair, A first in each."""
    speed = machine.runs(["A", "B"] * count)
    return np.asarray(1 / speed[1::2] - 1 / speed[::2])


def _interval(pairs: Floats) -> tuple[float, float]:
    t = LARGE_T if len(pairs) >= LARGE else SMALL_T
    half = t * float(pairs.std()) / math.sqrt(len(pairs))
    return float(pairs.mean()) - half, float(pairs.mean()) + half


PERFGATE = Rule(
    "perfgate, with retries",
    "EffortlessMetrics/perfgate at 42a8ad7, src/app/paired.rs and src/domain/paired.rs: mean ± 2.0 "
    "(1.96 from 30 pairs on) standard errors of the population's formula, retries of ⌈1.5·r⌉ pairs "
    "until 0 is outside; 10 pairs and 3 retries as its manual shows",
    "a run is 1.5 s of load on a server started for it; no threshold on the size of the change",
    judge,
)
