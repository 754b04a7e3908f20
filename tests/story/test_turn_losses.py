"""A weighing in turns that loses arms, or is killed in an epoch, counts what there is."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from steelyard.analysis.decision.epoch_reading import epoch_log_ratio
from steelyard.model.errors import EngineError, ServerError
from steelyard.record.reader import read_recorded
from steelyard.record.record import Record
from steelyard.study.study import Study
from story.asked import lines, study_of
from story.noop.engine import NoopInstance
from story.noop.journal import Journal
from story.scripted import ScriptedWorkload, ScriptedWorld
from thinned import thinned

Facts = dict[str, Any]
Weigh = Callable[..., Facts]
MakeWorld = Callable[[str], ScriptedWorld]
S = 1_000_000_000
OFF: Mapping[str, Facts] = {
    "carry": {"name": "off", "checksums": False},
    "exchange": {"name": "off", "checksums": True, "settings": {"other": "1"}},
}
"""How files are kept equal where they are not put back → an arm with which the pilot chooses that:
one that can use the control's files exchanges them."""
kept = pytest.mark.parametrize("upkeep", OFF)


def in_turns(upkeep: str = "carry") -> Study:
    return study_of(
        layout="turns",
        arms=[OFF[upkeep]],
        budget={"turns": "60m", "epochs": 8},
        decision={"first_verdict": False},
        turns={"time_scale": 1},
    )


@pytest.fixture
def make(tmp_path: Path) -> MakeWorld:
    """Worlds of work that writes, without noise."""
    return lambda name: ScriptedWorld(tmp_path / name, writes=True, noise=0.0)


@pytest.fixture
def make_slow(make: MakeWorld, monkeypatch: pytest.MonkeyPatch) -> MakeWorld:
    """Worlds in which putting a directory back takes half a minute: too long to be done in every
    epoch."""
    clocks: dict[int, ScriptedWorld] = {}
    write = Journal.write

    def slowly(self: Journal, action: str, *arguments: Any) -> None:
        write(self, action, *arguments)
        if action == "restore" and id(self) in clocks:
            clocks[id(self)].clock.now += 30 * S

    def fresh(name: str) -> ScriptedWorld:
        world = make(name)
        clocks[id(world.noop.journal)] = world
        return world

    monkeypatch.setattr(Journal, "write", slowly)
    return fresh


def of_kind(tmp_path: Path, kind: str, record: str = "record") -> list[Facts]:
    return [x for x in lines(tmp_path, "telemetry.jsonl", record) if x["type"] == kind]


def lost_of(tmp_path: Path) -> Facts:
    [lost] = [one for one in of_kind(tmp_path, "epoch") if one["outcome"] != "complete"]
    return lost


@thinned("first", ["crashed", "could not start"], 1)
def test_an_epoch_in_which_both_arms_are_lost_names_both_and_has_no_reading(
    make: MakeWorld, weigh_in: Weigh, tmp_path: Path, first: str
) -> None:
    quiet, world = make("count"), make("world")
    weigh_in(quiet, in_turns(), record="count")
    every = lines(tmp_path, "slices.jsonl", "count")
    assert len(every) == quiet.slices
    own = [n for n, one in enumerate(every, start=1) if one["epoch"] == 3]
    begin = own[0]
    halfway = next(n for n in own if every[n - 1]["kind"] == "measured") + 9

    def crash() -> None:
        [server] = world.running_arms.values()
        server.crash()

    def refuse() -> None:
        world.noop.failures["ready"] = [ServerError("no room")]

    if first == "crashed":
        world.events |= {halfway: [crash], 2 * halfway - begin + 1: [crash]}
    else:
        world.events |= {begin - 1: [refuse], halfway: [crash]}
    verdict = weigh_in(world, in_turns())
    lost = lost_of(tmp_path)
    assert lost["outcome"] == "crashed: off, on"
    assert sum(line.startswith("error: ") for line in lost["error"]) == 2, "of each arm its own"
    [epoch] = [
        one
        for one in read_recorded(Record(tmp_path / "record")).epochs
        if one.line.outcome != "complete"
    ]
    assert any(arm.transactions for arm in epoch.totals.arms.values()), "it had begun its work"
    assert math.isnan(epoch_log_ratio(epoch.totals, "off", "on", "throughput"))
    told = [x["seen"] for x in verdict["contrasts"][0]["threats"] if x["name"] == "an arm crashed"]
    assert {seen.partition(" ")[0] for seen in told} == {"on", "off"}


@kept
def test_a_server_that_does_not_stop_after_a_loss_costs_its_epoch_and_no_more(
    make_slow: MakeWorld,
    weigh_in: Weigh,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    upkeep: str,
) -> None:
    world, checked = make_slow("world"), list[str]()

    def check(self: ScriptedWorkload, instance: NoopInstance) -> list[str]:
        checked.append("")
        if len(checked) == 7:  # two in the pilot, two in each epoch
            world.noop.failures["begin to stop"] = [ServerError("could not stop cleanly")]
            raise ServerError("a check lost its connection")
        return []

    monkeypatch.setattr(ScriptedWorkload, "violations", check)
    weigh_in(world, in_turns(upkeep))
    assert Record(tmp_path / "record").read("plan.json")["upkeep"] == upkeep
    assert not world.noop.failures["begin to stop"], "it was stopped"
    lost = lost_of(tmp_path)
    assert lost["outcome"] == "failed: a check lost its connection"
    assert len(lost["violations"]) == 1, "the other arm had its turn"
    assert len(of_kind(tmp_path, "epoch")) == 8


def test_files_that_cannot_be_put_back_end_a_weighing_which_goes_on_later(
    make: MakeWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    """A disk that is full fails the next epoch too."""
    world = make("world")

    def refuse() -> None:
        world.noop.failures["restore"] = [EngineError("could not restore cluster: no room")]

    world.events[300] = [refuse]
    with pytest.raises(EngineError, match="no room"):
        weigh_in(world, in_turns())
    done = of_kind(tmp_path, "epoch")
    assert 0 < len(done) < 8
    assert all(one["outcome"] == "complete" for one in done)
    weigh_in(make("again"), resume=tmp_path / "record")
    every = of_kind(tmp_path, "epoch")
    assert every[: len(done)] == done
    assert [one["outcome"] for one in every] == ["complete"] * 8


class Killed(BaseException):
    """What kill -9 is to the code: no handler of ours sees it."""


@thinned("upkeep", ["restore", "carry"], 1)
def test_an_arm_that_was_lost_before_a_weighing_was_killed_stays_lost(
    make: MakeWorld, make_slow: MakeWorld, weigh_in: Weigh, tmp_path: Path, upkeep: str
) -> None:
    fresh = make_slow if upkeep == "carry" else make
    quiet, world = fresh("count"), fresh("world")
    weigh_in(quiet, in_turns(), record="count")
    every = lines(tmp_path, "slices.jsonl", "count")
    begin, *own = [n for n, one in enumerate(every, start=1) if one["epoch"] == 3]
    halfway = next(n for n in own if every[n - 1]["kind"] == "measured") + 3

    def crash() -> None:
        [server] = world.running_arms.values()
        server.crash()

    def kill() -> None:
        raise Killed

    world.events |= {halfway: [crash], 2 * halfway - begin + 1: [kill]}
    with pytest.raises(Killed):
        weigh_in(world, in_turns())
    [lost] = of_kind(tmp_path, "lost turn")
    assert (lost["epoch"], lost["how"], lost["outcome"]) == (
        3,
        "crashed",
        f"crashed: {lost['arm']}",
    )
    verdict = weigh_in(fresh("again"), resume=tmp_path / "record")
    assert lost_of(tmp_path)["outcome"] == f"crashed: {lost['arm']}"
    turns = [one["arm"] for one in of_kind(tmp_path, "turn") if one["epoch"] == 3]
    assert lost["arm"] not in turns, "it has no second turn"
    assert len(turns) == 1
    told = [x["seen"] for x in verdict["contrasts"][0]["threats"] if x["name"] == "an arm crashed"]
    assert [seen.partition(" ")[0] for seen in told] == [lost["arm"]]


def test_ctrl_c_is_not_replaced_by_a_server_that_does_not_stop(
    make_slow: MakeWorld, weigh_in: Weigh
) -> None:
    world = make_slow("world")

    def interrupt() -> None:
        world.noop.failures["begin to stop"] = [ServerError("could not stop cleanly")]
        raise KeyboardInterrupt

    world.events[300] = [interrupt]
    assert weigh_in(world, in_turns())["interrupted"]


@kept
def test_a_torn_epoch_begins_anew_where_files_are_not_put_back(
    make_slow: MakeWorld, weigh_in: Weigh, tmp_path: Path, upkeep: str
) -> None:
    def kill() -> None:
        raise Killed

    whole, torn = make_slow("whole"), make_slow("torn")
    expected = weigh_in(whole, in_turns(upkeep), record="whole")
    torn.events[round(0.73 * whole.slices)] = [kill]
    with pytest.raises(Killed):
        weigh_in(torn, in_turns(upkeep), record="torn")
    assert Record(tmp_path / "torn").read("plan.json")["upkeep"] == upkeep
    for told in Record(tmp_path / "whole").read("verdict.json")["turns"]["sums"]:
        assert (told["first_files_bytes"], told["last_files_bytes"]) == (1 << 30, 1 << 30)
    *_, last = of_kind(tmp_path, "turn", "torn")
    assert last["position"] == 0, "it was killed in the second turn of an epoch"
    verdict = weigh_in(make_slow("again"), resume=tmp_path / "torn")
    again = [x for x in of_kind(tmp_path, "turn", "torn") if x["epoch"] == last["epoch"]]
    assert [(x["position"], x["attempt"]) for x in again] == [(0, 1), (0, 2), (1, 2)]
    own = read_recorded(Record(tmp_path / "torn")).epochs[last["epoch"]].totals
    measured = sum(len(turn.seconds) for turn in own.turns.values())
    assert sum(len(arm.slices) for arm in own.arms.values()) == measured
    assert verdict["contrasts"][0]["details"]["d"] == pytest.approx(
        expected["contrasts"][0]["details"]["d"], abs=1e-9
    )
