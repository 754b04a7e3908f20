"""Samples what the active client backends wait for, in the pilot, to choose the placement.

Work that waits for the WAL to reach the disk is not helped by pinning. Sampling asks the server
a hundred times a second, so it belongs into the pilot and never into a measured epoch.
"""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from steelyard.engines.engine import SessionWaits
from steelyard.engines.postgres.sql.queries import query
from steelyard.engines.postgres.sql.session import connect

WAL_FLUSH_EVENTS = frozenset({"walsync", "walwrite", "walinitsync", "walinitwrite"})
"""Lower case: 17 renamed WALSync to WalSync; the lock of the flushing leader is WALWrite too."""

SAMPLE_SECONDS = 0.01


@dataclass(frozen=True)
class WaitEvents:
    """How many samples saw a backend at work, and on what it waited ("CPU": on nothing)."""

    samples: int  # times the server was sampled
    active: int  # backends at work, summed over the samples
    by_event: dict[str, int]  # "LWLock:WALWrite" -> backends, summed over the samples

    @property
    def wal_flush(self) -> int:
        """Active backends that waited for the WAL flush, summed over the samples."""
        return sum(
            count
            for name, count in self.by_event.items()
            if name.partition(":")[2].lower() in WAL_FLUSH_EVENTS
        )

    @property
    def wal_flush_share(self) -> float:
        """Share of active backends that waited for the WAL flush, 0 when none was active."""
        return self.wal_flush / self.active if self.active else 0.0


class WaitSampler:
    """Samples in the background from its making to `stop`; `waits` holds the result so far."""

    def __init__(self, conninfo: str, interval_seconds: float = SAMPLE_SECONDS) -> None:
        self._interval_seconds = interval_seconds
        self._events: Counter[str] = Counter()
        self._samples = 0
        self._ended = threading.Event()
        self._connection = connect(conninfo)
        self._statement = query("waits", self._connection.info.server_version).encode()
        self._thread = threading.Thread(target=self._sample, name="wait sampler", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> SessionWaits:
        """End the sampling; what was seen. Safe to call twice."""
        self._ended.set()
        self._thread.join()
        self._connection.close()
        return SessionWaits(self.waits.active, self.waits.wal_flush)

    @property
    def waits(self) -> WaitEvents:
        """What was seen so far."""
        events = dict(self._events)
        return WaitEvents(samples=self._samples, active=sum(events.values()), by_event=events)

    def _sample(self) -> None:
        import psycopg

        while not self._ended.wait(self._interval_seconds):
            try:
                rows = self._connection.execute(self._statement, prepare=True).fetchall()
            except psycopg.OperationalError:
                return  # the server died: the load reports it
            for kind, event, backends in rows:
                self._events[f"{kind}:{event}"] += backends
            self._samples += 1
