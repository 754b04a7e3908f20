"""What ends a weighing from outside ends it, whatever else goes wrong on the way out."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steelyard.model.errors import ServerError, WeighingError
from steelyard.running.preparing.recording import Question
from steelyard.weigh import weigh
from story.asked import Silent, Watcher, cycles_study, lines, study_of
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


@pytest.mark.parametrize("ending", [SystemExit(143), SystemExit(129), KeyboardInterrupt()])
@pytest.mark.parametrize("resumed_by", [("weigh",), ("calibrate",), ()])
def test_what_is_ended_says_how_it_goes_on(
    tmp_path: Path, ending: BaseException, resumed_by: tuple[str, ...]
) -> None:
    """Ctrl-C does after it has judged, unless it is pressed once more meanwhile."""
    record, watcher = tmp_path / "it's mine", Watcher()

    class Judging(Ending):
        def note(self, text: str) -> None:
            watcher.note(text)
            if text.startswith("interrupted"):
                raise KeyboardInterrupt

    question = Question(study_of(), 1, record, resumed_by=resumed_by)
    world = ScriptedWorld(tmp_path / "world")
    with pytest.raises(type(ending)):
        weigh(question, world.laboratory, Judging(world, ending, "discard"))
    said = [note for note in watcher.notes if note.startswith("go on: ")]
    command = ["steelyard", *resumed_by, "--resume", str(record)]
    assert [shlex.split(note.removeprefix("go on: ")) for note in said] == (
        [command] if resumed_by else []
    )


def test_what_is_ended_before_it_was_planned_cannot_go_on(tmp_path: Path) -> None:
    watcher = Watcher()

    class AtFirst(Silent):
        def stage(self, text: str) -> None:
            raise SystemExit(143)

        def note(self, text: str) -> None:
            watcher.note(text)

    question = Question(study_of(), 1, tmp_path / "record", resumed_by=("weigh",))
    with pytest.raises(SystemExit):
        weigh(question, ScriptedWorld(tmp_path / "world").laboratory, AtFirst())
    assert not (tmp_path / "record").exists()
    assert not [note for note in watcher.notes if note.startswith("go on")]


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
