"""A team follows the tutorial on a gate: it opens, it closes on a known loss, and the workflow that
is shown calls it as it was tried."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree

import pytest

from tutorial.conftest import Reader
from tutorial.page import TUTORIALS, fences, steps

PAGE = (TUTORIALS / "gate-in-ci.md").read_text("utf-8")
_BUDGET = re.compile(r"--budget \S+")


@pytest.mark.postgres
@pytest.mark.long
def test_the_gate_opens_and_closes_as_the_tutorial_says(reader: Reader) -> None:
    for name in ("base", "head"):
        reader.copy_build(name)
    reader.follow_all("gate-in-ci.md")
    known = json.loads((reader.directory / "known" / "verdict.json").read_text())
    assert known["contrasts"][0]["high_percent"] < -2
    suite = ElementTree.parse(reader.directory / "weighing.xml").getroot()
    assert list(suite.iter("testcase"))
    assert not list(suite.iter("failure"))


def test_the_workflow_weighs_as_the_tutorial_does() -> None:
    """But for the budget, and the runner's own shell."""
    [workflow] = fences(PAGE, "yaml")
    weighs = [one.commands for one in steps(PAGE) if "--summary weighing.md" in one.commands]
    [step] = re.findall(r"- name: Weigh\n +run: \|\n((?: {10}.*\n)+)", workflow)
    assert _words(step) == _words(weighs[0])
    assert "pull_request.base.sha" in workflow
    assert workflow.count("if: always()") == 2


def _words(commands: str) -> list[str]:
    return _BUDGET.sub("--budget", commands.replace("\\\n", " ")).split()
