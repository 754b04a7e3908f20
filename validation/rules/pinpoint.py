"""Chrome Pinpoint's rule: the smaller of two p-values, and more attempts while it is in doubt."""

from __future__ import annotations

import numpy as np

from validation.machines.machine import Machine
from validation.rules.rule import Rule, Says, direction
from validation.worlds.world import Floats

ATTEMPTS = 10
LOW = 0.01
HIGH = {10: 0.5708, 15: 0.2291, 20: 0.0811, 25: 0.0284, 30: 0.0091}
"""Thresholds of "same" by attempts, for a change of one interquartile range: its published table,
which is the 99th percentile of the Mann–Whitney p-value of two normal samples so far apart."""


def judge(machine: Machine, rng: np.random.Generator) -> Says:
    """Ten attempts of each, alternating; then ten more of the one with fewer, while in doubt."""
    first = machine.runs(["A", "B"] * ATTEMPTS)
    a, b = first[::2], first[1::2]
    while True:
        p = _p_value(a, b)
        if p <= LOW:
            return direction(float(np.median(b) - np.median(a)))
        if p > HIGH[(len(a) + len(b)) // 2]:
            return Says.SAME
        if len(a) <= len(b):
            a = np.append(a, machine.runs(["A"] * ATTEMPTS))
        else:
            b = np.append(b, machine.runs(["B"] * ATTEMPTS))


def _p_value(a: Floats, b: Floats) -> float:
    from scipy.stats import ks_2samp, mannwhitneyu

    by_rank = float(mannwhitneyu(a, b, method="asymptotic").pvalue)
    by_distance = float(ks_2samp(a, b, method="asymp").pvalue)
    return min(by_rank, by_distance)


PINPOINT = Rule(
    "Chrome Pinpoint",
    "catapult, dashboard/pinpoint/models/compare (b360f25, 7453eba) and job_state.py: "
    "min(Kolmogorov–Smirnov, Mann–Whitney), different at p ≤ .01, same above a threshold that "
    "falls with the attempts, else ten attempts more",
    "its default magnitude of one interquartile range; an attempt is a run of 1.5 s on a server "
    "started for it; no failed attempts",
    judge,
)
