"""docs/reference/studies.md explains every key of a study, and none that there is not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from steelyard.study.answer import DecisionRule
from steelyard.study.arm import Arm, Weight
from steelyard.study.budget import Budget, FixedCount
from steelyard.study.study import Study, WorkloadChoice

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "studies.md"
PREFIXES: dict[type[BaseModel], str] = {Arm: ".", DecisionRule: "decision.", Budget: "budget."}


@pytest.mark.parametrize(
    "model", [Study, Arm, Weight, WorkloadChoice, DecisionRule, Budget, FixedCount]
)
def test_every_key_is_explained(model: type[BaseModel]) -> None:
    text = PAGE.read_text(encoding="utf-8")
    tables = {"control", "arms", "settings", "workload", "decision", "budget"}
    for key in model.model_fields:
        if model is Study and key in tables:
            continue
        prefix = PREFIXES.get(model, "")
        assert re.search(rf"[`{{ ,]{re.escape(prefix + key)}\b", text), prefix + key


def test_no_key_is_explained_that_there_is_not() -> None:
    known = {f"decision.{key}" for key in DecisionRule.model_fields}
    known |= {f"budget.{key}" for key in Budget.model_fields}
    explained = re.findall(r"^\| `((?:decision|budget)\.\w+)`", PAGE.read_text(), re.MULTILINE)
    assert set(explained) == known
