"""Says how long an arm takes to write so much log, from what it wrote by the second.

A start is a redo point, as the begin of a checkpoint is: from there on the first change of each
page writes its whole image, so that the rate is highest at first and falls to what the work itself
writes. The mean rate of the first seconds is several times that of a whole cycle. So the curve
itself is kept, and goes on beyond what was seen at the rate of its last third.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class LogCurve:
    """Log written until so many seconds after a redo point; both begin at 0 and ascend."""

    seconds: tuple[float, ...]
    wal_bytes: tuple[float, ...]

    @classmethod
    def of(cls, seconds: Sequence[float], wal_bytes: Sequence[float]) -> LogCurve:
        """From readings in order; a position in the log that falls was read late."""
        ascending = np.maximum.accumulate(np.asarray(wal_bytes, dtype=float))
        return cls(tuple(seconds), tuple(ascending.tolist()))

    @property
    def writes(self) -> bool:
        """Whether any log was written: without, no checkpoint is made."""
        return bool(self.wal_bytes) and self.wal_bytes[-1] > 0

    @property
    def late_rate(self) -> float:
        """Bytes a second in the last third of what was seen, where a burst has faded most."""
        index = 2 * (len(self.seconds) - 1) // 3
        took_s = self.seconds[-1] - self.seconds[index]
        return (self.wal_bytes[-1] - self.wal_bytes[index]) / took_s if took_s > 0 else 0.0

    def until(self, seconds: float) -> float:
        """Log written until so many seconds after a redo point."""
        if not self.writes:
            return 0.0
        if seconds <= self.seconds[-1]:
            return float(np.interp(seconds, self.seconds, self.wal_bytes))
        return self.wal_bytes[-1] + self.late_rate * (seconds - self.seconds[-1])

    def seconds_to(self, wal_bytes: float) -> float:
        """Time until so much log was written; infinite where it never is."""
        if not self.writes:
            return math.inf
        index = bisect_left(self.wal_bytes, wal_bytes)  # of several with as much, the first
        if index < len(self.wal_bytes):
            before = max(index - 1, 0)
            return float(
                np.interp(
                    wal_bytes, self.wal_bytes[before : index + 1], self.seconds[before : index + 1]
                )
            )
        rate, missing = self.late_rate, wal_bytes - self.wal_bytes[-1]
        return self.seconds[-1] + missing / rate if rate > 0 else math.inf
