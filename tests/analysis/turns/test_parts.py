"""The four parts of a turn are two halves of as many whole cycles, each cut in two."""

from __future__ import annotations

import dataclasses

import pytest

from analysis.turns.made import NS, make_turn
from steelyard.analysis.turns.evenness import four_parts
from steelyard.model.turn import Turn


def seconds_of(turn: Turn) -> list[list[int]]:
    zero = turn.seconds[0].start_ns
    return [[(one.start_ns - zero) // NS for one in part] for part in four_parts(turn)]


def test_two_cycles_are_a_half_each() -> None:
    parts = seconds_of(make_turn(cycle_s=30.0))
    assert parts == [[*range(low, low + 15)] for low in (0, 15, 30, 45)]


def test_of_three_cycles_the_middle_one_is_left_out() -> None:
    parts = seconds_of(make_turn(cycle_s=20.0, writes_s=18.0))
    assert parts == [[*range(low, low + 10)] for low in (0, 10, 40, 50)]


def test_what_follows_the_last_whole_cycle_is_left_out() -> None:
    parts = seconds_of(make_turn(seconds=70, cycle_s=30.0, writes_s=27.0))
    assert parts[-1][-1] == 59


def test_the_part_of_a_cycle_in_which_a_turn_began_is_left_out() -> None:
    turn = make_turn(seconds=75, cycle_s=30.0, writes_s=27.0, lead_s=12.0, at_checkpoint=False)
    assert seconds_of(turn) == [[*range(low, low + 15)] for low in (15, 30, 45, 60)]


@pytest.mark.parametrize("writes_s", [1.0, 9.0, 27.0])
@pytest.mark.parametrize("end", ["cycles", "longest"])
def test_in_own_time_a_cycle_goes_from_begin_to_begin_however_long_its_checkpoint_writes(
    writes_s: float, end: str
) -> None:
    turn = make_turn(cycle_s=30.0, writes_s=writes_s, lead_s=0.5, end=end)
    seconds = tuple(dataclasses.replace(one, wall_ns=2.0 * one.start_ns) for one in turn.seconds)
    parts = seconds_of(dataclasses.replace(turn, seconds=seconds))
    assert parts == [[*range(15)], [*range(15, 29)], [*range(29, 44)], [*range(44, 59)]]


@pytest.mark.parametrize("ended", [0, 1])
def test_with_fewer_than_two_cycles_the_time_is_cut_in_four(ended: int) -> None:
    turn = make_turn()
    turn = dataclasses.replace(turn, checkpoints=turn.checkpoints[1 : 1 + ended])
    assert [len(part) for part in seconds_of(turn)] == [15] * 4


def test_a_turn_that_measured_nothing_has_empty_parts() -> None:
    assert four_parts(dataclasses.replace(make_turn(), seconds=())) == [[], [], [], []]
