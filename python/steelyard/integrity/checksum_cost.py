"""Estimates what checksums cost: enabling them on a cluster, and speed in a kept weighing."""

from __future__ import annotations

import math
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
from steelyard.engines.postgres.life.data_directory import other_storage
from steelyard.integrity.scrub.cluster_state import ClusterState, inspect_cluster
from steelyard.integrity.scrub.file_ends import whole_segments
from steelyard.integrity.scrub.outcome import ScrubRequest, scan_options
from steelyard.integrity.scrub.unread import unread_storage
from steelyard.model.errors import StudyError, UsageError
from steelyard.model.files.bounded_json import read_json
from steelyard.model.latency_goal import METRIC_WORDS
from steelyard.model.units import format_reading

_TURNED = {"slower": "faster", "faster": "slower"}
"""Verdicts of an arm against its control, by those of the control against the arm."""


@dataclass(frozen=True)
class ChecksumCost:
    """The change of a weighing's metric by turning checksums on, from one record."""

    record: str
    percent: float  # (on ÷ off − 1) × 100: of throughput below 0 where checksums slow it down
    low_percent: float
    high_percent: float
    workload: str
    verdict: str  # of on against off
    metric: str = "throughput"  # a key of METRIC_WORDS

    def to_json(self) -> dict[str, Any]:
        """As `drill --json` and `checksums --json` give it."""
        return {
            "record": self.record,
            "metric": self.metric,
            "percent": self.percent,
            "low_percent": self.low_percent,
            "high_percent": self.high_percent,
            "workload": self.workload,
            "verdict": self.verdict,
        }


def last_cost(records: Path = Path("records")) -> ChecksumCost | None:
    """The cost in the newest weighing below `records` with and without checksums; None: none.

    Studies whose name begins with "checksums" come first.
    """
    verdicts = [
        path
        for path in records.glob("*/*/verdict.json")
        if not path.parent.is_symlink() and path.parent.name != "latest"
    ]

    def rank(path: Path) -> tuple[bool, str, str]:
        study = path.parent.parent.name
        return study.startswith("checksums"), path.parent.name, str(path)

    for path in sorted(verdicts, key=rank, reverse=True):
        cost = _cost_of(path)
        if cost is not None:
            return cost
    return None


def _cost_of(verdict: Path) -> ChecksumCost | None:
    """From the contrast of two arms that differ in checksums alone, on against off."""
    from steelyard.study.read import (
        read_recorded_study,  # brings pydantic, for records that are there
    )

    try:
        facts = read_json(verdict)
        study = read_recorded_study(verdict.parent / "study.toml")
        arms = {arm.name: arm for arm in study.every_arm}
        for contrast in facts["contrasts"]:
            numbers = [contrast[f"{n}_percent"] for n in ("estimate", "low", "high")]
            arm, control = arms[contrast["arm"]], arms[contrast["control"]]
            metric, judged = contrast["metric"], contrast["verdict"]
            if metric not in METRIC_WORDS or judged == "invalid":
                continue
            other = control.model_copy(
                update={"name": arm.name, "checksums": not control.checksums}
            )
            if other != arm or None in numbers:
                continue
            if not arm.checksums:
                # The contrast is off against on; the change by turning them on is its inverse.
                numbers = [_inverse(n) for n in (numbers[0], numbers[2], numbers[1])]
                judged = _TURNED.get(judged, judged)
            if not all(math.isfinite(number) for number in numbers):
                continue
            return ChecksumCost(
                record=str(verdict.parent),
                percent=numbers[0],
                low_percent=numbers[1],
                high_percent=numbers[2],
                workload=f"{study.workload.name} {', '.join(study.workload.scripts)}".strip(),
                verdict=judged,
                metric=metric,
            )
    except (OSError, ValueError, KeyError, TypeError, StudyError):
        return None  # a damaged record, or one of another format
    return None


def _inverse(percent: float) -> float:
    """The change back: 25.0 of −20.0; ∞ of −100."""
    ratio = 1 + percent / 100
    return (1 / ratio - 1) * 100 if ratio > 0 else math.inf


def cost_words(cost: ChecksumCost | None) -> str:
    """`"throughput changes by −2.70 % [−3.10, −2.30] (slower; records/…, workload …)"`, the
    numbers and signs of the JSON; or that no weighing measured it."""
    if cost is None:
        return "the change of throughput was not weighed here yet (`steelyard weigh checksums`)"
    reading = format_reading(cost.percent, cost.low_percent, cost.high_percent)
    return (
        f"{METRIC_WORDS[cost.metric]} changes by {reading} "
        f"({cost.verdict}; {cost.record}, workload {cost.workload})"
    )


READ_SAMPLE_BYTES = 1 << 30
WRITE_SAMPLE_BYTES = 128 << 20
_CHUNK = 1 << 20
SHIPPED_KERNEL = "SSE2" if platform.machine() in ("x86_64", "AMD64") else None
"""The checksum kernel of PostgreSQL as distributions compile it, not the fastest one here."""


@dataclass(frozen=True)
class EnablingEstimate:
    """The size of a cluster, measured rates, and the time `pg_checksums --enable` takes by them."""

    path: str
    state: ClusterState
    files: int
    bytes: int
    read_bytes_per_s: float
    write_bytes_per_s: float
    same_disk: bool  # writing was measured on the disk of the data directory
    hints_logged: bool  # wal_log_hints is on: hint bits are logged already
    cost: ChecksumCost | None
    denied: tuple[tuple[str, str], ...] = ()  # unreadable, and not counted in the sums

    @property
    def seconds(self) -> tuple[float, float]:
        """Two estimates: reading and writing in parallel, and one after the other. Not bounds."""
        read = self.bytes / self.read_bytes_per_s
        written = self.bytes / self.write_bytes_per_s
        return max(read, written), read + written

    @property
    def exit_status(self) -> int:
        """3: something could not be read, so that enabling takes longer; else 0."""
        return 3 if self.denied else 0

    def to_json(self) -> dict[str, Any]:
        """As `checksums --json` gives it."""
        least, most = self.seconds
        return {
            "path": self.path,
            "version": str(self.state.layout.major),
            "life": self.state.run_state.value,
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


def estimate_enabling(
    path: Path, records: Path = Path("records"), place: Path | None = None
) -> EnablingEstimate:
    """Measure the rates and add up the files of a cluster.

    `place`: the directory where writing is measured; by default the cache root. `records`: where to
    look for a weighing of checksums. UsageError: not a data directory of 12 to 19.
    """
    state = inspect_cluster(path)
    try:
        segments, _, denied = walk_cluster(path, state.layout.tablespace_version)
    except OSError as error:
        raise UsageError(f'could not read data directory "{path}": {error}') from error
    segments = whole_segments(segments, state.layout)
    place = place or _existing(cache_root())
    return EnablingEstimate(
        path=str(path),
        state=state,
        files=len(segments),
        bytes=sum(segment.bytes for segment in segments),
        read_bytes_per_s=_read_rate(segments, state),
        write_bytes_per_s=_write_rate(place),
        same_disk=place.stat().st_dev == path.stat().st_dev,
        hints_logged=read_control(path / CONTROL_FILE)["wal_log_hints"],
        cost=last_cost(records),
        denied=(*denied, *unread_storage(other_storage(path))),
    )


def _existing(path: Path) -> Path:
    while not path.is_dir():
        path = path.parent
    return path if os.access(path, os.W_OK) else Path(tempfile.gettempdir())


def _read_rate(segments: Sequence[Segment], state: ClusterState) -> float:
    """Bytes a second that one thread reads and checksums, on 1 GB of the largest files.

    Uses the kernel that pg_checksums is compiled for. Cached files are read from the cache.
    """
    sample: list[Segment] = []
    left = READ_SAMPLE_BYTES
    for segment in sorted(segments, key=lambda s: -s.bytes):
        if left <= 0:
            break
        sample.append(segment)
        left -= segment.bytes
    began = time.monotonic()
    request = ScrubRequest(state.directory, threads=1, max_rate=0, gaps_s=())
    options = scan_options(request, state)
    # Where checksums are off every page is wrong, but only the speed matters here.
    options["checksums"], options["kernel"] = True, SHIPPED_KERNEL
    scanned = scan_segments(sample, options, lambda *_: None)
    return max(1.0, scanned["bytes"] / max(time.monotonic() - began, 1e-6))


def _write_rate(directory: Path) -> float:
    """Bytes a second of writing and syncing a temporary file of 128 MB."""
    chunk = os.urandom(_CHUNK)
    try:
        with tempfile.TemporaryFile(dir=directory) as file:
            began = time.monotonic()
            for _ in range(WRITE_SAMPLE_BYTES // _CHUNK):
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
            return WRITE_SAMPLE_BYTES / (time.monotonic() - began)
    except OSError as error:
        raise UsageError(
            f'could not measure writing in "{directory}": {error.strerror}',
            hint="Name another directory by --measure-in, on the disk of the data directory.",
        ) from error
