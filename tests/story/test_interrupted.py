"""What ends a weighing from outside ends it, whatever else goes wrong on the way out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steelyard.model.errors import ServerError, WeighingError
from story.asked import Watcher, cycles_study, lines, study_of
from story.scripted import ScriptedWorld

Weigh = Callable[..., dict[str, Any]]
STUDIES = {
    "slices": study_of(),
    "whole": study_of(cost="whole"),
    "cycles": cycles_study(),
}
MOST_STOPS = 20


class Ending(Watcher):
    """After the second epoch something ends the weighing, and no server does as it should."""

    def __init__(self, world: ScriptedWorld, ending: BaseException, failing: str) -> None:
        super().__init__()
        self.world, self.ending, self.failing = world, ending, failing

    def epoch(self, n: int, total: int, contrasts: Any, seconds_left: float | None) -> None:
        super().epoch(n, total, contrasts, seconds_left)
        if n == 2:
            self.world.events[self.world.slices + 5] = [self.strike]

    def strike(self) -> None:
        refusal = [ServerError(f"could not {self.failing}") for _ in range(MOST_STOPS)]
        self.world.noop.failures[self.failing] = refusal
        raise self.ending


def outcomes(directory: Path) -> list[str]:
    every = lines(directory, "telemetry.jsonl")
    return [line["outcome"] for line in every if line["type"] == "epoch"]


@pytest.mark.parametrize(
    ("study", "failing"),
    [("slices", "discard"), ("whole", "discard"), ("whole", "freeze"), ("cycles", "discard")],
)
def test_ctrl_c_is_not_swallowed_by_a_server_that_fails_on_the_way_out(
    tmp_path: Path, world: ScriptedWorld, weigh_in: Weigh, study: str, failing: str
) -> None:
    world.writes = study != "slices"
    watcher = Ending(world, KeyboardInterrupt(), failing)
    verdict = weigh_in(world, STUDIES[study], progress=watcher)
    assert verdict["interrupted"]
    assert outcomes(tmp_path) == ["complete", "complete"]
    assert verdict["contrasts"][0]["details"]["lost_epochs"] == []


@pytest.mark.parametrize("study", ["slices", "whole", "cycles"])
def test_nor_is_a_signal_that_ends_the_program(
    tmp_path: Path, world: ScriptedWorld, weigh_in: Weigh, study: str
) -> None:
    world.writes = study != "slices"
    with pytest.raises(SystemExit) as ended:
        weigh_in(world, STUDIES[study], progress=Ending(world, SystemExit(143), "discard"))
    assert ended.value.code == 143
    assert outcomes(tmp_path) == ["complete", "complete"]


class AtPilot(Watcher):
    """From the pilot on no server stops as it should."""

    def __init__(self, world: ScriptedWorld) -> None:
        super().__init__()
        self.world = world

    def stage(self, text: str) -> None:
        if text.startswith("pilot"):
            refusal = [ServerError("could not stop") for _ in range(MOST_STOPS)]
            self.world.noop.failures["discard"] = refusal


def test_an_error_before_the_first_epoch_is_the_one_that_is_raised(
    world: ScriptedWorld, weigh_in: Weigh
) -> None:
    """The pilot's, and not that of the server that is stopped because of it."""
    world.distort = lambda answer: answer.update(transactions=0)
    with pytest.raises(WeighingError, match="no transaction succeeded"):
        weigh_in(world, progress=AtPilot(world))
