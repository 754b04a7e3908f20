"""Every server times its log alike, unless an arm says itself whether it does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from steelyard.engines.engine import Settings
from story.asked import study_of
from story.noop.engine import NoopEngine
from story.scripted import ScriptedWorld
from thinned import thinned

Weigh = Callable[..., dict[str, Any]]


class TimingEngine(NoopEngine):
    """An engine that can time its log."""

    def log_timing(self, settings: Settings) -> Settings:
        return {} if "time_log" in settings else {"time_log": "on"}


class TimingWorld(ScriptedWorld):
    """Whose engine it is."""

    def __post_init__(self) -> None:
        self.noop = TimingEngine()
        super().__post_init__()


def given(world: ScriptedWorld) -> set[str]:
    starts = [call.arguments[1] for call in world.noop.calls if call.action == "start"]
    assert starts
    return {one.get("time_log", "as it is") for one in starts}


@thinned(
    ("control", "arm", "seen"),
    [
        ({}, {}, {"on"}),
        ({"settings": {"time_log": "off"}}, {"settings": {"time_log": "on"}}, {"off", "on"}),
        ({}, {"settings": {"time_log": "off"}}, {"as it is", "off"}),
        ({}, {"telemetry": False}, {"as it is"}),
    ],
    1,
)
def test_the_log_is_timed_in_every_arm_or_as_the_arms_say(
    tmp_path: Path, weigh_in: Weigh, control: Any, arm: Any, seen: set[str]
) -> None:
    world = TimingWorld(tmp_path / "world")
    study = study_of(control={"name": "a", **control}, arms=[{"name": "b", **arm}])
    weigh_in(world, study)
    assert given(world) == seen
