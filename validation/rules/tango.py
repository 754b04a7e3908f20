"""tango-bench's rule: alternating pairs, z of at least 2.6 and a change beyond its noise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from validation.machines.machine import Machine
from validation.rules.rule import Rule, Says

PAIRS = 150
Z = 2.6


def _rule(noise: float) -> Callable[[Machine, np.random.Generator], Says]:
    def judge(machine: Machine, rng: np.random.Generator) -> Says:
        a, b = machine.pairs(PAIRS)
        slower_by = 1 / b - 1 / a  # it compares times
        z = float(slower_by.mean()) / (float(slower_by.std(ddof=1)) / np.sqrt(PAIRS))
        change = float(slower_by.mean() / (1 / a).mean())
        if abs(z) < Z or abs(change) <= noise:
            return Says.NOTHING
        return Says.SLOWER if change > 0 else Says.FASTER

    return judge


SOURCE = (
    "bazhenov/tango at 4b00d95, tango-bench/src/lib.rs (DiffEstimate): |z| ≥ 2.6 over pairs and a "
    "change beyond the noise threshold: .5 % in its README, 1 % in its command line"
)
SIMPLIFIED = "150 pairs of slices, A first in each, instead of samples of 10 ms for a set time"
TANGO = Rule("tango, noise .5 %", SOURCE, SIMPLIFIED, _rule(0.005))
TANGO_WIDE = Rule("tango, noise 1 %", SOURCE, SIMPLIFIED, _rule(0.01))
