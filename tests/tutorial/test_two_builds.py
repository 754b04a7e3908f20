"""The author of a patch follows the tutorial on two builds from its first command to its last."""

from __future__ import annotations

import json

import pytest

from tutorial.conftest import Reader

pytestmark = [pytest.mark.postgres, pytest.mark.long]


def test_two_builds_are_weighed_as_the_tutorial_says(reader: Reader) -> None:
    for name in ("master", "again", "patched"):
        reader.copy_build(name)
    reader.follow_all("two-builds.md")
    for record in ("noise", "patch", "path"):
        verdict = json.loads((reader.directory / record / "verdict.json").read_text())
        [contrast] = verdict["contrasts"]
        assert contrast["epochs"] >= 8
        plan = json.loads((reader.directory / record / "plan.json").read_text())
        assert plan["left_out"] == []
