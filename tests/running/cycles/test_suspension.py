"""One arm at a time is awake, and time between its slices is not its own."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.model.errors import ServerError
from steelyard.running.cycles.suspension import ArmSuspension, OwnTime

LENGTHS = st.lists(st.tuples(st.integers(0, 50), st.integers(1, 50)), min_size=1, max_size=20)


def own_time(lengths: list[tuple[int, int]]) -> tuple[OwnTime, list[tuple[int, int]]]:
    """Own time after slices of these lengths, each after a pause; and the slices."""
    time, wall, slices = OwnTime(), 1000, []
    for pause, length in lengths:
        wall += pause
        time.add(wall, wall + length)
        slices.append((wall, wall + length))
        wall += length
    return time, slices


@given(LENGTHS)
def test_own_time_is_the_sum_of_the_slices(lengths: list[tuple[int, int]]) -> None:
    time, _ = own_time(lengths)
    assert time.now_ns == sum(length for _, length in lengths)


@given(LENGTHS, st.integers(900, 3000))
def test_a_moment_has_the_time_of_the_slices_before_it(
    lengths: list[tuple[int, int]], moment: int
) -> None:
    time, slices = own_time(lengths)
    inside = sum(max(0, min(end, moment) - start) for start, end in slices if start <= moment)
    assert time.at(moment) == inside


@given(LENGTHS, st.integers(900, 3000), st.integers(0, 100))
def test_a_later_moment_is_never_earlier(
    lengths: list[tuple[int, int]], moment: int, later: int
) -> None:
    time, _ = own_time(lengths)
    assert time.at(moment) <= time.at(moment + later)


class Arm:
    """A server that can be held still, and says so."""

    identity = SimpleNamespace(kind="made")

    def __init__(self, used_ns: int = 0) -> None:
        self.running, self.still, self.holds, self.used_ns = True, False, True, used_ns

    def suspend(self) -> None:
        if not self.holds:
            raise ServerError("a process went on", detail="Of number 7.")
        self.still = True

    def resume(self) -> int:
        was, self.still = self.still, False
        return self.used_ns if was else 0


def suspension_of(arms: dict[str, Arm]) -> ArmSuspension:
    instances: Any = arms
    return ArmSuspension(instances)


@given(st.lists(st.sampled_from("abc"), max_size=12))
def test_no_arm_is_awake_beside_another_and_all_are_afterwards(order: list[str]) -> None:
    arms = {name: Arm(used_ns=number) for number, name in enumerate("abc")}
    suspension = suspension_of(arms)
    with suspension.suspend_all():
        for name in order:
            assert all(arm.still for arm in arms.values())
            with suspension.awake(name):
                assert [other for other, arm in arms.items() if not arm.still] == [name]
        assert all(arm.still for arm in arms.values())
    assert not any(arm.still for arm in arms.values())
    resumed = {name: order.count(name) + 1 for name in arms}  # of one that was awake last, too
    assert suspension.used_ns == {name: arms[name].used_ns * resumed[name] for name in arms}


def test_whatever_ends_it_no_arm_is_left_that_stands_still() -> None:
    arms = {name: Arm() for name in "abc"}
    suspension = suspension_of(arms)
    with pytest.raises(KeyboardInterrupt), suspension.suspend_all(), suspension.awake("b"):
        raise KeyboardInterrupt
    assert not any(arm.still for arm in arms.values())


def test_an_arm_that_does_not_stand_still_is_named_and_the_others_go_on() -> None:
    arms = {name: Arm() for name in "abc"}
    arms["c"].holds = False
    named = 'could not hold arm "c" still: a process'
    with pytest.raises(ServerError, match=named) as refused, suspension_of(arms).suspend_all():
        raise AssertionError("it was not held")
    assert refused.value.detail == "Of number 7."
    assert not any(arm.still for arm in arms.values())


def test_an_arm_that_died_is_left_to_the_load_to_report() -> None:
    arms = {name: Arm() for name in "ab"}
    suspension = suspension_of(arms)
    with suspension.suspend_all(), suspension.awake("a"):
        arms["a"].running = arms["a"].holds = False
    assert not arms["b"].still
