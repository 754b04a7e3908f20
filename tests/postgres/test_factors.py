"""Factorials of known weights on real servers: what is planted is read, and what is not is not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from underway import QUICK, Underway

from steelyard.record.reader import read_recorded, read_verdict
from steelyard.record.record import Record
from steelyard.verdict.rejudge import differences, rejudge

pytestmark = [pytest.mark.postgres, pytest.mark.long]

Start = Callable[..., Underway]
STUDY = """\
title = "Are factors read?"
question = "Is what was planted what is read?"
cost = "foreground"
layout = "slices"
[factors.work]
once = {{}}
twice = {{ weight = {{ double_work = "{share}" }} }}
[factors.{other}]
{levels}
[settings]
autovacuum = false
[workload]
name = "pgbench"
scripts = {{ "select-only" = 1 }}
scale = 1
clients = 1
[decision]
margin = "1%"
[budget]
measuring = "48s"
epochs = 8
"""
NOTHING = 'silent = {}\ntold = { settings = { log_temp_files = "1GB" } }'
STALLS = 'awake = {}\nasleep = { weight = { stall_share = "50%", stall_time = "2ms" } }'
WIDER = 2.0
"""Joint 95 % intervals miss once in twenty times; twice as wide, a right reading hardly ever."""


def weighed(start: Start, share: str, other: str, levels: str) -> Underway:
    study = STUDY.format(share=share, other=other, levels=levels)
    weighing = start("record", "factors.toml", "--seed", "11", study=study)
    assert weighing.end() == 0, weighing.said
    return weighing


def effects(verdict: dict[str, Any]) -> dict[tuple[str, ...], dict[str, Any]]:
    return {tuple(one["factors"]): one for one in verdict["factors"]["effects"]}


def reads(one: dict[str, Any], truth: float) -> bool:
    """Whether an interval twice as wide holds a truth, in percent."""
    middle = one["estimate_percent"]
    low, high = (middle + WIDER * (one[end] - middle) for end in ("low_percent", "high_percent"))
    return bool(low <= truth <= high)


def test_a_known_weight_is_read_beside_a_factor_that_does_nothing(start: Start) -> None:
    weighing = weighed(start, "25%", "log", NOTHING)
    verdict = weighing.verdict
    assert verdict["factors"]["epochs"] + len(verdict["factors"]["left_out"]) == 8
    found = effects(verdict)
    assert list(found) == [("work",), ("log",), ("work", "log")]
    assert found["work",]["verdict"] == "slower"
    assert reads(found["work",], 100 * (1 / 1.25 - 1))
    assert reads(found["log",], 0.0)
    assert reads(found["work", "log"], 0.0)
    assert found["work", "log"]["verdict"] != "matters"
    assert verdict["factors"]["sentences"][0].startswith("work (twice against once) is slower: −")
    assert "cells: once+silent (control), once+told, twice+silent, twice+told" in weighing.lines
    record = Record.open(weighing.record)
    recorded = read_verdict(record)
    assert recorded is not None
    assert differences(recorded, rejudge(read_recorded(record))) == []
    page = Path(verdict["record"], "report.html").read_text(encoding="utf-8")
    assert "Effects with joint intervals" in page


def test_weights_that_add_up_in_time_interact_as_their_ratios_say(start: Start) -> None:
    """Twice the work takes half as long again, sleeps add half of the time once: both together
    take 2.0 times as long where 1.5 × 1.5 would be 2.25."""
    verdict = weighed(start, "50%", "sleep", STALLS).verdict
    found = effects(verdict)
    assert found["work",]["verdict"] == found["sleep",]["verdict"] == "slower"
    interaction = found["work", "sleep"]
    assert interaction["estimate_percent"] > 0
    assert reads(interaction, 100 * (2.25 / 2.0 - 1))
    simple = {(one["factor"], one["level"]): one for one in verdict["factors"]["simple_effects"]}
    assert reads(simple["work", "awake"], 100 * (1 / 1.5 - 1))
    assert reads(simple["work", "asleep"], 100 * (1.5 / 2.0 - 1))
    if interaction["verdict"] == "matters":
        assert " depends on " in verdict["factors"]["sentences"][0]
    plan = json.loads(Path(verdict["record"], "plan.json").read_text())
    assert [cell["arm"] for cell in plan["factors"]["cells"]] == [
        "once+awake", "once+asleep", "twice+awake", "twice+asleep"
    ]  # fmt: skip


def test_the_built_in_factorial_weighs_eight_cells_that_differ_in_nothing_else(
    start: Start,
) -> None:
    weighing = start("record", "factorial", *QUICK, "--set", "budget.epochs=3", "--seed", "3")
    weighing.in_the_middle_of(1)
    traces = weighing.traces()
    assert weighing.end() == 0, weighing.said
    assert traces.left == []
    verdict = weighing.verdict
    assert len(verdict["contrasts"]) == 7
    assert len(effects(verdict)) == 7
    assert len(verdict["factors"]["simple_effects"]) == 12
    names = {name for name, *_ in verdict["differences"]["declared"]}
    assert names == {"data_checksums", "full_page_writes", "wal_compression"}
    assert verdict["differences"]["undeclared"] == []
    # A server that logs no images has none to compress.
    images = {
        one["arm"]: one["arm_value"]
        for one in verdict["causes"]
        if one["metric"] == "full_page_images_per_transaction"
    }
    assert all((value < 0.01) is ("no-images" in arm) for arm, value in images.items()), images
