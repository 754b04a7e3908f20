"""Describes level steps and drift: rows, sizes and intervals, in words and as figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.analysis.decision.sign_flip import Floats
from steelyard.analysis.decision.t_interval import welch
from steelyard.analysis.two_samples.change_points import Segment
from steelyard.analysis.two_samples.profile import Profile
from steelyard.model.units import format_percent, percent_of_log

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Step:
    """Rows first … last, counted from 1, against the usual rows of the same series."""

    first: int
    last: int
    usual_first: int
    usual_last: int
    percent: float
    low: float
    high: float
    """95 % by Welch's t, too narrow: the rows were chosen by looking at them. Plain steps (5 sd)
    are held in 93–95 %, steps of 2 sd in 74–93 %, since those are found where they look large."""

    @property
    def clear(self) -> bool:
        """Whether its interval does not hold zero."""
        return not self.low <= 0 <= self.high

    def to_json(self) -> Json:
        """As a finding keeps it."""
        return {
            "first_row": self.first,
            "last_row": self.last,
            "against_rows": [self.usual_first, self.usual_last],
            "estimate_percent": self.percent,
            "low_percent": self.low,
            "high_percent": self.high,
        }


def steps_of(profile: Profile, logs: Floats) -> tuple[Step, ...]:
    """The segments of a series of logs, shape (n,), that differ clearly from its usual one,
    largest first."""
    usual = profile.usual
    steps = [_step(segment, usual, logs) for segment in profile.segments if segment is not usual]
    steps.sort(key=lambda step: -abs(step.percent))
    return tuple(step for step in steps if step.clear)


def _step(one: Segment, usual: Segment, logs: Floats) -> Step:
    estimate = welch(logs[usual.first : usual.last + 1], logs[one.first : one.last + 1])
    ends = estimate.interval()
    return Step(
        one.first + 1,
        one.last + 1,
        usual.first + 1,
        usual.last + 1,
        *(percent_of_log(log) for log in (estimate.difference, ends.low, ends.high)),
    )


def step_words(steps: Sequence[Step], most: int = 4) -> str:
    """`rows 13–16 +56 % [38, 77], rows 17–23 +20 % [12, 29], against rows 1–12 (chosen by looking:
    intervals too narrow)`."""
    largest = sorted(steps[:most], key=lambda step: step.first)
    parts = [f"{rows_words(step.first, step.last)} {_size(step)}" for step in largest]
    if len(steps) > most:
        parts.append(f"and {len(steps) - most} smaller ones")
    usual = rows_words(steps[0].usual_first, steps[0].usual_last)
    return f"{', '.join(parts)}, against {usual} (chosen by looking: intervals too narrow)"


def rows_words(first: int, last: int) -> str:
    """`rows 13–16`, `row 13`."""
    return f"row {first}" if first == last else f"rows {first}–{last}"


def _size(step: Step) -> str:
    low, high = (format_percent(end, 0).removesuffix(" %") for end in (step.low, step.high))
    return f"{format_percent(step.percent, 0)} [{low}, {high}]"


def rows_lie(rows: Sequence[int], of: str = "", most: int = 8) -> str:
    """`rows 13 and 15 of on lie far out`, `row 3 lies far out`; rows counted from 0."""
    of_arm = f" of {of}" if of else ""
    return f"{listed_rows(rows, most)}{of_arm} {'lies' if len(rows) == 1 else 'lie'} far out"


def listed_rows(rows: Sequence[int], most: int = 8) -> str:
    """`rows 13, 15 and 28`, of rows counted from 0; long lists are cut."""
    numbers = [str(row + 1) for row in rows[:most]]
    if len(rows) > most:
        return f"rows {', '.join(numbers)} and {len(rows) - most} more"
    if len(numbers) == 1:
        return f"row {numbers[0]}"
    return f"rows {', '.join(numbers[:-1])} and {numbers[-1]}"


def trend_words(profile: Profile) -> str:
    """`+12 % [4, 21] from the first row to the last`."""
    trend = profile.trend
    value, low, high = (percent_of_log(log) for log in (trend.change, trend.low, trend.high))
    ends = ", ".join(format_percent(end, 0).removesuffix(" %") for end in (low, high))
    return f"{format_percent(value, 0)} [{ends}] from the first row to the last"
