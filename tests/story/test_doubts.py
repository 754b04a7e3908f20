"""The doubts of a weighing: which stands first, and what becomes of one that was shown and went."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from story.asked import Watcher, study_of
from story.scripted import ScriptedWorld

Facts = dict[str, Any]
Weigh = Callable[..., Facts]
SETTINGS = {
    "checkpoint_timeout": "300 s",
    "max_wal_size": "1024 MB",
    "checkpoint_completion_target": "0.9",
}
DRIVER = "driver is the bottleneck"


class ReportsSettings(ScriptedWorld):
    """Servers that report when their settings have a checkpoint."""

    def environment(self) -> Facts:
        arms = {arm: {"build": {}, "settings": SETTINGS} for arm in ("on", "off")}
        return {**super().environment(), "arms": arms}


@pytest.mark.parametrize("counted", [False, True])
def test_the_distance_between_checkpoints_stands_first_where_slices_are_of_another(
    tmp_path: Path, weigh_in: Weigh, counted: bool
) -> None:
    world = ReportsSettings(tmp_path / "world", writes=True)
    cut = {"counted": {"each": 100, "blocks": 10, "warmup": 1}} if counted else {}
    study = study_of(
        layout="slices",
        arms=[{"name": "off", "checksums": True, "settings": {"wal_compression": "pglz"}}],
        budget={"measuring": "30s", "epochs": 8, **cut},
        decision={"first_verdict": False},
    )
    [contrast] = weigh_in(world, study)["contrasts"]
    first, *_ = contrast["threats"]
    assert first["name"] == "checkpoint distance"
    assert not first["invalidates"]
    assert "wal_compression acts through these" in first["seen"]
    assert "layout=turns" in first["advice"]


def test_a_doubt_that_was_shown_and_is_none_at_the_end_is_told_with_why_it_went(
    world: ScriptedWorld, weigh_in: Weigh
) -> None:
    watcher = Watcher()

    def busy_at_first(answer: Facts) -> None:
        answer["driver_cpu_ns"] = 10**6 if not watcher.epochs else 0

    world.distort = busy_at_first
    [contrast] = weigh_in(world, study_of(), progress=watcher)["contrasts"]
    assert DRIVER in watcher.threats
    assert DRIVER not in {one["name"] for one in contrast["threats"]}
    [gone] = [one for one in contrast["withdrawn"] if one["name"] == DRIVER]
    assert "of the processor time of driver and servers" in gone["seen"]
    assert "all of them together do not show it" in gone["why"]
