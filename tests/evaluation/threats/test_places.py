"""Places raise a threat where they are tied to an arm, or do not promise whole pages."""

from __future__ import annotations

from typing import Any

import pytest

from evaluation.made import make_plan
from steelyard.evaluation.threats.places import DirectoriesTied, PagesMayTear, place_threats
from steelyard.model.observation import Observation
from steelyard.record.environment import ArmFacts, Environment
from steelyard.record.machine.arm_places import ArmPlace, FilesPlace
from steelyard.wording.threats.threat import threat_of


def threats(
    kinds: dict[str, dict[str, Any]], settings: dict[str, str] | None = None, *, drawn: bool = True
) -> tuple[Observation, ...]:
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
    assert threat == DirectoriesTied(
        {
            "on": ArmPlace(data=FilesPlace(source="/dev/x", **EXT4)),
            "off": ArmPlace(data=FilesPlace(source="/dev/x", **XFS)),
        }
    )
    assert "the place is the treatment" in threat_of(threat).cause
    assert "smaller scale" not in threat_of(threat).advice
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
    [setting] = settings
    place = FilesPlace(source="/dev/x", **kind)
    raised = threats({"on": kind, "off": kind}, settings)
    assert raised == (PagesMayTear("off", setting, place),) * torn
    assert threats({"on": kind, "off": kind}, dict.fromkeys(settings, "on")) == ()
