"""Computes how long a machine must weigh to see a difference of a given size.

From the scatter of epochs of equal arms: the smallest number of epochs that see the size with 80 %
power, by the forecast's formula, times what an epoch takes. A range, since the scatter of a dozen
epochs is known within a factor of two or so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.analysis.decision.forecast import MOST_EPOCHS, Need, need
from steelyard.analysis.decision.sign_flip import Floats

SIZES = (0.01, 0.02, 0.05)
FEWEST_EPOCHS = 3
"""With fewer, a scatter is no figure."""


@dataclass(frozen=True, slots=True)
class Trust:
    """What one size takes."""

    size: float
    """A fraction."""
    need: Need
    epoch_seconds: float

    @property
    def seconds(self) -> tuple[float, float, float] | None:
        """(least, likely, most); None where no time is enough. An infinite end is "or more"."""
        if self.need.likely >= MOST_EPOCHS:
            return None
        least, likely, most = (
            math.inf if n >= MOST_EPOCHS else n * self.epoch_seconds
            for n in (self.need.fewest, self.need.likely, self.need.most)
        )
        return least, likely, most


def trust(d: Floats, epoch_seconds: float, sizes: Sequence[float] = SIZES) -> list[Trust]:
    """What every size takes, from the log ratios of equal arms, shape (n,); empty where fewer than
    3 are finite, or all are the same. `epoch_seconds`: an epoch of two arms, its restart included.
    """
    finite = d[np.isfinite(d)]
    if len(finite) < FEWEST_EPOCHS or not np.ptp(finite):
        return []
    variance = float(np.var(finite, ddof=1))
    return [
        Trust(size, need(variance, math.log1p(size), len(finite)), epoch_seconds) for size in sizes
    ]
