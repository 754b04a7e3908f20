"""How long epochs in cycles are: all arms as old and as long as the one with the longest cycles."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from steelyard.analysis.pilot.cycle_lengths import (
    FEWEST_SLICES,
    LEVEL_SLICES,
    SLICES_A_CYCLE,
    WANTED_SLICE_S,
    CycleLengths,
    choose_cycle_lengths,
)
from steelyard.analysis.pilot.log_curve import LogCurve
from steelyard.analysis.pilot.turn_lengths import (
    MOST_MEASURED,
    ArmCycle,
    Shortage,
    Spacing,
    TurnLengths,
    TurnPlanRequest,
    choose_lengths,
)

MB = float(1 << 20)


def arm(timeout_s: float = 300.0, log_mb: float = 1e6, rate_mb: float = 1.0) -> ArmCycle:
    """An arm whose checkpoints are so far apart, and that writes log at a steady rate."""
    seconds = [float(n) for n in range(31)]
    return ArmCycle(
        spacing=lambda scale: Spacing(timeout_s / scale, log_mb * MB / scale),
        largest_scale=20.0,
        log=LogCurve.of(seconds, [rate_mb * MB * n for n in seconds]),
    )


def continuous(log_mb: float, rate_mb: float = 1.0) -> ArmCycle:
    """An arm whose log turns over after so much of it, with rounds of 0.95 s."""
    return replace(arm(1e9, log_mb, rate_mb), continuous=True, round_s=0.95)


def lengths(
    *arms: ArmCycle, minutes: float = 30, level_s: float | None = None, **wishes: object
) -> CycleLengths:
    wish = TurnPlanRequest(budget_s=60 * minutes, cycles=2, **wishes)  # type: ignore[arg-type]
    chosen = choose_cycle_lengths(
        arms, wish, idle_s=6.0, warm_s=25.0, latency_s=0.002, level_s=level_s
    )
    assert isinstance(chosen, CycleLengths)
    return chosen


def test_half_an_hour_holds_ten_epochs_of_two_arms_with_checkpoints_every_half_minute() -> None:
    chosen = lengths(arm(), arm())
    assert chosen.epochs == 10
    assert chosen.total_s <= 1800
    assert chosen.cycles_s[0] == pytest.approx(300 / chosen.scale)
    assert 20 < chosen.cycles_s[0] < 60


def test_an_epoch_takes_the_own_time_of_every_arm() -> None:
    two, four = (lengths(*[arm()] * n, scale=10.0, minutes=240) for n in (2, 4))
    assert (four.epoch_s - 6) / (two.epoch_s - 6) == pytest.approx(2)
    assert two.epoch_s - 6 >= 2 * (30 + 2 * 30)  # a cycle before the window, two in it


def test_every_arm_is_measured_as_late_and_about_as_long_as_the_one_with_the_longest_cycles() -> (
    None
):
    chosen = lengths(arm(), arm(rate_mb=1e5 / 300 * 20), scale=10.0, minutes=240)
    own = [
        (begin + cycle / 2, least + cycle / 2)
        for begin, cycle, least in zip(
            chosen.begins_s, chosen.cycles_s, chosen.least_s, strict=True
        )
    ]
    (age, length), (other_age, other_length) = own
    assert chosen.cycles_s[0] > chosen.cycles_s[1]
    assert age == pytest.approx(other_age)
    assert abs(length - other_length) <= chosen.cycles_s[1] / 2 + 1e-9


def test_a_slice_is_a_small_part_of_a_cycle_and_many_transactions_long() -> None:
    assert lengths(arm(), arm(), scale=10.0, minutes=240).slice_s == WANTED_SLICE_S
    short = lengths(arm(), arm(), scale=100.0, minutes=240)
    assert short.slice_s < WANTED_SLICE_S
    assert short.slice_s <= min(short.cycles_s) / SLICES_A_CYCLE
    slow = choose_cycle_lengths(
        [arm(), arm()], TurnPlanRequest(budget_s=1e5, cycles=2), idle_s=6, warm_s=25, latency_s=0.04
    )
    assert isinstance(slow, CycleLengths)
    assert slow.slice_s == pytest.approx(20 * 0.04)


@pytest.mark.parametrize("latency_s", [0.001, 0.1, 0.3, 1.0, 5.0, 60.0])
@pytest.mark.parametrize("minutes", [30.0, 600.0])
def test_what_is_measured_holds_some_slices_or_they_are_coarse(
    latency_s: float, minutes: float
) -> None:
    wish = TurnPlanRequest(budget_s=60 * minutes, cycles=2)
    chosen = choose_cycle_lengths(
        [arm(), arm()], wish, idle_s=6.0, warm_s=25.0, latency_s=latency_s
    )
    assert isinstance(chosen, CycleLengths)
    planned_s = min(longest / MOST_MEASURED for longest in chosen.longest_s)
    assert chosen.measured_s == pytest.approx(planned_s)
    assert chosen.coarse == (planned_s < FEWEST_SLICES * chosen.slice_s)
    assert chosen.coarse == (latency_s >= (1.0 if minutes == 30 else 60.0))


def age_s(chosen: CycleLengths) -> float:
    """Own time of the checkpoint at which measuring begins."""
    return chosen.begins_s[0] + chosen.cycles_s[0] / 2


@pytest.mark.parametrize(
    ("level_s", "slice_s", "age"),
    [
        (None, 0.2, 25.0),  # still falling when the look ended
        (0.0, 0.2, 5.0),
        (0.0, 0.5, 15.0),  # 12.5 s, and the next checkpoint
        (8.0, 0.2, 10.0),
        (40.0, 0.2, 25.0),
        (0.0, 2.0, 25.0),
    ],
)
def test_arms_that_read_evenly_are_warm_as_soon_as_a_level_can_be_seen(
    level_s: float | None, slice_s: float, age: float
) -> None:
    often = arm(timeout_s=100.0)
    chosen = lengths(often, often, level_s=level_s, slice_s=slice_s, scale=20.0, minutes=240)
    assert chosen.cycles_s == (5.0, 5.0)
    assert age_s(chosen) == age
    assert age_s(chosen) >= min(25.0, LEVEL_SLICES * slice_s)


def test_arms_that_do_not_wait_for_a_checkpoint_are_warm_when_they_always_were() -> None:
    still = ArmCycle(lambda scale: Spacing(300 / scale, 1e9), 20.0, LogCurve((), ()))
    for arms in ((still, still), (continuous(20.0), continuous(20.0)), (still, arm())):
        sooner = lengths(*arms, level_s=0.0, scale=1.0, minutes=600)
        assert sooner == lengths(*arms, scale=1.0, minutes=600)


def test_a_slice_of_the_study_is_that_of_the_cycles() -> None:
    assert lengths(arm(), arm(), slice_s=1.5).slice_s == 1.5
    assert not lengths(arm(), arm(), slice_s=1.5).coarse
    assert lengths(arm(), arm(), slice_s=30.0).coarse


def test_arms_that_write_nothing_are_measured_for_what_the_budget_holds() -> None:
    still = ArmCycle(lambda scale: Spacing(300 / scale, 1e9), 20.0, LogCurve((), ()))
    chosen = lengths(still, still)
    assert all(math.isinf(cycle) for cycle in chosen.cycles_s)
    assert chosen.total_s <= 1800


def test_a_budget_that_holds_no_eight_epochs_is_a_shortage_that_says_what_they_take() -> None:
    short = choose_cycle_lengths(
        [arm(), arm()],
        TurnPlanRequest(budget_s=120, cycles=2),
        idle_s=6,
        warm_s=25,
        latency_s=0.002,
    )
    assert isinstance(short, Shortage)
    assert lengths(arm(), arm(), minutes=short.needed_s / 60).epochs == 8


@pytest.mark.parametrize("rates_mb", [(1.0, 1.0), (1.0, 2.0), (3.0, 1.0)])
def test_where_no_checkpoint_is_to_be_seen_all_begin_at_one_age_and_last_as_long(
    rates_mb: tuple[float, float],
) -> None:
    arms = [continuous(40.0, rate) for rate in rates_mb]
    chosen = lengths(*arms, minutes=60, scale=1.0)
    slowest_s = 40.0 / min(rates_mb)
    assert chosen.cycles_s == pytest.approx([40.0 / rate for rate in rates_mb])
    assert chosen.begins_s == pytest.approx([slowest_s] * 2), "the log has turned over once"
    assert chosen.least_s == chosen.longest_s == pytest.approx([2 * slowest_s] * 2)
    assert chosen.waits_s == (0.0, 0.0)
    turns = choose_lengths(
        arms, TurnPlanRequest(budget_s=3600, cycles=2, scale=1.0), idle_s=6.0, warm_s=25.0
    )
    assert isinstance(turns, TurnLengths)
    assert (turns.begins_s, turns.least_s, turns.longest_s, turns.waits_s) == (
        chosen.begins_s, chosen.least_s, chosen.longest_s, chosen.waits_s,
    )  # fmt: skip
    assert turns.turn_s == pytest.approx(6.0 + 3 * slowest_s)


def test_a_slice_holds_whole_rounds_of_the_background_work() -> None:
    assert lengths(continuous(40.0), continuous(40.0)).slice_s == 0.95
    slow = choose_cycle_lengths(
        [continuous(40.0)] * 2,
        TurnPlanRequest(budget_s=7200, cycles=2),
        idle_s=6.0,
        warm_s=25.0,
        latency_s=0.1,
    )
    assert isinstance(slow, CycleLengths)
    assert slow.slice_s == pytest.approx(3 * 0.95)


def test_a_large_log_is_made_smaller_until_the_budget_holds_turns_of_it() -> None:
    chosen = lengths(continuous(400.0), continuous(400.0))
    assert chosen.scale > 10
    assert chosen.epochs == 10
    assert chosen.total_s <= 1800
