"""The time in which so much log is written follows what was seen, and goes on at its late rate."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.analysis.pilot.log_curve import LogCurve

BURST = LogCurve.of(list(range(10)), [0, 50, 80, 90, 94, 96, 98, 100, 102, 104])


def test_what_was_seen_is_read_off() -> None:
    assert BURST.seconds_to(50) == 1
    assert BURST.seconds_to(65) == 1.5
    assert BURST.seconds_to(104) == 9


def test_beyond_it_the_rate_is_that_of_the_last_third() -> None:
    assert BURST.late_rate == 2
    assert BURST.seconds_to(204) == 59


def test_without_log_there_is_no_such_time() -> None:
    for silent in (LogCurve((), ()), LogCurve.of([0, 15], [0, 0])):
        assert not silent.writes
        assert silent.seconds_to(1) == math.inf
    stopped = LogCurve.of([0, 1, 2, 3], [0, 9, 9, 9])
    assert stopped.seconds_to(10) == math.inf


@given(st.lists(st.floats(0, 1e9), min_size=2, max_size=60))
def test_more_log_never_takes_less_time(each: list[float]) -> None:
    written = [0.0]
    for one in each:
        written.append(written[-1] + one)
    curve = LogCurve.of(list(range(len(written))), written)
    wanted = [1.0, *sorted(written), 2 * written[-1] + 1]
    times = [curve.seconds_to(one) for one in sorted(wanted)]
    assert times == sorted(times)
    assert all(one >= 0 for one in times)


def test_a_position_that_falls_was_read_late() -> None:
    assert LogCurve.of([0, 1, 2], [0, 10, 9]).seconds_to(10) == pytest.approx(1)


@given(st.lists(st.floats(0.1, 1e6), min_size=3, max_size=30), st.floats(0.01, 200))
def test_log_until_a_time_is_reached_at_that_time(rates: list[float], seconds: float) -> None:
    written = [0.0, *itertools.accumulate(rates)]
    curve = LogCurve.of([float(second) for second in range(len(written))], written)
    assert curve.seconds_to(curve.until(seconds)) == pytest.approx(seconds, rel=1e-6)


def test_without_log_there_is_none_until_any_time() -> None:
    assert LogCurve((), ()).until(30.0) == 0.0
