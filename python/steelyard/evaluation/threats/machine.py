"""Raises the threats that the machine's own readings show: one a kind, over all epochs; and those
that its drives report."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from steelyard.evaluation.drives import DriveChange, drive_changes
from steelyard.model.memoize import memoize_by_identity
from steelyard.model.threat import Threat, raise_threat
from steelyard.model.threat_kind import ThreatKind
from steelyard.model.units import format_bytes, format_duration
from steelyard.record.epoch import Epoch, EpochLine
from steelyard.record.machine.drive_health import ONCE_AT_THRESHOLD, TOO_HOT, DriveHealth

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

Seen = tuple[ThreatKind, str]


def machine_threats(
    epochs: Sequence[Epoch], processors: Sequence[int], expected: Collection[str] = ()
) -> Iterator[Threat]:
    """Every threat of the machine, with the first epoch that showed it and how many did.

    `processors`: those that driver and servers may use. `expected`: readings that the study itself
    brings about, and that say nothing of the machine.
    """
    usable, ignored = tuple(processors), frozenset(expected)
    first: dict[ThreatKind, tuple[int, str]] = {}
    times: dict[ThreatKind, int] = {}
    for epoch in epochs:
        for kind, observation in (*_seen_once(epoch.line, usable, ignored), *_others(epoch.line)):
            first.setdefault(kind, (epoch.totals.epoch + 1, observation))
            times[kind] = times.get(kind, 0) + 1
    for kind, (number, observation) in first.items():
        where = "every epoch" if times[kind] == len(epochs) else f"{times[kind]} epochs"
        yield raise_threat(kind, f"{observation} (epoch {number}; seen in {where})")


def _others(line: EpochLine) -> Iterator[Seen]:
    if line.other_loads:
        each = (f"{load.command} (process {load.pid})" for load in line.other_loads)
        yield ThreatKind.OTHER_LOAD, f"under way on this machine too: {', '.join(each)}"


def drive_threats(before: Sequence[DriveHealth], after: Sequence[DriveHealth]) -> Iterator[Threat]:
    """What drives said of themselves between the beginning and the end of a weighing."""
    hot: list[str] = []
    failing: list[str] = []
    for change in drive_changes(before, after):
        if change.after is not None:
            hot += [f"{change.after.device} {symptom}" for symptom in _heat(change, change.after)]
            failing += [
                f"{change.after.device} {symptom}" for symptom in _failures(change, change.after)
            ]
    for kind, symptoms in ((ThreatKind.DRIVE_HOT, hot), (ThreatKind.DRIVE_FAILING, failing)):
        if symptoms:
            yield raise_threat(kind, ", ".join(symptoms))


def _heat(change: DriveChange, after: DriveHealth) -> Iterator[str]:
    for kind, how in (("light", "lightly"), ("heavy", "heavily")):
        times, seconds = (change.grew(f"{kind}_throttling_{unit}") for unit in ("count", "s"))
        if times or seconds:
            yield f"slowed itself down {how} {times or 0} times, for {seconds or 0} s in all"
    for limit in ("warning", "critical"):
        minutes = change.grew(f"{limit}_temperature_min")
        if minutes:
            yield f"was above its {limit} temperature for {minutes} min"
    if TOO_HOT in after.warnings:
        yield f"warns: {TOO_HOT}{_since(change, TOO_HOT)}"


def _failures(change: DriveChange, after: DriveHealth) -> Iterator[str]:
    errors = change.grew("media_errors")
    if errors:
        yield f"found {errors} media error{'' if errors == 1 else 's'}"
    for warning in after.warnings:
        past = warning == ONCE_AT_THRESHOLD and warning not in change.new_warnings
        if warning != TOO_HOT and not past:
            yield f"warns: {warning}{_since(change, warning)}"


def _since(change: DriveChange, phrase: str) -> str:
    return "" if phrase in change.new_warnings else ", as it did before the weighing"


def seen_in(
    epoch: EpochLine, processors: Sequence[int], expected: Collection[str] = ()
) -> list[Seen]:
    """(threat, what was seen) of the machine in one epoch."""
    if epoch.machine_seen:
        return [(ThreatKind(kind), observation) for kind, observation in epoch.machine_seen]
    values = {
        reading.name: reading.value or 0.0
        for reading in epoch.machine
        if reading.name not in expected
    }
    return seen_on(values, processors) if values else []


_seen_once = memoize_by_identity(seen_in)


def seen_on(values: Mapping[str, float], processors: Sequence[int]) -> list[Seen]:
    """What the readings of one epoch leave to doubt, by name (telemetry/host.py)."""
    observations = [*_withheld_time(values), *_nearly_full(values), *_changed(values)]
    if len(processors) == 1:
        observation = f"driver and servers share processor {processors[0]}"
        observations.append((ThreatKind.ONE_PROCESSOR, observation))
    return observations


def _withheld_time(values: Mapping[str, float]) -> Iterator[Seen]:
    elapsed_ns = values["elapsed_ns"]
    capacity_ns = elapsed_ns * max(1, values["processors"])
    steal_share = values["steal_ns"] / capacity_ns if capacity_ns > 0 else 0.0
    if steal_share > STEAL_SHARE:
        observation = f"{steal_share:.1%} of processor time was stolen by other guests"
        yield ThreatKind.STEAL, observation
    throttled_ns = values["throttled_ns"]
    if elapsed_ns > 0 and throttled_ns / elapsed_ns > THROTTLED_SHARE:
        yield (
            ThreatKind.STEAL,
            f"the control group was throttled for {format_duration(throttled_ns)} "
            f"of {format_duration(elapsed_ns)}",
        )


def _nearly_full(values: Mapping[str, float]) -> Iterator[Seen]:
    available, free = values["memory_available_bytes"], values["disk_free_bytes"]
    if available < MEMORY_SHARE * values["memory_total_bytes"]:
        yield ThreatKind.NEARLY_FULL, f"{format_bytes(available)} of memory available"
    if values["swapped_bytes"] > SWAPPED_BYTES:
        observation = f"{format_bytes(values['swapped_bytes'])} were swapped out"
        yield ThreatKind.NEARLY_FULL, observation
    stalled_ns = values.get(MEMORY_PRESSURE, 0.0)
    if stalled_ns > MEMORY_PRESSURE_SHARE * values["elapsed_ns"] > 0:
        observation = f"everything stood still for memory for {format_duration(stalled_ns)}"
        yield ThreatKind.NEARLY_FULL, observation
    if free < DISK_SHARE * values["disk_total_bytes"]:
        yield ThreatKind.NEARLY_FULL, f"{format_bytes(free)} of disk free"


def _changed(values: Mapping[str, float]) -> Iterator[Seen]:
    if values["started_anew"]:
        yield ThreatKind.MACHINE_CHANGED, "the machine was started anew, or is another one"
        return
    if values["suspended_ns"] > SUSPENDED_NS:
        observation = f"the machine was suspended for {format_duration(values['suspended_ns'])}"
        yield ThreatKind.MACHINE_CHANGED, observation
    if not values["same_processors"]:
        before, after = (int(values[name]) for name in ("processors_before", "processors"))
        observation = f"{before} processors were online, then {after}"
        yield ThreatKind.MACHINE_CHANGED, observation
    before_bytes, after_bytes = (
        values[name] for name in ("memory_total_before_bytes", "memory_total_bytes")
    )
    if before_bytes != after_bytes:
        observation = f"memory was {format_bytes(before_bytes)}, then {format_bytes(after_bytes)}"
        yield ThreatKind.MACHINE_CHANGED, observation
