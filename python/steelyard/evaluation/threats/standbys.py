"""Raises the threat of a standby that does not follow the work of its arm.

Reads how far the standbys of arms were behind at the end of each epoch.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence

from steelyard.model.readings import REPLAY_LAG_BYTES, REPLAY_LAG_MS, EpochTotals
from steelyard.model.threat import Threat, raise_threat
from steelyard.model.threat_kind import ThreatKind
from steelyard.model.units import NS_PER_MS, format_bytes, format_duration
from steelyard.record.verdict import StandbyLag

BEHIND_BYTES = 16 << 20
"""A segment of log, in the median epoch: some slices of work, and not what is just under way."""


def standby_lags(epochs: Sequence[EpochTotals], arms: Sequence[str]) -> list[StandbyLag]:
    """Of each arm that has standbys, over the epochs that were read."""
    return [lag for arm in arms for lag in _lag_of(epochs, arm)]


def behind_threats(epochs: Sequence[EpochTotals], arms: Sequence[str]) -> Iterator[Threat]:
    """For each arm whose standby was a segment of log behind in most epochs."""
    for lag in standby_lags(epochs, arms):
        if lag.bytes_median > BEHIND_BYTES:
            observation = (
                f"a standby of {lag.arm} was {format_bytes(round(lag.bytes_median))} of log and "
                f"{format_duration(round(lag.ms_median * NS_PER_MS))} behind at the end of the "
                "median epoch"
            )
            yield raise_threat(ThreatKind.STANDBY_BEHIND, observation)


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
