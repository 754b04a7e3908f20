"""Decides which candidates of a round are clearly worse, by paired epochs.

A race as in Maron & Moore, NIPS 6 (1994), by t intervals as in Birattari's t-race (2009). Dropping
claims nothing, so that the intervals are not joint; how rarely the best is dropped is simulated by
`python -m validation.races`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from steelyard.analysis.decision.t_interval import t_interval

CONFIDENCE = 0.95
"""Of the two-sided interval of a difference."""
Ratios = Mapping[str, float]
"""Epoch of a record → log ratio against the control in that epoch."""


def dropped(contestants: Mapping[str, Ratios], control: str) -> dict[str, str]:
    """Name of each that is clearly worse than the best → name of the best, which has the highest
    mean log ratio. The control takes part: its log ratio is 0 in every epoch."""
    zeros = {epoch: 0.0 for ratios in contestants.values() for epoch in ratios}
    every = {control: zeros, **contestants}
    best = max((name for name in every if every[name]), key=lambda name: _mean(every[name]))
    return {
        name: best
        for name, ratios in every.items()
        if name != best and _clearly_worse(ratios, every[best])
    }


def _clearly_worse(one: Ratios, best: Ratios) -> bool:
    """Whether the interval of best − one, over the epochs that have both, lies above 0."""
    differences = [best[epoch] - ratio for epoch, ratio in one.items() if epoch in best]
    return t_interval(np.array(differences), CONFIDENCE).low > 0


def _mean(ratios: Ratios) -> float:
    return sum(ratios.values()) / len(ratios)
