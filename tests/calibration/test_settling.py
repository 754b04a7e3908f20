"""Loads begin as their names say, and pilots of them are counted and told as they were."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from validation.cases.settling import (
    RULES,
    WATCHED_S,
    SettlingCase,
    SettlingTally,
    cases,
    warmup_after,
)
from validation.pages import settled
from validation.results import Results
from validation.worlds.loads import BLOCK_S, BLOCKS, LOADS, Load, load


@pytest.mark.parametrize("one", LOADS, ids=[one.name for one in LOADS])
def test_every_load_begins_and_ends_as_it_says(one: Load) -> None:
    own = load(one.name)
    logs = np.log(own.draw(np.random.default_rng(5), 400)).mean(axis=(0, 1))
    first = 1 - own.missing(np.array([BLOCK_S / 2]))[0]
    assert logs[0] == pytest.approx(np.log(first), abs=0.012)
    last = 1 - own.missing(np.array([BLOCK_S * (BLOCKS - 0.5)]))[0]
    assert logs[-1] == pytest.approx(np.log(last) + own.drift, abs=0.012)


def test_only_a_wandering_machine_moves_both_arms_together() -> None:
    together = {}
    for name in ("steady", "steady, machine wanders"):
        logs = np.log(load(name).draw(np.random.default_rng(6), 300))
        together[name] = np.corrcoef(logs[:, 0].ravel(), logs[:, 1].ravel())[0, 1]
    assert abs(together["steady"]) < 0.05
    assert together["steady, machine wanders"] > 0.5


def test_a_warm_up_is_that_of_the_slower_arm_with_a_margin_within_what_was_watched() -> None:
    assert warmup_after([0, 0]) == 0.5
    assert warmup_after([5, 10]) == pytest.approx(1.25)
    assert warmup_after([35, 0]) == WATCHED_S
    assert warmup_after([5, None]) == WATCHED_S


def test_a_part_counts_its_pilots_and_is_the_same_each_time() -> None:
    part = SettlingCase("steady", 0, pilots=60)
    found = part.work()
    assert found == part.work()
    line, alone = (SettlingTally(**found["rules"][name]) for name in RULES)
    assert line.pilots == alone.pilots == 60
    assert line.unsettled < alone.unsettled
    assert line.warmup_s < alone.warmup_s
    assert line.left == 0.0
    drifting = SettlingCase("drifts by 20 %", 0, pilots=60).work()["rules"]["line"]
    assert drifting["unsettled"] > 50
    assert (line + alone).pilots == 120


def test_the_page_adds_up_parts_and_says_what_is_missing(tmp_path: Path) -> None:
    file = tmp_path / "settling.jsonl"
    lines = [{"key": str(i), "code": "abc", **SettlingCase("steady", i, pilots=20).work()}
             for i in range(2)]  # fmt: skip
    lines[1]["rules"]["line"]["unsettled"] = 20
    file.write_text("".join(json.dumps(one) + "\n" for one in lines))
    text = settled.section(Results(file))
    assert f"2 of {len(list(cases()))} parts" in text
    assert "| steady | **50.0" in text
    assert "| drifts by 20 % | – | – | – | – | – | – |" in text
    assert "Not yet simulated" in settled.section(Results(tmp_path / "none.jsonl"))
