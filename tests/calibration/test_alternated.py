"""Weighings in alternation are those that the page names, and it says what they showed."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from steelyard.study.read import read_study
from validation.alternated import (
    CONDITIONS,
    LAYOUTS,
    PAIRS,
    PGLZ,
    ScheduledWeighing,
    neighbour,
    scheduled_weighings,
)
from validation.pages.alternated import sd_interval, section
from validation.results import Results

NONE = Results(Path("/nonexistent/none.jsonl"))


def words_of(asked: ScheduledWeighing) -> tuple[str, list[str]]:
    study, *options = asked.words
    return study, [options[i + 1] for i, word in enumerate(options) if word == "--set"]


def test_layouts_alternate_and_seeds_are_of_their_own() -> None:
    asked = list(scheduled_weighings())
    assert len(asked) == len(CONDITIONS) * PAIRS * 2 + 2
    order = [one.layout for one in asked if one.condition == "quiet"]
    assert order[:4] == ["cycles", "turns", "turns", "cycles"]
    assert order.count("cycles") == order.count("turns") == PAIRS
    seeds = {(one.condition, one.words[one.words.index("--seed") + 1]) for one in asked}
    assert len(seeds) == len(asked)


@pytest.mark.parametrize(
    "asked",
    [next(scheduled_weighings()), ScheduledWeighing(PGLZ, "cycles")],
    ids=lambda weighing: weighing.key,
)
def test_what_is_asked_is_a_study_in_that_layout(asked: ScheduledWeighing) -> None:
    name, overrides = words_of(asked)
    study = read_study(name, overrides)
    assert study.layout == asked.layout == "cycles"
    assert (study.arms[0].settings == study.control.settings) == (asked.condition != PGLZ)


def test_the_neighbour_loads_every_processor_and_ends() -> None:
    with neighbour():
        time.sleep(1.0)
        used = os.times()
    ended = os.times()
    assert ended.children_user > used.children_user


def line(condition: str, layout: str, d: list[float], **facts: Any) -> dict[str, Any]:
    machine = {"kernel": "Linux", "processor": "X", "allowed_processors": [0],
               "memory_bytes": 1 << 30, "virtual": True}  # fmt: skip
    return {
        "condition": condition, "layout": layout, "d": d, "seconds": 600.0, "machine": machine,
        "epochs": len(d), "estimate_percent": -5.0, "low_percent": -6.0, "high_percent": -4.0,
        "distance_seconds": 5.5, **facts,
    }  # fmt: skip


def test_the_page_has_the_scatter_of_either_layout_and_what_is_missing(tmp_path: Path) -> None:
    file = tmp_path / "alternated.jsonl"
    lines = [
        line("quiet", "cycles", [0.01, -0.01]),
        line("quiet", "cycles", [0.02, -0.02]),
        line("quiet", "turns", [0.1, -0.2, 0.15, 0.0]),
        line(PGLZ, "cycles", [-0.05] * 8),
    ]
    file.write_text("".join(json.dumps({"key": str(i), **one}) + "\n"
                            for i, one in enumerate(lines)))  # fmt: skip
    text = section(Results(file), NONE)
    assert "| quiet | cycles | 4 | 1.8 |" in text
    assert "| quiet | turns | 4 | 15.5 |" in text
    assert "Not yet measured: 14 of 18" in text
    assert "| in cycles | 5.5 s | 8 epochs | -5.0 % | -6.0 … -4.0 % |" in text
    assert "Not yet measured: 0 of 18" in section(NONE, NONE)


def test_pairs_by_hand_stand_beside_them(tmp_path: Path) -> None:
    hand = tmp_path / "by_hand.jsonl"
    side = {"off": {"tps": 100.0, "distance_s": 5.0}, "pglz": {"tps": 80.0}}
    hand.write_text("".join(json.dumps({"key": str(n), **side}) + "\n" for n in range(3)))
    file = tmp_path / "alternated.jsonl"
    file.write_text(json.dumps({"key": "a", **line(PGLZ, "turns", [0.0] * 8)}) + "\n")
    text = section(Results(file), Results(hand))
    assert "| by hand | 5.0 s | 3 pairs | -20.0 % |" in text


def test_the_interval_of_a_standard_deviation_is_that_of_chi_squared() -> None:
    low, high = sd_interval(2.0, 8)
    assert (low, high) == (pytest.approx(1.322, abs=0.002), pytest.approx(4.071, abs=0.002))
    assert set(LAYOUTS) == {"cycles", "turns"}
