"""One arm at a time is awake, and time between its slices is not its own."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from steelyard.running.cycles.suspension import OwnTime

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
