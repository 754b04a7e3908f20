"""Defines what a weighing reports while it runs: stages, the plan, epochs, threats, the verdict.

The weighing calls a `Progress`; how it is shown, if it is shown, is decided by the command line.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from steelyard.model.threat import Threat
from steelyard.record.contrast import ContrastLine
from steelyard.record.plan import Plan
from steelyard.record.verdict import TimeParts, Verdict


class Progress(Protocol):
    """Receives what a weighing reports; every call returns at once and raises nothing."""

    def stage(self, text: str) -> None:
        """A stage began: `"clone 2 arms"`, lower case, no full stop."""

    def plan(self, plan: Plan) -> None:
        """The plan is fixed; called before the first epoch."""

    def epoch(
        self, n: int, total: int, contrasts: Sequence[ContrastLine], seconds_left: float | None
    ) -> None:
        """Epoch `n` (from 1) of `total` ended; the contrasts as they stand after it.

        The last of `details.d` is the log ratio of this epoch, None when the epoch was lost.
        """

    def why(self, told: Sequence[TimeParts]) -> None:
        """Where the time of a transaction goes so far, after an epoch; empty where no arm has
        it."""

    def recalled(self, total: int, contrasts: Sequence[ContrastLine]) -> None:
        """A weighing is resumed: the contrasts after the last epoch that its record holds."""

    def turn(self, epoch: int, arm: str, phase: str, seconds_left: float | None) -> None:
        """A turn of an epoch (from 1) goes on to a phase: `"warm up"`, `"measure"`; with no arm an
        epoch in which all arms are loaded.

        `seconds_left`: of the whole weighing; None beyond the planned epochs.
        """

    def threat(self, threat: Threat) -> None:
        """A reason to doubt was seen."""

    def note(self, text: str) -> None:
        """Something worth a line that is neither a stage nor a threat."""

    def done(self, verdict: Verdict) -> None:
        """The weighing ended with this verdict."""
