"""Executions that are too slow for slices by time are weighed by count, as the plan says."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steelyard.record.reader import read_recorded
from steelyard.record.record import Record
from steelyard.verdict.rejudge import rejudge
from story.asked import Watcher, lines, study_of
from story.scripted import ScriptedWorld

Facts = dict[str, Any]
Weigh = Callable[..., Facts]
ONE = {"clients": 8, "clients_when_slow": 1}


@pytest.fixture
def slow(world: ScriptedWorld) -> ScriptedWorld:
    return slowed(world)


def slowed(world: ScriptedWorld) -> ScriptedWorld:
    """0.8 s an execution: a slice of 50 ms ends with every client cancelled."""

    def cancel(answer: Facts) -> None:
        if not answer["transactions"]:
            answer["capped"] = answer["clients"]
            answer["end_ns"] += 5_000_000_000
            world.clock.now += 5_000_000_000

    world.speed = lambda arm, life: 1.25 if arm == "on" else 1.3
    world.distort = cancel
    world.noise = 0.01
    return world


def plan_of(tmp_path: Path, record: str = "record") -> Facts:
    found: Facts = json.loads((tmp_path / record / "plan.json").read_text())
    return found


def test_one_slow_query_is_weighed_by_one_client_execution_by_execution(
    slow: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    watcher = Watcher()
    verdict = weigh_in(slow, study_of(workload=ONE, budget={"measuring": "60s"}), progress=watcher)
    plan = plan_of(tmp_path)
    assert plan["counted"] == {"each": 1, "warmup": 1, "blocks": 4, "clients": 1}
    assert (plan["clients"], plan["blocks_per_epoch"]) == (1, 4)
    assert "an execution takes about" in plan["slice_why"]
    assert any("too long for slices by time" in note for note in watcher.notes)
    measured = [x for x in lines(tmp_path, "slices.jsonl") if x["kind"] == "measured"]
    assert {(x["clients"], x["length_ns"], x["transactions"]) for x in measured} == {(1, None, 1)}
    assert len(measured) == 2 * 4 * len(verdict["contrasts"][0]["details"]["d"])
    assert verdict["contrasts"][0]["verdict"] == "faster"
    page = (tmp_path / "record" / "report.html").read_text()
    assert "1 execution, about" in page
    assert "in slices of 1 execution of each client" in page


def test_without_another_number_of_clients_all_of_them_drive_it(
    slow: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    weigh_in(slow, study_of(workload={"clients": 4}, budget={"measuring": "60s"}))
    assert plan_of(tmp_path)["counted"]["clients"] == 4
    measured = [x for x in lines(tmp_path, "slices.jsonl") if x["kind"] == "measured"]
    assert {x["clients"] for x in measured} == {4}


def test_an_interrupted_one_goes_on_by_count(
    slow: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    study = study_of(workload=ONE, budget={"measuring": "60s"})
    slow.events[60] = [interrupt]
    weigh_in(slow, study)
    before = plan_of(tmp_path)
    again = slowed(ScriptedWorld(tmp_path / "again"))
    verdict = weigh_in(again, study, resume=tmp_path / "record")
    assert plan_of(tmp_path) == before
    assert verdict["resumed"] is True
    measured = [x for x in lines(tmp_path, "slices.jsonl") if x["kind"] == "measured"]
    assert {x["clients"] for x in measured} == {1}
    rejudged = rejudge(read_recorded(Record.open(tmp_path / "record")))
    assert rejudged.to_json()["contrasts"] == verdict["contrasts"]


def test_only_the_first_executions_being_slow_leaves_slices_by_time(
    slow: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    """A cold start is no reason: timed on a fresh one they are fast after the first."""
    slow.speed = lambda arm, life: 1.25 if life == 1 else 4000.0
    weigh_in(slow, study_of(workload=ONE, budget={"measuring": "60s"}))
    plan = plan_of(tmp_path)
    assert plan["counted"] is None
    assert plan["clients"] == 8
    measured = [x for x in lines(tmp_path, "slices.jsonl") if x["kind"] == "measured"]
    assert {x["clients"] for x in measured} == {8}


def test_a_slice_that_the_study_names_is_kept(
    world: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    world.speed = lambda arm, life: 40.0
    world.noise = 0.0
    weigh_in(world, study_of(workload=ONE, budget={"measuring": "60s", "slice": "300ms"}))
    plan = plan_of(tmp_path)
    assert (plan["counted"], plan["slice_ns"]) == (None, 300_000_000)


def test_fast_work_is_weighed_as_before(
    world: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    weigh_in(world)
    assert plan_of(tmp_path)["counted"] is None
    assert "executions" not in plan_of(tmp_path)["slice_why"]
