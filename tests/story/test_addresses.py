"""At addresses nothing is started: arms are sessions, drawn onto connections opened afresh."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steelyard import _core
from steelyard.driver.read_only import READ_ONLY
from steelyard.model.errors import UsageError, WeighingError
from steelyard.study.study import Study
from story.asked import Facts, Watcher, lines, study_of
from story.scripted import ScriptedWorld

Weigh = Callable[..., Facts]


def sessions(**changes: Any) -> Study:
    """Two settings of the session on one server."""
    facts: Facts = {
        "address": "db1",
        "control": {"name": "on", "settings": {"jit": "on"}},
        "arms": [{"name": "off", "settings": {"jit": "off"}}],
        "layout": "auto",
    }
    return study_of(**{**facts, **changes})


def two_servers() -> Study:
    """Whatever stands at two addresses."""
    return sessions(
        address=None,
        control={"name": "on", "address": "db1", "settings": {"jit": "on"}},
        arms=[{"name": "off", "address": "db2"}],
    )


def names(verdict: Facts) -> list[str]:
    """The threats to the first contrast."""
    return [threat["name"] for threat in verdict["contrasts"][0]["threats"]]


def test_nothing_is_started_and_all_connections_are_opened_afresh(
    world: ScriptedWorld, weigh_in: Weigh
) -> None:
    weigh_in(world, sessions())
    assert [call.action for call in world.noop.calls] == ["create"]  # the fixture's own
    assert world.lives == 12  # two pilot epochs and ten
    assert world.required == ["db1", "db1"]


def test_which_connections_are_opened_first_is_drawn_half_and_half(
    world: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    weigh_in(world, sessions())
    epochs = [line for line in lines(tmp_path, "telemetry.jsonl") if line["type"] == "epoch"]
    first = [plan.arms[0].name for plan in world.plans_driven[-10:]]
    assert first == [min(line["slots"], key=line["slots"].get) for line in epochs]
    assert first.count("on") == 5


def test_the_load_goes_to_the_database_that_the_address_names(
    world: ScriptedWorld, weigh_in: Weigh
) -> None:
    weigh_in(world, sessions())
    assert {arm.endpoint.database for plan in world.plans_driven for arm in plan.arms} == {"shop"}


def test_a_known_difference_is_read_on_one_server(world: ScriptedWorld, weigh_in: Weigh) -> None:
    world.speed = lambda arm, life: 4200.0 if arm == "off" else 4000.0
    verdict = weigh_in(world, sessions())
    contrast = verdict["contrasts"][0]
    assert contrast["verdict"] == "faster"
    assert contrast["low_percent"] < 5.0 < contrast["high_percent"]
    assert "sessions of one running server" in verdict["sentence"]
    assert "shared background" in names(verdict)
    assert "placement free" not in names(verdict)


def test_two_servers_are_weighed_as_they_stand(world: ScriptedWorld, weigh_in: Weigh) -> None:
    verdict = weigh_in(world, two_servers())
    assert "these instances as they stand" in verdict["sentence"]
    assert "address only" in names(verdict)


def test_the_plan_says_that_the_servers_are_not_ours(
    world: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    watcher = Watcher()
    world.writes = True  # "auto" would charge what is left behind, and need frozen servers
    weigh_in(world, sessions(), progress=watcher)
    plan = json.loads((tmp_path / "record" / "plan.json").read_text())
    told = {key: plan[key] for key in ("residency", "layout", "cost", "placement", "upkeep")}
    assert told == {
        "residency": "one server",
        "layout": "slices",
        "cost": "foreground",
        "placement": "free",
        "upkeep": "reconnect",
    }
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d{6}Z", plan["at"])
    assert [note for note in watcher.notes if "round trip of on takes 20 µs" in note]


def test_settings_that_nobody_declared_may_not_differ_between_sessions(
    world: ScriptedWorld, weigh_in: Weigh, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached = world.reached

    def with_another_memory(study: Study, database: str | None) -> Any:
        found = reached(study, database)
        world.far["off"].given = {**world.far["off"].given, "work_mem": "1GB"}
        return found

    monkeypatch.setattr(world, "reached", with_another_memory)
    with pytest.raises(WeighingError, match="work_mem"):
        weigh_in(world, sessions())


def test_a_server_that_goes_away_ends_it_and_is_named(
    world: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    def goes() -> None:
        world.far["off"].running = False

    world.events[450] = [goes]
    with pytest.raises(WeighingError, match="3 epochs in a row were lost: could not start: off"):
        weigh_in(world, two_servers())
    ends = [line["outcome"] for line in lines(tmp_path, "telemetry.jsonl") if "outcome" in line]
    assert ends[-3:] == ["crashed: off", "could not start: off", "could not start: off"]


def test_a_weighing_goes_on_where_it_was_interrupted(
    world: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    world.events[500] = [interrupt]
    assert weigh_in(world, sessions())["interrupted"]
    verdict = weigh_in(ScriptedWorld(tmp_path / "again"), sessions(), resume=tmp_path / "record")
    assert verdict["contrasts"][0]["epochs"] == 10


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("memory", "1GB"),
        ("layout", "turns"),
        ("cost", "whole"),
        ("source", "/data"),
        ("statement_counters", True),
        ("archive", True),
    ],
)
def test_what_needs_a_server_of_ours_is_refused(key: str, value: Any) -> None:
    with pytest.raises(ValueError, match=r"address|server"):
        sessions(**{key: value})


@pytest.mark.parametrize("begun", [["on", "on"], ["off", "on"], ["on", "off"]])
def test_sessions_that_are_to_begin_read_only_are_asked_whether_they_do(
    world: ScriptedWorld, weigh_in: Weigh, monkeypatch: pytest.MonkeyPatch, begun: list[str]
) -> None:
    answers, hosts = iter(begun), list[str]()

    def answer(arm: str, sql: str) -> list[list[str]]:
        assert sql == "SHOW transaction_read_only"
        hosts.append(json.loads(arm)["host"])
        return [[next(answers)]]

    monkeypatch.setattr(_core, "ask", answer)
    study = sessions(settings={READ_ONLY: "on"})
    if "off" not in begun:
        weigh_in(world, study)
        assert hosts == ["db1", "db1"]
        return
    arm = ["on", "off"][begun.index("off")]
    with pytest.raises(UsageError, match=f'sessions of arm "{arm}" at "db1"') as refused:
        weigh_in(world, study)
    assert "--yes" in str(refused.value.hint)
    assert world.lives == 0, "nothing was driven"


def test_sessions_that_may_write_are_not_asked(
    world: ScriptedWorld, weigh_in: Weigh, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_core, "ask", lambda arm, sql: pytest.fail("asked"))
    weigh_in(world, sessions())
