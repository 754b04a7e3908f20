"""Designs are balanced, deterministic for a seed, and as long as the budget allows."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.study.design import (
    balanced_orders,
    block_count,
    counted_epochs,
    draw_design,
    epochs_for,
    first_look,
    longer_epochs,
    slice_candidates,
)
from steelyard.study.read import read_study


@given(st.integers(2, 4), st.integers(1, 8), st.integers(0, 10**6))
def test_every_arm_holds_every_place_equally_often(arms: int, times: int, seed: int) -> None:
    rows = balanced_orders(arms, arms * times, random.Random(seed))
    for arm in range(arms):
        places = Counter(row[arm] for row in rows)
        assert set(places.values()) == {times}
    assert all(sorted(row) == list(range(arms)) for row in rows)


def test_assignments_are_uniform_and_not_swapped_pairs() -> None:
    """All 20 ways to give an arm 3 of 6 epochs in the first slot come equally often."""
    seen = Counter(
        tuple(row[0] for row in balanced_orders(2, 6, random.Random(seed))) for seed in range(4000)
    )
    assert len(seen) == 20
    assert max(seen.values()) < 2 * min(seen.values())


@pytest.mark.parametrize(
    ("budget", "cost", "epochs"),
    [
        ("20s", "foreground", 10),
        ("30s", "foreground", 10),
        ("60s", "foreground", 10),
        ("2m", "foreground", 18),
        ("2m", "whole", 10),
        ("1h", "foreground", 40),
    ],
)
def test_a_budget_is_cut_into_an_even_number_of_epochs_and_at_least_ten(
    budget: str, cost: str, epochs: int
) -> None:
    study = read_study("aa", [f"budget.measuring={budget}"])
    assert epochs_for(study, cost) == epochs
    design = draw_design(study, 1, cost)
    assert design.epoch_ns * epochs == pytest.approx(study.budget.measuring, abs=epochs)


def test_the_early_look_comes_at_two_thirds_and_never_before_eight() -> None:
    assert [first_look(n) for n in (8, 9, 10, 12, 18, 40)] == [None, 8, 8, 8, 12, 27]


def test_the_same_seed_gives_the_same_design() -> None:
    study = read_study("aa")
    one, same, other = (draw_design(study, seed, "foreground") for seed in (3, 3, 4))
    assert one == same
    assert one.blocks(2, 50) == same.blocks(2, 50)
    assert one.script_seed(2) == same.script_seed(2)
    assert one.assignment != other.assignment


def test_a_longer_list_of_blocks_begins_like_a_shorter_one() -> None:
    design = draw_design(read_study("aa"), 1, "foreground")
    assert design.blocks(0, 40)[:25] == design.blocks(0, 25)


def test_epochs_past_the_plan_are_drawn_as_they_come() -> None:
    design = draw_design(read_study("aa"), 1, "foreground")
    beyond = [design.slots_of(epoch)["a"] for epoch in range(design.epochs, design.epochs + 40)]
    assert set(beyond) == {0, 1}


def test_no_slice_is_longer_than_a_twentieth_of_its_epoch_where_one_fits() -> None:
    second = 10**9
    assert max(slice_candidates(6 * second, "foreground")) <= 6 * second // 20
    assert slice_candidates(second // 2, "foreground") == (second // 20,)


def test_blocks_fill_the_epoch_and_there_is_always_one() -> None:
    assert block_count(6_000, 2, 100) == 30
    assert block_count(10, 2, 100) == 1


@given(st.integers(1, 200), st.integers(20, 600))
def test_longer_epochs_leave_twice_the_warm_up_and_are_never_under_eight(
    warmup_s: int, budget_s: int
) -> None:
    study = read_study("settings", [f"budget.measuring={budget_s}s"])
    planned = draw_design(study, 1, "foreground")
    epochs = longer_epochs(planned, study, warmup_s * 10**9)
    assert 8 <= epochs <= planned.epochs
    longer = draw_design(study, 1, "foreground", epochs)
    assert (longer.epochs, longer.epoch_ns) == (epochs, study.budget.measuring // epochs)
    assert longer.first_look == first_look(epochs)
    assert epochs in (8, planned.epochs) or longer.epoch_ns >= 2 * warmup_s * 10**9


@given(st.floats(0.01, 1000), st.integers(20, 3600))
def test_epochs_of_executions_are_as_many_as_the_budget_has_room_for(
    epoch_s: float, budget_s: int
) -> None:
    counted = "budget.counted={each = 1, blocks = 12}"
    study = read_study("settings", [f"budget.measuring={budget_s}s", counted])
    planned, epoch_ns = draw_design(study, 1, "foreground"), round(epoch_s * 1e9)
    epochs = counted_epochs(planned, study, epoch_ns)
    assert 10 <= epochs <= planned.epochs
    assert epochs % 2 == 0
    assert epochs == 10 or epochs * epoch_ns <= study.budget.measuring
    assert epochs == planned.epochs or (epochs + 2) * epoch_ns > study.budget.measuring
    own = read_study("settings", ["budget.epochs=24", counted])
    assert counted_epochs(draw_design(own, 1, "foreground"), own, epoch_ns) == 24
