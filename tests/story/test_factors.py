"""A factorial in a world whose effects are known: they are read, the interaction first."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from steelyard.cli.views.live_view import PlainView
from steelyard.cli.views.many_arms_view import render_factors
from steelyard.record.reader import read_recorded, read_verdict
from steelyard.record.record import Record
from steelyard.record.verdict import Verdict
from steelyard.study.factors import with_cells
from steelyard.study.study import Study
from steelyard.verdict.rejudge import differences, rejudge
from story.asked import Facts, lines
from story.scripted import ScriptedWorld

Weigh = Callable[..., Facts]
FACTORS = {
    "checksums": {"bare": {"checksums": False}, "checked": {"checksums": True}},
    "compression": {
        "plain": {"settings": {"wal_compression": "off"}},
        "pglz": {"settings": {"wal_compression": "pglz"}},
    },
}
THIRD = {"sync": {"durable": {}, "late": {"settings": {"synchronous_commit": "off"}}}}
SPEED = {"checked": 0.97, "pglz": 0.99, "late": 1.1}
"""What a level does to the throughput."""


def factorial(factors: Facts, **changes: Any) -> Study:
    facts: Facts = {
        "name": "scripted", "title": "Do factors act alone?", "question": "Do they?",
        "factors": factors, "workload": {"clients": 4}, "layout": "slices", "cost": "foreground",
        "budget": {"measuring": "60s", "epochs": 10},
    }  # fmt: skip
    return Study.model_validate(with_cells({**facts, **changes}))


def planted(interaction: float = 1.0) -> Callable[[str, int], float]:
    """Levels act by SPEED, and checked with pglz besides by `interaction`."""

    def speed(arm: str, life: int) -> float:
        levels = arm.split("+")
        found = 4000.0
        for level in levels:
            found *= SPEED.get(level, 1.0)
        return found * (interaction if {"checked", "pglz"} <= {*levels} else 1.0)

    return speed


def effects(verdict: Facts) -> dict[tuple[str, ...], Facts]:
    return {tuple(one["factors"]): one for one in verdict["factors"]["effects"]}


def covers(one: Facts, ratio: float) -> bool:
    low, high = one["low_percent"], one["high_percent"]
    return bool(low <= 100 * (ratio - 1) <= high)


@pytest.fixture
def told(world: ScriptedWorld, weigh_in: Weigh) -> Facts:
    world.noise, world.speed = 0.01, planted(0.9)
    return weigh_in(world, factorial(FACTORS))


def test_a_planted_interaction_is_read_and_said_first(told: Facts) -> None:
    found = effects(told)
    assert [one["verdict"] for one in found.values()] == ["slower", "slower", "matters"]
    assert covers(found["checksums",], 0.97 * 0.9**0.5)
    assert covers(found["compression",], 0.99 * 0.9**0.5)
    assert covers(found["checksums", "compression"], 0.9)
    first, *others = told["factors"]["sentences"]
    words = r"compression \(pglz against plain\) depends on checksums: −1\d\.\d\d % \[.*\] with "
    assert re.match(words + r"checked, −1\.\d\d % \[.*\] with bare; difference −\d", first), first
    assert first.endswith("(throughput; joint 95 % intervals, 10 epochs)")
    assert [one.split(" (")[0] for one in others] == ["checksums", "compression"]
    assert all("on average over" in one for one in others)
    assert told["sentence"].startswith(first)


def test_simple_effects_hold_what_a_factor_does_at_a_level_of_the_other(told: Facts) -> None:
    simple = {(one["factor"], one["level"]): one for one in told["factors"]["simple_effects"]}
    assert covers(simple["compression", "bare"], 0.99)
    assert covers(simple["compression", "checked"], 0.99 * 0.9)
    assert covers(simple["checksums", "plain"], 0.97)
    assert covers(simple["checksums", "pglz"], 0.97 * 0.9)


def test_the_plan_states_cells_effects_and_weights_before_the_first_slice(
    told: Facts, tmp_path: Path
) -> None:
    plan = json.loads((tmp_path / "record" / "plan.json").read_text())["factors"]
    arms = ["bare+plain", "bare+pglz", "checked+plain", "checked+pglz"]
    assert [cell["arm"] for cell in plan["cells"]] == arms
    assert plan["fraction"] == "full"
    weights = {tuple(one["factors"]): [one["weights"][arm] for arm in arms]
               for one in plan["effects"]}  # fmt: skip
    assert weights == {
        ("checksums",): [-0.5, -0.5, 0.5, 0.5],
        ("compression",): [-0.5, 0.5, -0.5, 0.5],
        ("checksums", "compression"): [1, -1, -1, 1],
    }


def test_a_factorial_runs_to_the_end_of_its_plan_and_is_judged_again_to_the_same(
    told: Facts, tmp_path: Path
) -> None:
    assert [one["epochs"] for one in told["contrasts"]] == [10, 10, 10]
    record = Record.open(tmp_path / "record")
    recorded = read_verdict(record)
    assert recorded is not None
    assert differences(recorded, rejudge(read_recorded(record))) == []
    assert recorded.factors is not None
    assert len(recorded.factors.effects) == 3


def test_the_study_of_the_record_is_read_back_with_its_cells(told: Facts, tmp_path: Path) -> None:
    study = read_recorded(Record.open(tmp_path / "record")).study
    assert study == factorial(FACTORS)


def test_without_an_interaction_main_effects_come_first_and_none_is_said_to_be_there(
    world: ScriptedWorld, weigh_in: Weigh
) -> None:
    world.noise, world.speed = 0.01, planted()
    told = weigh_in(world, factorial(FACTORS, decision={"margin": "2%"}))
    first, second, third = told["factors"]["sentences"]
    assert re.match(r"checksums \(checked against bare\) is slower: −[23]\.", first)
    assert second.startswith("compression (pglz against plain) is equivalent within ±2 %: −")
    assert third.startswith("no interaction beyond ±2 %: checksums × compression ")


def test_too_few_epochs_tell_nothing_of_any_effect(world: ScriptedWorld, weigh_in: Weigh) -> None:
    world.noise, world.speed = 0.01, planted(0.9)
    told = weigh_in(world, factorial(FACTORS, budget={"measuring": "20s", "epochs": 4}))
    assert {one["verdict"] for one in effects(told).values()} == {"inconclusive"}
    assert " is not told: −" in told["factors"]["sentences"][0]


def test_the_half_of_three_factors_says_what_it_cannot_tell(
    world: ScriptedWorld, weigh_in: Weigh
) -> None:
    world.noise, world.speed = 0.01, planted()
    told = weigh_in(world, factorial({**FACTORS, **THIRD}, fraction="half"))
    assert [cell["arm"] for cell in told["factors"]["cells"]] == [
        "bare+plain+durable", "bare+pglz+late", "checked+plain+late", "checked+pglz+durable",
    ]  # fmt: skip
    found = effects(told)
    assert list(found) == [("checksums",), ("compression",), ("sync",)]
    for factor, ratio in zip(found, SPEED.values(), strict=True):
        assert covers(found[factor], ratio)
    assert told["factors"]["sentences"][-1] == (
        "half of the cells cannot tell checksums from compression × sync, compression from "
        "checksums × sync, sync from checksums × compression"
    )
    assert told["factors"]["simple_effects"] == []


def test_an_epoch_without_a_cell_is_left_out_of_effects_counted_and_said(
    world: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    world.noise, world.speed = 0.01, planted(0.9)
    slow = world.speed
    world.speed = lambda arm, life: 1e-9 if arm == "checked+pglz" and life == 7 else slow(arm, life)
    told = weigh_in(world, factorial(FACTORS, budget={"measuring": "60s", "epochs": 12}))
    factors = told["factors"]
    assert len(factors["left_out"]) == 1
    assert factors["epochs"] == 11
    assert "1 epoch is left out, in which a cell could not be measured" in factors["sentences"]
    assert covers(effects(told)["checksums", "compression"], 0.9)
    [lost] = factors["left_out"]
    assert lost in [one["epoch"] for one in lines(tmp_path, "telemetry.jsonl") if "epoch" in one]


def plain_view_lines(weigh_in: Weigh, world: ScriptedWorld, path: Path) -> Sequence[str]:
    with path.open("w", encoding="utf-8") as stream:
        weigh_in(world, factorial(FACTORS), progress=PlainView(stream))
    return path.read_text(encoding="utf-8").splitlines()


def test_the_plan_and_every_epoch_are_said_while_it_is_weighed(
    world: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    world.noise, world.speed = 0.01, planted(0.9)
    said = plain_view_lines(weigh_in, world, tmp_path / "said")
    start = next(number for number, line in enumerate(said) if line.startswith("plan: "))
    assert said[start + 1 : start + 5] == [
        "factors: checksums (checked against bare), compression (pglz against plain)",
        "cells: bare+plain (control), bare+pglz, checked+plain, checked+pglz",
        "effects: checksums, compression, checksums × compression: "
        "joint 95 % intervals, at the end",
        "fraction: full",
    ]  # fmt: skip
    epochs = [line for line in said if line.startswith("epoch ")]
    assert len(epochs) == 10
    assert re.match(
        r"epoch 10/10  3 cells against bare\+plain so far from −1\d\.\d+ % \(checked\+pglz\) to "
        r"−[01]\.\d+ % \(bare\+pglz\), 0 s left",
        epochs[-1],
    ), epochs[-1]


def test_the_terminal_has_the_sentence_every_effect_and_every_cell(told: Facts) -> None:
    verdict = Verdict.model_validate(told)
    assert verdict.factors is not None
    for width in (50, 80, 120):
        shown = render_factors(verdict, verdict.factors, width)
        words = " ".join(shown.split())
        assert words.startswith("compression (pglz against plain) depends on checksums: −1")
        assert "checksums × compression" in words
        assert "matters" in words
        assert all(cell.arm in words for cell in verdict.factors.cells)
        body = shown.partition("record  ")[0]
        assert all(len(line) <= width for line in body.splitlines())
    assert "●" in shown


def test_the_page_shows_the_sentence_the_effects_and_the_interaction(told: Facts) -> None:
    page = (Path(told["record"]) / "report.html").read_text(encoding="utf-8")
    shown = " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())
    for sentence in told["factors"]["sentences"]:
        assert sentence in shown
    assert page.index("Effects") < page.index("Every cell against the control")
    assert "Effects with joint intervals" in page
    assert "Effect of compression by checksums" in page
    assert "checked+pglz" in shown
