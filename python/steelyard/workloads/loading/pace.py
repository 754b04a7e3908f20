"""Tells how a load is going: rows so far, rows a second, and the time that is left."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from steelyard.model.units import NS_PER_S, format_duration

Progress = Callable[[str], None]

_EVERY_S = 0.5


class Pace:
    """Rows of all tables together; it may be told from several threads."""

    def __init__(self, told: Progress, clock: Callable[[], float] = time.monotonic) -> None:
        self._told, self._clock = told, clock
        self._lock = threading.Lock()
        self._started = self._said = clock()
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
            if now - self._said >= _EVERY_S:
                self._said = now
                self._told(self._line(now - self._started))

    def _line(self, seconds: float) -> str:
        rate = self._rows / seconds
        left_s = max(0, self._of - self._rows) / rate if rate else 0.0
        left_ns = round(left_s * 10) * NS_PER_S // 10
        return (
            f"load: {self._rows:,} of {self._of:,} rows, {rate:,.0f} rows/s, "
            f"{format_duration(left_ns)} left"
        )
