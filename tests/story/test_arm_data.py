"""An arm's own SQL makes data of its own; what a study needs is asked before anything is loaded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, cast

import pytest

from steelyard.engines.capabilities.memory import MemoryNeed, MemorySettings
from steelyard.engines.engine import MissingFeature
from steelyard.model.errors import EngineError, StudyError
from story.asked import Watcher, study_of
from story.scripted import ScriptedWorld

Weigh = Callable[..., dict[str, Any]]


def test_an_arm_with_sql_has_data_of_its_own_and_the_others_have_the_loaded_one(
    world: ScriptedWorld, weigh_in: Weigh
) -> None:
    study = study_of(
        arms=[{"name": "off", "sql": ["ALTER TABLE t SET (fillfactor = 90)"]}],
    )
    verdict = weigh_in(world, study)
    cloned = {str(call.directory) for call in world.noop.calls if call.action == "clone"}
    assert len(cloned) == 2, "each slot holds a copy of either"
    assert ["sql", "none", "ALTER TABLE t SET (fillfactor = 90)"] in (
        verdict["differences"]["declared"]
    )
    assert verdict["differences"]["undeclared"] == []


def test_sql_for_every_arm_is_no_difference(world: ScriptedWorld, weigh_in: Weigh) -> None:
    study = study_of(control={"name": "on"}, arms=[{"name": "off"}], sql=["ANALYZE t"])
    watcher = Watcher()
    verdict = weigh_in(world, study, progress=watcher)
    assert verdict["differences"]["declared"] == []
    assert 'execute the sql of arm "on"' in watcher.stages


def test_a_need_that_is_not_met_is_refused_with_how_to_get_it(
    world: ScriptedWorld, weigh_in: Weigh
) -> None:
    world.noop.lacks["jit"] = MissingFeature("noop 1.0 was built without LLVM", "packages have it")
    with pytest.raises(EngineError, match=r"needs jit, and noop 1\.0 was built without") as refused:
        weigh_in(world, study_of(needs=["lz4", "jit"]))
    assert refused.value.hint == "packages have it"
    assert not [call for call in world.noop.calls if call.action == "start"]


def test_too_few_huge_pages_are_refused_with_the_number(
    world: ScriptedWorld, weigh_in: Weigh
) -> None:
    world.huge_pages_free = 3
    world.noop.journal.answers.memory_need = lambda _: MemoryNeed(128 << 20, "on")
    arm = {"name": "off", "settings": {"huge_pages": "on"}}
    with pytest.raises(EngineError, match="free huge pages are needed, and this machine has 3"):
        weigh_in(world, study_of(arms=[arm], needs=["huge_pages"]))


@pytest.mark.parametrize(
    ("control", "arm", "free", "refused"),
    [
        ({}, {"huge_pages": "off"}, 0, True),  # "try", the default, finds none
        ({"huge_pages": "off"}, {"huge_pages": "try"}, 0, True),
        ({"huge_pages": "off"}, {"huge_pages": "try"}, 1000, False),
        ({"huge_pages": "off"}, {"huge_pages": "try", "work_mem": "8MB"}, 0, False),
        ({}, {"work_mem": "8MB"}, 0, False),
    ],
)
def test_arms_that_differ_in_huge_pages_alone_need_them(
    world: ScriptedWorld,
    weigh_in: Weigh,
    control: dict[str, str],
    arm: dict[str, str],
    free: int,
    refused: bool,
) -> None:
    world.huge_pages_free = free
    world.noop.journal.answers.memory_need = lambda settings: MemoryNeed(
        128 << 20, cast(Literal["off", "try", "on"], settings.get("huge_pages", "try"))
    )
    sides = {"control": {"name": "on", "settings": control}}
    study = study_of(**sides, arms=[{"name": "off", "settings": arm}])
    if refused:
        with pytest.raises(EngineError, match="free huge pages are needed, and this machine has 0"):
            weigh_in(world, study)
    else:
        weigh_in(world, study)


@pytest.mark.parametrize("name", ["large_pages", "loose_large_pages", "Large-Pages"])
def test_large_pages_of_other_engines_are_asked_for_too(
    world: ScriptedWorld, weigh_in: Weigh, name: str
) -> None:
    """A server of MySQL that gets none warns in its log, goes on without, and reports ON."""
    words = MemorySettings("innodb_buffer_pool_size", "large_pages", "M")
    world.huge_pages_free = 0
    world.noop.journal.answers.memory_need = lambda settings: MemoryNeed(
        128 << 20, "on" if settings else "off", words
    )
    study = study_of(control={"name": "on"}, arms=[{"name": "off", "settings": {name: "ON"}}])
    with pytest.raises(EngineError, match="and this machine has 0") as refused:
        weigh_in(world, study)
    assert (refused.value.hint or "").endswith("Or with smaller innodb_buffer_pool_size.")


def test_an_engine_that_is_reached_by_its_socket_alone_is_refused_another_way(
    world: ScriptedWorld, weigh_in: Weigh
) -> None:
    by_tcp = study_of(control={"name": "on", "connect": "tcp"})
    with pytest.raises(StudyError, match='clients cannot reach engine "noop" by TCP'):
        weigh_in(world, by_tcp)
