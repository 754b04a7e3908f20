"""Detects that the machine was suspended during a slice: the only reason to drop a slice.

It is blind to the arms and is seen between slices, by two clocks of which only one counts suspended
time. Nothing that a slice itself shows (errors, stalls, few transactions) ever drops it.
"""

from __future__ import annotations

from collections.abc import Callable

from steelyard.evaluation.threats.machine import SUSPENDED_NS

DROPPED = "machine suspended"
"""What a dropped slice's line in the record says."""


class SuspendDetector:
    """Tells after every slice whether that slice is to be dropped."""

    def __init__(self, suspended_ns: Callable[[], int]) -> None:
        self._suspended_ns = suspended_ns
        self._before_ns = suspended_ns()

    def affected(self) -> bool:
        """Whether the machine was suspended since the last call."""
        before_ns, self._before_ns = self._before_ns, self._suspended_ns()
        return self._before_ns - before_ns > SUSPENDED_NS
