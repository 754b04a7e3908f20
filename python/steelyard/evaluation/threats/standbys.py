"""Raises the threat of a standby that does not follow the work of its arm.

Reads how far the standbys of arms were behind at the end of each epoch.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from steelyard.model.observation import Observation
from steelyard.model.readings import REPLAY_LAG_BYTES, REPLAY_LAG_MS, EpochTotals
from steelyard.model.threat import ThreatKind
from steelyard.record.verdict import StandbyLag

BEHIND_BYTES = 16 << 20
"""A segment of log, in the median epoch: some slices of work, and not what is just under way."""


@dataclass(frozen=True, slots=True)
class StandbyBehind(Observation):
    """A standby did not follow the work of its arm."""

    kind: ClassVar[ThreatKind] = ThreatKind.STANDBY_BEHIND
    arm: str
    log_bytes: float
    """Not replayed, at the end of the median epoch."""
    age_ms: float
    """Of the last transaction that it had replayed, likewise."""


def standby_lags(epochs: Sequence[EpochTotals], arms: Sequence[str]) -> list[StandbyLag]:
    """Of each arm that has standbys, over the epochs that were read."""
    return [lag for arm in arms for lag in _lag_of(epochs, arm)]


def behind_threats(epochs: Sequence[EpochTotals], arms: Sequence[str]) -> Iterator[Observation]:
    """For each arm whose standby was a segment of log behind in most epochs."""
    for lag in standby_lags(epochs, arms):
        if lag.bytes_median > BEHIND_BYTES:
            yield StandbyBehind(lag.arm, lag.bytes_median, lag.ms_median)


def _lag_of(epochs: Sequence[EpochTotals], arm: str) -> Iterator[StandbyLag]:
    amounts = {
        name: [value for epoch in epochs if not math.isnan(value := epoch.amount(arm, name))]
        for name in (REPLAY_LAG_BYTES, REPLAY_LAG_MS)
    }
    log_bytes, ages_ms = amounts[REPLAY_LAG_BYTES], amounts[REPLAY_LAG_MS]
    if log_bytes and ages_ms:
        yield StandbyLag(
            arm=arm,
            bytes_median=statistics.median(log_bytes),
            bytes_most=max(log_bytes),
            ms_median=statistics.median(ages_ms),
            ms_most=max(ages_ms),
            epochs=len(log_bytes),
        )
