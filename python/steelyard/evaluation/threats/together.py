"""Raises the threats of a load that several machines put on together: begun apart, held up, or
counted otherwise than by the servers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from steelyard.analysis.decision.t_interval import t_interval
from steelyard.model.readings import (
    ENDED_TRANSACTIONS,
    EpochTotals,
    LoadMachineTotals,
    TogetherTotals,
)
from steelyard.model.threat import Observation, ThreatKind

APART_SHARE = 0.05
"""Of an arm's slices, or of a machine's, that may begin apart or late."""
UNEQUAL_SHARE = 0.005
"""Of a slice's length: by how much more one arm's machines may begin apart than the other's."""
BUSY_SHARE = 0.8
"""Of a machine's processors, that its driver may use."""
SLOW_SHARE = 0.5
"""Of what a client of the other machines does, below which a machine's clients are held up."""
MISSING_SHARE = 0.005
"""Of the transactions that drivers counted, which the servers may not have: statistics are flushed
when a session ends."""


@dataclass(frozen=True, slots=True)
class MachinesApart(Observation):
    """The machines began slices of an arm too far apart, too often."""

    kind: ClassVar[ThreatKind] = ThreatKind.MACHINES_APART
    arm: str
    apart: int
    """Slices that they began so."""
    slices: int
    longest_ns: int
    """That they began apart."""


@dataclass(frozen=True, slots=True)
class MachinesFartherApart(Observation):
    """The machines began farther apart for one arm than for another."""

    kind: ClassVar[ThreatKind] = ThreatKind.MACHINES_APART
    farther: str
    """The arm for which they did."""
    nearer: str
    share: float
    """Of a slice's length, on average."""


@dataclass(frozen=True, slots=True)
class DriverUsesProcessors(Observation):
    """The driver used up the processors of a load machine."""

    kind: ClassVar[ThreatKind] = ThreatKind.MACHINE_BOUND
    machine: str
    share: float
    """Of the time of its processors."""


@dataclass(frozen=True, slots=True)
class MachineLate(Observation):
    """A load machine began slices late, too often."""

    kind: ClassVar[ThreatKind] = ThreatKind.MACHINE_BOUND
    machine: str
    share: float
    """Of its slices."""


@dataclass(frozen=True, slots=True)
class ClientsSlow(Observation):
    """The clients of a load machine did much less than those of the others."""

    kind: ClassVar[ThreatKind] = ThreatKind.MACHINE_BOUND
    machine: str
    share: float
    """Of what a client of the others did."""


@dataclass(frozen=True, slots=True)
class FewerEndedThanCounted(Observation):
    """Servers ended fewer transactions than the load machines counted."""

    kind: ClassVar[ThreatKind] = ThreatKind.COUNTS_APART
    counted: float
    """Transactions of all arms, by the machines."""
    ended: float
    """Transactions, by the servers."""


def together_threats(
    epochs: Sequence[EpochTotals], control: str, arm: str
) -> Iterator[Observation]:
    """Of one contrast; none where one machine drove it."""
    usable = [e for e in epochs if e.arms[control].together and e.arms[arm].together]
    if usable:
        yield from _apart(usable, control, arm)
        yield from _slow_machines(usable, control, arm)
        yield from _counted_apart(usable)


def _of(epochs: Sequence[EpochTotals], arm: str) -> list[TogetherTotals]:
    return [
        totals for totals in (epoch.arms[arm].together for epoch in epochs) if totals is not None
    ]


def _apart(epochs: Sequence[EpochTotals], control: str, arm: str) -> Iterator[Observation]:
    both = {name: _of(epochs, name) for name in (control, arm)}
    for name, totals in both.items():
        apart, slices = sum(epoch.apart for epoch in totals), sum(epoch.slices for epoch in totals)
        if apart > APART_SHARE * slices:
            longest_ns = max(epoch.longest_ns for epoch in totals)
            yield MachinesApart(name, apart, slices, longest_ns)
            return
    more = [b.skew_share - a.skew_share for a, b in zip(both[control], both[arm], strict=True)]
    interval = t_interval(np.array(more))
    mean = float(np.mean(more))
    if abs(mean) > UNEQUAL_SHARE and not interval.low <= 0 <= interval.high:
        farther, nearer = (arm, control) if mean > 0 else (control, arm)
        yield MachinesFartherApart(farther, nearer, abs(mean))


def _slow_machines(epochs: Sequence[EpochTotals], control: str, arm: str) -> Iterator[Observation]:
    both = [_machines(_of(epochs, name)) for name in (control, arm)]
    for name in sorted({name for machines in both for name in machines}):
        totals = [machines[name] for machines in both if name in machines]
        busiest = max(machine.processor_share for machine in totals)
        late = max(machine.late / machine.slices for machine in totals if machine.slices)
        slow = max(_share_of_others(name, machines) for machines in both)
        if busiest > BUSY_SHARE:
            yield DriverUsesProcessors(name, busiest)
        elif late > APART_SHARE:
            yield MachineLate(name, late)
        elif len(totals) == len(both) and slow < SLOW_SHARE:
            yield ClientsSlow(name, slow)
        else:
            continue
        return


def _counted_apart(epochs: Sequence[EpochTotals]) -> Iterator[Observation]:
    """What drivers counted and servers did not end: whatever was retried, a transaction that was
    counted ended once. Servers may well end more: other users', or several a script."""
    counted, ended = 0.0, 0.0
    for epoch in epochs:
        reading = epoch.machine.get(ENDED_TRANSACTIONS)
        if reading is not None and reading.value is not None:
            counted += sum(epoch.transactions_all.values())
            ended += reading.value
    if ended < (1 - MISSING_SHARE) * counted:
        yield FewerEndedThanCounted(counted, ended)


def _share_of_others(name: str, machines: Mapping[str, LoadMachineTotals]) -> float:
    """A client's throughput over the mean of the other machines'; 1 where there are no others."""
    others = [machine.client_throughput for other, machine in machines.items() if other != name]
    mean = float(np.mean(others)) if others else 0.0
    return machines[name].client_throughput / mean if name in machines and mean > 0 else 1.0


def _machines(epochs: Sequence[TogetherTotals]) -> dict[str, LoadMachineTotals]:
    """Over epochs, by name: a machine that was replaced is one of another name."""
    by_name: dict[str, list[LoadMachineTotals]] = {}
    for epoch in epochs:
        for name, machine in epoch.machines.items():
            by_name.setdefault(name, []).append(machine)
    return {
        name: LoadMachineTotals(
            processors=parts[0].processors,
            slices=sum(part.slices for part in parts),
            transactions=sum(part.transactions for part in parts),
            busy_ns=sum(part.busy_ns for part in parts),
            elapsed_ns=sum(part.elapsed_ns for part in parts),
            driver_cpu_ns=sum(part.driver_cpu_ns for part in parts),
            late=sum(part.late for part in parts),
        )
        for name, parts in by_name.items()
    }
