"""Samples what the active client backends wait for.

In the pilot a hundred times a second, to choose the placement: work that waits for the WAL to reach
the disk is not helped by pinning. In measured slices at single moments, chosen by the caller.
"""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from steelyard.engines.capabilities.counters import SampledWait, SessionWaits
from steelyard.engines.postgres.sql.queries import query
from steelyard.engines.postgres.sql.session import connect
from steelyard.model.errors import EngineError
from steelyard.model.readings import WaitPart

WAL_FLUSH_EVENTS = frozenset({"walsync", "walwrite", "walinitsync", "walinitwrite"})
"""Lower case: 17 renamed WALSync to WalSync; the lock of the flushing leader is WALWrite too."""

SAMPLE_SECONDS = 0.01
_READS = frozenset(
    {"datafileread", "datafileprefetch", "buffileread", "slruread", "relationmapread"}
    | {"aioiocompletion", "aioiouringsubmit", "aioiouringexecution"}
)
"""Lower case; wait_event_names.txt of 14 to 18."""


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


def part_of(kind: str, event: str) -> WaitPart:
    """The part of a transaction's time that a wait event belongs to; "CPU" is a wait of no type."""
    name = event.lower()
    if kind == "CPU":
        return "processor"
    if name.startswith("wal") and kind in ("IO", "LWLock"):
        return "wal"
    return "read" if name in _READS else "locks"


class ActivityProbe:
    """A session that reads what all others wait for, on request."""

    def __init__(self, conninfo: str) -> None:
        self._connection = connect(conninfo)
        self._statement = query("waits", self._connection.info.server_version).encode()

    def rows(self) -> list[tuple[str, str, int]]:
        """(type, event, sessions) of the sessions at work; psycopg.Error: the server has gone, or
        does not show them."""
        return self._connection.execute(self._statement, prepare=True).fetchall()

    def sample(self) -> list[SampledWait]:
        """Sessions at work by what they wait for; EngineError: the server has gone."""
        import psycopg

        try:
            rows = self.rows()
        except psycopg.Error as reason:
            raise EngineError(
                "could not see what sessions wait for", detail=str(reason)
            ) from reason
        return [SampledWait(f"{kind}:{event}", part_of(kind, event), n) for kind, event, n in rows]

    def close(self) -> None:
        """Disconnect; safe to call twice."""
        self._connection.close()


class WaitSampler:
    """Samples in the background from its making to `stop`; `waits` holds the result so far."""

    def __init__(self, conninfo: str, interval_seconds: float = SAMPLE_SECONDS) -> None:
        self._interval_seconds = interval_seconds
        self._events: Counter[str] = Counter()
        self._samples = 0
        self._ended = threading.Event()
        self._probe = ActivityProbe(conninfo)
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
        self._probe.close()
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
                rows = self._probe.rows()
            except psycopg.OperationalError:
                return  # the server died: the load reports it
            for kind, event, backends in rows:
                self._events[f"{kind}:{event}"] += backends
            self._samples += 1
