"""What a verdict says of turns beside its contrasts, as verdict.json keeps it.

Percents are (arm / control - 1) * 100 of throughput; None is unbounded or unknown.

Says how many times nearer checkpoints are in turns than the arms' own settings have them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from steelyard.model.units import format_digits
from steelyard.record.contrast import Percent
from steelyard.record.frozen import Frozen
from steelyard.record.plan import TurnChoices


class DistanceLine(Frozen):
    """The effect as it would be with a checkpoint every so many seconds: computed from turns."""

    arm: str
    seconds: float
    estimate_percent: Percent
    low_percent: Percent
    """With `high_percent` joint with those of all other distances of the arm."""
    high_percent: Percent
    confidence: float
    epochs: int


class CurveLine(Frozen):
    """The arms between two times since a checkpoint began."""

    arm: str
    from_seconds: float
    to_seconds: float
    estimate_percent: Percent
    low_percent: Percent
    """With `high_percent` joint with those of all other bins of the arm."""
    high_percent: Percent
    confidence: float
    epochs: int
    control_images: float | None
    """Full-page images a transaction; None: not counted. So are the next."""
    arm_images: float | None
    control_wal_bytes: float | None
    arm_wal_bytes: float | None


class EvennessLine(Frozen):
    """How even throughput was over equal windows of about a second: mean, sd and CV of an epoch."""

    arm: str
    metric: str
    control_value: float
    arm_value: float
    estimate_percent: Percent
    low_percent: Percent
    high_percent: Percent
    confidence: float


class StallLine(Frozen):
    """A run of seconds below half of the median throughput of its turn."""

    arm: str
    epoch: int
    """From 1."""
    from_seconds: float
    """Since the measured part began."""
    seconds: float
    depth: float
    """Its slowest second as a share of the median."""
    cause: str
    storm: bool


class TurnSumsLine(Frozen):
    """What the turns of an arm wrote and left, on average; None: not known."""

    arm: str
    turns: int
    seconds: float | None
    cycle_seconds: float | None
    """Median time from the begin of one checkpoint to the begin of the next."""
    wal_bytes: float | None
    checkpoints: float | None
    waiting_at_start_bytes: float | None
    """Dirty and under write-back on the machine."""
    waiting_at_end_bytes: float | None
    first_files_bytes: float | None = None
    """Of all arms, before the first turn of the arm, where files are not put back before each
    epoch; None also in older verdicts."""
    last_files_bytes: float | None = None
    """Before its last turn: what grew from epoch to epoch."""


class TurnSummary(Frozen):
    """Everything that turns show beside the contrasts."""

    curve: tuple[CurveLine, ...] = ()
    evenness: tuple[EvennessLine, ...] = ()
    stalls: tuple[StallLine, ...] = ()
    sums: tuple[TurnSumsLine, ...] = ()


NEARLY_ALIKE = 0.03
"""Relative difference of two arms' factors up to which one is named for both."""


def near_words(turns: TurnChoices, arms: Sequence[str]) -> str:
    """`"4 times as near"`: by the time scale, or, where whole segments of log and whole seconds
    make it another factor, by the factor of each arm; empty at a scale of 1. `"4 times as small"`
    of the log where no checkpoint begins or ends."""
    if turns.time_scale == 1 and not turns.nearer:
        return ""
    near = "small" if turns.continuous else "near"
    factors = {arm: turns.nearer[arm] for arm in arms if arm in turns.nearer}
    if not factors:
        return f"{turns.time_scale:g} times as {near}"
    if math.isclose(min(factors.values()), max(factors.values()), rel_tol=NEARLY_ALIKE):
        return f"{format_digits(max(factors.values()), 3)} times as {near}"
    return " and ".join(
        f"{format_digits(factor, 3)} times as {near} in {arm}" for arm, factor in factors.items()
    )


def scaled_words(turns: TurnChoices, arms: Sequence[str]) -> str:
    """`"checkpoints 4 times as near"`, or `"the log 4 times as small"`; empty at a scale of 1."""
    near = near_words(turns, arms)
    what = "the log" if turns.continuous else "checkpoints"
    return f"{what} {near}" if near else ""
