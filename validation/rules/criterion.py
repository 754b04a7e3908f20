"""criterion.rs's rule: bootstrapped t on 100 samples, and a change beyond 1 % of noise."""

from __future__ import annotations

import numpy as np

from validation.machines.machine import Machine
from validation.rules.rule import Rule, Says
from validation.worlds.world import Floats

SAMPLES = 100
RESAMPLES = 1_000
LEVEL = 0.05
NOISE = 0.01


def judge(machine: Machine, rng: np.random.Generator) -> Says:
    """The stored baseline first, then the new one."""
    a, b = machine.slices(SAMPLES)
    base, new = 1 / a, 1 / b  # it compares times
    if _p_value(base, new, rng) >= LEVEL:
        return Says.NOTHING
    change = _resampled(new, rng).mean(axis=1) / _resampled(base, rng).mean(axis=1) - 1
    low, high = np.quantile(change, [0.025, 0.975])
    if low > NOISE:
        return Says.SLOWER
    return Says.FASTER if high < -NOISE else Says.NOTHING


def _p_value(base: Floats, new: Floats, rng: np.random.Generator) -> float:
    """Two-sided p-value of Welch's t among its values on resamples of both samples mixed."""
    mixed = _resampled(np.concatenate([new, base]), rng)
    under_null = _t(mixed[:, : len(new)], mixed[:, len(new) :])
    observed = float(_t(new[None, :], base[None, :])[0])
    below = int((under_null < observed).sum())
    return 2 * min(below, RESAMPLES - below) / RESAMPLES


def _resampled(values: Floats, rng: np.random.Generator) -> Floats:
    chosen: Floats = values[rng.integers(0, len(values), (RESAMPLES, len(values)))]
    return chosen


def _t(one: Floats, other: Floats) -> Floats:
    spread = one.var(axis=1, ddof=1) / one.shape[1] + other.var(axis=1, ddof=1) / other.shape[1]
    difference: Floats = (one.mean(axis=1) - other.mean(axis=1)) / np.sqrt(spread)
    return difference


CRITERION = Rule(
    "criterion",
    "criterion.rs at 567405d, src/analysis/compare.rs and src/report.rs: 100 samples, p < .05 by "
    "mixed bootstrap of t, and the 95 % bootstrap interval of the change beyond ±1 %",
    "samples of equal length, a slice each; 1,000 resamples instead of 100,000",
    judge,
)
