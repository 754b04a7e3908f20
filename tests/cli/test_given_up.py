"""A weighing of a campaign that was given up is weighed on when the campaign is resumed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from steelyard.cli.weighing import campaign as module
from steelyard.cli.weighing import reproduce
from steelyard.cli.weighing.campaign import (
    Campaign,
    final_verdict,
    verdict_in,
    was_given_up,
)
from steelyard.cli.weighing.sweep import SWEEP
from steelyard.model.errors import WeighingError
from steelyard.record.record import Record
from steelyard.running.laboratory import Laboratory
from story.asked import Silent, study_of
from story.scripted import ScriptedWorld

POINT = "points/2"


class Dying(Silent):
    """From the third epoch on every arm "on" dies."""

    def __init__(self, world: ScriptedWorld) -> None:
        self.world = world

    def plan(self, plan: Any) -> None:
        for number in range(self.world.slices + 2 * 80, self.world.slices + 4000):
            self.world.events[number] = [self.strike]

    def strike(self) -> None:
        if self.world.running_arms["on"].running:
            self.world.running_arms["on"].crash()


class Place:
    """Where a campaign weighs: a world in which an arm dies, or does not."""

    def __init__(self, directory: Path, *, dying: bool) -> None:
        self.world = ScriptedWorld(directory, noise=0.1)
        self.view = Dying(self.world) if dying else Silent()

    def stand_in(self, patched: pytest.MonkeyPatch) -> None:
        @contextmanager
        def laboratory(account: str | None) -> Iterator[Laboratory]:
            yield self.world.laboratory

        @contextmanager
        def view(stream: object) -> Iterator[Silent]:
            yield self.view

        patched.setattr(module, "LocalLaboratory", laboratory)
        patched.setattr(module, "open_view", view)


@pytest.fixture
def campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Campaign:
    """One whose only point was given up."""
    begun = SWEEP.begin(tmp_path / "mine", "usual", {})
    Place(tmp_path / "first", dying=True).stand_in(monkeypatch)
    failure = begun.try_to_weigh(study_of, 1, POINT)
    assert isinstance(failure, str)
    assert failure.startswith("3 epochs in a row were lost: crashed: on")
    return begun


def epochs_in(record: Path) -> list[str]:
    lines = Record(record).lines("telemetry.jsonl")
    return [line["outcome"] for line in lines if line["type"] == "epoch"]


def test_a_verdict_of_what_there_was_is_not_that_of_the_point(campaign: Campaign) -> None:
    record = campaign.folder / POINT
    assert len(epochs_in(record)) < 10
    assert verdict_in(record) is not None
    assert was_given_up(record)
    assert final_verdict(record) is None
    assert reproduce._outcome(record) is None


def test_what_was_mended_meanwhile_is_weighed_to_its_end(
    campaign: Campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = campaign.folder / POINT
    before = epochs_in(record)
    Place(tmp_path / "again", dying=False).stand_in(monkeypatch)
    verdict = campaign.weigh(study_of(), 1, POINT)
    assert verdict.contrasts[0].epochs == 10
    assert epochs_in(record) == [*before, *["complete"] * (10 - len(before))]
    assert final_verdict(record) == verdict
    assert campaign.weigh(study_of(), 1, POINT) == verdict
    assert len(epochs_in(record)) == 10


def test_what_dies_again_could_not_be_weighed_again(
    campaign: Campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = len(epochs_in(campaign.folder / POINT))
    again = Place(tmp_path / "again", dying=False)
    dying = Dying(again.world)
    again.world.events.update({number: [dying.strike] for number in range(1, 4000)})
    again.stand_in(monkeypatch)
    with pytest.raises(WeighingError, match="3 epochs in a row were lost"):
        campaign.weigh(study_of(), 1, POINT)
    assert len(epochs_in(campaign.folder / POINT)) == before + 1
