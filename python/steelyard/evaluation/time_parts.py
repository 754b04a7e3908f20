"""Splits the mean time of a transaction into parts that add up to it, and names what differs.

METHODOLOGY.md, causes. Time on a processor and time in the queue for one are counted by the kernel
for the sessions' processes. What is left of the time under load is split by what sessions that did
not run were seen to do, at random moments of the measured slices. Sessions that run are seen too
seldom, since looking needs a processor itself, and those that were just woken are still seen
to wait: so the looks say nothing of the first two parts. A sync of the log keeps a processor busy
for much of its time: where the server times these calls, their whole time is the log's. And a
session whose client has its turn waits for a processor while the driver's thread does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from steelyard.analysis.decision.part_differences import (
    PartDifference,
    named_cause,
    part_differences,
)
from steelyard.evaluation.bottleneck import bottlenecks
from steelyard.model.readings import (
    SERVER_CPU,
    SESSION_CPU,
    SESSION_LOG,
    SESSION_QUEUE,
    EpochTotals,
)
from steelyard.model.units import NS_PER_US
from steelyard.model.waits import WaitPart
from steelyard.record.machine.probe import Probe
from steelyard.record.verdict import TimePart, TimeParts

PROCESSOR, QUEUE, CLIENT, DEBT, REST = "processor", "queue", "client", "debt", "rest"
UNSPLIT = "waits"
"""In place of what only looks at the sessions tell apart."""
LOG: WaitPart = "wal"
SAMPLED: tuple[WaitPart, ...] = ("read", "wal", "locks")


def parts_of(epoch: EpochTotals, arm: str) -> dict[str, float] | None:
    """Part → µs of a transaction of an arm; None where the epoch does not tell."""
    totals = epoch.arms[arm]
    if not totals.transactions:
        return None
    whole = totals.busy_ns / totals.transactions / NS_PER_US
    owed = totals.clients * totals.debt_ns / totals.transactions / NS_PER_US
    loaded = whole - owed
    parts = {
        PROCESSOR: epoch.per_transaction(arm, SESSION_CPU),
        QUEUE: epoch.per_transaction(arm, SESSION_QUEUE),
    }
    if not all(map(math.isfinite, parts.values())) or not parts[PROCESSOR]:
        return None
    seen = epoch.waits.get(arm)
    if seen is None or not seen.sessions:
        return {**parts, DEBT: owed, UNSPLIT: loaded - sum(parts.values())}
    waiting: dict[str, float] = {part: seen.by_part.get(part, 0) for part in SAMPLED}
    waiting[CLIENT] = max(0, seen.sessions - sum(seen.by_part.values()))
    every, left = sum(waiting.values()), loaded - sum(parts.values())
    if not every:
        return {**parts, DEBT: owed, REST: left}
    split = {**parts, **{part: left * n / every for part, n in waiting.items()}, DEBT: owed}
    behind = left * seen.behind_log / every
    logged = _with_timed_log(split, epoch.per_transaction(arm, SESSION_LOG), behind)
    queued = logged[CLIENT] * (totals.driver_queue_share or 0.0)
    return {**logged, QUEUE: logged[QUEUE] + queued, CLIENT: logged[CLIENT] - queued}


def _with_timed_log(parts: dict[str, float], timed_us: float, behind_us: float) -> dict[str, float]:
    """The parts with the log's at least as long as sessions were timed to write and sync it, and
    waited for others that did: what looks at sessions that do not run miss of these calls was spent
    on a processor, or in the queue for one, and is taken from these two in proportion.

    `timed_us`: NaN where it was not timed. `behind_us`: of the log's part, waiting for others that
    time their calls themselves.
    """
    running = parts[PROCESSOR] + parts[QUEUE]
    more = min(timed_us - (parts[LOG] - behind_us), running)
    if not more > 0:
        return parts
    share = more / running
    return {
        **parts,
        PROCESSOR: parts[PROCESSOR] * (1 - share),
        QUEUE: parts[QUEUE] * (1 - share),
        LOG: parts[LOG] + more,
    }


def times_told(
    epochs: Sequence[EpochTotals], control: str, arms: Sequence[str], probe: Probe | None = None
) -> list[TimeParts]:
    """Where the time of a transaction goes in every arm that tells it, and what holds it up."""
    found = [time_parts(epochs, control, arm) for arm in arms]
    return [
        one.model_copy(update={"bottlenecks": bottlenecks(epochs, one, probe)})
        for one in found
        if one is not None
    ]


def time_parts(epochs: Sequence[EpochTotals], control: str, arm: str) -> TimeParts | None:
    """The parts of an arm's time against the control's; None where no two epochs tell them.

    `epochs`: those that both arms survived.
    """
    pairs = [(_told(epoch, control), _told(epoch, arm)) for epoch in epochs]
    told = [(one, other) for one, other in pairs if one and other and one.alike(other)]
    if len(told) < 2 or any(not one.alike(told[0][0]) for one, _ in told):
        return None
    every = [(one.parts, other.parts) for one, other in told]
    names = [name for name in every[0][0] if any(one[name] or other[name] for one, other in every)]
    found = part_differences(
        {name: [one[name] for one, _ in every] for name in names},
        {name: [other[name] for _, other in every] for name in names},
    )
    made = [_with_their_queue(one, other) for one, other in told]
    cause = named_cause(
        part_differences(
            {name: [one[name] for one, _ in made] for name in names},
            {name: [other[name] for _, other in made] for name in names},
        )
    )
    if cause is not None and cause.name in (REST, UNSPLIT):
        cause = None
    return TimeParts(
        control=control,
        arm=arm,
        epochs=len(told),
        control_us=sum(part.control for part in found),
        arm_us=sum(part.arm for part in found),
        parts=tuple(map(_row, found)),
        cause=None if cause is None else _row(cause),
    )


Parts = Mapping[str, float]


@dataclass(frozen=True)
class _Told:
    """What an epoch tells of an arm's transaction, in µs."""

    parts: Parts
    client_cpu_us: float
    """Inside of the client's part; 0 where that says nothing of the client's queue."""
    background_cpu_us: float
    """Of the server's other processes: in no part, but others wait for a processor meanwhile."""

    def alike(self, other: _Told) -> bool:
        """Whether both tell the same parts."""
        return self.parts.keys() == other.parts.keys()

    @property
    def server_cpu_us(self) -> float:
        """On a processor, of the session and of what its server does beside it."""
        return self.parts[PROCESSOR] + self.background_cpu_us

    @property
    def queue_rate(self) -> float:
        """Waiting for a processor, for each µs that the arm's processes were on one."""
        return self.parts[QUEUE] / (self.server_cpu_us + self.client_cpu_us)


def _told(epoch: EpochTotals, arm: str) -> _Told | None:
    parts = parts_of(epoch, arm)
    if parts is None:
        return None
    totals = epoch.arms[arm]
    if CLIENT not in parts or totals.driver_queue_share is None:
        return _Told(parts, client_cpu_us=0.0, background_cpu_us=0.0)
    client_us = totals.driver_cpu_ns / totals.transactions / NS_PER_US
    beside_us = epoch.per_transaction(arm, SERVER_CPU) - epoch.per_transaction(arm, SESSION_CPU)
    return _Told(
        parts,
        client_cpu_us=min(client_us, parts[CLIENT]),
        background_cpu_us=max(beside_us, 0.0) if math.isfinite(beside_us) else 0.0,
    )


def _with_their_queue(control: _Told, arm: _Told) -> tuple[Parts, Parts]:
    """The parts of both arms with the queue split: as much of it as the servers' processor time
    makes, at the mean of both arms' waiting for a µs of it, goes to the processor, and what the
    client's makes to the client.

    Where processors are busy, work that takes longer also waits longer, and that is no cause of its
    own. What remains in the queue is waiting for other reasons: a quota, a neighbour. The
    difference of the products is split without a rest. An arm that used no time of a processor
    that could be counted says nothing of the waiting for it.
    """
    rates = [one.queue_rate for one in (control, arm) if one.parts[PROCESSOR] > 0]
    rate = sum(rates) / len(rates) if rates else 0.0
    both = []
    for one in (control, arm):
        made = {PROCESSOR: rate * one.server_cpu_us, CLIENT: rate * one.client_cpu_us}
        left = {QUEUE: one.parts[QUEUE] - sum(made.values())}
        gained = {name: one.parts[name] + us for name, us in made.items() if name in one.parts}
        both.append({**one.parts, **gained, **left})
    return both[0], both[1]


def _row(part: PartDifference) -> TimePart:
    ends: Mapping[str, float | None] = {
        "low_us": part.interval.low if math.isfinite(part.interval.low) else None,
        "high_us": part.interval.high if math.isfinite(part.interval.high) else None,
    }
    return TimePart.model_validate(
        {
            "part": part.name,
            "control_us": part.control,
            "arm_us": part.arm,
            "difference_us": part.difference,
            **ends,
        }
    )
