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
    behind_log: int = 0
    """Of those in the log, sessions that waited for another's write or sync of it."""


def waits_for_another(event: str) -> bool:
    """Whether an event in the engine's words, `"LWLock:WALWrite"`, is a wait for what another
    session holds, and not a call of its own, as `"IO:WalSync"`."""
    return event.partition(":")[0] in ("LWLock", "Lock")
