"""Defines a machine as a rule sees it: A and B can be measured on it, slice by slice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from validation.worlds.world import Floats

RUN = 15
"""Slices of a run: 1.5 s of one arm, its share of an epoch of a weighing of 30 s."""


class Machine(Protocol):
    """Measures A and B, whose servers are alike but for an effect put on B. Time goes on from call
    to call. Readings are throughputs in any unit."""

    seconds: float
    """Measuring time used so far."""

    def slices(self, count: int) -> tuple[Floats, Floats]:
        """So many slices of A, then as many of B, each on one server."""

    def pairs(self, count: int) -> tuple[Floats, Floats]:
        """So many pairs of slices, A then B, on one server each."""

    def runs(self, order: Sequence[str]) -> Floats:
        """Runs of RUN slices each, of "A" or "B", each with a server started for it."""

    def epochs(self, count: int) -> tuple[Floats, tuple[bool, ...]]:
        """So many epochs as Steelyard measures them: the log ratios of B to A, and in which slot
        B stood."""
