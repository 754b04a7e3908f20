"""Every world of cycles does what its name says, and its page says what its results say."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from steelyard.analysis.decision.epoch_reading import epoch_log_ratio
from steelyard.model.turn import Turn
from steelyard.record.epoch import EpochLine, WindowLine
from thinned import thinned
from validation.cases.covariates import CovariateCase
from validation.cases.covariates import cases as covariate_cases
from validation.cases.cycled import EPOCHS, CycleCase, CycleTally, cases
from validation.pages import covaried, cycled
from validation.results import Results
from validation.worlds.cycle_atlas import CYCLE_WORLDS, cycle_world
from validation.worlds.cycles import (
    CYCLE_S,
    NS,
    SLICE_S,
    CycleWorld,
    Weighing,
)
from validation.worlds.world import Floats

SOUND = [one for one in CYCLE_WORLDS if one.must_raise is None and not one.stated]
BROKEN = [one for one in CYCLE_WORLDS if one.must_raise is not None]


def drawn(name: str, weighings: int = 30, epochs: int = 8) -> list[Weighing]:
    return list(cycle_world(name).draw(np.random.default_rng(23), weighings, epochs))


def log_ratios(some: list[Weighing]) -> Floats:
    """Of every epoch, shape (weighings, epochs)."""
    return np.array([
        [epoch_log_ratio(e.totals, "arm", "control", "throughput") for e in w.epochs]
        for w in some
    ])  # fmt: skip


def windows_of(some: list[Weighing], arm: str) -> list[Turn]:
    return [epoch.totals.turns[arm] for weighing in some for epoch in weighing.epochs]


@thinned("world", SOUND, 2, ids=[one.name for one in SOUND])
def test_every_sound_world_has_the_truth_it_names(world: CycleWorld) -> None:
    some = drawn(world.name)
    for means in (log_ratios(some).mean(axis=1), np.array([one.turns.mean() for one in some])):
        error = means.std(ddof=1) / math.sqrt(len(means))
        assert abs(means.mean() - world.truth) < 4 * error
    assert (np.array([weighing.first for weighing in some]).sum(axis=1) == 4).all()
    leads = [[e.totals.start_order[0] == "arm" for e in w.epochs] for w in some]
    assert (np.sum(leads, axis=1) == 4).all()


@pytest.mark.long
def test_what_moves_both_arms_for_minutes_scatters_turns_and_no_cycles() -> None:
    for name in ("drift over minutes", "gusts"):
        some = drawn(name)
        cycles, turns = log_ratios(some), np.array([one.turns for one in some])
        assert cycles.std(axis=1, ddof=1).mean() < 0.03
        assert turns.std(axis=1, ddof=1).mean() > 2 * cycles.std(axis=1, ddof=1).mean()


def test_a_window_goes_from_the_begin_of_a_checkpoint_to_that_of_the_second_after_it() -> None:
    for name, cycles in (("epochs alike", (2, 2)), ("unlike cycles", (2, 4))):
        some = drawn(name, 2)
        for arm, count in zip(("control", "arm"), cycles, strict=True):
            for window in windows_of(some, arm):
                begins = [one.began_ns for one in window.checkpoints]
                start, end = window.seconds[0].start_ns, window.seconds[-1].end_ns
                assert 0 <= start - max(one for one in begins if one <= start) <= SLICE_S * NS
                assert 0 <= end - max(one for one in begins if one <= end) <= SLICE_S * NS
                assert len([one for one in begins if start < one <= end]) == count
                assert window.measured_ns == pytest.approx(2 * CYCLE_S * NS, abs=2 * SLICE_S * NS)


def test_slices_of_both_arms_alternate_in_drawn_order() -> None:
    [weighing] = drawn("epochs alike", 1)
    for epoch in weighing.epochs:
        turns = epoch.totals.turns
        walls = {n: {round(s.wall_ns / (0.52 * NS)) for s in turns[n].seconds} for n in turns}
        assert not walls["arm"] & walls["control"]
        blocks = [{one // 2 for one in own} for own in walls.values()]
        assert len(blocks[0] & blocks[1]) > 0.9 * len(blocks[0])
        firsts = [one % 2 for one in walls["arm"]]
        assert 0.25 < np.mean(firsts) < 0.75


def test_bursts_fade_and_are_deeper_in_the_arm() -> None:
    world, some = cycle_world("bursts that differ"), drawn("bursts that differ")
    assert world.truth_between(0, 5) == pytest.approx(math.log(0.82), abs=0.005)
    assert world.truth == pytest.approx(math.log(0.959), abs=0.003)
    for name, depth in zip(("control", "arm"), world.depths, strict=True):
        early, late = [], []
        for window in windows_of(some, name):
            for one in window.seconds[4:]:
                began = max(c.began_ns for c in window.checkpoints if c.began_ns <= one.start_ns)
                since_s = (one.start_ns - began) / NS
                if since_s < SLICE_S:
                    early.append(one.transactions)
                elif 20 < since_s < CYCLE_S - SLICE_S:
                    late.append(one.transactions)
        fallen = 1 - np.mean(early) / np.mean(late)
        assert fallen == pytest.approx(depth * math.exp(-0.5 / 4), abs=0.03)


@pytest.mark.long
def test_a_leak_halves_what_write_back_costs_in_cycles_and_nothing_of_it_in_turns() -> None:
    some, world = drawn("write-back that leaks", 60), cycle_world("write-back that leaks")
    assert log_ratios(some).mean() == pytest.approx(math.log(0.825 / 0.875), abs=0.006)
    assert np.mean([one.turns.mean() for one in some]) == pytest.approx(world.truth, abs=0.03)


def test_lines_are_such_as_records_hold() -> None:
    [weighing] = drawn("one process not held still", 1)
    for epoch in weighing.epochs:
        for window in epoch.line.windows.values():
            assert WindowLine.model_validate(window.model_dump()) == window
        assert EpochLine.model_validate(epoch.line.model_dump()).slots == epoch.line.slots


@thinned("world", BROKEN, 2, ids=[one.name for one in BROKEN])
def test_a_balance_of_cycles_that_is_broken_is_caught(world: CycleWorld) -> None:
    """Ageing by four sd of an epoch is seen in most of so short weighings; all else always."""
    found = CycleCase(world.name, 10, 0, 12).work()
    tally = CycleTally(**found["cycles"])
    assert tally.caught == 12 or (world.ages and tally.caught >= 4)
    assert tally.uncaught <= (2 if world.ages else 0)
    if world.moved_ns or world.cut or world.fixed:
        assert tally.invalid == 12


def test_a_timeout_not_scaled_in_one_arm_takes_the_verdict_away() -> None:
    tally = CycleTally(**CycleCase("a timeout not scaled", 8, 0, 10).work()["cycles"])
    assert (tally.invalid, tally.caught, tally.uncaught) == (10, 10, 0)
    assert tally.missed == 10, "without the threat it would be a wrong verdict"


@pytest.mark.long
def test_sound_cycles_cover_their_truth_and_are_narrower_than_turns() -> None:
    found = CycleCase("bursts apart, in gusts", 8, 0, 25).work()
    cycles, turns = CycleTally(**found["cycles"]), CycleTally(**found["turns"])
    assert cycles.weighings == turns.weighings == 25
    assert max(cycles.missed, turns.missed) <= 5  # 5 %: p < .002
    assert cycles.curves == cycles.distances == 5
    assert cycles.curve_width < 0.95 * cycles.plain_width
    assert cycles.spread < 0.5 * turns.spread
    assert cycles.invalid == 0


def test_parts_are_added_up_and_the_page_says_what_is_missing(tmp_path: Path) -> None:
    assert len({case.key for case in cases()}) == len(list(cases()))
    file = tmp_path / "cycles.jsonl"
    parts = [CycleCase("epochs alike", 8, part, 5) for part in range(2)]
    parts.append(CycleCase("cycles cut in the middle", 8, 0, 5))
    lines = [{"key": one.key, "code": "abc", "seconds": 1.0, **one.work()} for one in parts]
    lines[0]["cycles"]["alarms"] = lines[1]["cycles"]["alarms"] = 5
    file.write_text("".join(json.dumps(one) + "\n" for one in lines))
    text = cycled.section(Results(file))
    assert "**100.0 [69.2, 100.0]**" in text
    assert f"Done so far: 3 of {len(list(cases()))} parts" in text
    assert "| cycles cut |" in text
    assert "nan" not in text
    assert set(EPOCHS) >= {8}
    assert "Not yet simulated" in cycled.section(Results(tmp_path / "none.jsonl"))


@pytest.mark.long
def test_a_loop_that_sees_the_machine_narrows_turns_and_no_cycles() -> None:
    found = {
        layout: CovariateCase("loop at borders", f"{layout}, drift over minutes, 90 %").work()
        for layout in ("cycles", "turns")
    }
    assert found["turns"]["ratio"] < 0.4
    assert found["cycles"]["ratio"] > 0.95
    assert all(one["false"] < 0.07 * one["virtual"] for one in found.values())


def test_covariates_are_tried_on_what_was_recorded(tmp_path: Path) -> None:
    every = list(covariate_cases())
    assert len({case.key for case in every}) == len(every)
    recorded = [one for one in every if "loop" not in one.covariate]
    lines = [{"key": c.key, "code": "abc", "seconds": 1.0, **c.work()} for c in recorded]
    assert {one["source"] for one in lines} >= {"turns", "traces, placement free"}
    assert all(one["epochs"] >= 60 and one["ratio_low"] < one["ratio_high"] for one in lines)
    file = tmp_path / "covariates.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in lines))
    text = covaried.section(Results(file))
    assert f"Done so far: {len(lines)} of {len(every)}" in text
    assert "neighbours' rate | turns" in text
    assert "Not yet tried" in covaried.section(Results(tmp_path / "none.jsonl"))
