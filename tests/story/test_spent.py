"""The record says where the wall time went: every phase to the nanosecond, and all add up."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steelyard.record.reader import read_recorded, read_slices, read_verdict
from steelyard.record.record import Record
from steelyard.record.slice import SliceLine
from steelyard.running.measuring import settling
from steelyard.verdict.rejudge import rejudge
from story.asked import lines, study_of
from story.noop.engine import NoopInstance
from story.noop.journal import Journal
from story.scripted import ScriptedWorld
from story.scripted_driver import ScriptedDriver, ScriptedDrivers

Facts = dict[str, Any]
Weigh = Callable[..., Facts]
COSTS = {
    "open": 1_000_003, "clone": 400_000_007, "restore": 70_000_011, "protect": 3_000_013,
    "start": 100_000_017, "ready": 200_000_003, "discard": 20_000_007, "begin to stop": 5_000_021,
    "stop": 90_000_019, "fill pool": 800_000_023,
}  # fmt: skip
"""What each call of an engine takes in a `slow` world, in ns."""
PHASE_OF = {
    "open": "put back", "clone": "put back", "restore": "put back", "protect": "put back",
    "start": "start", "ready": "start", "discard": "stop", "begin to stop": "stop", "stop": "stop",
    "fill pool": "fill pools",
}  # fmt: skip
CONNECTING, CLOSING, JUDGING, FINDING, LOADING = 200_000_029, 10_000_031, 50_000_033, 70, 900


@pytest.fixture
def slow(world: ScriptedWorld, monkeypatch: pytest.MonkeyPatch) -> ScriptedWorld:
    """A world in which what is no load takes time too."""
    write = Journal.write

    def pay(self: Journal, action: str, *arguments: Any) -> None:
        write(self, action, *arguments)
        world.clock.now += COSTS.get(action, 0)

    def connect(self: ScriptedDrivers, plan: Any) -> ScriptedDriver:
        world.clock.now += CONNECTING
        return start(self, plan)

    def close(self: ScriptedDriver) -> None:
        world.clock.now += 0 if self.closed else CLOSING
        self.closed = True

    def judge(*arguments: Any, **more: Any) -> Any:
        world.clock.now += JUDGING
        return judged(*arguments, **more)

    start, judged = ScriptedDrivers.start, settling.judge
    monkeypatch.setattr(Journal, "write", pay)
    monkeypatch.setattr(ScriptedDrivers, "start", connect)
    monkeypatch.setattr(ScriptedDriver, "close", close)
    monkeypatch.setattr(settling, "judge", judge)
    engines, template = world.engines, world.template

    def find(study: Any) -> Any:
        world.clock.now += FINDING
        return engines(study)

    def load(*arguments: Any, **more: Any) -> Any:
        world.clock.now += LOADING
        return template(*arguments, **more)

    world.engines, world.template = find, load  # type: ignore[method-assign]
    return world


def phases_of(verdict: Facts) -> dict[str, int]:
    return {one["phase"]: round(one["seconds"] * 1e9) for one in verdict["spent"]["phases"]}


def driven(directory: Path) -> dict[str, int]:
    """Kind of slice → what those of the record took, with the debts that followed them."""
    taken: Counter[str] = Counter()
    for line in read_slices(Record.open(directory)):
        taken[line.kind] += _taken(line)
    return dict(taken)


def _taken(line: SliceLine) -> int:
    return line.end_ns - line.start_ns + line.debt_ns


def engine_calls(world: ScriptedWorld, first: int = 0) -> Counter[str]:
    """Phase → what the engine's calls took."""
    taken: Counter[str] = Counter()
    for call in world.noop.calls[first:]:
        if call.action in COSTS:
            taken[PHASE_OF[call.action]] += COSTS[call.action]
    return taken


def expected(world: ScriptedWorld, directory: Path, began_at: int) -> dict[str, int]:
    """Phase → ns, by what the world did; slices take their time to the nanosecond."""
    driving = driven(directory)
    told = {
        **engine_calls(world, began_at),
        "find engines": FINDING,
        "load data": LOADING,
        "connect": world.lives * (CONNECTING + CLOSING),
        "pilot": driving.get("pilot", 0),
        "warm up": driving.get("warmup", 0),
        "measure": driving.get("measured", 0),
    }
    return {phase: ns for phase, ns in told.items() if ns}


@pytest.mark.parametrize("writes", [False, True])
def test_every_phase_is_what_the_world_took_for_it(
    slow: ScriptedWorld, weigh_in: Weigh, tmp_path: Path, writes: bool
) -> None:
    slow.writes = writes
    began_ns, began_at = slow.clock.now, len(slow.noop.calls)
    verdict = weigh_in(slow)
    told = phases_of(verdict)
    epochs = len([x for x in lines(tmp_path, "telemetry.jsonl") if x["type"] == "epoch"])
    judged = 1 + epochs  # before the first epoch too, to show what is known
    assert told == {
        **expected(slow, tmp_path / "record", began_at), "judge": judged * JUDGING
    }  # fmt: skip
    whole = slow.clock.now - began_ns
    assert round(verdict["spent"]["seconds"] * 1e9) == whole
    assert sum(phases_of(verdict).values()) == whole


def test_work_cut_by_executions_is_accounted_for_too(
    slow: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    began_ns, began_at = slow.clock.now, len(slow.noop.calls)
    counted = {"each": 50, "blocks": 3, "warmup": 2}
    told = phases_of(weigh_in(slow, study_of(budget={"measuring": "30s", "counted": counted})))
    assert sum(told.values()) == slow.clock.now - began_ns
    del told["judge"]
    assert told == expected(slow, tmp_path / "record", began_at)


def test_turns_are_accounted_for_by_their_phases(
    slow: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    slow.writes, slow.noise = True, 0.01
    waits = iter(range(10**6))
    slow.waiting = lambda: (20 << 20) if next(waits) % 5 else 0
    began_ns, began_at = slow.clock.now, len(slow.noop.calls)
    study = study_of(layout="turns", budget={"turns": "20m", "epochs": 8})
    verdict = weigh_in(slow, study)
    told = phases_of(verdict)
    assert sum(told.values()) == slow.clock.now - began_ns
    turns = [x for x in lines(tmp_path, "telemetry.jsonl") if x["type"] == "turn"]
    assert told["quiet"] == slow.paused_ns > sum(turn["phases_ns"]["quiet"] for turn in turns) > 0
    warm = ("warm up", "wait for a checkpoint")
    assert told["warm up"] == sum(turn["phases_ns"][name] for turn in turns for name in warm)
    assert told["measure"] == sum(turn["phases_ns"]["measure"] for turn in turns)
    for phase, ns in expected(slow, tmp_path / "record", began_at).items():
        if phase not in ("warm up", "measure"):
            assert told[phase] == ns, phase


def test_a_pool_that_is_read_into_has_its_own_phase(slow: ScriptedWorld, weigh_in: Weigh) -> None:
    def falls(server: NoopInstance) -> int:
        return 0 if server.warm else round(1e12 * math.log1p(slow.slices))

    slow.noop.journal.answers.requested_bytes = falls
    began_ns, began_at = slow.clock.now, len(slow.noop.calls)
    told = phases_of(weigh_in(slow))
    assert told["fill pools"] == engine_calls(slow, began_at)["fill pools"] > 0
    assert sum(told.values()) == slow.clock.now - began_ns


def test_a_resumed_weighing_sums_all_its_sittings(
    slow: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    began_ns, began_at = slow.clock.now, len(slow.noop.calls)
    slow.events[500] = [interrupt]
    first = weigh_in(slow)
    assert first["interrupted"]
    sat_ns = slow.clock.now - began_ns
    assert sum(phases_of(first).values()) == sat_ns
    slow.clock.now += 10**15  # until it is resumed
    slow.noop.journal.stopped = {slow.template_directory}  # the clones were removed
    resumed_ns = slow.clock.now
    second = weigh_in(slow, resume=tmp_path / "record")
    told = phases_of(second)
    assert sum(told.values()) == sat_ns + slow.clock.now - resumed_ns
    assert told["start"] == engine_calls(slow, began_at)["start"]
    assert told["pilot"] == phases_of(first)["pilot"]


def test_an_arm_that_cannot_start_is_charged_like_one_that_could(
    slow: ScriptedWorld, weigh_in: Weigh
) -> None:
    began_ns = slow.clock.now
    slow.events[400] = [lambda: slow.running_arms["off"].crash()]  # noqa: PLW0108  stands later
    told = phases_of(weigh_in(slow))
    assert sum(told.values()) == slow.clock.now - began_ns


def test_what_is_judged_again_from_the_record_says_the_same(
    slow: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    weigh_in(slow)
    record = Record.open(tmp_path / "record")
    kept = read_verdict(record)
    assert kept is not None
    assert kept.spent is not None
    assert rejudge(read_recorded(record)).spent == kept.spent
