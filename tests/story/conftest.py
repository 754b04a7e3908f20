"""Gives the story's tests a study without servers and a way to weigh it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steelyard.running.preparing.recording import Question
from steelyard.study.study import Study
from steelyard.weigh import weigh
from story.asked import Facts, Silent, study_of
from story.scripted import ScriptedWorld


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
        ledger: Path | None = None,
        new_ledger: bool = False,
    ) -> Facts:
        question = Question(
            study=study or study_of(),
            seed=seed,
            record=None if resume else tmp_path / record,
            resume=resume,
            command=("steelyard", "weigh", "scripted"),
            ledger=ledger,
            new_ledger=new_ledger,
        )
        return weigh(question, world.laboratory, progress or Silent()).to_json()

    return run
