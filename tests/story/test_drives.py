"""A weighing keeps the drives as they were before its first epoch and after its last."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from steelyard.record.machine import DriveHealth
from steelyard.record.reader import read_recorded
from steelyard.record.record import Record
from story.asked import lines
from story.scripted import ScriptedWorld

Weigh = Callable[..., dict[str, Any]]
BEFORE = DriveHealth(
    device="nvme0n1", source="nvme-cli", written_bytes=10**12, media_errors=0, warnings=()
)


class Drive(ScriptedWorld):
    """A world whose data stand on a drive that finds errors meanwhile."""

    found_before = BEFORE

    def environment(self) -> Mapping[str, Any]:
        return {**super().environment(), "drives": [self.found_before.to_json()]}


def on_a_drive(place: Path, errors: int = 0) -> Drive:
    after = BEFORE.model_copy(update={"media_errors": errors, "written_bytes": 2 * 10**12})
    return Drive(place, drives=(after,))


def kept(directory: Path, record: str) -> tuple[Any, Any]:
    """The drives before and after, as the record's files have them."""
    before = json.loads((directory / record / "environment.json").read_text()).get("drives")
    [end] = [one for one in lines(directory, "telemetry.jsonl", record) if one["type"] == "end"]
    return before, end.get("drives")


def test_drives_are_kept_before_and_after(tmp_path: Path, weigh_in: Weigh) -> None:
    weigh_in(on_a_drive(tmp_path / "world"), record="r")
    before, after = kept(tmp_path, "r")
    assert before == [BEFORE.to_json()]
    assert after == [{**BEFORE.to_json(), "written_bytes": 2 * 10**12}]
    recorded = read_recorded(Record.open(tmp_path / "r"))
    assert recorded.environment.drives == (BEFORE,)
    assert recorded.end is not None
    assert recorded.end.drives[0].written_bytes == 2 * 10**12


def test_errors_of_the_drive_are_a_threat_that_takes_no_verdict_away(
    tmp_path: Path, weigh_in: Weigh
) -> None:
    def doubts(errors: int, record: str) -> list[tuple[str, bool]]:
        world = on_a_drive(tmp_path / f"world-{record}", errors)
        [contrast] = weigh_in(world, record=record)["contrasts"]
        every = [(one["name"], one["invalidates"]) for one in contrast["threats"]]
        return [one for one in every if one[0].startswith("drive ")]

    assert doubts(0, "sound") == []
    assert doubts(3, "failing") == [("drive failing", False)]


def test_a_world_without_drives_has_no_word_of_them(tmp_path: Path, weigh_in: Weigh) -> None:
    weigh_in(ScriptedWorld(tmp_path / "world"), record="r")
    assert kept(tmp_path, "r") == (None, None)


def test_a_weighing_that_goes_on_keeps_the_drives_of_its_first_start(
    tmp_path: Path, weigh_in: Weigh
) -> None:
    class Killed(BaseException):
        """What kill -9 is to the code: no handler of ours sees it."""

    def kill() -> None:
        raise Killed

    torn = on_a_drive(tmp_path / "torn")
    torn.events[500] = [kill]
    with pytest.raises(Killed):
        weigh_in(torn, record="r")
    again = on_a_drive(tmp_path / "again", errors=2)
    again.found_before = BEFORE.model_copy(update={"media_errors": 2})
    verdict = weigh_in(again, resume=tmp_path / "r")
    assert kept(tmp_path, "r")[0] == [BEFORE.to_json()]
    names = [one["name"] for one in verdict["contrasts"][0]["threats"]]
    assert "drive failing" in names, "the errors came after the first start"
