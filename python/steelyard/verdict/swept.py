"""The result of a sweep as a function of its points: judged together, with its sentences."""

from __future__ import annotations

from collections.abc import Callable

from steelyard.evaluation.sweep import Weighed, judge_points
from steelyard.record.sweep import SweepPlan, Swept
from steelyard.wording.sweep_sentences import sweep_sentences


def swept(
    plan: SweepPlan, question: str, weighed: Weighed, record_of: Callable[[str], str]
) -> Swept:
    """All points; `record_of` names the folder of a value's weighing."""
    judged = judge_points(plan, question, weighed, record_of)
    return judged.model_copy(update={"sentences": sweep_sentences(judged)})
