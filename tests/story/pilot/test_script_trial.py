"""Captured scripts are tried on a copy, and those that fail there are left out by name."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from steelyard.driver.trial import TRIES
from steelyard.model.errors import StudyError, WeighingError
from steelyard.study.study import Study
from steelyard.workloads.reading.scripts import Script
from story.asked import Silent, Watcher, study_of
from story.scripted import ScriptedWorld

Weigh = Callable[..., dict[str, Any]]
DUPLICATE = "duplicate key value violates unique constraint"


@dataclass
class CapturedWorld(ScriptedWorld):
    """A captured workload of three kinds, some tries of which fail."""

    fails: Callable[[str, int], bool] = lambda script, n: False
    """Script and number of its try (from 0) → whether it fails."""
    tried: dict[str, int] = field(default_factory=dict)

    position: dict[int, int] = field(default_factory=dict)
    """Plan of the driver → executions so far."""

    def __post_init__(self) -> None:
        self.writes = self.tried_first = True
        self.distort = self.answer
        super().__post_init__()

    def scripts(self, study: Study) -> tuple[Script, ...]:
        return (
            Script("01-update", "SELECT 1;", 60, None, writes=True),
            Script("02-insert", "SELECT 1;", 30, None, writes=True),
            Script("03-select", "SELECT 1;", 10, None, writes=False),
        )

    def answer(self, answer: dict[str, Any]) -> None:
        """As the driver does in the trial: one client takes the scripts in turn."""
        orders = self.plans_driven[-1].orders
        if not orders:
            return
        names = [self.plans_driven[-1].scripts[n].name for n in orders[0]]
        plan = len(self.plans_driven)
        script = names[self.position.get(plan, 0) % len(names)]
        self.position[plan] = self.position.get(plan, 0) + 1
        number = self.tried.get(script, 0)
        self.tried[script] = number + 1
        failed = self.fails(script, number)
        answer["transactions"], answer["failed"] = (0, 1) if failed else (1, 0)
        if failed:
            answer["errors"], answer["error_messages"] = {"23505": 1}, {"23505": DUPLICATE}


@pytest.fixture
def world(tmp_path: Path) -> CapturedWorld:
    return CapturedWorld(tmp_path / "world")


def test_a_kind_whose_every_try_fails_is_left_out_with_its_share_and_error(
    world: CapturedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    world.fails = lambda script, n: script == "02-insert"
    watcher = Watcher()
    weigh_in(world, progress=watcher)
    assert world.tried == {"01-update": TRIES, "02-insert": TRIES, "03-select": TRIES}
    [one] = json.loads((tmp_path / "record" / "plan.json").read_text())["left_out"]
    assert one == {
        "script": "02-insert", "share": 0.3, "tries": TRIES, "failed": TRIES,
        "error": f"{DUPLICATE} (SQLSTATE 23505)",
    }  # fmt: skip
    told = f'left out script "02-insert", 30 % of the transactions: {TRIES} of {TRIES} tries failed'
    assert any(note.startswith(told) for note in watcher.notes)
    driven = {tuple(s.name for s in plan.scripts) for plan in world.plans_driven[1:]}
    assert driven == {("01-update", "03-select")}
    page = (tmp_path / "record" / "report.html").read_text()
    assert "02-insert (30 % of the transactions)" in page


def test_more_than_half_of_the_tries_decide(
    world: CapturedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    world.fails = lambda script, n: n < {"01-update": 2, "02-insert": 3}.get(script, 0)
    weigh_in(world)
    left = json.loads((tmp_path / "record" / "plan.json").read_text())["left_out"]
    assert [(one["script"], one["failed"]) for one in left] == [("02-insert", 3)]


def test_the_copy_that_was_tried_on_is_put_back_before_the_arms_are_compared(
    world: CapturedWorld, weigh_in: Weigh
) -> None:
    weigh_in(world)
    actions = [call.action for call in world.noop.calls]
    assert actions.count("restore") == actions.count("start") - 2
    assert world.plans_driven[0].arms[0].clients == 1
    assert [arm.name for arm in world.plans_driven[0].arms] == ["on"]


def test_nothing_being_left_is_an_error_with_what_failed(
    world: CapturedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    world.fails = lambda script, n: True
    with pytest.raises(StudyError, match="nothing is left of workload") as refused:
        weigh_in(world)
    assert f"01-update: {DUPLICATE} (SQLSTATE 23505)" in str(refused.value)
    assert not (tmp_path / "record").exists()


def test_a_server_that_dies_of_a_try_is_an_error_of_that_kind(
    world: CapturedWorld, weigh_in: Weigh
) -> None:
    def crash() -> None:
        world.running_arms["on"].crash()

    world.events[2] = [crash]
    with pytest.raises(WeighingError, match='died when script "02-insert" was tried'):
        weigh_in(world)


def test_a_resumed_weighing_leaves_out_what_its_plan_does_and_tries_nothing(
    world: CapturedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    class Interrupting(Silent):
        def epoch(self, n: int, *rest: Any) -> None:
            raise KeyboardInterrupt

    world.fails = lambda script, n: script == "02-insert"
    weigh_in(world, progress=Interrupting())
    again = CapturedWorld(tmp_path / "again")
    weigh_in(again, resume=tmp_path / "record")
    assert again.tried == {}
    assert {s.name for s in again.plans_driven[0].scripts} == {"01-update", "03-select"}


def test_what_only_reads_or_is_no_captured_workload_is_not_tried(
    tmp_path: Path, weigh_in: Weigh
) -> None:
    world = CapturedWorld(tmp_path / "world")
    world.tried_first = False
    weigh_in(world, study_of(cost="whole"))
    assert world.tried == {}
    assert len(world.plans_driven[0].arms) == 2


MISSING = 'relation "no" does not exist'


@dataclass
class UsersWorld(CapturedWorld):
    """The same scripts, which are the user's and only read; fails by script, number and arm."""

    state: str = "42P01"
    by_arm: dict[tuple[str, str], int] = field(default_factory=dict)
    """Executions by arm and script, those of the weighing aside."""
    fails_on: Callable[[str, str, int], bool] = lambda arm, script, n: False

    def __post_init__(self) -> None:
        super().__post_init__()
        self.writes = self.tried_first = False
        self.failing = "refuse"

    def scripts(self, study: Study) -> tuple[Script, ...]:
        return tuple(replace(one, writes=False) for one in super().scripts(study))

    def answer(self, answer: dict[str, Any]) -> None:
        plan = self.plans_driven[-1]
        if not plan.orders:
            return
        names = [plan.scripts[n].name for n in plan.orders[0]]
        number = len(self.plans_driven)
        script = names[self.position.get(number, 0) % len(names)]
        self.position[number] = self.position.get(number, 0) + 1
        arm = plan.arms[0].name
        n = self.by_arm.get((arm, script), 0)
        self.by_arm[arm, script] = n + 1
        failed = self.fails_on(arm, script, n)
        answer["transactions"], answer["failed"] = (0, 1) if failed else (1, 0)
        if failed:
            answer["errors"], answer["error_messages"] = {self.state: 1}, {self.state: MISSING}


@pytest.fixture
def users(tmp_path: Path) -> UsersWorld:
    return UsersWorld(tmp_path / "users")


def test_each_script_is_executed_once_on_every_arm_before_the_pilot(
    users: UsersWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    weigh_in(users)
    names = ("01-update", "02-insert", "03-select")
    assert users.by_arm == {(arm, name): 1 for arm in ("on", "off") for name in names}
    assert [plan.arms[0].clients for plan in users.plans_driven[:2]] == [1, 1]
    assert json.loads((tmp_path / "record" / "plan.json").read_text())["left_out"] == []


def test_a_script_that_is_wrong_on_one_arm_refuses_the_weighing_or_is_left_out(
    users: UsersWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    users.fails_on = lambda arm, script, n: (arm, script) == ("off", "02-insert")
    with pytest.raises(StudyError) as refused:
        weigh_in(users)
    assert refused.value.primary == (
        f'script "02-insert" cannot work on arm "off": {MISSING} (SQLSTATE 42P01)'
    )
    assert "workload.failing=leave-out" in str(refused.value.hint)
    assert users.by_arm["off", "02-insert"] == 1
    again = UsersWorld(tmp_path / "again", fails_on=users.fails_on)
    again.failing = "leave-out"
    watcher = Watcher()
    weigh_in(again, progress=watcher)
    [left] = json.loads((tmp_path / "record" / "plan.json").read_text())["left_out"]
    assert (left["script"], left["share"], left["tries"]) == ("02-insert", 0.3, 1)
    assert any(note.startswith('left out script "02-insert", 30 %') for note in watcher.notes)
    assert {s.name for s in again.plans_driven[-1].scripts} == {"01-update", "03-select"}


def test_a_script_that_fails_by_chance_is_executed_again_and_stays(
    users: UsersWorld, weigh_in: Weigh
) -> None:
    users.state = "40001"
    users.fails_on = lambda arm, script, n: script == "02-insert" and n < 2
    weigh_in(users)
    assert users.by_arm["on", "02-insert"] == users.by_arm["off", "02-insert"] == 3
    assert users.by_arm["on", "01-update"] == 1


def test_a_script_that_fails_in_all_tries_cannot_work(users: UsersWorld, weigh_in: Weigh) -> None:
    users.state = "40001"
    users.fails_on = lambda arm, script, n: script == "02-insert"
    with pytest.raises(StudyError, match='script "02-insert" cannot work'):
        weigh_in(users)
    assert max(users.by_arm.values()) == TRIES
