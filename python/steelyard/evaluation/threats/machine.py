"""Raises the threats of the machine's own readings (time withheld, what is full, what changed), one
a kind over all epochs; and those that its drives report.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from steelyard.evaluation.drives import DriveChange, drive_changes
from steelyard.model.memoize import memoize_by_identity
from steelyard.model.readings import usable_processors
from steelyard.model.threat import Observation, Quoted, ThreatKind
from steelyard.record.epoch import Epoch, EpochLine, OtherLoadLine
from steelyard.record.machine import ONCE_AT_THRESHOLD, TOO_HOT, DriveHealth

STEAL_SHARE = 0.02
THROTTLED_SHARE = 0.005
MEMORY_SHARE = 0.05
DISK_SHARE = 0.02
SWAPPED_BYTES = 16 << 20
SUSPENDED_NS = 50_000_000
"""The two clocks are read one after the other and differ by microseconds when nothing slept."""
MEMORY_PRESSURE_SHARE = 0.01
MEMORY_PRESSURE = "pressure_memory_full_ns"
"""Of the whole machine; that of a server at its memory cap is in it."""

MACHINE_READINGS = frozenset(
    {"elapsed_ns", "processors", "processors_before", "same_processors"}
    | {"steal_ns", "throttled_ns", "suspended_ns", "started_anew", "swapped_bytes"}
    | {"memory_available_bytes", "memory_total_bytes", "memory_total_before_bytes"}
    | {"disk_free_bytes", "disk_total_bytes"}
)
"""What must be known of a machine to look for threats."""


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


def machine_threats(
    epochs: Sequence[Epoch], processors: Sequence[int], expected: Collection[str] = ()
) -> Iterator[Observation]:
    """Every threat of the machine, with what the first epoch showed of it and how many epochs did.

    `processors`: those that driver and servers may use. `expected`: readings that the study itself
    brings about, and that say nothing of the machine.
    """
    usable, ignored = tuple(processors), frozenset(expected)
    first: dict[str, tuple[int, Observation]] = {}
    times: dict[str, int] = {}
    for epoch in epochs:
        observations = (*_memoized_observations(epoch.line, usable, ignored), *_others(epoch.line))
        for observation in observations:
            first.setdefault(observation.name, (epoch.totals.epoch, observation))
        for name in {observation.name for observation in observations}:
            times[name] = times.get(name, 0) + 1
    for name, (number, observation) in first.items():
        yield InEpochs(observation, number, times[name], len(epochs))


def _others(line: EpochLine) -> Iterator[Observation]:
    if line.other_loads:
        yield OtherLoads(line.other_loads)


def drive_threats(
    before: Sequence[DriveHealth], after: Sequence[DriveHealth]
) -> Iterator[Observation]:
    """What drives said of themselves between the beginning and the end of a weighing."""
    hot: list[HeatSymptom] = []
    failing: list[FailureSymptom] = []
    for change in drive_changes(before, after):
        if change.after is not None:
            hot += _heat(change, change.after)
            failing += _failures(change, change.after)
    if hot:
        yield DrivesHot(tuple(hot))
    if failing:
        yield DrivesFailing(tuple(failing))


def _heat(change: DriveChange, after: DriveHealth) -> Iterator[HeatSymptom]:
    degrees: tuple[Literal["light", "heavy"], ...] = ("light", "heavy")
    for how in degrees:
        times, seconds = (change.grew(f"{how}_throttling_{unit}") for unit in ("count", "s"))
        if times or seconds:
            yield SlowedDown(after.device, how, times or 0, seconds or 0)
    limits: tuple[Literal["warning", "critical"], ...] = ("warning", "critical")
    for limit in limits:
        minutes = change.grew(f"{limit}_temperature_min")
        if minutes:
            yield AboveTemperature(after.device, limit, minutes)
    if TOO_HOT in after.warnings:
        yield _warning(change, after, TOO_HOT)


def _failures(change: DriveChange, after: DriveHealth) -> Iterator[FailureSymptom]:
    errors = change.grew("media_errors")
    if errors:
        yield MediaErrors(after.device, errors)
    for phrase in after.warnings:
        past = phrase == ONCE_AT_THRESHOLD and phrase not in change.new_warnings
        if phrase != TOO_HOT and not past:
            yield _warning(change, after, phrase)


def _warning(change: DriveChange, after: DriveHealth, phrase: str) -> DriveWarning:
    return DriveWarning(after.device, phrase, new=phrase in change.new_warnings)


def epoch_observations(
    epoch: EpochLine, processors: Sequence[int], expected: Collection[str] = ()
) -> list[Observation]:
    """What was seen of the machine in one epoch."""
    if epoch.machine_seen:
        return [Quoted(ThreatKind(kind), sentence) for kind, sentence in epoch.machine_seen]
    values = {
        reading.name: reading.value or 0.0
        for reading in epoch.machine
        if reading.name not in expected
    }
    return machine_observations(values, processors) if values else []


_memoized_observations = memoize_by_identity(epoch_observations)


def machine_observations(
    values: Mapping[str, float], processors: Sequence[int]
) -> list[Observation]:
    """What the readings of one epoch leave to doubt, by name (telemetry/host.py)."""
    observations = [*_withheld_time(values), *_nearly_full(values), *_changed(values)]
    if len(processors) == 1:
        observations.append(ProcessorShared(processors[0]))
    return observations


def _withheld_time(values: Mapping[str, float]) -> Iterator[Observation]:
    elapsed_ns = values["elapsed_ns"]
    capacity_ns = elapsed_ns * usable_processors(values)
    steal_share = values["steal_ns"] / capacity_ns if capacity_ns > 0 else 0.0
    if steal_share > STEAL_SHARE:
        yield ProcessorTimeStolen(steal_share)
    throttled_ns = values["throttled_ns"]
    if elapsed_ns > 0 and throttled_ns / elapsed_ns > THROTTLED_SHARE:
        yield GroupThrottled(throttled_ns, elapsed_ns)


def _nearly_full(values: Mapping[str, float]) -> Iterator[Observation]:
    available, free = values["memory_available_bytes"], values["disk_free_bytes"]
    # Records from before it was kept have the machine's memory alone.
    if available < MEMORY_SHARE * values.get("memory_room_bytes", values["memory_total_bytes"]):
        yield LittleMemoryLeft(available)
    if values["swapped_bytes"] > SWAPPED_BYTES:
        yield SwappedOut(values["swapped_bytes"])
    stalled_ns = values.get(MEMORY_PRESSURE, 0.0)
    if stalled_ns > MEMORY_PRESSURE_SHARE * values["elapsed_ns"] > 0:
        yield StoodStillForMemory(stalled_ns)
    if free < DISK_SHARE * values["disk_total_bytes"]:
        yield LittleDiskLeft(free)


def _changed(values: Mapping[str, float]) -> Iterator[Observation]:
    if values["started_anew"]:
        yield StartedAnew()
        return
    if values["suspended_ns"] > SUSPENDED_NS:
        yield Suspended(values["suspended_ns"])
    if not values["same_processors"]:
        before, after = (int(values[name]) for name in ("processors_before", "processors"))
        yield ProcessorsChanged(before, after)
    before_bytes, after_bytes = (
        values[name] for name in ("memory_total_before_bytes", "memory_total_bytes")
    )
    if before_bytes != after_bytes:
        yield MemoryChanged(before_bytes, after_bytes)
