"""Defines what a weighing reports while it runs: stages, the plan, epochs, threats, the verdict.

The weighing calls a `Progress`; how it is shown, if it is shown, is decided by the command line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

Facts = Mapping[str, Any]


class Progress(Protocol):
    """What a weighing says while it goes; every call returns at once and raises nothing."""

    def stage(self, text: str) -> None:
        """A stage began: `"clone 2 arms"`, lower case, no full stop."""

    def plan(self, plan: Facts) -> None:
        """The plan is fixed, as plan.json holds it; called before the first epoch."""

    def epoch(
        self, n: int, total: int, contrasts: Sequence[Facts], seconds_left: float | None
    ) -> None:
        """Epoch `n` (from 1) of `total` ended.

        Each contrast holds `arm`, `control`, `d` (log ratio of this epoch, None when the epoch
        was lost), `estimate_percent`, and `low_percent` and `high_percent`, None while there is
        no interval yet; `metric`, `unit` and `higher_is_better` as in verdict.json.
        """

    def recalled(
        self, readings: Sequence[float | None], total: int, contrasts: Sequence[Facts]
    ) -> None:
        """Epochs that the record held already, when a weighing is gone on with.

        `readings`: their log ratios for the first contrast, None for a lost one; `contrasts` as for
        `epoch`, after the last of them.
        """

    def turn(self, epoch: int, arm: str, phase: str) -> None:
        """A turn of an epoch (from 1) goes on to a phase: `"warm up"`, `"measure"`."""

    def threat(self, threat: Facts) -> None:
        """A reason to doubt was seen: `name`, `seen`, `cause`, `advice`, `invalidates`."""

    def note(self, text: str) -> None:
        """Something worth a line that is neither a stage nor a threat."""

    def done(self, verdict: Facts) -> None:
        """The weighing ended with this verdict, as verdict.json holds it."""
