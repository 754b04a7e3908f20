"""Refuses cycles whose slices are long beside what they measure, and says what would make them
short.

A slice is many transactions long, and a window of whole cycles begins and ends within a slice of a
checkpoint. Of slow transactions a slice holds most of a cycle, or several: such a window would be
cut anywhere, and last longer than planned.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from steelyard.analysis.pilot.cycle_lengths import FEWEST_SLICES, CycleLengths
from steelyard.analysis.pilot.turn_lengths import Shortage
from steelyard.model.errors import StudyError
from steelyard.model.units import NS_PER_S, format_duration
from steelyard.running.turns.pilot import by_executions
from steelyard.study.study import Study

LARGER_BUDGETS = 7
"""Each twice the one before: beyond them nobody waits for it."""

WithBudget = Callable[[float], CycleLengths | Shortage]
"""The lengths that a budget in seconds holds."""


def require_fine(
    study: Study, lengths: CycleLengths, latency_s: float, with_budget: WithBudget
) -> None:
    """StudyError where what is measured of an arm holds too few slices."""
    if not lengths.coarse:
        return
    slice_words = _span(lengths.slice_s)
    why = "" if study.budget.slice else f"a transaction takes about {_span(latency_s)}, and "
    raise StudyError(
        f"slices are too long for cycles: {why}a slice {slice_words}, where an arm is measured for "
        f"{_span(lengths.measured_s)}",
        detail=f"That is to hold {FEWEST_SLICES} slices: with fewer it would be cut anywhere.",
        hint=_hint(study, lengths.slice_s, with_budget),
    )


def _hint(study: Study, slice_s: float, with_budget: WithBudget) -> str:
    if study.budget.slice is not None:
        return "Leave out budget.slice: the pilot chooses it."
    if study.turns.measured is not None:
        return f"--set turns.measured={math.ceil(FEWEST_SLICES * slice_s)}s"
    if study.turns.time_scale is not None:
        return "Leave out turns.time_scale: the smallest that the budget holds is chosen."
    budget_s = study.budget.cycles / NS_PER_S
    for doubled in range(1, LARGER_BUDGETS + 1):
        longer_s = budget_s * 2**doubled
        chosen = with_budget(longer_s)
        if not isinstance(chosen, Shortage) and not chosen.coarse:
            return f"--budget {math.ceil(longer_s / 60)}m: each arm is then measured for longer."
    return by_executions(study)


def _span(seconds: float) -> str:
    return format_duration(round(seconds, 3) * NS_PER_S)
