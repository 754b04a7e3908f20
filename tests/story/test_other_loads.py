"""Another measurement on the machine is said at the start, kept by epoch, and a threat."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from steelyard.record.epoch import OtherLoadLine
from steelyard.record.reader import read_recorded
from steelyard.record.record import Record
from steelyard.study.study import Study
from steelyard.verdict.rejudge import rejudge
from story.asked import cycles_study, lines, study_of
from story.scripted import ScriptedWorld
from thinned import thinned

Weigh = Callable[..., dict[str, Any]]
OTHER = OtherLoadLine(pid=4711, command="weigh checksums")


def named(contrasts: list[dict[str, Any]]) -> list[str]:
    """What the threats by this name say was seen."""
    every = [one for contrast in contrasts for one in contrast["threats"]]
    return [one["seen"] for one in every if one["name"] == "another weighing"]


@thinned(
    "study",
    [
        study_of(),
        cycles_study(),
        cycles_study(layout="turns", budget={"turns": "60m", "epochs": 8}),
    ],
    1,
    ids=["slices", "cycles", "turns"],
)
def test_a_second_weighing_is_in_every_epoch_it_ran_beside_and_in_the_verdict(
    tmp_path: Path, weigh_in: Weigh, study: Study
) -> None:
    whole_cycles = study.layout != "slices"
    world = ScriptedWorld(tmp_path / "world", other_loads=(OTHER,), writes=whole_cycles, noise=0.01)
    verdict = weigh_in(world, study, record="r")
    epochs = [one for one in lines(tmp_path, "telemetry.jsonl", "r") if one["type"] == "epoch"]
    assert epochs
    assert all(one["other_loads"] == [OTHER.to_json()] for one in epochs)
    [seen] = named(verdict["contrasts"])
    assert "weigh checksums (process 4711)" in seen
    assert "seen in every epoch" in seen
    again = rejudge(read_recorded(Record.open(tmp_path / "r")))
    assert named([one.to_json() for one in again.contrasts]) == [seen]


def test_a_weighing_by_itself_has_no_word_of_others(tmp_path: Path, weigh_in: Weigh) -> None:
    verdict = weigh_in(ScriptedWorld(tmp_path / "world"), record="r")
    epochs = [one for one in lines(tmp_path, "telemetry.jsonl", "r") if one["type"] == "epoch"]
    assert not any("other_loads" in one for one in epochs)
    assert named(verdict["contrasts"]) == []
