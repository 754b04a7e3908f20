"""Raises the threats of the places where arms' files are: tied to an arm, or not whole of pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from steelyard.model.observation import Observation
from steelyard.model.threat import ThreatKind
from steelyard.record.environment import Environment
from steelyard.record.machine.arm_places import ArmPlace, FilesPlace
from steelyard.record.plan import Plan

_WHOLE_PAGES = frozenset({"btrfs", "zfs", "bcachefs"})
"""File systems that write elsewhere what is overwritten, so that a page is the old or the new."""
_IN_PLACE = frozenset({"nodatacow", "nocow"})
"""Options by which they do not."""
_KEPT_WHOLE_BY = {"full_page_writes": "off", "innodb_doublewrite": "off"}
"""Setting → its value with which a server does not protect itself against half a page."""


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
