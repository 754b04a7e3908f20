"""The author of a database follows the tutorial that adds an engine, to a verdict."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tutorial.conftest import Reader
from tutorial.page import TUTORIALS, fences

pytestmark = [pytest.mark.long]


@pytest.mark.skipif(not Path("/usr/bin/python3").exists(), reason="there is no /usr/bin/python3")
def test_an_engine_is_added_as_the_tutorial_says(reader: Reader) -> None:
    reader.follow_all("own-engine.md")
    verdict = json.loads((reader.directory / "toy" / "answer" / "verdict.json").read_text())
    [contrast] = verdict["contrasts"]
    assert contrast["verdict"] == "slower"
    # Twice the pause beside what the rest takes: not more than half as fast, and far from equal.
    assert -55 < contrast["estimate_percent"] < -10
    environment = json.loads((reader.directory / "toy" / "answer" / "environment.json").read_text())
    assert {arm["build"]["kind"] for arm in environment["arms"].values()} == {"toy"}


def test_the_entry_point_of_the_page_is_the_one_that_is_looked_for() -> None:
    from steelyard.engines.adapters import GROUP

    [said] = fences((TUTORIALS / "own-engine.md").read_text("utf-8"), "toml")
    assert f'[project.entry-points."{GROUP}"]' in said
