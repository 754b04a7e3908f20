"""Computes level steps: rows, sizes and intervals."""

from __future__ import annotations

from steelyard.analysis.decision.sign_flip import Floats
from steelyard.analysis.decision.t_interval import welch
from steelyard.analysis.two_samples.change_points import Segment
from steelyard.analysis.two_samples.profile import Profile
from steelyard.evaluation.threats.numbers import Step
from steelyard.model.units import percent_of_log


def steps_of(profile: Profile, logs: Floats) -> tuple[Step, ...]:
    """The segments of a series of logs, shape (n,), that differ clearly from its usual one,
    largest first."""
    usual = profile.usual
    steps = [_step(segment, usual, logs) for segment in profile.segments if segment is not usual]
    steps.sort(key=lambda step: -abs(step.percent))
    return tuple(step for step in steps if step.clear)


def _step(segment: Segment, usual: Segment, logs: Floats) -> Step:
    estimate = welch(logs[usual.first : usual.last + 1], logs[segment.first : segment.last + 1])
    ends = estimate.interval()
    return Step(
        segment.first + 1,
        segment.last + 1,
        usual.first + 1,
        usual.last + 1,
        *(percent_of_log(log) for log in (estimate.difference, ends.low, ends.high)),
    )
