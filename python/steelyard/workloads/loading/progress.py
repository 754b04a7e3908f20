"""Reports the progress of a load: rows so far, rows a second, and the time that is left."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from steelyard.model.units import NS_PER_S, format_duration

Report = Callable[[str], None]
"""Gets one line on what a load is doing."""

_EVERY_S = 0.5


class LoadProgress:
    """Rows of all tables together; threads may add to it at the same time."""

    def __init__(self, report: Report, clock: Callable[[], float] = time.monotonic) -> None:
        self._report, self._clock = report, clock
        self._lock = threading.Lock()
        self._started = self._reported = clock()
        self._rows = self._of = 0

    def expect(self, rows: int) -> None:
        """So many more rows are to come."""
        with self._lock:
            self._of += rows

    def add(self, rows: int) -> None:
        """So many more rows have come; half a second after the last line there is another."""
        with self._lock:
            self._rows += rows
            now = self._clock()
            if now - self._reported >= _EVERY_S:
                self._reported = now
                self._report(self._line(now - self._started))

    def _line(self, seconds: float) -> str:
        rate = self._rows / seconds
        left_s = max(0, self._of - self._rows) / rate if rate else 0.0
        left_ns = round(left_s * 10) * NS_PER_S // 10
        return (
            f"load: {self._rows:,} of {self._of:,} rows, {rate:,.0f} rows/s, "
            f"{format_duration(left_ns)} left"
        )
