"""A weighing that goes on under other conditions says so, and is judged by its own record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from steelyard.record.reader import read_recorded
from steelyard.record.record import Record
from steelyard.verdict.rejudge import rejudge
from story.asked import Watcher
from story.scripted import ScriptedWorld
from thinned import thinned

Facts = dict[str, Any]
Weigh = Callable[..., Facts]
BUILD = {"kind": "postgres", "version": "18.4", "builder": "gcc"}
SETTINGS = {"work_mem": "4MB"}
DISK = {"mount": "/mnt/nvme", "type": "ext4", "device": "/dev/nvme0n1"}
HERE: Facts = {
    "steelyard": {"version": "1.0", "driver_sha256": "a"},
    "machine": {"hostname": "here", "allowed_processors": [0, 1, 2, 3]},
    "disk": DISK,
    "arms": {name: {"build": BUILD, "settings": SETTINGS} for name in ("on", "off")},
}


class Described(ScriptedWorld):
    """A world whose environment is as HERE but for some of it."""

    changes: Mapping[str, Any] = {}

    def environment(self) -> Mapping[str, Any]:
        return {**HERE, **self.changes}


def place(directory: Path, changes: Mapping[str, Any]) -> Described:
    world = Described(directory)
    world.changes = changes
    return world


class Interrupting(Watcher):
    """Ctrl-C after the third epoch."""

    def epoch(self, n: int, total: int, contrasts: Any, seconds_left: float | None) -> None:
        if n == 3:
            raise KeyboardInterrupt


def changed_in(verdict: Facts) -> list[str]:
    [contrast] = verdict["contrasts"]
    return [each["seen"] for each in contrast["threats"] if each["name"] == "machine changed"]


@thinned(
    ("changes", "words"),
    [
        ({}, []),
        (
            {"machine": {"hostname": "here", "allowed_processors": [0, 1]}},
            ["allowed processors was 0-3, is 0-1"],
        ),
        (
            {"disk": {"mount": "/", "type": "ext4", "device": "/dev/sda1"}},
            [
                "the slots were on ext4 on /dev/nvme0n1, /mnt/nvme, are on ext4 on /dev/sda1, /",
            ],
        ),
        (
            {
                "arms": {
                    "on": {"build": BUILD, "settings": SETTINGS},
                    "off": {"build": BUILD, "settings": {"work_mem": "64MB"}},
                }
            },
            ["work_mem of off was 4MB, is 64MB"],
        ),
        (
            {"steelyard": {"version": "1.0", "driver_sha256": "b"}},
            ["the load driver is another build of Steelyard 1.0"],
        ),
    ],
    1,
)
def test_what_is_otherwise_is_a_doubt_of_the_verdict(
    tmp_path: Path, weigh_in: Weigh, changes: Mapping[str, Any], words: list[str]
) -> None:
    weigh_in(place(tmp_path / "first", {}), progress=Interrupting())
    record = tmp_path / "record"
    kept = (record / "environment.json").read_bytes()
    verdict = weigh_in(place(tmp_path / "again", changes), resume=record)
    assert changed_in(verdict) == words
    assert (record / "environment.json").read_bytes() == kept
    again = rejudge(read_recorded(Record.open(record))).to_json()
    parts = ("contrasts", "place", "differences")
    assert {key: again[key] for key in parts} == {key: verdict[key] for key in parts}
