"""Slices of arms that alternate are rid of the machine's level, and of nothing else."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from analysis.turns.made import CLIENTS, NS, make_turn
from steelyard.analysis.decision.sign_flip import Floats
from steelyard.analysis.turns.distance import Pair, curve, effects_at
from steelyard.analysis.turns.machine_level import levelled
from steelyard.model.turn import Checkpoint, Second, Turn

SLICE_S, CYCLE_S, BLOCKS = 0.5, 30.0, 120
DEPTHS = (0.1, 0.4)


def gusts(rng: np.random.Generator, sd: float) -> Floats:
    """The machine's log speed at each slice of either arm, correlated over five seconds."""
    rho, path = math.exp(-SLICE_S / 5), [rng.normal(0, sd)]
    for _ in range(2 * BLOCKS - 1):
        path.append(rho * path[-1] + rng.normal(0, sd * math.sqrt(1 - rho**2)))
    return np.array(path)


def window(arm: str, machine: Floats, late_s: float, depth: float) -> Turn:
    """Two cycles in slices of half a second, whose arm loses `depth` at a checkpoint; `machine`:
    its log speed at each slice of the arm. The checkpoints begin `late_s` after the first block."""
    seconds = []
    for block, level in enumerate(machine.tolist()):
        own_s = block * SLICE_S
        since_s = (own_s + SLICE_S / 2 - late_s) % CYCLE_S
        done = round(1e6 * math.exp(level) * (1 - depth * math.exp(-since_s / 4)))
        seconds.append(
            Second(
                start_ns=round(own_s * NS),
                end_ns=round((own_s + SLICE_S) * NS),
                transactions=done,
                busy_ns=round(CLIENTS * SLICE_S * NS),
                wal_bytes=10.0 * done,
                images=0.5 * done,
                wall_ns=1e9 * SLICE_S * (2 * block + (arm == "off")),
            )
        )
    begins = [round((late_s + CYCLE_S * n) * NS) for n in range(-1, 2)]
    checkpoints = tuple(Checkpoint(one, one + 10 * NS, "time") for one in begins)
    return dataclasses.replace(make_turn(arm), seconds=tuple(seconds), checkpoints=checkpoints)


def epochs(late_s: float, sd: float, n: int = 24, seed: int = 3) -> list[Pair]:
    """Pairs of windows; the arm's checkpoints begin later than the control's."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n):
        machine = gusts(rng, sd)
        found.append(
            (
                window("on", machine[::2], 0.0, DEPTHS[0]),
                window("off", machine[1::2], late_s, DEPTHS[1]),
            )
        )
    return found


def mean_speed(depth: float, from_s: float, to_s: float) -> float:
    fallen = math.exp(-from_s / 4) - math.exp(-to_s / 4)
    return 1 - depth * 4 * fallen / (to_s - from_s)


def truth(from_s: float, to_s: float) -> float:
    return math.log(mean_speed(DEPTHS[1], from_s, to_s) / mean_speed(DEPTHS[0], from_s, to_s))


def bins(pairs: list[Pair]) -> Floats:
    """Log ratios of single epochs by bin, shape (epochs, bins)."""
    return np.array([[point.estimate.value for point in curve([pair])] for pair in pairs])


def test_turns_that_did_not_alternate_stay_as_they_are() -> None:
    pair = (make_turn("on"), make_turn("off"))
    assert levelled(pair) == pair
    empty = dataclasses.replace(window("on", np.zeros(BLOCKS), 0.0, 0.1), seconds=())
    assert levelled((empty, pair[1])) == (empty, pair[1])


def test_a_level_machine_is_left_as_it_is() -> None:
    for pair in epochs(3.0, 0.0, n=2):
        for before, after in zip(pair, levelled(pair), strict=True):
            ratios = [
                one.busy_ns / other.busy_ns
                for one, other in zip(after.seconds, before.seconds, strict=True)
            ]
            assert max(abs(math.log(ratio)) for ratio in ratios) < 0.03
            assert [one.transactions for one in after.seconds] == [
                one.transactions for one in before.seconds
            ]


@pytest.mark.parametrize("late_s", [3.0, 12.0])
def test_curves_of_checkpoints_in_other_blocks_are_narrower_and_keep_their_truth(
    late_s: float,
) -> None:
    pairs = epochs(late_s, 0.15)
    plain, paired = bins(pairs), bins([levelled(pair) for pair in pairs])
    narrower = paired.std(axis=0) / plain.std(axis=0)
    assert narrower.max() < 0.95
    assert narrower.mean() < 0.75
    points = curve([levelled(pair) for pair in pairs])
    assert [round(point.to_ns / NS) for point in points] == [1, 2, 5, 10, 20, 30]
    error = paired.std(axis=0, ddof=1) / math.sqrt(len(pairs))
    for point, mean, own in zip(points, paired.mean(axis=0), error, strict=True):
        assert abs(mean - truth(point.from_ns / NS, point.to_ns / NS)) < 3.5 * own + 0.007


def test_effects_at_distances_are_those_that_were_planted() -> None:
    effects = effects_at([levelled(pair) for pair in epochs(3.0, 0.15, n=10)])
    assert [round(one.distance_ns / NS) for one in effects] == [5, 10, 15, 30]
    for one in effects:
        assert truth(0.0, one.distance_ns / NS) in one.estimate.interval


def test_checkpoints_in_the_same_blocks_have_the_ratio_of_plain_totals() -> None:
    pairs = epochs(0.0, 0.15)
    plain, paired = bins(pairs), bins([levelled(pair) for pair in pairs])
    assert abs(paired - plain).max() < 0.02


def test_arms_exchanged_have_the_opposite_contrast() -> None:
    pairs = [levelled(pair) for pair in epochs(3.0, 0.15, n=8)]
    others = [levelled((arm, control)) for control, arm in epochs(3.0, 0.15, n=8)]
    assert bins(others) == pytest.approx(-bins(pairs), abs=1e-6)


def test_a_stall_of_one_arm_is_its_own_and_not_the_machines() -> None:
    """Every tenth slice of the arm does nothing."""
    found = []
    for control, arm in epochs(3.0, 0.15):
        stalled = tuple(
            dataclasses.replace(one, transactions=0) if place % 10 == 7 else one
            for place, one in enumerate(arm.seconds)
        )
        found.append(levelled((control, dataclasses.replace(arm, seconds=stalled))))
    last = effects_at(found)[-1]
    assert last.estimate.value == pytest.approx(truth(0.0, 30.0) + math.log(0.9), abs=0.01)


def test_a_machine_that_stands_still_for_both_is_no_error() -> None:
    [(control, arm)] = epochs(3.0, 0.15, n=1)
    dead = [
        dataclasses.replace(
            turn,
            seconds=tuple(
                dataclasses.replace(one, transactions=0, busy_ns=0 if place % 2 else one.busy_ns)
                for place, one in enumerate(turn.seconds)
            ),
        )
        for turn in (control, arm)
    ]
    assert all(math.isfinite(one.busy_ns) for turn in levelled((dead[0], dead[1]))
               for one in turn.seconds)  # fmt: skip
