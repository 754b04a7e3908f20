"""Contrasts of the parts of a sum: differences in the sum's own unit, with joint intervals.

A log ratio of a part does not show its share of the whole, and a part may be 0. Differences add up
to the difference of the sums, so each can be given as a share of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.analysis.decision.max_t import joint_flips
from steelyard.model.estimate import Interval

LEAST_SHARE = 0.5
"""Of the whole difference, that the part must cover which is named as its cause."""


@dataclass(frozen=True, slots=True)
class PartDifference:
    """One part of an arm's sum against the control's."""

    name: str
    control: float
    """Mean over the epochs; so is the arm's."""
    arm: float
    difference: float
    interval: Interval
    """Of the difference, jointly with those of all other parts at 95 %."""

    @property
    def differs(self) -> bool:
        """Whether the interval leaves 0 out."""
        return self.interval.low > 0 or self.interval.high < 0


def part_differences(
    control: Mapping[str, Sequence[float]], arm: Mapping[str, Sequence[float]]
) -> tuple[PartDifference, ...]:
    """Part → one value an epoch, of the same parts and epochs for both arms, all finite."""
    names = list(control)
    if not names or not len(control[names[0]]):
        return ()
    of_control = np.array([control[name] for name in names], dtype=float).T
    of_arm = np.array([arm[name] for name in names], dtype=float).T
    results = joint_flips(of_arm - of_control)
    return tuple(
        PartDifference(
            name=name,
            control=float(of_control[:, j].mean()),
            arm=float(of_arm[:, j].mean()),
            difference=result.value,
            interval=result.interval,
        )
        for j, (name, result) in enumerate(zip(names, results, strict=True))
    )


def named_cause(parts: Sequence[PartDifference]) -> PartDifference | None:
    """The largest part whose interval leaves 0 out and that covers at least half of the whole
    difference; None: no cause is found."""
    whole = sum(part.difference for part in parts)
    candidates = (
        [part for part in parts if part.differs and part.difference / whole >= LEAST_SHARE]
        if whole
        else []
    )
    return max(candidates, key=lambda part: abs(part.difference), default=None)
