"""How long turns are: the smallest time scale whose turns the budget holds eight or ten times."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.analysis.pilot.log_curve import LogCurve
from steelyard.analysis.pilot.turn_lengths import (
    ArmCycle,
    Shortage,
    Spacing,
    TurnLengths,
    TurnPlanRequest,
    choose_lengths,
    least_budget_s,
    longest_solo_run_s,
)


def arm_of(timeout_s: float, wal_bytes: float, largest: float, rate: float) -> ArmCycle:
    """An arm that writes log at a steady rate, whose settings are divided without rounding."""
    curve = LogCurve.of([0.0, 15.0], [0.0, 15.0 * rate])
    return ArmCycle(lambda f: Spacing(timeout_s / f, wal_bytes / f), largest, curve)


FIVE_MINUTES = arm_of(300.0, 1e15, 10.0, 1e6)
ARMS = [FIVE_MINUTES, FIVE_MINUTES]


def chosen(wish: TurnPlanRequest, arms: list[ArmCycle] | None = None) -> TurnLengths:
    found = choose_lengths(arms or ARMS, wish, idle_s=5.0, warm_s=25.0)
    assert isinstance(found, TurnLengths)
    return found


def test_a_budget_that_holds_ten_epochs_at_the_arms_own_distance_leaves_it() -> None:
    # 2 cycles before, 2 measured, 5 s idle: 1205 s a turn, ten epochs of two take 24,100 s.
    found = chosen(TurnPlanRequest(budget_s=24_200, cycles=2))
    assert (found.scale, found.epochs, found.turn_s) == (1, 10, 1205)


def test_more_budget_gives_more_epochs_and_always_an_even_number() -> None:
    assert chosen(TurnPlanRequest(budget_s=31_400, cycles=2)).epochs == 12
    assert chosen(TurnPlanRequest(budget_s=1_000_000, cycles=2)).epochs == 40


def test_less_budget_brings_checkpoints_nearer_by_the_smallest_factor() -> None:
    found = chosen(TurnPlanRequest(budget_s=2_600, cycles=2))
    assert found.scale == 9.6  # ten epochs of two turns of 5 + 4 · 300 / 9.6 s
    assert found.total_s <= 2_600
    further = 10 * 2 * (5 + 4 * 300 / 9.5)
    assert further > 2_600


def test_with_the_largest_factor_eight_epochs_are_enough() -> None:
    # 5 + 4 · 30 = 125 s a turn: eight epochs of two take 2,000 s.
    found = chosen(TurnPlanRequest(budget_s=2_000, cycles=2))
    assert (found.scale, found.epochs) == (10, 8)


def test_less_than_that_is_a_shortage_and_says_what_it_takes() -> None:
    assert choose_lengths(
        ARMS, TurnPlanRequest(budget_s=1_999, cycles=2), idle_s=5.0, warm_s=25.0
    ) == (Shortage(2_000.0))


def test_all_turns_of_their_mean_length_take_what_the_epochs_take() -> None:
    nearer = arm_of(170.0, 1e15, 10.0, 1e6)  # of whole cycles come 510 s nearest to 600 s
    found = chosen(TurnPlanRequest(budget_s=24_200, cycles=2), [FIVE_MINUTES, nearer])
    assert found.mean_turn_s < found.turn_s
    assert found.epochs * 2 * found.mean_turn_s == found.total_s <= 24_200


def test_the_smaller_of_the_arms_limits_bounds_the_factor() -> None:
    stiff = arm_of(300.0, 1e15, 4.0, 1e6)
    found = choose_lengths(
        [FIVE_MINUTES, stiff], TurnPlanRequest(2_000, 2), idle_s=5.0, warm_s=25.0
    )
    assert found == Shortage(8 * 2 * (5 + 4 * 300 / 4))


def test_log_that_fills_before_the_timeout_spaces_checkpoints() -> None:
    by_log = arm_of(300.0, 1e9, 10.0, 5e7)
    assert by_log.seconds(1) == 20
    assert by_log.seconds(2) == 10


def test_each_arm_is_measured_over_its_own_cycles_as_late_and_as_long_as_the_others() -> None:
    near = arm_of(300.0, 1e9, 10.0, 5e7)
    found = chosen(
        TurnPlanRequest(budget_s=100_000, cycles=2), [near, arm_of(60.0, 1e15, 2.0, 1e6)]
    )
    assert found.cycles_s == (20, 60)
    # Two cycles of 60 s from the start to the first end, two measured; 5 s idle.
    assert found.epoch_s == 2 * (5 + 2 * 60 + 2 * 60)
    assert found.begins_s == (120 - 20, 120 - 60), "up to a cycle of its own before 120 s"
    assert found.least_s == (120 - 10, 120 - 30), "the end of a cycle that comes nearest"
    assert found.longest_s == (3 * 120, 3 * 120)


def test_whole_cycles_that_come_nearest_to_the_longest_turn_are_measured() -> None:
    arms = [arm_of(each, 1e15, 1.0, 1e6) for each in (60.0, 45.0, 25.0)]
    found = chosen(TurnPlanRequest(budget_s=100_000, cycles=2), arms)
    halves = [each / 2 for each in found.cycles_s]
    measured = [least + half for least, half in zip(found.least_s, halves, strict=True)]
    assert measured == [120, 3 * 45, 5 * 25]
    assert found.longest_s == (3 * 135,) * 3, "alike, whatever the pilot made of each"


def test_arms_of_equal_cycles_begin_at_their_first_checkpoint_after_the_warm_up() -> None:
    near = arm_of(8.0, 1e15, 1.0, 1e6)
    found = chosen(TurnPlanRequest(budget_s=10_000, cycles=2), [near, near])
    assert found.begins_s == (24, 24), "an end is due at 32 s"
    assert found.least_s == (12, 12), "of two cycles, or 10 s"
    far = chosen(TurnPlanRequest(budget_s=100_000, cycles=2, scale=1))
    assert far.begins_s == (300, 300), "its first ends at 600 s"


def test_an_arm_without_checkpoints_begins_as_late_and_is_measured_as_long_as_the_others() -> None:
    still = arm_of(300.0, 1e9, 10.0, 0.0)
    assert still.seconds(1) == math.inf
    found = chosen(
        TurnPlanRequest(budget_s=100_000, cycles=2), [still, arm_of(60.0, 1e15, 2.0, 1e6)]
    )
    assert found.epoch_s == 2 * (5 + 2 * 60 + 120)
    assert found.begins_s == (120, 60)
    assert (found.least_s[0], found.longest_s) == (120, (120, 3 * 120))
    assert found.waits_s == (0, 1.5 * 2 * 60), "it waits for no checkpoint of its own"


def test_short_cycles_are_planned_whole() -> None:
    near = arm_of(3.7, 1e15, 1.0, 1e6)
    found = chosen(TurnPlanRequest(budget_s=1_000, cycles=2), [near, near])
    assert found.turn_s == pytest.approx(5 + 25 + 3.7 + 3 * 3.7)


def test_the_burst_after_a_start_does_not_make_later_cycles_seem_short() -> None:
    # 40 MB/s for 3 s, then 1 MB/s: 150 MB take 33 s, at the mean rate of the first 15 s 17 s.
    seconds = list(range(16))
    written = [40e6 * min(s, 3) + 1e6 * max(0, s - 3) for s in seconds]
    burst = replace(arm_of(300.0, 150e6, 10.0, 1.0), log=LogCurve.of(seconds, written))
    assert burst.seconds(1) == pytest.approx(33)
    assert burst.seconds(2) == pytest.approx(75 / 40), "as near, it lies in the burst"


def test_whole_cycles_that_were_seen_correct_what_a_server_with_empty_pools_wrote() -> None:
    by_log = arm_of(300.0, 1e9, 10.0, 5e7)
    assert replace(by_log, seen_s=16.0).seconds(1) == 16
    assert replace(by_log, seen_s=16.0).seconds(2) == 8
    by_time = arm_of(30.0, 1e15, 1.0, 5e7)
    assert replace(by_time, seen_s=30.1).seconds(1) == 30, "a timeout says nothing of the log"


def test_how_near_checkpoints_really_are_counts_whole_segments() -> None:
    def whole(scale: float) -> Spacing:
        return Spacing(round(300 / scale), max(1, round(3 / scale)) * 16e6)

    by_log = replace(arm_of(300.0, 48e6, 3.0, 1e7), spacing=whole)
    assert by_log.nearer(1.4) == 1.5
    assert by_log.nearer(2.0) == 1.5  # Python rounds 1.5 to 2 segments
    assert replace(by_log, log=LogCurve.of([0, 15], [0, 15e3])).nearer(7) == 300 / 43


def test_the_pilot_looks_as_long_as_a_cycle_that_the_budget_can_hold() -> None:
    assert longest_solo_run_s(TurnPlanRequest(2_700, 2), arms=2) == 2_700 / 80
    assert longest_solo_run_s(TurnPlanRequest(600, 2), arms=2) == 15
    assert longest_solo_run_s(TurnPlanRequest(1e6, 2), arms=2) == 120
    assert longest_solo_run_s(TurnPlanRequest(1e6, 2, stated_s=30.0), arms=2) == 15


def test_where_no_arm_makes_checkpoints_the_budget_is_shared() -> None:
    still = arm_of(300.0, 1e9, 10.0, 0.0)
    found = chosen(TurnPlanRequest(budget_s=1_200, cycles=2), [still, still])
    assert (found.scale, found.epochs, found.longest_s) == (1, 10, (30, 30))
    assert (found.begins_s, found.least_s) == ((0, 0), (30, 30))


def test_a_stated_time_is_measured_in_place_of_cycles() -> None:
    found = chosen(TurnPlanRequest(budget_s=100_000, cycles=2, stated_s=45.0, scale=10))
    assert (found.longest_s, found.turn_s) == ((45, 45), 5 + 60 + 45)


def test_what_the_study_says_holds() -> None:
    found = chosen(TurnPlanRequest(budget_s=100_000, cycles=3, scale=2.5, epochs=12))
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
    arms = [arm_of(*each) for each in facts]
    found = choose_lengths(arms, TurnPlanRequest(budget_s, cycles), idle_s=5.0, warm_s=25.0)
    largest = min(arm.largest_scale for arm in arms)
    if isinstance(found, Shortage):
        assert found.needed_s > budget_s
        wish = TurnPlanRequest(found.needed_s * 1.001, cycles)
        again = choose_lengths(arms, wish, idle_s=5.0, warm_s=25.0)
        assert isinstance(again, TurnLengths)
        return
    assert 8 <= found.epochs <= 40
    assert found.epochs % 2 == 0
    assert 1 <= found.scale <= largest
    assert found.total_s <= budget_s * (1 + 1e-6)


def test_the_least_budget_is_known_before_anything_is_started() -> None:
    assert least_budget_s(2, None) == 320
    assert least_budget_s(3, 10) == 600
