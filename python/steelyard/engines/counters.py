"""Holds cumulative counters of a server, and what they say of the time between two samples.

A difference is a figure only where the counters are complete: statistics that were reset between
the samples, or that a process had not flushed in time, give a missing reading with its reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

NOT_FLUSHED = "not flushed"
RESET = "reset"


@dataclass(frozen=True)
class CounterChange:
    """What was counted between two samples."""

    values: Mapping[str, float]
    units: Mapping[str, str]
    missing: Mapping[str, str] = field(default_factory=dict)
    """Counter → why it is not among the values: NOT_FLUSHED or RESET."""

    @property
    def complete(self) -> bool:
        """Whether every counter has a value."""
        return not self.missing


@dataclass(frozen=True)
class CounterSample:
    """Cumulative counters at one moment."""

    values: Mapping[str, float]
    units: Mapping[str, str] = field(default_factory=dict)
    """Counter → "bytes", "blocks", ...; one that is not here is a plain count."""
    flushed: bool = True
    """Whether every process had reported what it counted."""
    resets: tuple[str | None, ...] = ()
    """When each group of the statistics began; None: not known."""

    def since(self, earlier: CounterSample) -> CounterChange:
        """What was counted after an earlier sample. A counter that fell by itself (a table was
        dropped) is missing alone; a reset and an unflushed sample leave all of them missing."""
        changed = {name: value - earlier.values.get(name, 0) for name, value in self.values.items()}
        if not (self.flushed and earlier.flushed):
            return CounterChange({}, self.units, dict.fromkeys(changed, NOT_FLUSHED))
        if self._was_reset(earlier):
            return CounterChange({}, self.units, dict.fromkeys(changed, RESET))
        fallen = {name: RESET for name, value in changed.items() if value < 0}
        risen = {name: value for name, value in changed.items() if name not in fallen}
        return CounterChange(risen, self.units, fallen)

    def _was_reset(self, earlier: CounterSample) -> bool:
        return any(
            before is not None and now is not None and before != now
            for before, now in zip(earlier.resets, self.resets, strict=False)
        )
