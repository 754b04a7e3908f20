"""Stalls are found where they are, with their length and what went on."""

from __future__ import annotations

import dataclasses
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.turns.made import MB, NS, make_turn
from steelyard.analysis.turns.stalls import STALLED_BELOW, StallCause, stalls
from steelyard.model.turn import Checkpoint, Second, Turn

ZERO = 1_000 * NS


def turn_of(
    speeds: list[float],
    checkpoints: tuple[tuple[float, float | None], ...] = (),
    waiting: list[float] | None = None,
) -> Turn:
    rows = tuple(
        Second(
            ZERO + i * NS,
            ZERO + (i + 1) * NS,
            round(speed),
            8 * NS,
            waiting_bytes=(waiting or [0.0] * len(speeds))[i],
        )
        for i, speed in enumerate(speeds)
    )
    seen = tuple(
        Checkpoint(
            ZERO + round(begin * NS), None if end is None else ZERO + round(end * NS), "time"
        )
        for begin, end in checkpoints
    )
    return dataclasses.replace(make_turn(checkpoints=seen), seconds=rows)


def low_at(*places: int, of: int = 40) -> list[float]:
    return [300.0 if place in places else 1000.0 for place in range(of)]


def test_a_run_of_slow_seconds_is_one_stall_with_its_time_length_and_depth() -> None:
    found = stalls(turn_of(low_at(10, 11, 12, 30)))
    assert [(one.from_ns, one.length_ns) for one in found] == [(10 * NS, 3 * NS), (30 * NS, NS)]
    assert found[0].depth == pytest.approx(0.3)
    assert not found[0].storm
    assert stalls(turn_of(low_at(*range(5, 10))))[0].storm


@pytest.mark.parametrize(
    ("begin", "end", "cause"),
    [
        (9.5, 30.0, StallCause.CHECKPOINT_BEGIN),
        (2.0, 30.0, StallCause.CHECKPOINT_WRITE),
        (2.0, 11.0, StallCause.CHECKPOINT_SYNC),
        (2.0, None, StallCause.CHECKPOINT_WRITE),
        (10.2, 10.6, StallCause.CHECKPOINT_SYNC),
        (12.0, 30.0, StallCause.UNKNOWN),
        (2.0, 8.0, StallCause.UNKNOWN),
    ],
)
def test_the_part_of_a_checkpoint_that_a_stall_overlaps_is_named(
    begin: float, end: float | None, cause: StallCause
) -> None:
    [found] = stalls(turn_of(low_at(10), ((begin, end),)))
    assert found.cause is cause


def test_write_back_is_named_where_much_was_written_or_much_waited() -> None:
    falling = [500.0 * MB] * 10 + [200.0 * MB] * 30
    assert stalls(turn_of(low_at(10), (), falling))[0].cause is StallCause.WRITE_BACK
    high = [500.0 * MB] * 10 + [900.0 * MB] + [500.0 * MB] * 29
    assert stalls(turn_of(low_at(10), (), high))[0].cause is StallCause.WRITE_BACK
    few = [5.0 * MB] * 10 + [1.0 * MB] * 30
    assert stalls(turn_of(low_at(10), (), few))[0].cause is StallCause.UNKNOWN
    unknown = [float("nan")] * 40
    assert stalls(turn_of(low_at(10), (), unknown))[0].cause is StallCause.UNKNOWN


def test_a_checkpoint_goes_before_the_write_back_that_it_makes() -> None:
    falling = [500.0 * MB] * 10 + [200.0 * MB] * 30
    found = stalls(turn_of(low_at(10), ((2.0, 11.0),), falling))
    assert found[0].cause is StallCause.CHECKPOINT_SYNC


@given(st.lists(st.integers(0, 2000), min_size=1, max_size=80))
def test_stalls_hold_exactly_the_slow_seconds(speeds: list[int]) -> None:
    turn = turn_of([float(one) for one in speeds])
    level = sorted(speeds)[len(speeds) // 2] if len(speeds) % 2 else None
    found = stalls(turn)
    total = sum(one.length_ns for one in found) // NS
    if level:
        assert total == sum(one < STALLED_BELOW * level for one in speeds)
    assert all(a.from_ns + a.length_ns < b.from_ns for a, b in pairwise(found))


def test_a_turn_that_did_nothing_has_no_level_to_fall_from() -> None:
    assert stalls(turn_of([0.0] * 10)) == ()
    assert stalls(make_turn(seconds=0)) == ()
