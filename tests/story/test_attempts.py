"""A question weighed again after "inconclusive" is another attempt, and its verdict says so."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from story.asked import study_of
from story.scripted import ScriptedWorld
from thinned import thinned

Facts = dict[str, Any]
Weigh = Callable[..., Facts]


@thinned(
    ("changes", "counts"),
    [
        ({"budget": {"measuring": "60s"}}, True),  # what an inconclusive verdict says to type
        ({"title": "Other words", "question": "Of the same?", "name": "renamed"}, True),
        ({"decision": {"margin": 0.02, "first_verdict": True}}, True),
        ({"placement": "free"}, True),
        ({"decision": {"metric": "latency_mean"}}, False),
        ({"workload": {"clients": 5}}, False),
        ({"settings": {"work_mem": "8MB"}}, False),
        ({"arms": [{"name": "off", "checksums": False, "settings": {"jit": "off"}}]}, False),
    ],
    2,
)
def test_another_attempt_is_one_at_the_same_question_however_much_it_measures(
    tmp_path: Path, weigh_in: Weigh, changes: Facts, *, counts: bool
) -> None:
    weigh_in(ScriptedWorld(tmp_path / "first", noise=0.3), record="attempts/1")
    again = ScriptedWorld(tmp_path / "again", noise=0.3)
    verdict = weigh_in(again, study_of(**changes), record="attempts/2")
    names = [t["name"] for t in verdict["contrasts"][0]["threats"]]
    assert ("weighed before" in names) is counts


@pytest.mark.long
def test_a_script_that_was_edited_asks_another_question(tmp_path: Path, weigh_in: Weigh) -> None:
    class Scripted(ScriptedWorld):
        def environment(self) -> Mapping[str, Any]:
            return {**super().environment(), "files": {"script q.sql": self.directory.name}}

    told = []
    for number, text in enumerate(("one", "one", "two")):
        world = Scripted(tmp_path / str(number) / text, noise=0.3)
        verdict = weigh_in(world, record=f"attempts/{number}")
        told.append([t["name"] for t in verdict["contrasts"][0]["threats"]])
    assert ["weighed before" in names for names in told] == [False, True, False]
