"""What arms show of builds, plans, machine, ledger and places is a doubt, with its figures."""

from __future__ import annotations

from typing import Any

import pytest

from evaluation.made import make_plan
from steelyard.evaluation.threats.inspection import (
    BuildsDiffer,
    DebugBuild,
    DirectoriesTied,
    LedgerOffBalance,
    MachineChanged,
    PagesMayTear,
    PlansDiffer,
    common_threats,
    inspection_threats,
    own_threats,
    place_threats,
)
from steelyard.model.threat import Observation, Quoted, ThreatKind
from steelyard.record.environment import ArmFacts, ArmInspection, Environment, Inspection
from steelyard.record.epoch import LedgerBalance
from steelyard.record.machine import ArmPlace, FilesPlace
from steelyard.wording.threats.threat import threat_of

SOUND = Inspection(compared=0, statements=1, writes=False, arms={"off": ArmInspection()})
PLANS = {
    "on": {"q: SELECT 1;": "Seq Scan on t", "q: SELECT 2;": "Result"},
    "off": {"q: SELECT 1;": "Result", "q: SELECT 2;": "Result"},
}


def balance(*, off: bool) -> LedgerBalance:
    return LedgerBalance(
        e_value=3.0, weighings=31, largest_e_value=104.2, off_balance=off, ledgers=1,
        skipped_lines=0, path="ledger.jsonl",
    )  # fmt: skip


def test_arms_that_are_alike_on_a_machine_in_balance_raise_nothing() -> None:
    sound = SOUND.model_copy(update={"ledger": balance(off=False)})
    assert inspection_threats(sound, "on", "off") == ()


def test_machine_driver_and_ledger_are_doubts_about_every_arm() -> None:
    changes = ("kernel: 6.8 and 6.12", "memory: 16 GB and 32 GB")
    inspection = SOUND.model_copy(
        update={
            "machine_changes": changes,
            "build_profile": "debug",
            "ledger": balance(off=True),
            "seen": (("steal or throttling", "as it was"),),
        }
    )
    assert list(common_threats(inspection)) == [
        MachineChanged(changes),
        DebugBuild(),
        LedgerOffBalance(31, 104.2),
        Quoted(ThreatKind.STEAL, "as it was"),
    ]


def test_another_build_is_a_doubt_with_what_differs_and_an_arm_not_inspected_raises_none() -> None:
    builds = (("origin", "bundle", "npm"),)
    inspection = SOUND.model_copy(update={"arms": {"off": ArmInspection(builds=builds)}})
    assert list(own_threats(inspection, "on", "off")) == [BuildsDiffer("on", "off", builds)]
    assert list(own_threats(inspection, "on", "third")) == []


@pytest.mark.parametrize(
    ("meant", "threats"),
    [
        (False, [PlansDiffer("on", "off", (("q: SELECT 1;", ("Seq Scan on t → Result",)),))]),
        (True, []),
    ],
)
def test_plans_that_differ_are_a_doubt_unless_they_are_what_is_weighed(
    meant: bool, threats: list[Observation]
) -> None:
    arms = {"off": ArmInspection(plans_meant=meant)}
    inspection = SOUND.model_copy(update={"arms": arms, "plans": PLANS})
    assert list(own_threats(inspection, "on", "off")) == threats


def test_a_statement_that_one_arm_alone_has_and_one_without_a_flip_are_among_them() -> None:
    ours = {"q: SELECT 1;": "Seq Scan on t\n  Filter: (a = 1)", "q: SELECT 2;": "Result"}
    theirs = {"q: SELECT 1;": "Seq Scan on t\n  Filter: (a = 2)"}
    inspection = SOUND.model_copy(update={"plans": {"on": ours, "off": theirs}})
    assert list(own_threats(inspection, "on", "off")) == [
        PlansDiffer("on", "off", (("q: SELECT 1;", ()), ("q: SELECT 2;", ("a plan → no plan",))))
    ]


def test_a_name_that_another_version_generates_is_no_other_plan() -> None:
    plan = "Insert on c\n  ->  Subquery Scan on {}\n        ->  Seq Scan on t"
    plans = {
        "on": {"q": plan.format('"*SELECT*"')},
        "off": {"q": plan.format("unnamed_subquery")},
    }
    inspection = SOUND.model_copy(update={"plans": plans})
    assert list(own_threats(inspection, "on", "off")) == []


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
