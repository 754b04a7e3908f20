"""An arm says what its clients come through, and what a pooler cannot do is refused by name."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from steelyard.study.naming import with_names
from steelyard.study.reaching.pooler import pooler_of, pooler_words
from steelyard.study.study import Study


def study(pooler: Any, placement: str = "free", **more: Any) -> Study:
    arm = {"name": "arm", "pooler": pooler, **more.pop("arm", {})}
    facts = {"name": "s", "title": "t", "question": "q", "control": {"name": "control"}}
    return Study.model_validate({**facts, "arms": [arm], "placement": placement, **more})


def test_a_pooler_by_its_name_alone_is_a_difference_that_is_declared() -> None:
    asked = study("pgpool")
    [arm] = asked.arms
    assert asked.declared_differences(arm) == {"pooler"}
    assert asked.differences_outside_settings(arm) == [("pooler", "none", "pgpool")]
    assert pooler_words(study({"name": "pgbouncer", "connections": 4}).arms[0].pooler) == (
        "pgbouncer, 4 connections"
    )


def test_the_older_word_for_pgbouncer_means_the_same() -> None:
    asked = study(None, arm={"connect": "pgbouncer"})
    pooler = pooler_of(asked.arms[0])
    assert pooler is not None
    assert (pooler.name, pooler.connections) == ("pgbouncer", 16)
    assert asked.declared_differences(asked.arms[0]) == {"connect"}


@pytest.mark.parametrize(
    ("spelt", "name"),
    [
        ("PgBouncer", "pgbouncer"),
        ("pgpool-II", "pgpool"),
        ("pgpool2", "pgpool"),
        ({"name": "PGPOOL"}, "pgpool"),
    ],
)
def test_a_pooler_is_known_however_it_is_spelt(spelt: Any, name: str) -> None:
    pooler = study(spelt).arms[0].pooler
    assert pooler is not None
    assert pooler.name == name


@pytest.mark.parametrize(
    ("pooler", "name"),
    [
        ({"name": "pgbouncer", "connections": 4}, "pgbouncer+connections=4"),
        ({"name": "pgbouncer", "program": "/opt/bin/pgbouncer"}, "pgbouncer+/opt/bin/pgbouncer"),
    ],
)
def test_poolers_of_one_name_are_told_apart_in_the_names_of_arms(
    pooler: dict[str, Any], name: str
) -> None:
    control = {"role": "control", "pooler": "pgbouncer"}
    named = with_names(study(pooler, control=control, arm={"name": "", "role": "arm"}))
    assert [arm.name for arm in named.every_arm] == ["pgbouncer", name]


@pytest.mark.parametrize(
    ("pooler", "more", "words"),
    [
        ("odyssey", {}, "Odyssey is not started by Steelyard"),
        ({"name": "pg-doorman"}, {}, "pg_doorman is not started by Steelyard"),
        ("other", {}, "Input should be 'pgbouncer' or 'pgpool'"),
        ("pgpool", {"placement": "symmetric"}, 'pooler = "pgpool" needs placement = "free"'),
        ("pgbouncer", {"arm": {"connect": "tcp"}}, "through a pooler clients come by its socket"),
        ("pgpool", {"arm": {"connect": "tls"}}, "TLS is set up with pgbouncer alone"),
        ("pgpool", {"arm": {"connect": "pgbouncer"}}, "has two poolers"),
        ("pgpool", {"address": "host=db1"}, 'has "pooler", which needs a server that we start'),
        (None, {"placement": "auto", "workload": {"reconnect": True}}, "workload.reconnect needs"),
        ({"name": "pgpool", "connections": 0}, {}, "greater than or equal to 1"),
        ({"name": "pgpool", "connections": 20}, {}, "a connection for each client"),
        ({"name": "pgbouncer", "program": "bin/pgbouncer"}, {}, "by its whole path"),
    ],
)
def test_what_a_pooler_cannot_do_is_refused(pooler: Any, more: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError) as refused:
        study(pooler, **more)
    assert words in str(refused.value)
