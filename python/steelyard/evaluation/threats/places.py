"""Raises the threats of the places where arms' files are: tied to an arm, or not whole of pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from steelyard.model.threat import Threat, raise_threat
from steelyard.model.threat_kind import ThreatKind
from steelyard.record.environment import Environment
from steelyard.record.machine.arm_places import FilesPlace
from steelyard.record.plan import Plan

_WHOLE_PAGES = frozenset({"btrfs", "zfs", "bcachefs"})
"""File systems that write elsewhere what is overwritten, so that a page is the old or the new."""
_IN_PLACE = frozenset({"nodatacow", "nocow"})
"""Options by which they do not."""
_KEPT_WHOLE_BY = {"full_page_writes": "off", "innodb_doublewrite": "off"}
"""Setting → its value with which a server does not protect itself against half a page."""
_TIED_CAUSE = (
    "the study puts each arm's files in a place of its own: the place is the treatment, with "
    "whatever else is tied to it, such as this device and how full and how old its file system is"
)
_TIED_ADVICE = (
    "read it as a figure of these places as they are; for a kind of file system make each anew on "
    "the same device, and for a kind of device weigh on several (steelyard fleet)"
)


def place_threats(
    plan: Plan, environment: Environment, control: str, arm: str
) -> tuple[Threat, ...]:
    """Every threat that the places of two arms are; none of a record that does not have them."""
    both = [name for name in (control, arm) if name in plan.places]
    return (*_tied(plan, both), *_torn(plan, environment, both))


def _tied(plan: Plan, both: list[str]) -> Iterator[Threat]:
    if plan.places_drawn or not both:
        return
    observation = " | ".join(f"{name}: {plan.places[name].words}" for name in both)
    yield replace(
        raise_threat(ThreatKind.DIRECTORY_TIED, observation), cause=_TIED_CAUSE, advice=_TIED_ADVICE
    )


def _torn(plan: Plan, environment: Environment, both: list[str]) -> Iterator[Threat]:
    for name in both:
        place, settings = plan.places[name].data, environment.settings(name)
        off = _unprotected(settings)
        if off and not keeps_pages_whole(place):
            kind = f"{place.type or 'an unknown file system'} on {place.source or 'no device'}"
            observation = f"{name} has {off} = off on {kind}, which does not promise whole pages"
            yield raise_threat(ThreatKind.TORN_PAGES, observation)


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
