"""Killed at whatever moment, a weighing loses no slice, is completed, and leaves nothing."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from killing import TINY, VICTIMS, Killings
from underway import Underway, stopped, until

pytestmark = pytest.mark.postgres

Start = Callable[..., Underway]


@pytest.mark.long
def test_a_few_kills_lose_no_slice_and_leave_nothing(start: Start) -> None:
    killings = Killings(start, random.Random(20))
    killings.strike(2)
    assert killings.struck.total() == 2


@pytest.mark.long
def test_twenty_kills_lose_no_slice_and_leave_nothing(start: Start) -> None:
    killings = Killings(start, random.Random(20))
    killings.strike(20)
    assert killings.struck.total() == 20
    assert set(killings.struck) == set(VICTIMS)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10))
def test_two_hundred_kills_lose_no_slice_and_leave_nothing(start: Start, seed: int) -> None:
    killings = Killings(start, random.Random(seed))
    killings.strike(20)
    assert killings.completed


@pytest.mark.long
def test_arms_that_stood_frozen_at_a_kill_are_neither_left_stopped_nor_left_at_all(
    start: Start,
) -> None:
    """SIGKILL reaches a process that was stopped; nobody thaws it for that."""
    killed = start("record", *TINY, "--seed", "3")
    killed.in_the_middle_of(2)
    traces = killed.traces()
    until(lambda: bool(stopped(traces.processes)), "an idle arm to be frozen")
    killed.process.kill()
    killed.end()
    assert stopped(traces.processes), "nobody is there to thaw them"
    resumed = start("record", "--resume", str(killed.record))
    resumed.wait_for("compare the arms")
    until(lambda: traces.left == [], "the next start to clean up")
    assert resumed.end() == 0, resumed.said
