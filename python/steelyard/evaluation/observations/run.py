"""Holds what of a weighing itself can be seen: answers, background, work, driver, drift, plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from steelyard.model.observation import Observation
from steelyard.model.threat import ThreatKind


@dataclass(frozen=True, slots=True)
class WrongRows(Observation):
    """Transactions returned another number of rows than they must."""

    kind: ClassVar[ThreatKind] = ThreatKind.WRONG_ANSWER
    arm: str
    transactions: int


@dataclass(frozen=True, slots=True)
class ChecksViolated(Observation):
    """The workload's checks found an arm's data wrong."""

    kind: ClassVar[ThreatKind] = ThreatKind.WRONG_ANSWER
    arm: str
    epoch: int
    """Of the first violation, from 0."""
    violation: str
    """The first, in the words of the check."""
    violations: int


@dataclass(frozen=True, slots=True)
class BackgroundInOneArm(Observation):
    """Work of the background was done in the epochs of one arm only."""

    kind: ClassVar[ThreatKind] = ThreatKind.ONE_ARM_BACKGROUND
    work: Literal["checkpoints", "autovacuums"]
    counts: tuple[tuple[str, float], ...]
    """(arm, how many)."""


@dataclass(frozen=True, slots=True)
class WorkingSetUnlike(Observation):
    """Arms read more or less than work whose data is as the study says."""

    kind: ClassVar[ThreatKind] = ThreatKind.WORKING_SET
    expected: Literal["fits", "exceeds"]
    blocks_read: tuple[tuple[str, float], ...]
    """(arm, blocks a transaction), of each arm that does."""


@dataclass(frozen=True, slots=True)
class DriverMostOfWork(Observation):
    """The driver used most of the processor time."""

    kind: ClassVar[ThreatKind] = ThreatKind.DRIVER_BOUND
    share: float
    """Of the processor time of driver and servers."""


@dataclass(frozen=True, slots=True)
class ProcessorTimeMoved(Observation):
    """Processor time a transaction that an arm takes, against the control."""

    arm: str
    log_ratio: float


@dataclass(frozen=True, slots=True)
class ThroughputMovedToo(ProcessorTimeMoved):
    """Throughput rose with processor time a transaction, or fell with it."""

    kind: ClassVar[ThreatKind] = ThreatKind.CPU_DISAGREES


@dataclass(frozen=True, slots=True)
class ThroughputHardlyMoved(ProcessorTimeMoved):
    """Throughput shows less than half of what processor time a transaction does."""

    kind: ClassVar[ThreatKind] = ThreatKind.CPU_DISAGREES


@dataclass(frozen=True, slots=True)
class PilotUnsettled(Observation):
    """The pilot's load did not settle."""

    kind: ClassVar[ThreatKind] = ThreatKind.NO_STEADY_STATE


@dataclass(frozen=True, slots=True)
class StillDrifting(Observation):
    """The throughput of an arm had a slope in the measured slices of most epochs."""

    kind: ClassVar[ThreatKind] = ThreatKind.NO_STEADY_STATE
    arm: str
    drifting: int
    """Epochs."""
    epochs: int
    """In which a slope could be fitted."""


@dataclass(frozen=True, slots=True)
class FewLoads(Observation):
    """Builds cannot share data, and the data of each was loaded too few times."""

    kind: ClassVar[ThreatKind] = ThreatKind.DIRECTORY_TIED
    loads: int
    """Of the build that has fewest."""


@dataclass(frozen=True, slots=True)
class ConnectionsDrawn(Observation):
    """The treatment was drawn onto connections to one running server."""

    kind: ClassVar[ThreatKind] = ThreatKind.SHARED_BACKGROUND


@dataclass(frozen=True, slots=True)
class DatabasesOfOneServer(Observation):
    """The arms are databases on one running server."""

    kind: ClassVar[ThreatKind] = ThreatKind.SHARED_BACKGROUND


@dataclass(frozen=True, slots=True)
class ServersOfTheirOwn(Observation):
    """Each arm is a running server, neither placed nor drawn."""

    kind: ClassVar[ThreatKind] = ThreatKind.ADDRESS_ONLY
