"""Names the parts that a transaction's time is split into, and holds what sampled sessions did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

WaitPart = Literal["processor", "read", "wal", "locks"]
"""What a session at work does: it runs or could run, reads blocks, writes or syncs the write-ahead
log, or waits for a lock or anything else."""


@dataclass(frozen=True)
class SessionSamples:
    """What the sessions of an arm did, seen at random moments of its measured slices."""

    samples: int = 0
    """Moments."""
    sessions: int = 0
    """Sessions that were open, summed over the moments; those not at work had their client's
    turn."""
    by_part: Mapping[WaitPart, int] = field(default_factory=dict)
    """Sessions at work."""
