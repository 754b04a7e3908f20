"""Says what turning checksums on would take: time, ways, and what they cost afterwards."""

from __future__ import annotations

import os
import platform
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard._core import Segment, read_control, scan_segments, walk_cluster
from steelyard.engines.cache import cache_root
from steelyard.engines.postgres.life.control import CONTROL_FILE
from steelyard.integrity.drill.cost import Cost, last_cost
from steelyard.integrity.scrub.cluster_state import ClusterState, look_at
from steelyard.integrity.scrub.scrub import Asked, scan_asked
from steelyard.model.errors import UsageError

SAMPLE_BYTES = 1 << 30
WRITTEN_BYTES = 128 << 20
_CHUNK = 1 << 20
SHIPPED_KERNEL = "SSE2" if platform.machine() in ("x86_64", "AMD64") else None
"""Of the scan: that of the programs in distributions, not the fastest that there is."""


@dataclass(frozen=True)
class Enabling:
    """What `pg_checksums --enable` would take on a cluster, from rates measured here."""

    path: str
    state: ClusterState
    files: int
    bytes: int
    read_bytes_per_s: float
    write_bytes_per_s: float
    same_disk: bool  # whether writing was measured on the disk of the data directory
    hints_logged: bool  # wal_log_hints: the write-ahead log holds hint bits already
    cost: Cost | None
    denied: tuple[tuple[str, str], ...] = ()  # what could not be read, and is not counted

    @property
    def seconds(self) -> tuple[float, float]:
        """Two estimates: reading and writing side by side, and one after the other. No bounds."""
        read = self.bytes / self.read_bytes_per_s
        written = self.bytes / self.write_bytes_per_s
        return max(read, written), read + written

    @property
    def exit_status(self) -> int:
        """3: something could not be read, so that it takes more than is said; 0."""
        return 3 if self.denied else 0

    def to_json(self) -> dict[str, Any]:
        """As `checksums --json` gives it."""
        least, most = self.seconds
        return {
            "path": self.path,
            "version": str(self.state.layout.major),
            "life": self.state.life.value,
            "checksums": self.state.layout.checksums,
            "files": self.files,
            "bytes": self.bytes,
            "denied": [{"path": path, "reason": reason} for path, reason in self.denied],
            "read_bytes_per_s": round(self.read_bytes_per_s),
            "write_bytes_per_s": round(self.write_bytes_per_s),
            "same_disk": self.same_disk,
            "downtime_seconds_least": round(least, 1),
            "downtime_seconds_most": round(most, 1),
            "hint_bits_logged_already": self.hints_logged,
            "wal_bytes_per_checkpoint_at_most": 0 if self.hints_logged else self.bytes,
            "cost": self.cost.to_json() if self.cost else None,
        }


def enabling(path: Path, records: Path = Path("records"), place: Path | None = None) -> Enabling:
    """Measure and add up. `place`: where writing is measured; by default the cache root.

    UsageError: it is no data directory of 12 to 18.
    """
    state = look_at(path)
    try:
        segments, _, denied = walk_cluster(path, state.layout.tablespace_version)
    except OSError as error:
        raise UsageError(f'could not read data directory "{path}": {error}') from error
    place = place or _existing(cache_root())
    return Enabling(
        path=str(path),
        state=state,
        files=len(segments),
        bytes=sum(segment.bytes for segment in segments),
        read_bytes_per_s=_read_rate(segments, state),
        write_bytes_per_s=_write_rate(place),
        same_disk=place.stat().st_dev == path.stat().st_dev,
        hints_logged=read_control(path / CONTROL_FILE)["wal_log_hints"],
        cost=last_cost(records),
        denied=tuple(denied),
    )


def _existing(path: Path) -> Path:
    while not path.is_dir():
        path = path.parent
    return path if os.access(path, os.W_OK) else Path(tempfile.gettempdir())


def _read_rate(segments: Sequence[Segment], state: ClusterState) -> float:
    """Bytes a second of reading and summing by one thread, on the largest files, 1 GB of them.

    Summed as pg_checksums is compiled for any x86-64. What is cached is read from there.
    """
    sample: list[Segment] = []
    left = SAMPLE_BYTES
    for segment in sorted(segments, key=lambda s: -s.bytes):
        if left <= 0:
            break
        sample.append(segment)
        left -= segment.bytes
    began = time.monotonic()
    one = Asked(state.directory, threads=1, max_rate=0, gaps_s=())
    # Pages that have no checksums are wrong, which is not asked here.
    given = scan_asked(one, state)
    given["checksums"], given["kernel"] = True, SHIPPED_KERNEL
    scanned = scan_segments(sample, given, lambda *_: None)
    return max(1.0, scanned["bytes"] / max(time.monotonic() - began, 1e-6))


def _write_rate(place: Path) -> float:
    """Bytes a second of writing a file of 128 MB and syncing it; the file is removed."""
    chunk = os.urandom(_CHUNK)
    try:
        with tempfile.TemporaryFile(dir=place) as file:
            began = time.monotonic()
            for _ in range(WRITTEN_BYTES // _CHUNK):
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
            return WRITTEN_BYTES / (time.monotonic() - began)
    except OSError as error:
        raise UsageError(
            f'could not measure writing in "{place}": {error.strerror}',
            hint="Name another directory by --measure-in, on the disk of the data directory.",
        ) from error
