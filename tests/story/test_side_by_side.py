"""Servers start and stop side by side, and are discarded only where their files are put back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steelyard.engines.engine import Slot
from steelyard.model.errors import ServerError
from steelyard.record.plan import Upkeep
from steelyard.running.measuring.arm_loss import ArmLostError
from steelyard.running.measuring.slots import Prepared, Slots
from steelyard.running.stopwatch import Stopwatch
from steelyard.study.study import Arm
from story.asked import lines
from story.noop.engine import NoopEngine, NoopInstance
from story.scripted import ScriptedWorld

Facts = dict[str, Any]
Weigh = Callable[..., Facts]
ARMS = ("on", "off", "third")
SLOTS = {"on": 1, "off": 0, "third": 2}
ORDER = ("third", "on", "off")


@pytest.fixture
def engine() -> NoopEngine:
    return NoopEngine()


@pytest.fixture
def places(engine: NoopEngine, tmp_path: Path) -> Slots:
    engine.create(tmp_path / "template", protection="checksums")
    prepared = [Prepared(Arm(name=name), engine, (tmp_path / "template",), {}) for name in ARMS]

    def slot(number: int) -> Slot:
        return Slot(number, tmp_path / f"slot{number}", tmp_path, 54320 + number)

    return Slots(prepared, slot, lambda: None, Stopwatch(lambda: 0))


def calls_of(engine: NoopEngine, *actions: str) -> list[tuple[str, str]]:
    """The calls of these kinds in their order, each with its slot."""
    return [
        (call.action, call.directory.parent.name) for call in engine.calls if call.action in actions
    ]


def test_servers_are_launched_in_the_drawn_order_before_any_is_waited_for(
    places: Slots, engine: NoopEngine
) -> None:
    arms = places.start_arms(SLOTS, ORDER, "restore")
    assert calls_of(engine, "start", "ready") == [
        *(("start", f"slot{SLOTS[arm]}") for arm in ORDER),
        *(("ready", f"slot{SLOTS[arm]}") for arm in ORDER),
    ]
    assert set(arms) == set(ARMS)


@pytest.mark.parametrize("action", ["start", "ready"])
def test_every_arm_that_cannot_start_is_named_and_the_others_are_ended(
    places: Slots, engine: NoopEngine, action: str
) -> None:
    refusals = [ServerError("no room", detail="FATAL:  1"), ServerError("no key")]
    engine.failures[action] = list(refusals)
    with pytest.raises(ArmLostError) as lost:
        places.start_arms(SLOTS, ORDER, "restore")
    assert lost.value.outcome == "could not start: third, on"
    assert lost.value.primary == 'arm "third": no room'
    assert lost.value.detail == 'FATAL:  1\narm "on": no key'
    assert list(places.running_arms) == ["off"]
    places.end_arms("restore")
    assert not any(server.running for server in engine.journal.serving.values())


def test_a_clean_stop_is_begun_everywhere_before_any_is_waited_for(
    places: Slots, engine: NoopEngine
) -> None:
    places.start_arms(SLOTS, ORDER, "carry")
    places.end_arms("carry")
    stops = calls_of(engine, "begin to stop", "stop", "discard")
    assert [action for action, _ in stops] == ["begin to stop"] * 3 + ["stop"] * 3


@pytest.mark.parametrize("ending", ["begin to stop", "stop", "discard"])
def test_every_stop_is_tried_before_the_first_error_is_raised(
    places: Slots, engine: NoopEngine, ending: str
) -> None:
    upkeep: Upkeep = "restore" if ending == "discard" else "exchange"
    places.start_arms(SLOTS, ORDER, upkeep)
    engine.failures[ending] = [ServerError("first"), ServerError("second")]
    with pytest.raises(ServerError, match="first"):
        places.end_arms(upkeep)
    tried = calls_of(engine, ending)
    assert len(tried) == 3
    assert not places.running_arms


@pytest.mark.parametrize("upkeep", ["exchange", "carry"])
def test_a_discarded_servers_files_are_put_back_whatever_the_upkeep_is_then(
    places: Slots, engine: NoopEngine, upkeep: Upkeep
) -> None:
    places.start_arms(SLOTS, ORDER, "restore")
    places.end_arms("restore")
    for _ in range(2):  # put back once: after that they are shut down
        places.start_arms(SLOTS, ORDER, upkeep)
        places.end_arms(upkeep)
    actions = [call.action for call in engine.calls]
    assert actions.count("restore") == actions.count("discard") == len(ARMS)
    assert actions.count("stop") == len(ARMS) * 2


def test_a_server_whose_files_follow_their_arm_is_shut_down(
    tmp_path: Path, weigh_in: Weigh
) -> None:
    class SlowCopies(ScriptedWorld):
        def slot(self, number: int) -> Any:
            self.clock.now += 1_000_000_000
            return super().slot(number)

    slow = SlowCopies(tmp_path / "slow")
    weigh_in(slow)
    epochs = [x for x in lines(tmp_path, "telemetry.jsonl") if x["type"] == "epoch"]
    actions = [call.action for call in slow.noop.calls]
    assert actions.count("stop") == 2 * len(epochs)
    last = len(actions) - 1 - actions[::-1].index("discard")
    assert "stop" not in actions[:last], "only what the pilot used is discarded"


def test_an_arm_that_died_is_no_error_when_it_is_discarded(
    places: Slots, engine: NoopEngine
) -> None:
    arms = places.start_arms(SLOTS, ORDER, "restore")
    died = arms["on"]
    assert isinstance(died, NoopInstance)
    died.crash()
    places.end_arms("restore")
    assert len(calls_of(engine, "discard")) == 2
    assert not places.running_arms
