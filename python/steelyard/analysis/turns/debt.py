"""Compares what the arms of a turn left unpaid: log since a redo point, and pages to be written.

A turn that ends with more debt than it began with did work that it has not paid for. Turns of whole
cycles begin and end at the same place of a cycle, so the debts cancel; where they do not, and not
alike in both arms, one arm was charged less than its work. What counts is therefore the growth of
an arm's debt over a turn as a share of the bytes of log that the turn wrote, and of it only the
difference between the arms: from 2 % on (METHODOLOGY.md, turns), beyond chance at 99 % over epochs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.analysis.decision.sign_flip import Floats
from steelyard.analysis.decision.t_interval import t_interval
from steelyard.model.turn import Turn

UNEQUAL_SHARE = 0.02
"""Of a turn's bytes."""
KNOWN_SHARE = 0.9
"""Of a turn's seconds, whose log must be known."""
CONFIDENCE = 0.99
FEWEST_EPOCHS = 4
"""With fewer there is no spread, and no test against chance."""


@dataclass(frozen=True, slots=True)
class DebtGrowth:
    """How much of a turn's bytes of log the arms left unpaid, on average over the epochs."""

    control: float
    arm: float
    unequal: bool
    """Whether the arms differ by more than UNEQUAL_SHARE, and by more than chance."""


UNKNOWN = DebtGrowth(math.nan, math.nan, False)


def wal_growth(pairs: Sequence[tuple[Turn, Turn]]) -> DebtGrowth:
    """Of the log since the redo point of the last completed checkpoint; pairs: control, arm."""
    return _growth(pairs, "wal_bytes")


def waiting_growth(pairs: Sequence[tuple[Turn, Turn]]) -> DebtGrowth:
    """Of what is dirty or under write-back on the machine; pairs: control, arm."""
    return _growth(pairs, "waiting_bytes")


def turn_bytes(turn: Turn) -> float:
    """The log that a turn wrote while it was measured; NaN where too few seconds have a number.

    A second whose number was not had is taken for a mean one: up to a tenth of them, since what
    this is compared with is a share.
    """
    amounts = np.array([second.wal_bytes for second in turn.seconds])
    finite = amounts[np.isfinite(amounts)]
    if not len(finite) or len(finite) < KNOWN_SHARE * len(amounts):
        return math.nan
    return float(finite.mean()) * len(amounts)


def apart(differences: Floats, threshold: float) -> bool:
    """Whether differences between the arms, one an epoch, are centred beyond ±threshold: more than
    so, and more than chance at 99 %. Those that are not known are left out."""
    finite = differences[np.isfinite(differences)]
    if len(finite) < FEWEST_EPOCHS:
        return False
    return abs(float(finite.mean())) > threshold and 0.0 not in t_interval(finite, CONFIDENCE)


def _growth(pairs: Sequence[tuple[Turn, Turn]], name: str) -> DebtGrowth:
    shares = np.array([[_share(side, name) for side in pair] for pair in pairs]).reshape(-1, 2)
    finite = shares[np.isfinite(shares).all(axis=1)]
    if not len(finite):
        return UNKNOWN
    control, arm = finite.mean(axis=0)
    unequal = apart(finite[:, 1] - finite[:, 0], UNEQUAL_SHARE)
    return DebtGrowth(float(control), float(arm), unequal)


def _share(turn: Turn, name: str) -> float:
    whole = turn_bytes(turn)
    grown: float = getattr(turn.at_end, name) - getattr(turn.at_start, name)
    return grown / whole if whole else math.nan
