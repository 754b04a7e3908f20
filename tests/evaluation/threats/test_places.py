"""Places raise a threat where they are tied to an arm, or do not promise whole pages."""

from __future__ import annotations

from typing import Any

import pytest

from evaluation.made import make_plan
from steelyard.evaluation.threats.places import place_threats
from steelyard.model.threat import Threat
from steelyard.model.threat_kind import ThreatKind
from steelyard.record.environment import ArmFacts, Environment


def threats(
    kinds: dict[str, dict[str, Any]], settings: dict[str, str] | None = None, *, drawn: bool = True
) -> tuple[Threat, ...]:
    """Of a plan whose arms "on" and "off" are on these file systems; `settings`: of "off"."""
    places = {arm: {"data": {"source": "/dev/x", **kind}} for arm, kind in kinds.items()}
    plan = make_plan(places=places, places_drawn=drawn)
    arms = {"on": ArmFacts(build={}), "off": ArmFacts(build={}, settings=settings or {})}
    return place_threats(plan, Environment(arms=arms), "on", "off")


EXT4, XFS = {"type": "ext4", "mount": "/a"}, {"type": "xfs", "mount": "/b"}


def test_a_plan_without_places_or_with_alike_ones_raises_nothing() -> None:
    assert threats({}, {"full_page_writes": "off"}) == ()
    assert threats({"on": EXT4, "off": EXT4}) == ()


def test_places_of_their_own_are_tied_to_their_arms_and_say_what_that_means() -> None:
    [threat] = threats({"on": EXT4, "off": XFS}, drawn=False)
    assert threat.name == ThreatKind.DIRECTORY_TIED
    assert threat.seen == "on: ext4 on /dev/x, /a | off: xfs on /dev/x, /b"
    assert "the place is the treatment" in threat.cause
    assert "smaller scale" not in threat.advice
    assert not threat.invalidates


@pytest.mark.parametrize(
    ("kind", "torn"),
    [
        ({"type": "ext4"}, True),
        ({"type": "xfs"}, True),
        ({}, True),
        ({"type": "zfs"}, False),
        ({"type": "btrfs"}, False),
        ({"type": "btrfs", "options": "rw,nodatacow"}, True),
    ],
)
@pytest.mark.parametrize(
    "settings", [{"full_page_writes": "off"}, {"innodb_doublewrite": "OFF"}], ids=["pg", "innodb"]
)
def test_pages_may_be_torn_without_protection_where_the_file_system_promises_none(
    kind: dict[str, Any], torn: bool, settings: dict[str, str]
) -> None:
    found = [threat.name for threat in threats({"on": kind, "off": kind}, settings)]
    assert found == ([ThreatKind.TORN_PAGES] if torn else [])
    assert threats({"on": kind, "off": kind}, dict.fromkeys(settings, "on")) == ()
