"""An arm says what standbys it has, and what they cannot be weighed with is refused by name."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from steelyard.study.naming import with_names
from steelyard.study.reaching.replication import (
    Replication,
    replication_words,
    waited_for,
)
from steelyard.study.study import Study

SYNC = "synchronous_standby_names"


def study(replication: dict[str, Any] | None, **more: Any) -> Study:
    arm = {"name": "arm", "replication": replication, **more.pop("arm", {})}
    facts = {"name": "s", "title": "t", "question": "q", "control": {"name": "control"}}
    return Study.model_validate({**facts, "arms": [arm], **more})


def test_what_differs_beside_an_arm_without_standbys_is_declared() -> None:
    asked = study({"standbys": 2, "quorum": 2, "round_trip": "1ms"})
    [arm] = asked.arms
    assert asked.declared_differences(arm) == {
        "replication", "max_slot_wal_keep_size", "synchronous_standby_names",
    }  # fmt: skip
    assert asked.differences_outside_settings(arm) == [
        ("replication", "none", "2 standbys, a commit waits for 2, round trip 1 ms")
    ]


def test_arms_that_wait_alike_differ_in_nothing_but_their_settings() -> None:
    control = {"name": "control", "replication": {"standbys": 1}}
    settings = {"synchronous_commit": "remote_apply"}
    asked = study({"standbys": 1}, control=control, arm={"settings": settings})
    assert asked.declared_differences(asked.arms[0]) == {"synchronous_commit"}


def test_a_quorum_of_another_number_is_another_setting() -> None:
    control = {"name": "control", "replication": {"standbys": 2, "quorum": 1}}
    asked = study({"standbys": 2, "quorum": 2}, control=control)
    assert asked.declared_differences(asked.arms[0]) == {"replication", "synchronous_standby_names"}


@pytest.mark.parametrize(
    ("replication", "more", "words"),
    [
        ({"standbys": 3}, {}, "less than or equal to 2"),
        (
            {"standbys": 1, "quorum": 2},
            {},
            "quorum = 2 waits for more than there are: standbys = 1",
        ),
        ({"round_trip": 5}, {}, "5 has no unit: 5ms"),
        ({"round_trip": "2s"}, {}, "round_trip is 1s at most"),
        ({}, {"engine": "mysql"}, "PostgreSQL alone has standbys here"),
        ({}, {"memory": "1GB"}, '"memory" caps one server'),
        ({}, {"arm": {"wal_directory": "/mnt/log"}}, 'leave out "wal_directory"'),
        ({}, {"arm": {"settings": {"wal_level": "minimal"}}}, "no standby gets any log"),
        ({}, {"settings": {"max_wal_senders": 0}}, "no standby gets any log"),
        (
            {"quorum": 0},
            {"arm": {"settings": {"synchronous_commit": "remote_apply"}}},
            "remote_apply waits for no standby with quorum = 0: it would be local",
        ),
        (
            {},
            {
                "settings": {"synchronous_commit": "remote_apply"},
                "arm": {"settings": {"Synchronous_Standby_Names": ""}},
            },
            "waits for no standby with synchronous_standby_names = ''",
        ),
        ({"standbys": 2}, {"settings": {"max_wal_senders": 1}}, "too few for 2 standbys"),
        ({"standbys": 2}, {"settings": {"max_replication_slots": 1}}, "too few for 2 standbys"),
        (None, {"arm": {"settings": {SYNC: "*"}}}, "the arm has none"),
        (None, {"settings": {SYNC: "standby1"}}, "the arm has none"),
        ({"reads": "standby"}, {"arm": {"connect": "tcp"}}, 'needs connect = "socket"'),
        (
            {"reads": "standby"},
            {"arm": {"pooler": "pgbouncer"}, "placement": "free"},
            "that stands in front of the primary",
        ),
        (
            {},
            {"address": "host=db1"},
            'has "replication", which needs a server that we start',
        ),
        ({"standby": 1}, {}, "Extra inputs are not permitted"),
    ],
)
def test_what_standbys_cannot_be_had_with_is_refused(
    replication: dict[str, Any], more: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValidationError) as refused:
        study(replication, **more)
    assert words in str(refused.value)


def test_own_names_of_standbys_may_stand_in_place_of_the_quorum() -> None:
    settings = {
        "synchronous_commit": "remote_apply",
        "synchronous_standby_names": "FIRST 1 (standby2, standby1)",
    }
    asked = study({"standbys": 2, "quorum": 0}, arm={"settings": settings})
    assert set(settings) <= asked.declared_differences(asked.arms[0])


@pytest.mark.parametrize(
    ("names", "standbys", "needed"),
    [
        ("*", 1, 1),
        ("standby1", 1, 1),
        ("STANDBY2, other", 2, 1),
        ('"standby1"', 1, 1),
        ("any 2(standby1,standby2)", 2, 2),
        ("FIRST 2 (*)", 2, 2),
        ("2 (standby2, standby1)", 2, 2),
    ],
)
def test_names_are_read_as_the_server_reads_them(names: str, standbys: int, needed: int) -> None:
    waited = waited_for(names)
    assert waited is not None
    assert waited[0] == needed
    asked = study({"standbys": standbys}, arm={"settings": {SYNC: names}})
    assert asked.arms[0].settings[SYNC] == names


@pytest.mark.parametrize(
    ("names", "standbys"),
    [
        ("nosuch", 1),
        ("standby2", 1),
        ("standby", 2),
        ("ANY 2 (standby1)", 2),
        ("2 (*)", 1),
        ("FIRST 1 (replica, 'standby1')", 1),
    ],
)
def test_names_that_would_wait_for_ever_are_refused_with_those_there_are(
    names: str, standbys: int
) -> None:
    with pytest.raises(ValidationError, match="they are called standby1"):
        study({"standbys": standbys}, arm={"settings": {SYNC: names}})


@pytest.mark.parametrize("names", ["", "any", "a b", "a,", "(a)", "2 (a", "ANY x (a)", '"', "()"])
def test_what_no_server_would_take_is_left_to_it(names: str) -> None:
    assert waited_for(names) is None


def test_an_arm_that_never_waits_may_name_standbys_that_it_has_not() -> None:
    settings = {SYNC: "*", "synchronous_commit": "local"}
    assert study(None, arm={"settings": settings}).arms[0].settings == settings


def test_an_arm_without_a_name_is_called_by_its_standbys() -> None:
    asked = study({"standbys": 2, "quorum": 0, "round_trip": "1ms"}, arm={"name": "", "role": "a"})
    assert [arm.name for arm in with_names(asked).arms] == ["standbys=2+quorum=0+round-trip=1ms"]


def test_a_name_has_no_letter_that_a_name_cannot_have() -> None:
    asked = study({"round_trip": "500us"}, arm={"name": "", "role": "a"})
    assert [arm.name for arm in with_names(asked).arms] == ["standbys=1+round-trip=500us"]


def test_words_name_where_reads_go() -> None:
    assert replication_words(Replication(reads="standby")) == (
        "1 standby, a commit waits for 1, reads on the standby"
    )
