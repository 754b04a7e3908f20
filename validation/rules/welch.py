"""Measure A, then B, and compare the slices by Welch's t: what a spreadsheet does."""

from __future__ import annotations

import numpy as np

from validation.machines.machine import Machine
from validation.rules.rule import Rule, Says, direction

SLICES = 150
LEVEL = 0.05


def judge(machine: Machine, rng: np.random.Generator) -> Says:
    """15 s of each."""
    from scipy.stats import ttest_ind

    a, b = machine.slices(SLICES)
    if float(ttest_ind(b, a, equal_var=False).pvalue) >= LEVEL:
        return Says.NOTHING
    return direction(float(b.mean() - a.mean()))


WELCH = Rule(
    "Welch, A then B",
    "Welch, Biometrika 34 (1947) 28",
    "slices of 100 ms are taken for replicates, as seconds of a progress log often are",
    judge,
)
