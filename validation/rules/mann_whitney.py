"""benchstat's rule: ten runs of each, Mann–Whitney at .05."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from validation.machines.machine import Machine
from validation.rules.rule import Rule, Says, direction

RUNS = 10
LEVEL = 0.05
SOURCE = (
    "golang.org/x/perf, benchmath (AssumeNothing) and cmd/benchstat at 712aea8: Mann–Whitney U, "
    "exact for small samples, α = .05, at least 10 runs; its manual advises to interleave the runs"
)


def _rule(order: Sequence[str]) -> Callable[[Machine, np.random.Generator], Says]:
    of_b = np.array([arm == "B" for arm in order])

    def judge(machine: Machine, rng: np.random.Generator) -> Says:
        from scipy.stats import mannwhitneyu

        speed = machine.runs(order)
        test = mannwhitneyu(speed[of_b], speed[~of_b], method="exact")
        if float(test.pvalue) > LEVEL:
            return Says.NOTHING
        return direction(float(np.median(speed[of_b]) - np.median(speed[~of_b])))

    return judge


BENCHSTAT = Rule(
    "benchstat, A then B",
    SOURCE,
    "a run is 1.5 s of load on a server started for it",
    _rule(["A"] * RUNS + ["B"] * RUNS),
)
BENCHSTAT_INTERLEAVED = Rule(
    "benchstat, interleaved",
    SOURCE,
    "runs alternate A, B, as its manual advises",
    _rule(["A", "B"] * RUNS),
)
