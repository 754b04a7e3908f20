"""Holds what of a machine and its drives can be seen: time withheld, what is full, what changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from steelyard.model.observation import Observation
from steelyard.model.threat import ThreatKind
from steelyard.record.epoch import OtherLoadLine


@dataclass(frozen=True, slots=True)
class ProcessorTimeStolen(Observation):
    """Other guests of the host had processor time that was this machine's."""

    kind: ClassVar[ThreatKind] = ThreatKind.STEAL
    share: float
    """Of the time of all processors."""


@dataclass(frozen=True, slots=True)
class GroupThrottled(Observation):
    """The control group had used up its processor time."""

    kind: ClassVar[ThreatKind] = ThreatKind.STEAL
    throttled_ns: float
    elapsed_ns: float


@dataclass(frozen=True, slots=True)
class LittleMemoryLeft(Observation):
    """Hardly any memory was available."""

    kind: ClassVar[ThreatKind] = ThreatKind.NEARLY_FULL
    available_bytes: float


@dataclass(frozen=True, slots=True)
class SwappedOut(Observation):
    """Memory was swapped out."""

    kind: ClassVar[ThreatKind] = ThreatKind.NEARLY_FULL
    swapped_bytes: float


@dataclass(frozen=True, slots=True)
class StoodStillForMemory(Observation):
    """Every process of the machine waited for memory at once."""

    kind: ClassVar[ThreatKind] = ThreatKind.NEARLY_FULL
    stalled_ns: float


@dataclass(frozen=True, slots=True)
class LittleDiskLeft(Observation):
    """Hardly any disk was free."""

    kind: ClassVar[ThreatKind] = ThreatKind.NEARLY_FULL
    free_bytes: float


@dataclass(frozen=True, slots=True)
class StartedAnew(Observation):
    """The machine was started anew, or is another one."""

    kind: ClassVar[ThreatKind] = ThreatKind.MACHINE_CHANGED


@dataclass(frozen=True, slots=True)
class Suspended(Observation):
    """The machine slept."""

    kind: ClassVar[ThreatKind] = ThreatKind.MACHINE_CHANGED
    suspended_ns: float


@dataclass(frozen=True, slots=True)
class ProcessorsChanged(Observation):
    """Other processors were online in the end."""

    kind: ClassVar[ThreatKind] = ThreatKind.MACHINE_CHANGED
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class MemoryChanged(Observation):
    """The machine had more or less memory in the end."""

    kind: ClassVar[ThreatKind] = ThreatKind.MACHINE_CHANGED
    before_bytes: float
    after_bytes: float


@dataclass(frozen=True, slots=True)
class ProcessorShared(Observation):
    """Driver and servers have one processor together."""

    kind: ClassVar[ThreatKind] = ThreatKind.ONE_PROCESSOR
    processor: int


@dataclass(frozen=True, slots=True)
class OtherLoads(Observation):
    """Other measurements were under way on the machine."""

    kind: ClassVar[ThreatKind] = ThreatKind.OTHER_LOAD
    loads: tuple[OtherLoadLine, ...]


@dataclass(frozen=True, slots=True)
class InEpochs(Observation):
    """What the first epoch showed of a kind, and how often that kind was seen."""

    observation: Observation
    """Of one epoch."""
    first: int
    """Epoch, from 0."""
    times: int
    epochs: int
    """In all."""

    @property
    def raises(self) -> ThreatKind:
        """What the observation does."""
        return self.observation.raises


@dataclass(frozen=True, slots=True)
class SlowedDown:
    """A drive slowed itself down for its heat."""

    device: str
    how: Literal["light", "heavy"]
    times: int
    seconds: int


@dataclass(frozen=True, slots=True)
class AboveTemperature:
    """A drive was above a temperature that its maker names."""

    device: str
    limit: Literal["warning", "critical"]
    minutes: int


@dataclass(frozen=True, slots=True)
class MediaErrors:
    """A drive could not read data back, or found them damaged."""

    device: str
    errors: int


@dataclass(frozen=True, slots=True)
class DriveWarning:
    """A drive warns of something, in the words of its record."""

    device: str
    warning: str
    new: bool
    """It was not there before the weighing."""


HeatSymptom = SlowedDown | AboveTemperature | DriveWarning
FailureSymptom = MediaErrors | DriveWarning


@dataclass(frozen=True, slots=True)
class DrivesHot(Observation):
    """Drives were too hot."""

    kind: ClassVar[ThreatKind] = ThreatKind.DRIVE_HOT
    symptoms: tuple[HeatSymptom, ...]


@dataclass(frozen=True, slots=True)
class DrivesFailing(Observation):
    """Drives lost data, or say that they may."""

    kind: ClassVar[ThreatKind] = ThreatKind.DRIVE_FAILING
    symptoms: tuple[FailureSymptom, ...]
