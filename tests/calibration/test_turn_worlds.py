"""Every world of turns does what its name says, and its page says what its results say."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from steelyard.analysis.decision.epoch_reading import epoch_log_ratio
from steelyard.analysis.turns.debt import turn_bytes
from steelyard.analysis.turns.distance import cycles_ns
from steelyard.model.turn import Turn
from thinned import thinned
from validation.cases.turned import EPOCHS, TurnCase, TurnTally, cases
from validation.pages import turned
from validation.results import Results
from validation.worlds.turns import (
    CYCLE_S,
    NS,
    OFTEN_S,
    TURN_WORLDS,
    TurnWorld,
    Weighing,
    turn_world,
)
from validation.worlds.world import Floats

UNLIKE = "unlike cycles"


def drawn(name: str, weighings: int = 40, epochs: int = 10) -> list[Weighing]:
    return list(turn_world(name).draw(np.random.default_rng(23), weighings, epochs))


def log_ratios(some: list[Weighing]) -> Floats:
    """Of every epoch, shape (weighings, epochs)."""
    return np.array(
        [[epoch_log_ratio(e, "arm", "control", "throughput") for e in w.epochs] for w in some]
    )


def turns_of(some: list[Weighing], arm: str) -> list[Turn]:
    return [epoch.turns[arm] for weighing in some for epoch in weighing.epochs]


@thinned("world", TURN_WORLDS, 3, ids=[one.name for one in TURN_WORLDS])
def test_every_world_has_the_truth_it_names_beside_what_is_tied(world: TurnWorld) -> None:
    some = drawn(world.name, weighings=30)
    means = log_ratios(some).mean(axis=1)
    error = means.std(ddof=1) / math.sqrt(len(means))
    assert abs(means.mean() - world.truth - world.gained) < 4 * error
    slots = np.array([weighing.first for weighing in some])
    assert (slots.sum(axis=1) == (10 if world.fixed else 5)).all()
    firsts = [[one.start_order[0] == "arm" for one in weighing.epochs] for weighing in some]
    assert (np.sum(firsts, axis=1) == 5).all()
    assert 0.02 < log_ratios(some).std(axis=1, ddof=1).mean() < 0.06


def test_a_turn_is_two_whole_cycles_from_the_end_of_a_checkpoint() -> None:
    for turn in turns_of(drawn("turns alike", 3), "arm"):
        assert turn.cycles == 2
        assert cycles_ns(turn) == [round(CYCLE_S * NS)]
        first = turn.checkpoints[0].ended_ns
        assert first is not None
        assert 0 <= turn.seconds[0].start_ns - first <= NS


def test_turns_of_an_epoch_follow_each_other_in_their_order() -> None:
    for weighing in drawn("turns alike", 3):
        for epoch in weighing.epochs:
            one, other = (epoch.turns[name] for name in epoch.start_order)
            assert (one.position, other.position) == (0, 1)
            assert one.seconds[-1].end_ns < other.seconds[0].start_ns


def test_a_drifting_machine_moves_neighbouring_turns_apart_and_itself_together() -> None:
    some = drawn("drift over minutes")
    assert log_ratios(some).std() > 1.4 * log_ratios(drawn("turns alike")).std()
    counts = np.array(
        [[one.transactions for one in turn.seconds] for turn in turns_of(some, "control")]
    )
    levels = np.log(counts)
    fallen = levels.mean(axis=1) - np.median(levels.mean(axis=1))
    assert (fallen < -0.15).mean() > 0.005
    within = levels[:, :30].mean(axis=1) - levels.mean()
    later = levels[:, 30:].mean(axis=1) - levels.mean()
    assert np.corrcoef(within, later)[0, 1] > 0.5


def test_bursts_fade_and_are_deeper_in_the_arm_with_their_images() -> None:
    world, some = turn_world("bursts after checkpoints"), drawn("bursts after checkpoints")
    for name, depth in zip(("control", "arm"), world.depths, strict=True):
        early: list[int] = []
        late: list[int] = []
        for turn in turns_of(some, name):
            for one in turn.seconds:
                began = max(c.began_ns for c in turn.checkpoints if c.began_ns <= one.start_ns)
                since_s = (one.start_ns - began) / NS
                if since_s < 1:
                    early.append(one.transactions)
                    assert one.images > 0
                elif since_s > 25 and one.end_ns - began < CYCLE_S * NS:
                    late.append(one.transactions)
        # Seconds that begin within the first one after it lie about its end: a triangle of times.
        times = np.linspace(0, 2, 401)
        left = np.average(np.exp(-times / 4), weights=1 - np.abs(times - 1))
        fallen = 1 - np.mean(early) / np.mean(late)
        assert fallen == pytest.approx(depth * left, abs=0.015)
    assert world.truth_between(0, 5) == pytest.approx(math.log(0.82), abs=0.005)
    assert world.truth == pytest.approx(math.log(0.959), abs=0.003)


def test_arms_of_unlike_cycles_are_measured_as_the_plan_says_or_each_by_its_own() -> None:
    for name, age_s, lasts_s in ((UNLIKE, 60, 60), (f"{UNLIKE}, each by its own", 30, 10)):
        for turn in turns_of(drawn(name, 3), "arm"):
            assert turn.age_ns == pytest.approx(age_s * NS, abs=0.5 * NS)
            assert turn.measured_ns == lasts_s * NS
            assert turn.cycles == lasts_s / OFTEN_S
        for turn in turns_of(drawn(name, 3), "control"):
            assert turn.age_ns == pytest.approx(60 * NS, abs=3 * NS)
            assert turn.cycles == 2


def test_ageing_moves_the_arm_over_the_epochs() -> None:
    path = log_ratios(drawn("ageing", 60)).mean(axis=0)
    assert path[0] == pytest.approx(0.06, abs=0.02)
    assert path[-1] == pytest.approx(-0.06, abs=0.02)


def test_what_is_broken_is_broken_in_the_arm_or_place_that_it_names() -> None:
    warm = drawn("files not evicted", 3)
    assert min(turn.resident_share for turn in turns_of(warm, "arm")) > 0.25
    assert max(turn.resident_share for turn in turns_of(warm, "control")) == 0
    for weighing in drawn("device busy", 3):
        for epoch in weighing.epochs:
            quiet = [epoch.turns[name].quiet for name in epoch.start_order]
            assert quiet == [False, True]
    grown = [
        (turn.at_end.wal_bytes - turn.at_start.wal_bytes) / turn_bytes(turn)
        for turn in turns_of(drawn("debt of one arm"), "arm")
    ]
    assert np.mean(grown) == pytest.approx(0.05, abs=0.003)


BROKEN = [one for one in TURN_WORLDS if one.must_raise is not None]


@thinned("world", BROKEN, 1, ids=[one.name for one in BROKEN])
def test_a_balance_of_turns_that_is_broken_is_caught(world: TurnWorld) -> None:
    """Ageing by three sd of an epoch is seen in half of so short weighings; all else always."""
    tally = TurnTally(**TurnCase(world.name, 10, 0, 20).work()["tally"])
    assert tally.caught == 20 or (world.ages and tally.caught >= 6)
    assert tally.uncaught <= (2 if world.ages else 0)


def test_sound_turns_cover_their_truth() -> None:
    tally = TurnTally(**TurnCase("bursts after checkpoints", 8, 0, 25).work()["tally"])
    assert tally.curves == tally.distances == 25
    assert max(tally.missed, tally.curve_missed, tally.distance_missed) <= 5  # 5 %: p < .002
    assert tally.invalid == 0


def test_every_case_has_its_part_and_parts_are_added_up(tmp_path: Path) -> None:
    assert len({case.key for case in cases()}) == len(list(cases()))
    file = tmp_path / "turns.jsonl"
    parts = [TurnCase("turns alike", 8, part, 5) for part in range(2)]
    lines = [{"key": one.key, "code": "abc", "seconds": 1.0, **one.work()} for one in parts]
    lines[0]["tally"]["alarms"] = 5
    lines[0]["threats"] = {"slots differ": 1}
    lines[1]["tally"]["alarms"] = 5
    file.write_text("".join(json.dumps(one) + "\n" for one in lines))
    text = turned.section(Results(file))
    assert "| turns alike | 8 |" in text
    assert "**100.0 [69.2, 100.0]**" in text
    assert f"Done so far: 2 of {len(list(cases()))} parts" in text
    assert "| slots differ |" in text
    assert "nan" not in text
    assert set(EPOCHS) >= {8}
    assert "Not yet simulated" in turned.section(Results(tmp_path / "none.jsonl"))
