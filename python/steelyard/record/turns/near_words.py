"""Says how many times nearer checkpoints are in turns than the arms' own settings have them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from steelyard.record.plan import TurnChoices

NEARLY_ALIKE = 0.03
"""Relative difference of two arms' factors up to which one is named for both."""


def near_words(turns: TurnChoices, arms: Sequence[str]) -> str:
    """`"4 times as near"`: by the time scale, or, where whole segments of log and whole seconds
    make it another factor, by the factor of each arm; empty at a scale of 1. `"4 times as small"`
    of the log where no checkpoint begins or ends."""
    if turns.time_scale == 1:
        return ""
    near = "small" if turns.continuous else "near"
    own = {arm: turns.nearer[arm] for arm in arms if arm in turns.nearer}
    if not own:
        return f"{turns.time_scale:g} times as {near}"
    if math.isclose(min(own.values()), max(own.values()), rel_tol=NEARLY_ALIKE):
        return f"{max(own.values()):.3g} times as {near}"
    return " and ".join(f"{factor:.3g} times as {near} in {arm}" for arm, factor in own.items())


def scaled_words(turns: TurnChoices, arms: Sequence[str]) -> str:
    """`"checkpoints 4 times as near"`, or `"the log 4 times as small"`; empty at a scale of 1."""
    near = near_words(turns, arms)
    what = "the log" if turns.continuous else "checkpoints"
    return f"{what} {near}" if near else ""
