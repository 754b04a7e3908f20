"""Holds what of turns can be seen: what was not alike for both arms when each ran alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from steelyard.analysis.turns.debt import DebtGrowth
from steelyard.model.threat import Observation, ThreatKind


@dataclass(frozen=True, slots=True)
class DirectoryNotDrawn(Observation):
    """An arm had the same directory in every epoch, though the plan has directories drawn."""

    kind: ClassVar[ThreatKind] = ThreatKind.DIRECTORY_TIED
    arm: str
    control: str
    epochs: int

    @property
    def invalidates(self) -> bool:
        """Always: the test that judges assumes that draw."""
        return True


@dataclass(frozen=True, slots=True)
class ResidencyUnknown(Observation):
    """The kernel does not say what of the arms' files stayed in the page cache."""

    kind: ClassVar[ThreatKind] = ThreatKind.NOT_EVICTED


@dataclass(frozen=True, slots=True)
class CountedTurns(Observation):
    """Turns of the control and of the arm before which something was not as it should be."""

    control: str
    arm: str
    counts: tuple[int, int]
    turns: int
    """Of each arm."""


@dataclass(frozen=True, slots=True)
class FilesStayedResident(CountedTurns):
    """Files of arms were still in the page cache after eviction."""

    kind: ClassVar[ThreatKind] = ThreatKind.NOT_EVICTED
    share: float
    """The largest that stayed."""
    arms_differ: bool
    """In what stayed, beyond chance."""

    @property
    def invalidates(self) -> bool:
        """Where one arm reads from memory what the other reads from disk."""
        return self.arms_differ


@dataclass(frozen=True, slots=True)
class DeviceWasBusy(CountedTurns):
    """Bytes were still to be written to the disk when a server was started."""

    kind: ClassVar[ThreatKind] = ThreatKind.DEVICE_BUSY
    waiting_bytes: float
    """The most."""
    arms_differ: bool
    """In how often, beyond chance."""


@dataclass(frozen=True, slots=True)
class TurnsNotLevel(Observation):
    """Throughput or reads of an arm were not level yet when its turns began to be measured."""

    kind: ClassVar[ThreatKind] = ThreatKind.NO_STEADY_STATE
    arm: str
    not_level: int
    turns: int

    @property
    def in_turns(self) -> bool:
        """Always."""
        return True


@dataclass(frozen=True, slots=True)
class TurnsCutOff(Observation):
    """Turns of an arm were over before their checkpoints were."""

    kind: ClassVar[ThreatKind] = ThreatKind.NO_CHECKPOINT
    arm: str
    longest: int
    """Turns measured for the longest time."""
    turns: int
    median_ns: float | None
    """Length of these; None: none of them measured anything."""
    completed: tuple[int, int]
    """Fewest and most checkpoints in one of them."""
    within_cycle: int
    """Of them: did not begin at the end of a checkpoint."""
    arms_differ: bool
    """Beyond chance, though both were to have their checkpoints."""

    @property
    def invalidates(self) -> bool:
        """Where what a checkpoint costs is in the figure of one arm alone."""
        return self.arms_differ


@dataclass(frozen=True, slots=True)
class MeasuredTime:
    """When and for how long an arm was measured: medians over its turns."""

    arm: str
    length_ns: float
    age_ns: float | None
    """Under load before; None: not known."""


@dataclass(frozen=True, slots=True)
class TurnsUnequal(Observation):
    """Arms were measured at another age, or for another time."""

    kind: ClassVar[ThreatKind] = ThreatKind.UNEQUAL_TURNS
    control: MeasuredTime
    arm: MeasuredTime


@dataclass(frozen=True, slots=True)
class NoPauseBetweenCheckpoints(Observation):
    """A checkpoint of an arm began as soon as the one before it had ended."""

    kind: ClassVar[ThreatKind] = ThreatKind.NO_PAUSE
    arm: str
    cycle_ns: float
    pause_ns: float
    """Below 0: it began earlier."""
    cycles: int
    """Of which both are medians."""


@dataclass(frozen=True, slots=True)
class DebtGrew(Observation):
    """What the arms left unpaid grew by other shares of their turns' log."""

    control: str
    arm: str
    growth: DebtGrowth


@dataclass(frozen=True, slots=True)
class LogGrew(DebtGrew):
    """Log since the begin of a checkpoint."""

    kind: ClassVar[ThreatKind] = ThreatKind.UNEQUAL_DEBT


@dataclass(frozen=True, slots=True)
class WaitingBytesGrew(DebtGrew):
    """What waits to be written to the disk."""

    kind: ClassVar[ThreatKind] = ThreatKind.UNEQUAL_DEBT


@dataclass(frozen=True, slots=True)
class ReadingAged(Observation):
    """The reading moved with the order of the epochs."""

    kind: ClassVar[ThreatKind] = ThreatKind.AGEING
    log_change: float
    """From the first epoch to the last."""
    epochs: int
