"""Raises the threats of memory: a cap that does not hold everything alike, work not bound as said.

None invalidates. A cap is the same for all arms, and in slices the files of all arms are dropped at
once and lie in slots that are drawn: what stays in the page cache is noise of an epoch, no arm's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from steelyard.evaluation.causes import complete
from steelyard.evaluation.transaction.bottleneck import GROUPS
from steelyard.evaluation.transaction.time_parts import time_parts
from steelyard.model.threat import Threat, raise_threat
from steelyard.model.threat_kind import ThreatKind
from steelyard.model.units import NS_PER_US, format_bytes, format_digits, format_duration
from steelyard.record.environment import Environment
from steelyard.record.epoch import Epoch, EvictedLine
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


def memory_threats(
    epochs: Sequence[Epoch], plan: Plan, study: Study, environment: Environment, arm: str
) -> tuple[Threat, ...]:
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
) -> Iterator[Threat]:
    """Only where the study says that the work waits for storage: by what was read, and by where
    the time of a transaction went."""
    if study.bound != "storage":
        return
    unlike = []
    for arm in both:
        read = _read_per_transaction(epochs, arm)
        if read is not None and read < LEAST_READ_BYTES:
            unlike.append(
                f"{arm} read {format_digits(read, 3)} bytes a transaction from the device"
                f"{_cached(epochs, plan, arm)}"
            )
    unlike = unlike or list(_on_processors(epochs, both))
    if unlike:
        observation = f'{" and ".join(unlike)}; the study says bound = "storage"'
        yield raise_threat(ThreatKind.NOT_STORAGE_BOUND, observation)


def _on_processors(epochs: Sequence[Epoch], both: tuple[str, str]) -> Iterator[str]:
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
            yield (
                f"a transaction of {arm} took {format_duration(processor)} on a processor or "
                f"waiting for one, and {format_duration(storage)} reading blocks and in the log"
            )


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


def _cached(epochs: Sequence[Epoch], plan: Plan, arm: str) -> str:
    """How much page cache it had in the end of the cap's room; nothing without a cap."""
    amounts = [epoch.totals.amount(arm, CACHE_BYTES) for epoch in epochs]
    finite = [amount for amount in amounts if np.isfinite(amount)]
    if plan.memory is None or not finite:
        return ""
    cache, cap = format_bytes(max(finite)), format_bytes(plan.memory.cap_bytes)
    return f" (page cache {cache} under a cap of {cap})"


def _v1_writes(plan: Plan) -> Iterator[Threat]:
    if plan.memory is not None and plan.memory.held_by == "v1" and plan.writes:
        cap = format_bytes(plan.memory.cap_bytes)
        observation = f"the work writes, and control groups of version 1 hold each arm under {cap}"
        yield raise_threat(ThreatKind.V1_WRITES, observation)


def _no_page_cache(both: tuple[str, str], environment: Environment) -> Iterator[Threat]:
    settings = {arm: environment.settings(arm).get(DIRECT_IO, "") for arm in both}
    direct = [
        f'{DIRECT_IO} is "{value}" in {arm}' for arm, value in settings.items() if value.strip()
    ]
    if direct:
        yield raise_threat(ThreatKind.NO_PAGE_CACHE, " and ".join(direct))


def _not_evicted(epochs: Sequence[Epoch]) -> Iterator[Threat]:
    shares = [_resident_share(epoch.line.evicted) for epoch in epochs]
    resident = [share for share in shares if share > RESIDENT_SHARE]
    if resident:
        yield raise_threat(
            ThreatKind.NOT_EVICTED,
            f"up to {format_digits(100 * max(resident), 2)} % of the arms' files were still in the "
            f"page cache after eviction, more than {100 * RESIDENT_SHARE:g} % before "
            f"{len(resident)} of {len(epochs)} epochs: reading them is charged to no arm's memory",
        )


def _resident_share(evicted: EvictedLine | None) -> float:
    if evicted is None or evicted.resident_bytes is None or not evicted.file_bytes:
        return 0.0
    return evicted.resident_bytes / evicted.file_bytes
