"""Contrasts what every epoch tells of two arms, by name: causes, rates, times of statements.

A name that some epoch does not tell, in one arm or the other, has no contrast. The intervals of
those that are told hold jointly (analysis/decision/secondary.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from steelyard.analysis.decision.secondary import SecondaryContrast, secondary_contrasts
from steelyard.evaluation.judge_epochs import percent_ends
from steelyard.model.readings import EpochTotals

Read = Callable[[EpochTotals, str], float]
"""What an epoch tells of an arm; NaN where it does not tell."""


def epoch_contrasts(
    epochs: Sequence[EpochTotals], control: str, arm: str, reads: Mapping[str, Read]
) -> tuple[SecondaryContrast, ...]:
    """The contrasts of an arm with the control, of what every epoch tells, in the order given."""
    columns: dict[str, tuple[list[float], list[float]]] = {}
    for name, read in reads.items():
        of_control = [read(epoch, control) for epoch in epochs]
        of_arm = [read(epoch, arm) for epoch in epochs]
        if epochs and all(map(math.isfinite, [*of_control, *of_arm])):
            columns[name] = (of_control, of_arm)
    return secondary_contrasts(columns)


def compared(found: SecondaryContrast, control: str, arm: str) -> dict[str, str | float | None]:
    """The keys of a row (record/verdict.py, Compared): what is compared is named by the caller."""
    return {
        "arm": arm,
        "control": control,
        **percent_ends(found.estimate),
        "confidence": found.estimate.confidence,
    }
