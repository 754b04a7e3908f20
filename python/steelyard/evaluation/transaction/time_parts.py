"""Divides the mean time of a transaction into parts that add up to it, in one arm and epoch,
compares them between two arms, and names what differs.

METHODOLOGY.md, causes.

Time on a processor and time in the queue for one are counted by the kernel for the sessions'
processes. What is left of the time under load is split by what sessions that did not run were seen
to do, at random moments of the measured slices. Sessions that run are seen too seldom, since
looking needs a processor itself, and those that were just woken are still seen to wait: so the
looks say nothing of the first two parts. A sync of the log keeps a processor busy for much of its
time: where the server times these calls, their whole time is the log's. And a session whose client
has its turn waits for a processor while the driver's thread does.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from steelyard.analysis.decision.part_differences import (
    PartDifference,
    named_cause,
    part_differences,
)
from steelyard.evaluation.transaction.bottleneck import BottleneckFacts, bottlenecks
from steelyard.model.readings import (
    CHECKPOINT_CPU,
    HELPER_CPU,
    SERVER_CPU,
    SESSION_CPU,
    SESSION_LOG,
    SESSION_QUEUE,
    EpochTotals,
    WaitPart,
)
from steelyard.model.units import NS_PER_US
from steelyard.record.machine import Probe
from steelyard.record.verdict import TimePart, TimeParts

Parts = Mapping[str, float]


@dataclass(frozen=True)
class TransactionTime:
    """The parts of an arm's mean transaction in one epoch, in µs."""

    parts: Parts
    client_cpu_us: float | None
    """The driver's, inside of the client's part; None: its queue is not known."""
    beside_cpu_us: float
    """Of the server's other processes while the arm was driven: in no part, but sessions and client
    wait for a processor meanwhile."""

    @property
    def kind(self) -> tuple[frozenset[str], bool]:
        """What the epoch shows; only times of one kind are compared."""
        return frozenset(self.parts), self.client_cpu_us is None

    @property
    def server_cpu_us(self) -> float:
        """On a processor, of the session and of what its server does beside it."""
        return self.parts[PROCESSOR] + self.beside_cpu_us

    @property
    def queue_rate(self) -> float:
        """Waiting for a processor, for each µs that the arm's processes were on one."""
        return self.parts[QUEUE] / (self.server_cpu_us + (self.client_cpu_us or 0.0))


Pair = tuple[TransactionTime, TransactionTime]
"""Of the control and of the arm, in one epoch."""

PROCESSOR, QUEUE, CLIENT, DEBT, REST = "processor", "queue", "client", "debt", "rest"
UNSPLIT = "waits"
"""In place of the parts that only looks at the sessions distinguish."""
LOG: WaitPart = "wal"
SAMPLED: tuple[WaitPart, ...] = ("read", "wal", "locks")


@dataclass(frozen=True, slots=True)
class TimeBreakdown:
    """Where the time of a transaction goes in an arm and in the control, and what holds each up."""

    parts: TimeParts
    """Without bottlenecks."""
    bottlenecks: tuple[BottleneckFacts, BottleneckFacts]
    """Of the control, and of the arm."""


def time_breakdown(
    epochs: Sequence[EpochTotals], control: str, arms: Sequence[str], probe: Probe | None = None
) -> list[TimeBreakdown]:
    """Of every arm that shows it."""
    every = [time_parts(epochs, control, arm) for arm in arms]
    return [
        TimeBreakdown(parts, bottlenecks(epochs, parts, probe))
        for parts in every
        if parts is not None
    ]


def time_parts(epochs: Sequence[EpochTotals], control: str, arm: str) -> TimeParts | None:
    """The parts of an arm's time against the control's; None where no two epochs show them.

    `epochs`: those that both arms survived.
    """
    pairs = _comparable_pairs(
        [(transaction_time(epoch, control), transaction_time(epoch, arm)) for epoch in epochs]
    )
    if len(pairs) < 2:
        return None
    every = [(of_control.parts, of_arm.parts) for of_control, of_arm in pairs]
    names = [
        name
        for name in every[0][0]
        if any(of_control[name] or of_arm[name] for of_control, of_arm in every)
    ]
    differences = _differences(names, every)
    divided = _differences(
        names, [with_their_queue(of_control, of_arm) for of_control, of_arm in pairs]
    )
    cause = named_cause(divided)
    if cause is not None and cause.name in (REST, UNSPLIT):
        cause = None
    return TimeParts(
        control=control,
        arm=arm,
        epochs=len(pairs),
        control_us=sum(part.control for part in differences),
        arm_us=sum(part.arm for part in differences),
        parts=tuple(map(_row, differences)),
        with_queue=tuple(map(_row, divided)),
        cause=None if cause is None else _row(cause),
    )


def _comparable_pairs(
    pairs: Sequence[tuple[TransactionTime | None, TransactionTime | None]],
) -> list[Pair]:
    """The epochs in which both arms show the same parts: those that most epochs show, since one
    without looks at sessions has fewer."""
    comparable = [
        (control, arm) for control, arm in pairs if control and arm and control.kind == arm.kind
    ]
    kinds = Counter(control.kind for control, _ in comparable)
    most = max(kinds, key=lambda kind: (kinds[kind], len(kind[0])), default=None)
    return [(control, arm) for control, arm in comparable if control.kind == most]


def _differences(
    names: Sequence[str], pairs: Sequence[tuple[Parts, Parts]]
) -> tuple[PartDifference, ...]:
    return part_differences(
        {name: [control[name] for control, _ in pairs] for name in names},
        {name: [arm[name] for _, arm in pairs] for name in names},
    )


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


def transaction_time(epoch: EpochTotals, arm: str) -> TransactionTime | None:
    """Of an arm in an epoch; None where it was not measured."""
    parts = parts_of(epoch, arm)
    if parts is None:
        return None
    totals = epoch.arms[arm]
    if CLIENT not in parts or totals.driver_queue_share is None:
        return TransactionTime(parts, client_cpu_us=None, beside_cpu_us=0.0)
    client_us = totals.driver_cpu_ns / totals.transactions / NS_PER_US
    return TransactionTime(parts, min(client_us, parts[CLIENT]), _background_us(epoch, arm))


def parts_of(epoch: EpochTotals, arm: str) -> dict[str, float] | None:
    """Part → µs of a transaction of an arm; None where the epoch does not show it."""
    totals = epoch.arms[arm]
    if not totals.transactions or not epoch.is_measured(arm, SESSION_CPU):
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
    waits = epoch.waits.get(arm)
    if waits is None or not waits.sessions:
        return {**parts, DEBT: owed, UNSPLIT: loaded - sum(parts.values())}
    waiting: dict[str, float] = {part: waits.by_part.get(part, 0) for part in SAMPLED}
    waiting[CLIENT] = max(0, waits.sessions - sum(waits.by_part.values()))
    every, left = sum(waiting.values()), loaded - sum(parts.values())
    if not every:
        return {**parts, DEBT: owed, REST: left}
    split = {**parts, **{part: left * n / every for part, n in waiting.items()}, DEBT: owed}
    behind = left * waits.behind_log / every
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


def _background_us(epoch: EpochTotals, arm: str) -> float:
    """Processor time a transaction of the server's processes that are no sessions, as far as it was
    used while the arm was driven; 0 where that is not known.

    In a turn that is all of it. Where idle arms are stopped and each visit ends with a charged
    checkpoint, all but the checkpoint's, for which no session waits. Else an arm's background may
    work in the other's slices, and only what sessions wait for is sure to be in its own.
    """
    server, session, helpers, checkpoints = (
        epoch.per_transaction(arm, name)
        for name in (SERVER_CPU, SESSION_CPU, HELPER_CPU, CHECKPOINT_CPU)
    )
    others = server - session - helpers - checkpoints
    if not math.isfinite(others):
        return 0.0
    if arm in epoch.turns:
        return max(0.0, server - session)
    return helpers + max(0.0, others) if epoch.arms[arm].debt_ns else helpers


def with_their_queue(control: TransactionTime, arm: TransactionTime) -> tuple[Parts, Parts]:
    """The parts of both arms with the queue divided: as much of it as the servers' processor time
    makes, at the mean of both arms' waiting for a µs of it, goes to the processor, and what the
    client's makes to the client.

    Where processors are busy, work that takes longer also waits longer, and that is no cause of its
    own. What remains in the queue is waiting for other reasons: a quota, a neighbour. The
    difference of the products is split without a rest. An arm that used no time of a processor
    that could be counted says nothing of the waiting for it.
    """
    rates = [side.queue_rate for side in (control, arm) if side.parts[PROCESSOR] > 0]
    rate = sum(rates) / len(rates) if rates else 0.0
    both = []
    for side in (control, arm):
        caused = {PROCESSOR: rate * side.server_cpu_us, CLIENT: rate * (side.client_cpu_us or 0.0)}
        left = {QUEUE: side.parts[QUEUE] - sum(caused.values())}
        gained = {name: side.parts[name] + us for name, us in caused.items() if name in side.parts}
        both.append({**side.parts, **gained, **left})
    return both[0], both[1]
