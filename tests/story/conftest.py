"""Gives the story's tests a study without servers and a way to weigh it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from scripted import ScriptedWorld

from steelyard.readings.progress import Silent
from steelyard.study.study import Study
from steelyard.weigh import weigh
from steelyard.weighing.question import Question

Facts = dict[str, Any]


@dataclass
class Watcher(Silent):
    """Writes down what a weighing says."""

    stages: list[str] = field(default_factory=list)
    epochs: list[int] = field(default_factory=list)
    threats: list[str] = field(default_factory=list)

    def stage(self, text: str) -> None:
        self.stages.append(text)

    def epoch(self, n: int, total: int, contrasts: Any, seconds_left: float | None) -> None:
        self.epochs.append(n)

    def threat(self, threat: Any) -> None:
        self.threats.append(threat["name"])


def study_of(**changes: Any) -> Study:
    """A study of two arms that differ in checksums; keys may be changed."""
    facts: Facts = {
        "name": "scripted",
        "title": "Does the story hold?",
        "question": "Is every stage done in order?",
        "control": {"name": "on", "checksums": True},
        "arms": [{"name": "off", "checksums": False}],
        "workload": {"clients": 4},
        "budget": {"measuring": "30s"},
    }
    return Study.model_validate({**facts, **changes})


@pytest.fixture
def world(tmp_path: Path) -> ScriptedWorld:
    """A world in memory that stands under a temporary directory."""
    return ScriptedWorld(tmp_path / "world")


@pytest.fixture
def weigh_in(tmp_path: Path) -> Callable[..., Facts]:
    """Weighs a study in a world; the record stands in tmp_path/record unless told otherwise."""

    def run(
        world: ScriptedWorld,
        study: Study | None = None,
        *,
        seed: int = 1,
        resume: Path | None = None,
        record: str = "record",
        progress: Any = None,
    ) -> Facts:
        question = Question(
            study=study or study_of(),
            seed=seed,
            record=None if resume else tmp_path / record,
            resume=resume,
            command=("steelyard", "weigh", "scripted"),
        )
        return weigh(question, world, progress or Silent())

    return run
