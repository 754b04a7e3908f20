"""Marks the slices that a suspended machine spoilt: the one cause for which slices are dropped.

It is blind to the arms and is seen between slices, by two clocks of which only one counts time
asleep. Nothing that a slice itself shows (errors, stalls, few transactions) ever drops it.
"""

from __future__ import annotations

from collections.abc import Callable

from steelyard.evaluation.threats.machine import SUSPENDED_NS

DROPPED = "machine suspended"
"""What a dropped slice's line in the record says."""


class Sleeps:
    """Asked once after every slice whether that slice is to be dropped."""

    def __init__(self, suspended_ns: Callable[[], int]) -> None:
        self._suspended_ns = suspended_ns
        self._before_ns = suspended_ns()

    def spoilt(self) -> bool:
        """Whether the machine slept since it was last asked."""
        before_ns, self._before_ns = self._before_ns, self._suspended_ns()
        return self._before_ns - before_ns > SUSPENDED_NS
