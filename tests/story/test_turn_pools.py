"""A pool that still fills in a turn is waited for, and is told where it goes on filling."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from steelyard.running.turns import seconds
from story.asked import lines, study_of
from story.noop.engine import NoopInstance
from story.scripted import ScriptedWorld

Facts = dict[str, Any]
Weigh = Callable[..., Facts]
S = 1_000_000_000
PAGE = 8192
STUDY = study_of(
    layout="turns",
    budget={"turns": "60m", "epochs": 8},
    decision={"first_verdict": False},
    turns={"time_scale": 1},
)


class AtOnce:
    """Reads at a border before the clock of the script moves on with the next slice."""

    def __init__(self, *_: Any, **__: Any) -> None:
        """Has no threads."""

    def submit(self, read: Callable[[], Any]) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(read())
        return done

    def shutdown(self) -> None:
        """Has no threads."""


@pytest.fixture
def writing(world: ScriptedWorld, monkeypatch: pytest.MonkeyPatch) -> ScriptedWorld:
    monkeypatch.setattr(seconds, "ThreadPoolExecutor", AtOnce)
    world.writes, world.noise = True, 0.0
    return world


def starts(world: ScriptedWorld) -> int:
    """How many servers were started so far."""
    return sum(call.action == "start" for call in world.noop.calls)


def reading(world: ScriptedWorld, until: Callable[[float], float]) -> None:
    """Every server has read `until` blocks for each transaction of 4,000 a second, so many seconds
    after its start."""
    started: dict[int, int] = {}

    def requested(instance: NoopInstance) -> int:
        began_ns = started.setdefault(starts(world), world.clock.now)
        return round(PAGE * 4000 * until((world.clock.now - began_ns) / S))

    world.noop.journal.answers.requested_bytes = requested


def turns_of(tmp_path: Path) -> list[Facts]:
    return [x for x in lines(tmp_path, "telemetry.jsonl") if x["type"] == "turn"]


def test_a_pool_that_fills_slowly_is_not_level_and_is_told_by_the_turns_themselves(
    writing: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    # 0.2 to 1 block a transaction, within minutes: less than a hundredth of it a second.
    reading(writing, lambda t: 0.2 * t + 0.8 * 150 * (1 - math.exp(-t / 150)))
    verdict = weigh_in(writing, STUDY)
    turns = turns_of(tmp_path)
    assert {one["phases_ns"]["warm up"] for one in turns} == {60 * S}, "up to the cap"
    assert not any(one["level"] for one in turns)
    [told] = [x for x in verdict["contrasts"][0]["threats"] if x["name"] == "pool not warm"]
    assert "blocks read per transaction of off fell from" in told["seen"]


@pytest.mark.long
def test_a_pool_that_is_full_before_it_is_measured_is_level(
    writing: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    writing.cycle_ns, writing.checkpoint_lasts_ns = 45 * S, 35 * S
    reading(writing, lambda t: t - t * t / 140 if t < 70 else 35.0)  # from 1 block to none
    verdict = weigh_in(writing, STUDY)
    turns = turns_of(tmp_path)
    assert {one["phases_ns"]["warm up"] for one in turns} == {60 * S}
    assert all(one["level"] for one in turns), "it became level while a checkpoint was waited for"
    names = {one["name"] for one in verdict["contrasts"][0]["threats"]}
    assert names.isdisjoint({"pool not warm", "no steady state"})
