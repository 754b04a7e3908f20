"""Transactions that sleep: their slices are cut by executions, and no border gives them up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from steelyard.model.errors import StudyError
from steelyard.model.units import NS_PER_S
from steelyard.running.measuring.load import DRAIN_CAP_NS
from steelyard.study.study import Study
from steelyard.workloads.reading.scripts import Script
from story.asked import Facts, study_of
from story.scripted import ScriptedWorld


@dataclass
class SleepyWorld(ScriptedWorld):
    """A world whose script sleeps for so long."""

    pause_ns: int = 0

    def scripts(self, study: Study) -> tuple[Script, ...]:
        return tuple(replace(one, pause_ns=self.pause_ns) for one in super().scripts(study))


def test_slices_by_time_are_refused_before_anything_is_made(
    tmp_path: Path, weigh_in: Callable[..., Facts]
) -> None:
    world = SleepyWorld(tmp_path / "world", pause_ns=40 * NS_PER_S)
    with pytest.raises(StudyError, match="cannot cut slices by time"):
        weigh_in(world)
    assert not world.plans_driven
    assert not (tmp_path / "record").exists()


def test_slices_by_executions_are_weighed_to_their_end(
    tmp_path: Path, weigh_in: Callable[..., Facts]
) -> None:
    world = SleepyWorld(tmp_path / "world", pause_ns=40 * NS_PER_S)
    counted = {"each": 1, "blocks": 2, "warmup": 0}
    verdict = weigh_in(world, study_of(budget={"epochs": 8, "counted": counted}))
    assert verdict["contrasts"][0]["verdict"] != "invalid"


def test_a_client_that_sleeps_is_not_taken_for_a_stuck_one(
    tmp_path: Path, weigh_in: Callable[..., Facts]
) -> None:
    world = SleepyWorld(tmp_path / "world", pause_ns=4 * NS_PER_S)
    weigh_in(world)
    caps = {plan.drain_cap_ns for plan in world.plans_driven}
    assert caps == {DRAIN_CAP_NS + 8 * NS_PER_S}
