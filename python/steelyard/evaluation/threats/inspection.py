"""Raises the threats that the arms show before they are weighed: builds, plans, machine, ledger,
and the places of their files, which may be tied to an arm or not keep pages whole.

Raises the threats of external data: what is otherwise than on the server that it belonged to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from steelyard.evaluation.plans.flips import flips
from steelyard.evaluation.plans.tree import with_present_names
from steelyard.model.threat import Observation, Quoted, ThreatKind
from steelyard.record.environment import Difference, Environment, Inspection, SourceFacts
from steelyard.record.machine import ArmPlace, FilesPlace
from steelyard.record.plan import Plan

_WHOLE_PAGES = frozenset({"btrfs", "zfs", "bcachefs"})
"""File systems that write elsewhere what is overwritten, so that a page is the old or the new."""
_IN_PLACE = frozenset({"nodatacow", "nocow"})
"""Options by which they do not."""
_KEPT_WHOLE_BY = {"full_page_writes": "off", "innodb_doublewrite": "off"}
"""Setting → its value with which a server does not protect itself against half a page."""


@dataclass(frozen=True, slots=True)
class MachineChanged(Observation):
    """The machine is no longer as it was before an interruption."""

    kind: ClassVar[ThreatKind] = ThreatKind.MACHINE_CHANGED
    changes: tuple[str, ...]
    """As the inspection has them."""


@dataclass(frozen=True, slots=True)
class DebugBuild(Observation):
    """The load driver was not built for speed."""

    kind: ClassVar[ThreatKind] = ThreatKind.DEBUG_BUILD


@dataclass(frozen=True, slots=True)
class LedgerOffBalance(Observation):
    """Equal arms differ more often on this machine than chance has it."""

    kind: ClassVar[ThreatKind] = ThreatKind.LEDGER
    weighings: int
    """Of equal arms."""
    largest_e_value: float


@dataclass(frozen=True, slots=True)
class BuildsDiffer(Observation):
    """An arm's server was built otherwise than the control's."""

    kind: ClassVar[ThreatKind] = ThreatKind.BUILDS_DIFFER
    control: str
    arm: str
    differences: tuple[Difference, ...]


@dataclass(frozen=True, slots=True)
class PlansDiffer(Observation):
    """An arm plans statements otherwise than the control."""

    kind: ClassVar[ThreatKind] = ThreatKind.PLANS_DIFFER
    control: str
    arm: str
    statements: tuple[tuple[str, tuple[str, ...]], ...]
    """(statement, what flipped in its plan, the most important first)."""


@dataclass(frozen=True, slots=True)
class SettingsMissing(Observation):
    """The settings of the data's server could not be had."""

    kind: ClassVar[ThreatKind] = ThreatKind.OTHER_SETTINGS
    why: str


@dataclass(frozen=True, slots=True)
class SettingReplaced(Observation):
    """A setting that decides much is another one here."""

    kind: ClassVar[ThreatKind] = ThreatKind.OTHER_SETTINGS
    setting: str
    theirs: str
    used: str
    why: str


def inspection_threats(inspection: Inspection, control: str, arm: str) -> tuple[Observation, ...]:
    """What is seen of every arm, then of this one against the control."""
    return (*common_threats(inspection), *own_threats(inspection, control, arm))


def common_threats(inspection: Inspection) -> Iterator[Observation]:
    """The threats about every arm: the machine, the driver's build, the A/A ledger."""
    if inspection.machine_changes:
        yield MachineChanged(inspection.machine_changes)
    if inspection.build_profile != "release":
        yield DebugBuild()
    ledger = inspection.ledger
    if ledger is not None and ledger.off_balance:
        yield LedgerOffBalance(ledger.weighings, ledger.largest_e_value)
    yield from _carried_over(inspection.seen)


def own_threats(inspection: Inspection, control: str, arm: str) -> Iterator[Observation]:
    """The threats about one arm: another build, other plans."""
    inspected = inspection.arms.get(arm)
    if inspected is None:
        return
    if inspected.builds:
        yield BuildsDiffer(control, arm, inspected.builds)
    ours, theirs = (
        {text: with_present_names(plan) for text, plan in inspection.plans.get(name, {}).items()}
        for name in (control, arm)
    )
    changed = [
        statement
        for statement in {**ours, **theirs}
        if ours.get(statement) != theirs.get(statement)
    ]
    if changed and not inspected.plans_meant:
        statements = tuple(
            (statement, flips(ours.get(statement, ""), theirs.get(statement, "")).names)
            for statement in changed
        )
        yield PlansDiffer(control, arm, statements)
    yield from _carried_over(inspected.seen)


def _carried_over(differences: Sequence[tuple[str, str]]) -> Iterator[Observation]:
    for kind, text in differences:
        yield Quoted(ThreatKind(kind), text)


def source_threats(source: SourceFacts | None) -> Iterator[Observation]:
    """Where the arms have not the settings of the data's server."""
    if source is not None and source.settings_missing:
        yield SettingsMissing(source.settings_missing)
    for setting in () if source is None else source.replaced:
        if setting.name == "shared_buffers" and "default" not in (setting.theirs, setting.used):
            yield SettingReplaced(setting.name, setting.theirs, setting.used, setting.why)


def source_notes(source: SourceFacts | None) -> Iterator[str]:
    """What is otherwise in the copy, a line each; the lists themselves are in the report."""
    if source is None:
        return
    if source.changes:
        yield f"{source.changes}: in the report, and environment.json (source)"
    yield from source.doubts


@dataclass(frozen=True, slots=True)
class DirectoriesTied(Observation):
    """Each arm has a place of its own, so that the place is weighed with it."""

    kind: ClassVar[ThreatKind] = ThreatKind.DIRECTORY_TIED
    places: Mapping[str, ArmPlace]
    """Arm → where its files are."""


@dataclass(frozen=True, slots=True)
class PagesMayTear(Observation):
    """A server does without its own protection where nothing else gives any."""

    kind: ClassVar[ThreatKind] = ThreatKind.TORN_PAGES
    arm: str
    setting: str
    """That is off."""
    place: FilesPlace


def place_threats(
    plan: Plan, environment: Environment, control: str, arm: str
) -> tuple[Observation, ...]:
    """Every threat that the places of two arms are; none of a record that does not have them."""
    both = [name for name in (control, arm) if name in plan.places]
    return (*_tied(plan, both), *_torn(plan, environment, both))


def _tied(plan: Plan, both: list[str]) -> Iterator[Observation]:
    if plan.places_drawn or not both:
        return
    yield DirectoriesTied({name: plan.places[name] for name in both})


def _torn(plan: Plan, environment: Environment, both: list[str]) -> Iterator[Observation]:
    for name in both:
        place, settings = plan.places[name].data, environment.settings(name)
        off = _unprotected(settings)
        if off and not keeps_pages_whole(place):
            yield PagesMayTear(name, off, place)


def _unprotected(settings: Mapping[str, str]) -> str:
    """The setting by which a server does without its own protection; empty: it has it."""
    off = [
        name
        for name, value in _KEPT_WHOLE_BY.items()
        if settings.get(name, "").strip().lower() == value
    ]
    return off[0] if off else ""


def keeps_pages_whole(place: FilesPlace) -> bool:
    """Whether the file system promises that a page is never half written."""
    return place.type in _WHOLE_PAGES and not _IN_PLACE & set(place.options.split(","))
