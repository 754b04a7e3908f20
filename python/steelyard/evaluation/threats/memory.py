"""Raises the threats of memory: a cap that does not hold everything alike, work not bound as said.

None invalidates. A cap is the same for all arms, and in slices the files of all arms are dropped at
once and lie in slots that are drawn: what stays in the page cache is noise of an epoch, no arm's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from steelyard.evaluation.causes import complete
from steelyard.evaluation.threats.turn_facts import ResidencyUnknown
from steelyard.evaluation.transaction.bottleneck import GROUPS
from steelyard.evaluation.transaction.time_parts import time_parts
from steelyard.model.threat import Observation, ThreatKind
from steelyard.model.units import NS_PER_US
from steelyard.record.environment import Environment
from steelyard.record.epoch import Epoch
from steelyard.record.plan import Plan
from steelyard.study.study import Study

READ_BYTES = "read_bytes"
CACHE_BYTES = "memory_cache_bytes"
LEAST_READ_BYTES = 0.1 * 8192
"""Of a transaction, from the device: a block in ten, as for *working set not what the study says*.
Below it nine transactions of ten never wait for the device."""
RESIDENT_SHARE = 0.01
"""Of the arms' files: what may be left in the page cache after eviction, as in turns."""
DIRECT_IO = "debug_io_direct"
STORAGE = (*GROUPS["reading"], *GROUPS["WAL flush"])
"""Parts of a transaction's time."""


@dataclass(frozen=True, slots=True)
class ReadsOfArm:
    """What an arm read of the device, and what it had cached."""

    arm: str
    read_bytes: float
    """Of a transaction."""
    cache_bytes: float | None
    """Page cache in the end, at most; None: it was not read."""


@dataclass(frozen=True, slots=True)
class HardlyRead(Observation):
    """Transactions hardly read anything of the device, where they are to wait for it."""

    kind: ClassVar[ThreatKind] = ThreatKind.NOT_STORAGE_BOUND
    reads: tuple[ReadsOfArm, ...]
    """Of each arm that does."""
    cap_bytes: int | None
    """Of an arm's memory."""


@dataclass(frozen=True, slots=True)
class TimesOfArm:
    """Where the time of an arm's transactions went."""

    arm: str
    processor_ns: float
    """Of a transaction; on a processor, or waiting for one."""
    storage_ns: float
    """Of a transaction; reading blocks and in the log."""


@dataclass(frozen=True, slots=True)
class TimeOnProcessors(Observation):
    """Transactions spend more time on processors than in storage, where they are to wait for it."""

    kind: ClassVar[ThreatKind] = ThreatKind.NOT_STORAGE_BOUND
    times: tuple[TimesOfArm, ...]
    """Of each arm that does."""


@dataclass(frozen=True, slots=True)
class WritesUnderV1(Observation):
    """The work writes under a cap of control groups of version 1."""

    kind: ClassVar[ThreatKind] = ThreatKind.V1_WRITES
    cap_bytes: int


@dataclass(frozen=True, slots=True)
class PageCacheBypassed(Observation):
    """Arms read and write past the page cache."""

    kind: ClassVar[ThreatKind] = ThreatKind.NO_PAGE_CACHE
    setting: str
    values: tuple[tuple[str, str], ...]
    """(arm, its value), of each arm that has one."""


@dataclass(frozen=True, slots=True)
class FilesStayedCached(Observation):
    """Files of the arms were in the page cache after their eviction."""

    kind: ClassVar[ThreatKind] = ThreatKind.NOT_EVICTED
    largest_share: float
    """Of the files' bytes."""
    times: int
    """Epochs that began with more than may stay."""
    epochs: int


def memory_threats(
    epochs: Sequence[Epoch], plan: Plan, study: Study, environment: Environment, arm: str
) -> tuple[Observation, ...]:
    """Every threat to one contrast that memory explains."""
    both = (study.control.name, arm)
    return (
        *_not_storage_bound(epochs, both, plan, study),
        *_v1_writes(plan),
        *_no_page_cache(both, environment),
        *_not_evicted(epochs),
    )


def _not_storage_bound(
    epochs: Sequence[Epoch], both: tuple[str, str], plan: Plan, study: Study
) -> Iterator[Observation]:
    """Only where the study says that the work waits for storage: by what was read, and by where
    the time of a transaction went."""
    if study.bound != "storage":
        return
    reads = []
    for arm in both:
        read = _read_per_transaction(epochs, arm)
        if read is not None and read < LEAST_READ_BYTES:
            reads.append(ReadsOfArm(arm, read, _cached(epochs, arm)))
    if reads:
        yield HardlyRead(tuple(reads), plan.memory.cap_bytes if plan.memory else None)
    elif times := tuple(_on_processors(epochs, both)):
        yield TimeOnProcessors(times)


def _on_processors(epochs: Sequence[Epoch], both: tuple[str, str]) -> Iterator[TimesOfArm]:
    """Of each arm whose transactions spend more time on processors, or waiting for one, than in
    reads and the log; nothing where it is not known where the time goes."""
    breakdown = time_parts(complete([epoch.totals for epoch in epochs]), *both)
    if breakdown is None:
        return
    control: dict[str, float] = {part.part: part.control_us for part in breakdown.parts}
    other: dict[str, float] = {part.part: part.arm_us for part in breakdown.parts}
    for arm, times in zip(both, (control, other), strict=True):
        processor, storage = (_together(times, names) for names in (GROUPS["processor"], STORAGE))
        if processor > storage:
            yield TimesOfArm(arm, processor, storage)


def _together(times_us: Mapping[str, float], names: Sequence[str]) -> float:
    """Nanoseconds of several parts."""
    return NS_PER_US * sum(times_us.get(name, 0.0) for name in names)


def _read_per_transaction(epochs: Sequence[Epoch], arm: str) -> float | None:
    """From the device, over the epochs that have it; None: none has."""
    totals = [epoch.totals for epoch in epochs if np.isfinite(epoch.totals.amount(arm, READ_BYTES))]
    done = sum(
        epoch.transactions_measured.get(arm) or epoch.arms[arm].transactions for epoch in totals
    )
    return sum(epoch.amount(arm, READ_BYTES) for epoch in totals) / done if done else None


def _cached(epochs: Sequence[Epoch], arm: str) -> float | None:
    """How much page cache it had in the end, at most; None: it was not read."""
    amounts = [epoch.totals.amount(arm, CACHE_BYTES) for epoch in epochs]
    finite = [amount for amount in amounts if np.isfinite(amount)]
    return max(finite, default=None)


def _v1_writes(plan: Plan) -> Iterator[Observation]:
    if plan.memory is not None and plan.memory.held_by == "v1" and plan.writes:
        yield WritesUnderV1(plan.memory.cap_bytes)


def _no_page_cache(both: tuple[str, str], environment: Environment) -> Iterator[Observation]:
    settings = {arm: environment.settings(arm).get(DIRECT_IO, "") for arm in both}
    direct = tuple((arm, value) for arm, value in settings.items() if value.strip())
    if direct:
        yield PageCacheBypassed(DIRECT_IO, direct)


def _not_evicted(epochs: Sequence[Epoch]) -> Iterator[Observation]:
    dropped = [line for epoch in epochs if (line := epoch.line.evicted) and line.file_bytes]
    shares = [
        line.resident_bytes / line.file_bytes for line in dropped if line.resident_bytes is not None
    ]
    if dropped and not shares:
        yield ResidencyUnknown()
    resident = [share for share in shares if share > RESIDENT_SHARE]
    if resident:
        yield FilesStayedCached(max(resident), len(resident), len(epochs))
