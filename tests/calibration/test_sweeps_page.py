"""docs/results/sweeps-and-factors.md says what was read; each weighing is a command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from steelyard.study.read import read_study
from validation import sweeps
from validation.pages.folded import outdated
from validation.pages.sweeps import page
from validation.sweeps import RESULTS, WEIGHINGS, result_of
from validation.weigh_command import Weighings

RANGE = {"estimate_percent": -4.1, "low_percent": -6.0, "high_percent": None}
MACHINE = {
    "kernel": "Linux 6", "processor": "P", "allowed_processors": [0, 1], "memory_bytes": 8e9,
    "virtual": True,
}  # fmt: skip
POINT = {
    **RANGE, "arm": "off", "control": "on", "verdict": "slower", "epochs": 12, "cause": "processor",
    "threats": ["drift"],
}  # fmt: skip
SWEEP = {
    "key": "workload.clients", "sentences": ["by clients, off against on: as said"],
    "seconds": 900.0, "seed": 16, "command": "steelyard weigh checksums --json",
    "points": [
        {"value": "8", "contrasts": [POINT]},
        {"value": "256", "failed": "no room"},
    ],
}  # fmt: skip
FACTORS = {
    "sentences": ["a × b matters"], "cells": [1, 2, 3, 4], "epochs": 16, "left_out": [3],
    "effects": [{**RANGE, "factors": ["a", "b"], "p_value": 0.0123, "verdict": "matters"}],
    "simple_effects": [{**RANGE, "factor": "a", "by": "b", "level": "on"}],
}  # fmt: skip
NAMES = ("checksums by clients", "factorial")
FACTORIAL = {
    "contrasts": [{"threats": [{"name": "drift"}]}, {"threats": [{"name": "drift"}]}],
    "factors": FACTORS, "whole_seconds": 1500.0, "layout": "slices",
}  # fmt: skip


def line(record: Path, key: str, told: dict[str, Any]) -> dict[str, Any]:
    (record / "environment.json").write_text(json.dumps({"machine": MACHINE}))
    return {"key": key, **result_of(["aa", "--seed", "16"], told, record)}


def test_a_sweep_has_a_row_a_point_and_the_reason_of_one_that_failed(tmp_path: Path) -> None:
    text = page([line(tmp_path, "checksums by clients", {"sweep": SWEEP})], NAMES)
    assert "> by clients, off against on: as said." in text
    assert "| 8 | off against on | −4.1 % | [−6.0, unbounded] % | slower | 12 | processor |" in text
    assert "256: no room." in text
    assert "15 minutes" in text
    assert "Not yet weighed: factorial." in text


def test_a_factorial_has_its_effects_and_what_a_factor_does_at_each_level(
    tmp_path: Path,
) -> None:
    text = page([line(tmp_path, "factorial", FACTORIAL)], [])
    assert "> a × b matters." in text
    assert "| a × b | −4.1 % | [−6.0, unbounded] % | 0.0123 | matters |" in text
    assert "| a | b: on | −4.1 % | [−6.0, unbounded] % |" in text
    assert "4 cells in 16 epochs, and 1 in which one was not measured; 25 minutes." in text
    assert "Doubts: drift." in text
    assert "Not yet weighed" not in text


def test_the_page_is_what_the_results_say() -> None:
    how = "run python -m validation.sweeps --page"
    assert not outdated(sweeps.files()), how


def test_a_sweep_that_this_command_made_is_adopted_and_no_other(tmp_path: Path) -> None:
    words = {"one": ["checksums"], "other": ["aa"]}
    asked = Weighings(RESULTS, words, result_of)
    (tmp_path / "swept.json").write_text(json.dumps(SWEEP))
    point = tmp_path / "points" / "8"
    point.mkdir(parents=True)
    (point / "environment.json").write_text(json.dumps({"machine": MACHINE}))
    assert asked.adopt("one", tmp_path)["sweep"] == SWEEP
    with pytest.raises(ValueError, match="was made by: steelyard weigh checksums"):
        asked.adopt("other", tmp_path)


@pytest.mark.parametrize("words", WEIGHINGS.values())
def test_every_weighing_is_of_a_built_in_study(words: list[str]) -> None:
    study, *more = words
    key, _, values = (
        more[1].partition("=") if more[0] == "--sweep" else ("workload.clients", "", "8")
    )
    for value in values.split(","):
        assert read_study(study, [f"{key}={value}"]).workload.clients == int(value)
