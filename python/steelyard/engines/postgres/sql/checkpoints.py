"""Watches a server's checkpoints: what spaces them, when they begin and end, what they leave.

Their begin and end are read from the server's log (log_checkpoints), since no view shows when one
began: pg_stat_checkpointer counts completed ones, and the control file has the time of a redo point
to the second only. A line is stamped with our own clock when it appears, within `POLL_SECONDS`, so
that a wall clock that is set back does not shift it.
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from steelyard.engines.capabilities.checkpoints import Cycle, Scaled, WalCounters
from steelyard.engines.postgres.sql.queries import query
from steelyard.engines.postgres.sql.session import connect
from steelyard.model.errors import EngineError
from steelyard.model.setting_value import reported, size_bytes
from steelyard.model.turn import Checkpoint
from steelyard.model.units import NS_PER_S

POLL_SECONDS = 0.02
_CODE = rb"(?:[0-9A-Z]{5}: )?"  # SQLSTATE, with log_error_verbosity = verbose
_BEGAN = re.compile(rb"LOG:  " + _CODE + rb"checkpoint starting: ?(.*)")
_ENDED = re.compile(rb"LOG:  " + _CODE + rb"checkpoint complete")
LEAST_TIMEOUT_S = 30
"""checkpoint_timeout of guc_tables.c."""
LEAST_SEGMENTS = 2
"""min_wal_size and max_wal_size, in segments (ReadControlFile of xlog.c)."""
_MB = 1 << 20
CHECKPOINT_LOG_SETTINGS = {
    "log_checkpoints": ("on",),
    "logging_collector": ("off",),
    "log_destination": ("stderr",),
    "lc_messages": ("C", "POSIX", "en"),  # by its language
    "log_min_messages": (
        *("warning", "debug5", "debug4", "debug3", "debug2", "debug1", "info", "notice"),
        *("error", "log"),  # in the log, LOG ranks between ERROR and FATAL
    ),
}
"""Setting → values with which checkpoints are seen in the log."""


def cycle_of(settings: Mapping[str, str]) -> Cycle:
    """What settings, as the server reports them, make of its checkpoints; EngineError for a
    setting that is missing or in another unit.

    One is requested after max_wal_size / (1 + checkpoint_completion_target) of log, both in whole
    segments and rounded down, but at least one (CalculateCheckpointSegments of xlog.c). Both
    max_wal_size and min_wal_size are at least two segments.
    """
    timeout_s = _number(settings, "checkpoint_timeout", "s")
    limit = int(_number(settings, "max_wal_size", "MB")) // _segment_mb(settings)
    segments, least = (_segments(count, _target(settings)) for count in (limit, LEAST_SEGMENTS))
    return Cycle(
        timeout_ns=round(timeout_s * NS_PER_S),
        wal_bytes=float(segments * _segment_mb(settings) * _MB),
        largest_scale=max(1.0, min(timeout_s / LEAST_TIMEOUT_S, segments / least)),
    )


def scaled(settings: Mapping[str, str], factor: float) -> Scaled:
    """checkpoint_timeout, max_wal_size and min_wal_size, divided by a factor.

    max_wal_size is the least that gives the number of segments between checkpoints that is nearest
    to 1/factor of the own: dividing the setting itself would round down twice, and 1 GB divided by
    10 would have checkpoints 11 times as near.
    """
    segment_mb, target, cycle = _segment_mb(settings), _target(settings), cycle_of(settings)
    timeout_s = max(LEAST_TIMEOUT_S, round(cycle.timeout_ns / NS_PER_S / factor))
    segments = round(cycle.wal_bytes / (segment_mb * _MB) / factor)
    limit = max(LEAST_SEGMENTS, int(segments * (1.0 + target)))
    while _segments(limit, target) < segments:
        limit += 1
    kept_mb = round(_number(settings, "min_wal_size", "MB") / factor)
    return Scaled(
        {
            "checkpoint_timeout": f"{timeout_s}s",
            "max_wal_size": f"{limit * segment_mb}MB",
            "min_wal_size": f"{max(LEAST_SEGMENTS * segment_mb, kept_mb)}MB",
        },
        Cycle(timeout_s * NS_PER_S, float(_segments(limit, target) * segment_mb * _MB), 1.0),
    )


def log_limit(settings: Mapping[str, str], wal_bytes: float) -> dict[str, str]:
    """max_wal_size, in whole GB, with which one is requested after so much log at the earliest."""
    segments = math.ceil(wal_bytes / (_segment_mb(settings) * _MB)) + 1
    limit_mb = math.ceil(segments * (1.0 + _target(settings))) * _segment_mb(settings)
    return {"max_wal_size": f"{max(1, math.ceil(limit_mb / 1024))}GB"}


def _segments(limit: int, target: float) -> int:
    """Segments of log from one checkpoint to the request of the next; `limit`: max_wal_size."""
    return max(1, int(limit / (1.0 + target)))


def _target(settings: Mapping[str, str]) -> float:
    return _number(settings, "checkpoint_completion_target", "")


def _segment_mb(settings: Mapping[str, str]) -> int:
    size = size_bytes(settings.get("wal_segment_size", "16777216 B"), "B")
    return max(1, int(size or 0) // _MB)


def _number(settings: Mapping[str, str], name: str, unit: str) -> float:
    text = settings.get(name, "")
    value, reported_unit = reported(text)
    if value is None or reported_unit != unit:
        raise EngineError(f'could not read setting "{name}": the server reports "{text}"')
    return value


def require_logged_checkpoints(settings: Mapping[str, str]) -> None:
    """EngineError for settings with which the log does not report checkpoints where it is read."""
    for name, accepted in CHECKPOINT_LOG_SETTINGS.items():
        if _decisive_part(name, settings.get(name, accepted[0])) not in accepted:
            raise EngineError(
                f'cannot see checkpoints: setting "{name}" is "{settings[name]}"',
                detail="When a checkpoint begins and ends is read from the server's own log.",
                hint=f"Leave it at {accepted[0]}, or weigh with --set layout=slices.",
            )


def _decisive_part(name: str, value: str) -> str:
    """What of a value counts for the lines of checkpoints: the language of a locale, and since 19
    the level of the checkpointer in a list of `type:level`."""
    if name == "lc_messages":
        return re.split(r"[_.@]", value)[0]
    if name != "log_min_messages":
        return value
    levels = [each.strip().rpartition(":") for each in value.split(",")]
    by_type = {kind.strip(): level.strip() for kind, _, level in levels}
    return by_type.get("checkpointer") or by_type.get("", value)


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
        self._checkpoints: list[Checkpoint] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="checkpoint watch", daemon=True)
        self._thread.start()

    @property
    def checkpoints(self) -> tuple[Checkpoint, ...]:
        """Those seen so far."""
        return tuple(self._checkpoints)

    def pulse(self) -> WalCounters | None:
        """What the server counts now; None when it died."""
        import psycopg

        try:
            row = self._connection.execute(self._statement, prepare=True).fetchone()
        except psycopg.OperationalError:
            return None
        assert row is not None  # one row of each view
        return WalCounters(wal_bytes=float(row[0]), images=float(row[1]), owed_bytes=float(row[2]))

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
                self._checkpoints.append(Checkpoint(now_ns, None, cause))
            elif _ENDED.search(line) and self._checkpoints:
                last = self._checkpoints[-1]
                self._checkpoints[-1] = Checkpoint(last.began_ns, now_ns, last.cause)
