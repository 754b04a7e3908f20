"""What a weighing in turns plans from its pilot: how far apart checkpoints are, and how long a turn
of each arm may take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from steelyard.engines.engine import Cycle, Pulse, Scaled
from steelyard.engines.noop import NoopInstance
from steelyard.model.errors import StudyError
from steelyard.record.record import Record
from steelyard.study.study import Study
from story.asked import lines, study_of
from story.scripted import ScriptedWorld

Facts = dict[str, Any]
Weigh = Callable[..., Facts]
S = 1_000_000_000
MB = 1e6


def writing_study(**changes: Any) -> Study:
    return study_of(
        **{
            "layout": "turns",
            "budget": {"turns": "40m", "epochs": 8},
            "decision": {"first_verdict": False},
            "turns": {"time_scale": 1},
            **changes,
        }
    )


@pytest.fixture
def writing(world: ScriptedWorld) -> ScriptedWorld:
    world.writes, world.noise = True, 0.01
    return world


def plan_of_turns(tmp_path: Path) -> Facts:
    turns: Facts = Record(tmp_path / "record").read("plan.json")["turns"]
    return turns


def turns_of(tmp_path: Path) -> list[Facts]:
    return [x for x in lines(tmp_path, "telemetry.jsonl") if x["type"] == "turn"]


def starts(world: ScriptedWorld) -> int:
    """How many servers were started so far."""
    return sum(call.action == "start" for call in world.noop.calls)


def bursting(world: ScriptedWorld) -> Callable[[NoopInstance], Pulse]:
    """Log of 40 MB/s for 3 s after a start, then of 1 MB/s."""
    started: dict[int, int] = {}

    def pulse(instance: NoopInstance) -> Pulse:
        began_ns = started.setdefault(starts(world), world.clock.now)
        since_s = (world.clock.now - began_ns) / S
        written = 40 * MB * min(since_s, 3) + 1 * MB * max(since_s - 3, 0)
        return Pulse(wal_bytes=written, images=0.0, owed_bytes=written)

    return pulse


@pytest.mark.parametrize(("cycle_s", "budget"), [(33, "40m"), (150, "3h")])  # 150 s: not seen
def test_turns_of_a_log_that_bursts_after_each_checkpoint_are_long_enough_and_take_what_was_said(
    writing: ScriptedWorld, weigh_in: Weigh, tmp_path: Path, cycle_s: int, budget: str
) -> None:
    answers = writing.noop.journal.answers
    writing.cycle_ns = cycle_s * S
    answers.pulse = bursting(writing)
    answers.cycle = lambda _: Cycle(10**15, (117 + cycle_s) * MB, 10.0)
    weigh_in(writing, writing_study(budget={"turns": budget, "epochs": 8}))
    turns, planned = turns_of(tmp_path), plan_of_turns(tmp_path)
    assert planned["cycle_seconds"] == pytest.approx({"on": cycle_s, "off": cycle_s}, rel=0.1)
    assert {one["end"] for one in turns} == {"cycles"}
    took_ns = sum(sum(one["phases_ns"].values()) for one in turns)
    assert took_ns <= 1.05 * len(turns) * planned["turn_ns"]


def never(settings: Mapping[str, str]) -> bool:
    return "never" in settings


def test_an_arm_without_checkpoints_waits_for_none_and_is_measured_as_long_as_the_plan_says(
    writing: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    answers, far = writing.noop.journal.answers, 10**15
    every = answers.checkpoints
    answers.cycle = lambda settings: Cycle(far if never(settings) else 15 * S, 1e15, 10.0)
    answers.checkpoints = lambda one, *when: () if never(one.settings()) else every(one, *when)
    off = {"name": "off", "checksums": False, "settings": {"never": "1"}}
    weigh_in(writing, writing_study(arms=[off]))
    limits = plan_of_turns(tmp_path)["limits"]
    assert limits["off"] == {"wait_ns": 0, "longest_ns": 30 * S}
    assert limits["on"] == {"wait_ns": 45 * S, "longest_ns": 45 * S}
    for turn in turns_of(tmp_path):
        if turn["arm"] == "off":
            assert turn["phases_ns"]["wait for a checkpoint"] == 0
            assert turn["phases_ns"]["measure"] == 30 * S
            assert turn["end"] == "longest"


def test_a_time_scale_beyond_what_an_arms_server_allows_is_refused_and_the_largest_named(
    writing: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    answers = writing.noop.journal.answers
    stiff = {"name": "off", "checksums": False, "settings": {"stiff": "1"}}
    answers.cycle = lambda one: Cycle(15 * S, 1e15, 10 / 3 if "stiff" in one else 20.0)
    with pytest.raises(StudyError, match=r"time_scale = 4 is more .*: 3\.33 at most") as refused:
        weigh_in(writing, writing_study(arms=[stiff], turns={"time_scale": 4}))
    assert 'arm "off"' in (refused.value.detail or "")
    assert "turns.time_scale=3.33," in (refused.value.hint or "")
    assert writing.slices == 0, "refused before any load"
    allowed = ScriptedWorld(tmp_path / "allowed", writes=True)
    allowed.noop.journal.answers.cycle = answers.cycle
    assert weigh_in(allowed, writing_study(arms=[stiff], turns={"time_scale": 3.33}))


def test_the_sentence_names_the_factor_that_the_servers_really_took(
    writing: ScriptedWorld, weigh_in: Weigh, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def whole(settings: Mapping[str, str], factor: float) -> Scaled:
        return Scaled({"nearer": f"{round(factor)}"}, Cycle(15 * S, 1e15, 1.0).at(round(factor)))

    monkeypatch.setattr(writing.noop, "scaled", whole)
    verdict = weigh_in(writing, writing_study(turns={"time_scale": 2.4}))
    assert plan_of_turns(tmp_path)["nearer"] == {"on": 2.0, "off": 2.0}
    assert ", 2 times as near as the settings have it" in verdict["contrasts"][0]["sentence"]
