"""Compares the distance between checkpoints as weighed with the one an arm's settings give.

Slices end with a CHECKPOINT (cost "whole") or begin soon after a start (cost "foreground"), so far
more full-page images fall on a transaction than minutes after a checkpoint. A treatment that acts
through them is then measured exactly, at a distance at which few servers run: on tproc-c
wal_compression = pglz read -70 % in slices and -3 to -5 % in the second minute after a checkpoint.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from steelyard.evaluation.threats.pool_warmth import BLOCK_BYTES
from steelyard.model.readings import EpochTotals
from steelyard.model.setting_value import reported
from steelyard.model.threat import Observation, ThreatKind
from steelyard.model.units import NS_PER_S

RECORD_HEADER_BYTES = 24
"""SizeOfXLogRecord of xlogrecord.h: what a record takes in the log that is no image."""
FAR_SHORTER = 0.5
"""Share of the distance that the settings give, below which a weighing is at another distance."""
ACTS_THROUGH_CHECKPOINTS = (
    "wal_compression",
    "full_page_writes",
    "wal_log_hints",
    "data_checksums",
    "version",
    "synchronous_commit",
    "fsync",
    "commit_delay",
    "commit_siblings",
    "shared_buffers",
    "checkpoint_",
    "max_wal_size",
    "min_wal_size",
    "wal_buffers",
    "wal_init_zero",
    "wal_level",
    "wal_recycle",
    "wal_skip_threshold",
    "wal_sync_method",
    "wal_writer_",
    "bgwriter_",
    "backend_flush_after",
    "autovacuum",
    "vacuum_",
    "archive_",  # what is archived, or summarized, is the log
    "summarize_wal",
    "debug_io_direct",
)
"""Settings, or how their names begin, whose effect depends on the distance between checkpoints."""


@dataclass(frozen=True, slots=True)
class Distance:
    """How far apart checkpoints are: time and log between two of them."""

    seconds: float
    wal_bytes: float


@dataclass(frozen=True, slots=True)
class Images:
    """Full-page images of an arm, over all epochs."""

    arm: str
    per_transaction: float
    share_of_wal: float
    """Of the log's bytes that they can be at most."""


@dataclass(frozen=True, slots=True)
class CheckpointsNearer(Observation):
    """Checkpoints of an arm lay nearer together than its own settings have them."""

    kind: ClassVar[ThreatKind] = ThreatKind.CHECKPOINT_DISTANCE
    arm: str
    weighed: Distance
    configured: Distance
    images: tuple[Images, Images]
    """Of the control and of the arm."""
    through: tuple[str, ...]
    """Settings that differ between the arms and act through checkpoints."""


def checkpoint_distance(
    epochs: Sequence[EpochTotals],
    control: str,
    arm: str,
    settings: Mapping[str, Mapping[str, str]],
    declared: Collection[str],
    *,
    whole: bool,
) -> Iterator[Observation]:
    """The threat where an arm's checkpoints lie nearer together than its own settings have them.

    `settings`: arm → settings as its server reports them. `declared`: names of what differs between
    the arms. `whole`: every visit ends with a checkpoint.
    """
    shortened = None
    for name in (control, arm):
        weighed = as_weighed(epochs, name, whole=whole)
        configured = by_settings(settings.get(name, {}))
        if weighed is None or configured is None:
            return
        if weighed.seconds < FAR_SHORTER * _expected_seconds(configured, weighed):
            shortened = name, weighed, configured
    if shortened is None:
        return
    name, weighed, configured = shortened
    through = sorted(
        setting for setting in declared if setting.startswith(ACTS_THROUGH_CHECKPOINTS)
    )
    images = _images(epochs, control), _images(epochs, arm)
    yield CheckpointsNearer(name, weighed, configured, images, tuple(through))


def as_weighed(epochs: Sequence[EpochTotals], arm: str, *, whole: bool) -> Distance | None:
    """The mean distance in the measured slices; None where nothing was written or recorded.

    Cost "whole": from visit to visit of the arm. Else from an epoch's start to its end, warm-up
    included: servers stop with a checkpoint, and make none of their own in so short a time.
    """
    seconds = wal_bytes = 0.0
    count = 0
    for epoch in epochs:
        totals = epoch.arms[arm]
        done, written = epoch.transactions_all.get(arm, 0), epoch.amount(arm, "wal_bytes")
        if not (totals.transactions and totals.clients and done and written > 0):
            continue
        measured_share = totals.transactions / done
        own_s = totals.busy_ns / totals.clients / NS_PER_S
        seconds += own_s if whole else own_s / measured_share
        wal_bytes += written * (measured_share if whole else 1.0)
        count += len(totals.slices) if whole else 1
    return Distance(seconds / count, wal_bytes / count) if count and wal_bytes else None


def by_settings(settings: Mapping[str, str]) -> Distance | None:
    """What a server's settings give: checkpoint_timeout, and the log after which one is requested.

    The latter is max_wal_size / (1 + checkpoint_completion_target), as CalculateCheckpointSegments
    of xlog.c has it. None where a setting is missing or in a unit that is not known.
    """
    timeout, unit = reported(settings.get("checkpoint_timeout", ""))
    limit, limit_unit = reported(settings.get("max_wal_size", ""))
    target, _ = reported(settings.get("checkpoint_completion_target", ""))
    if timeout is None or limit is None or target is None or (unit, limit_unit) != ("s", "MB"):
        return None
    return Distance(timeout, limit * (1 << 20) / (1 + target))


def _expected_seconds(configured: Distance, weighed: Distance) -> float:
    """When the settings would have made a checkpoint, had log been written as fast as here."""
    rate = weighed.wal_bytes / weighed.seconds if weighed.seconds else 0.0
    return min(configured.seconds, configured.wal_bytes / rate) if rate else configured.seconds


def _images(epochs: Sequence[EpochTotals], arm: str) -> Images:
    counted = [e for e in epochs if not math.isnan(e.amount(arm, "full_page_images"))]
    done = sum(epoch.transactions_all.get(arm, 0) for epoch in counted)
    count, written, records = (
        np.nansum([epoch.amount(arm, name) for epoch in counted], dtype=float)
        for name in ("full_page_images", "wal_bytes", "wal_records")
    )
    most = min(count * BLOCK_BYTES, max(0.0, written - records * RECORD_HEADER_BYTES))
    share = most / written if written else 0.0
    return Images(arm, float(count / done) if done else 0.0, float(share))
