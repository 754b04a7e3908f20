"""Watches a server's checkpoints: what spaces them, when they begin and end, what they leave.

Their begin and end are read from the server's log (log_checkpoints), since no view shows when one
began: pg_stat_checkpointer counts completed ones, and the control file has the time of a redo point
to the second only. A line is stamped with our own clock when it appears, within `POLL_SECONDS`, so
that a wall clock that is set back does not shift it.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from steelyard.engines.engine import Cycle, Pulse
from steelyard.engines.postgres.sql.queries import query
from steelyard.engines.postgres.sql.session import connect
from steelyard.model.errors import EngineError
from steelyard.model.turn import Checkpoint
from steelyard.model.units import NS_PER_S

POLL_SECONDS = 0.02
_BEGAN = re.compile(rb"LOG:  checkpoint starting: ?(.*)")
_ENDED = b"LOG:  checkpoint complete"
LEAST_TIMEOUT_S = 30
"""checkpoint_timeout of guc_tables.c."""
_MB = 1 << 20
_SPACING = ("max_wal_size", "min_wal_size")
TOLD_BY = {
    "log_checkpoints": ("on",),
    "logging_collector": ("off",),
    "log_destination": ("stderr",),
    "lc_messages": ("C", "en_US.UTF-8", "POSIX"),
}
"""Setting → values with which checkpoints are seen in the log."""


def cycle_of(settings: Mapping[str, str]) -> Cycle:
    """What settings, as the server reports them, make of its checkpoints; EngineError for a
    setting that is missing or in another unit.

    One is requested after max_wal_size / (1 + checkpoint_completion_target) of log
    (CalculateCheckpointSegments of xlog.c). Both max_wal_size and min_wal_size are at least two
    segments.
    """
    timeout_s = _number(settings, "checkpoint_timeout", "s")
    limit_mb = _number(settings, "max_wal_size", "MB")
    target = _number(settings, "checkpoint_completion_target", "")
    return Cycle(
        timeout_ns=round(timeout_s * NS_PER_S),
        wal_bytes=limit_mb * _MB / (1 + target),
        largest_scale=max(
            1.0, min(timeout_s / LEAST_TIMEOUT_S, limit_mb / _least_wal_mb(settings))
        ),
    )


def scaled(settings: Mapping[str, str], factor: float) -> dict[str, str]:
    """checkpoint_timeout, max_wal_size and min_wal_size, divided by a factor."""
    timeout_s = _number(settings, "checkpoint_timeout", "s")
    least_mb = _least_wal_mb(settings)
    sizes = {
        name: f"{max(least_mb, round(_number(settings, name, 'MB') / factor))}MB"
        for name in _SPACING
    }
    return {
        "checkpoint_timeout": f"{max(LEAST_TIMEOUT_S, round(timeout_s / factor))}s",
        **sizes,
    }


def _least_wal_mb(settings: Mapping[str, str]) -> int:
    """Two segments."""
    size, _, unit = settings.get("wal_segment_size", "16777216 B").partition(" ")
    bytes_a_unit = {"B": 1, "kB": 1 << 10, "MB": _MB}.get(unit, 1)
    return max(2, 2 * int(size) * bytes_a_unit // _MB)


def _number(settings: Mapping[str, str], name: str, unit: str) -> float:
    value, _, own = settings.get(name, "").partition(" ")
    try:
        if own == unit:
            return float(value)
    except ValueError:
        pass
    raise EngineError(f'could not read setting "{name}": the server reports "{value} {own}"')


def require_seen(settings: Mapping[str, str]) -> None:
    """EngineError for settings with which the log does not report checkpoints where it is read."""
    for name, accepted in TOLD_BY.items():
        if settings.get(name, accepted[0]) not in accepted:
            raise EngineError(
                f'cannot see checkpoints: setting "{name}" is "{settings[name]}"',
                detail="When a checkpoint begins and ends is read from the server's own log.",
                hint=f"Leave it at {accepted[0]}, or weigh with --set layout=slices.",
            )


class LogWatch:
    """Reads a server's log beside the load, and queries the server for its pulse."""

    def __init__(
        self, conninfo: str, version_number: int, log: Path, now_ns: Callable[[], int]
    ) -> None:
        self._connection = connect(conninfo)
        self._statement = query("pulse", version_number).encode()
        self._now_ns = now_ns
        self._log = log.open("rb")
        self._log.seek(0, 2)
        self._rest = b""
        self._seen: list[Checkpoint] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="checkpoint watch", daemon=True)
        self._thread.start()

    @property
    def seen(self) -> tuple[Checkpoint, ...]:
        """Those seen so far."""
        return tuple(self._seen)

    def pulse(self) -> Pulse | None:
        """What the server counts now; None when it died."""
        import psycopg

        try:
            row = self._connection.execute(self._statement, prepare=True).fetchone()
        except psycopg.OperationalError:
            return None
        assert row is not None  # one row of each view
        return Pulse(wal_bytes=float(row[0]), images=float(row[1]), owed_bytes=float(row[2]))

    def close(self) -> None:
        """End the thread and the connection; safe to call twice."""
        self._ended.set()
        self._thread.join()
        self._connection.close()
        self._log.close()

    def _watch(self) -> None:
        while not self._ended.wait(POLL_SECONDS):
            self._read()
        self._read()

    def _read(self) -> None:
        *lines, self._rest = (self._rest + self._log.read()).split(b"\n")
        now_ns = self._now_ns()
        for line in lines:
            began = _BEGAN.search(line)
            if began:
                cause = began.group(1).decode(errors="replace").strip()
                self._seen.append(Checkpoint(now_ns, None, cause))
            elif _ENDED in line and self._seen:
                last = self._seen[-1]
                self._seen[-1] = Checkpoint(last.began_ns, now_ns, last.cause)
