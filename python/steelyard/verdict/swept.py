"""The result of a sweep as a function of its points: judged together, with its sentences."""

from __future__ import annotations

from collections.abc import Callable

from steelyard.evaluation.sweep import WeighedPoints, judge_points
from steelyard.record.sweep import SweepPlan, Swept
from steelyard.wording.sweep_sentences import sweep_sentences


def swept(
    plan: SweepPlan, question: str, weighed: WeighedPoints, record_of: Callable[[str], str]
) -> Swept:
    """All points; `record_of` names the folder of a value's weighing."""
    return _with_sentences(judge_points(plan, question, weighed, record_of))


def without_pairs(swept: Swept) -> Swept:
    """As older sweeps are: of arms against the control alone."""
    points = tuple(point.model_copy(update={"pairs": ()}) for point in swept.points)
    return _with_sentences(swept.model_copy(update={"points": points}))


def _with_sentences(swept: Swept) -> Swept:
    return swept.model_copy(update={"sentences": sweep_sentences(swept)})
