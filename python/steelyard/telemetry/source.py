"""Says what a telemetry source is, and reads a list of them around an epoch.

A source gives cumulative numbers or levels by name, with their units. Those of `closed` are read
before the load connections open and after they have closed (statistics of a server lag until
then); those of a `border` while they are open, at the borders of the measured slices. What cannot
be read is a missing reading with its reason, never a figure.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Literal, Protocol

from steelyard.engines.engine import Instance
from steelyard.model.errors import EngineError
from steelyard.model.readings import Kind, Reading, Sample

Moment = Literal["closed", "border"]
RESET = "the statistics were reset or lost meanwhile"
REPLACED = "sessions ended and others began meanwhile: what the former used is not known"


class TelemetrySource(Protocol):
    """Something that can be read of an arm beside the load."""

    @property
    def name(self) -> str:
        """What it reads, in a word or two."""

    @property
    def moment(self) -> Moment:
        """When it can be read."""

    def kinds(self, instance: Instance) -> Sequence[Kind]:
        """What it gives of this server, in the order in which it is shown."""

    def needs(self, instance: Instance) -> str:
        """What is missing for it on this server; empty: it can be read."""

    def read(self, instance: Instance) -> Sample:
        """The numbers by the names of `kinds`."""


class EpochTelemetry:
    """The samples of one epoch: opened before the load connects, closed after it has gone."""

    def __init__(
        self, sources: Sequence[TelemetrySource], instances: Mapping[str, Instance]
    ) -> None:
        self._sources = sources
        self._standing = instances
        self._before = self._sample("closed")
        self._borders: list[dict[tuple[str, str], Sample]] = []
        self._after: dict[tuple[str, str], Sample] = {}

    def border(self, arms: Collection[str] | None = None) -> None:
        """Read what is read at the borders of the measured slices, of all arms or of these, whose
        slices begin or end by themselves; first at their beginning."""
        self._borders.append(self._sample("border", arms))

    def close(self) -> None:
        """Read what is read once the load connections have closed."""
        self._after = self._sample("closed")

    def readings(self, arm: str) -> list[Reading]:
        """Everything that was read of an arm, in the order of the sources."""
        readings: list[Reading] = []
        for source in self._sources:
            key = source.name, arm
            ends = self._before.get(key), self._after.get(key)
            own = [border[key] for border in self._borders if key in border]
            if own:
                ends = own[0], own[-1]
            kinds = source.kinds(self._standing[arm])
            readings += [reading(kind, *ends, measured=source.moment == "border") for kind in kinds]
        return readings

    def parts(self, arm: str) -> list[dict[str, float]]:
        """By part between two borders: what sources read there, by name."""
        parts: list[dict[str, float]] = []
        for first, last in zip(self._borders, self._borders[1:], strict=False):
            values: dict[str, float] = {}
            for source in self._sources:
                ends = first.get((source.name, arm)), last.get((source.name, arm))
                kinds = [kind for kind in source.kinds(self._standing[arm]) if kind.parts]
                readings = [
                    reading(kind, *ends, measured=source.moment == "border") for kind in kinds
                ]
                values |= {
                    figure.name: figure.value for figure in readings if figure.value is not None
                }
            parts.append(values)
        return parts

    def _sample(
        self, moment: Moment, arms: Collection[str] | None = None
    ) -> dict[tuple[str, str], Sample]:
        return {
            (source.name, arm): _read(source, instance)
            for source in self._sources
            if source.moment == moment
            for arm, instance in self._standing.items()
            if arms is None or arm in arms
        }


def _read(source: TelemetrySource, instance: Instance) -> Sample:
    """What a source gives; EngineError only where the server has gone: what a server does not let
    us see is missing, and the rest goes on."""
    needed = source.needs(instance)
    if needed:
        return Sample({}, needed)
    try:
        return source.read(instance)
    except EngineError as reason:
        if not instance.running:
            raise
        return Sample({}, reason.primary)


def reading(
    kind: Kind, before: Sample | None, after: Sample | None, *, measured: bool = False
) -> Reading:
    """The difference of two samples, or the last level; missing where either is. `measured`: of
    the measured slices only."""
    value, missing = _value(kind, before, after)
    return Reading(kind.name, kind.unit, value, missing, kind.per_transaction, measured)


def _value(kind: Kind, before: Sample | None, after: Sample | None) -> tuple[float | None, str]:
    if before is None or after is None:
        return None, "it was not read"
    reason = after.missing or before.missing
    if reason or kind.name not in after.values:
        return None, reason or "the server does not tell it"
    if kind.level:
        return after.values[kind.name], ""
    if _was_reset(before, after):
        return None, RESET
    if _were_replaced(kind.name, before, after):
        return None, REPLACED
    change = after.values[kind.name] - before.values.get(kind.name, 0)
    return (change, "") if change >= 0 else (None, RESET)


def _was_reset(before: Sample, after: Sample) -> bool:
    """Whether a group of the statistics was reset between two samples. A group that never was has
    None, as a database of PostgreSQL 15 and later has before its first reset."""
    return before.resets != after.resets


def _were_replaced(name: str, before: Sample, after: Sample) -> bool:
    """Whether some of the processes that a number sums have ended, and others have begun: those of
    connections that are opened anew for each transaction, or after an error."""
    first, last = (sample.summed.get(name, frozenset()) for sample in (before, after))
    return bool(first - last) and bool(last - first)
