"""How long turns are: the smallest time scale whose turns the budget holds eight or ten times."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from steelyard.analysis.pilot.turn_lengths import (
    ArmCycle,
    Shortage,
    TurnLengths,
    Wish,
    choose_lengths,
    least_budget_s,
)

FIVE_MINUTES = ArmCycle(300.0, 1e15, 10.0, 1e6)
ARMS = [FIVE_MINUTES, FIVE_MINUTES]


def chosen(wish: Wish, arms: list[ArmCycle] | None = None) -> TurnLengths:
    found = choose_lengths(arms or ARMS, wish, idle_s=5.0, warm_s=25.0)
    assert isinstance(found, TurnLengths)
    return found


def test_a_budget_that_holds_ten_epochs_at_the_arms_own_distance_leaves_it() -> None:
    # 2 cycles before, 2 measured, 5 s idle: 1205 s a turn, ten epochs of two take 24,100 s.
    found = chosen(Wish(budget_s=24_200, cycles=2))
    assert (found.scale, found.epochs, found.turn_s) == (1, 10, 1205)


def test_more_budget_gives_more_epochs_and_always_an_even_number() -> None:
    assert chosen(Wish(budget_s=31_400, cycles=2)).epochs == 12
    assert chosen(Wish(budget_s=1_000_000, cycles=2)).epochs == 40


def test_less_budget_brings_checkpoints_nearer_by_the_smallest_factor() -> None:
    found = chosen(Wish(budget_s=2_600, cycles=2))
    assert found.scale == 9.6  # ten epochs of two turns of 5 + 4 · 300 / 9.6 s
    assert found.total_s <= 2_600
    further = 10 * 2 * (5 + 4 * 300 / 9.5)
    assert further > 2_600


def test_with_the_largest_factor_eight_epochs_are_enough() -> None:
    # 5 + 4 · 30 = 125 s a turn: eight epochs of two take 2,000 s.
    found = chosen(Wish(budget_s=2_000, cycles=2))
    assert (found.scale, found.epochs) == (10, 8)


def test_less_than_that_is_a_shortage_and_says_what_it_takes() -> None:
    assert choose_lengths(ARMS, Wish(budget_s=1_999, cycles=2), idle_s=5.0, warm_s=25.0) == (
        Shortage(2_000.0)
    )


def test_all_turns_of_their_mean_length_take_what_the_epochs_take() -> None:
    rarer = ArmCycle(300.0, 1e15, 10.0, 0.0)  # makes no checkpoint: no cycle before it is measured
    found = chosen(Wish(budget_s=24_200, cycles=2), [FIVE_MINUTES, rarer])
    assert found.mean_turn_s < found.turn_s
    assert found.epochs * 2 * found.mean_turn_s == found.total_s <= 24_200


def test_the_smaller_of_the_arms_limits_bounds_the_factor() -> None:
    stiff = ArmCycle(300.0, 1e15, 4.0, 1e6)
    found = choose_lengths([FIVE_MINUTES, stiff], Wish(2_000, 2), idle_s=5.0, warm_s=25.0)
    assert found == Shortage(8 * 2 * (5 + 4 * 300 / 4))


def test_log_that_fills_before_the_timeout_spaces_checkpoints() -> None:
    by_log = ArmCycle(300.0, 1e9, 10.0, 5e7)
    assert by_log.seconds(1) == 20
    assert by_log.seconds(2) == 10


def test_each_arm_is_measured_over_its_own_cycles() -> None:
    near = ArmCycle(300.0, 1e9, 10.0, 5e7)
    found = chosen(Wish(budget_s=100_000, cycles=2), [near, ArmCycle(60.0, 1e15, 2.0, 1e6)])
    assert found.cycles_s == (20, 60)
    # 25 s of warm-up, up to a cycle until a checkpoint ends, two cycles; idle 5 s.
    assert found.epoch_s == 5 + (25 + 20) + 40 + 5 + 2 * 60 + 120


def test_an_arm_without_checkpoints_is_measured_as_long_as_the_others() -> None:
    still = ArmCycle(300.0, 1e9, 10.0, 0.0)
    assert still.seconds(1) == math.inf
    found = chosen(Wish(budget_s=100_000, cycles=2), [still, ArmCycle(60.0, 1e15, 2.0, 1e6)])
    assert found.epoch_s == (5 + 25 + 120) + (5 + 2 * 60 + 120)


def test_where_no_arm_makes_checkpoints_the_budget_is_shared() -> None:
    still = ArmCycle(300.0, 1e9, 10.0, 0.0)
    found = chosen(Wish(budget_s=1_200, cycles=2), [still, still])
    assert (found.scale, found.epochs, found.longest_s) == (1, 10, 30)


def test_a_stated_time_is_measured_in_place_of_cycles() -> None:
    found = chosen(Wish(budget_s=100_000, cycles=2, stated_s=45.0, scale=10))
    assert (found.longest_s, found.turn_s) == (45, 5 + 60 + 45)


def test_what_the_study_says_holds() -> None:
    found = chosen(Wish(budget_s=100_000, cycles=3, scale=2.5, epochs=12))
    assert (found.scale, found.epochs, found.turn_s) == (2.5, 12, 5 + 5 * 120)


@given(
    st.lists(
        st.tuples(st.floats(30, 3600), st.floats(1e6, 1e12), st.floats(1, 50), st.floats(0, 1e9)),
        min_size=2,
        max_size=4,
    ),
    st.floats(60, 1e5),
    st.integers(2, 5),
)
def test_what_is_chosen_fits_the_budget_and_a_shortage_really_is_one(
    facts: list[tuple[float, float, float, float]], budget_s: float, cycles: int
) -> None:
    arms = [ArmCycle(*each) for each in facts]
    found = choose_lengths(arms, Wish(budget_s, cycles), idle_s=5.0, warm_s=25.0)
    largest = min(arm.largest_scale for arm in arms)
    if isinstance(found, Shortage):
        assert found.needed_s > budget_s
        assert choose_lengths(arms, Wish(found.needed_s * 1.001, cycles), idle_s=5.0, warm_s=25.0)
        return
    assert 8 <= found.epochs <= 40
    assert found.epochs % 2 == 0
    assert 1 <= found.scale <= largest
    assert found.total_s <= budget_s * (1 + 1e-6)


def test_the_least_budget_is_known_before_anything_is_started() -> None:
    assert least_budget_s(2, None) == 320
    assert least_budget_s(3, 10) == 600
