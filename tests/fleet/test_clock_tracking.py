"""A clock is found within its bound, whatever the way there and back takes; a jump is noticed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.fleet.clock_tracking import (
    MOST_DRIFT,
    MOST_KEPT,
    ClockJumpError,
    ClockTrack,
    Exchange,
)

HOUR_NS = 3_600_000_000_000
MS = 1_000_000

offsets = st.integers(-HOUR_NS, HOUR_NS)
drifts = st.floats(-200e-6, 200e-6)
delays = st.integers(1_000, 20 * MS)
exchanges = st.lists(
    st.tuples(delays, delays, st.integers(0, 500 * MS), st.integers(0, 2_000 * MS)),
    min_size=1,
    max_size=80,
)
"""Of each: ns there, ns back, ns until it was answered, ns of pause before it."""


class Simulated:
    """A clock that lies `offset_ns` apart at 0 of ours and gains `drift` seconds a second."""

    def __init__(self, offset_ns: int, drift: float) -> None:
        self.offset_ns, self.drift, self.now_ns = offset_ns, drift, 10 * HOUR_NS

    def apart_ns(self, ours_ns: float) -> float:
        return self.offset_ns + self.drift * (ours_ns - 10 * HOUR_NS)

    def read_ns(self) -> int:
        return round(self.now_ns + self.apart_ns(self.now_ns))

    def exchange(
        self, there_ns: int, back_ns: int, work_ns: int = 0, pause_ns: int = 0
    ) -> Exchange:
        self.now_ns += pause_ns
        sent_ns = self.now_ns
        self.now_ns += there_ns
        received_ns = self.read_ns()
        self.now_ns += work_ns
        answered_ns = self.read_ns()
        self.now_ns += back_ns
        return Exchange(sent_ns, received_ns, answered_ns, self.now_ns)


@given(offset_ns=offsets, drift=drifts, made=exchanges, later_ns=st.integers(0, 10_000 * MS))
def test_the_truth_lies_within_the_bound_at_any_time_however_unlike_the_two_ways(
    offset_ns: int, drift: float, made: list[tuple[int, int, int, int]], later_ns: int
) -> None:
    clock, track = Simulated(offset_ns, drift), ClockTrack("b")
    for one in made:
        track.add(clock.exchange(*one))
        for at_ns in (clock.now_ns, clock.now_ns + later_ns):
            found = track.offset(at_ns)
            assert abs(found.value_ns - clock.apart_ns(at_ns)) <= found.bound_ns + 1
    if track.drift is not None:
        assert abs(track.drift.ns_per_s - drift * 1e9) <= track.drift.bound_ns_per_s + 1


@given(offset_ns=offsets, drift=drifts, made=exchanges)
def test_a_moment_of_theirs_and_of_ours_are_told_into_each_other(
    offset_ns: int, drift: float, made: list[tuple[int, int, int, int]]
) -> None:
    clock, track = Simulated(offset_ns, drift), ClockTrack("b")
    for one in made:
        track.add(clock.exchange(*one))
    at_ns = clock.now_ns + 5 * MS
    bound_ns = track.offset(at_ns).bound_ns + 1
    theirs_ns = at_ns + clock.apart_ns(at_ns)
    assert abs(track.theirs_ns(at_ns) - theirs_ns) <= bound_ns
    assert abs(track.ours_ns(round(theirs_ns)) - at_ns) <= 2 * bound_ns


@given(there_ns=delays, back_ns=delays)
def test_the_bound_is_half_the_round_trip_and_reached_where_one_way_takes_all_of_it(
    there_ns: int, back_ns: int
) -> None:
    found = Simulated(0, 0.0).exchange(there_ns, back_ns)
    offset = found.offset(found.middle_ns, most_drift=0.0)
    assert found.round_trip_ns == there_ns + back_ns
    assert offset.bound_ns == (there_ns + back_ns) / 2
    assert offset.value_ns == (there_ns - back_ns) / 2


def test_the_exchange_with_the_smallest_round_trip_is_kept_until_it_is_too_old() -> None:
    clock, track = Simulated(HOUR_NS, 0.0), ClockTrack("b")
    track.add(clock.exchange(5 * MS, 1 * MS))
    track.add(clock.exchange(20_000, 20_000))
    track.add(clock.exchange(9 * MS, 1 * MS))
    close = track.offset(clock.now_ns)
    assert close.bound_ns < 30_000
    assert abs(close.value_ns - HOUR_NS) <= close.bound_ns
    # After 100 s it bounds the clock by 50 ms; a new exchange of 10 ms says more.
    track.add(clock.exchange(9 * MS, 1 * MS, pause_ns=100_000 * MS))
    assert 5 * MS <= track.offset(clock.now_ns).bound_ns < 5.1 * MS
    assert track.longest_round_trip_ns == 10 * MS


def test_old_exchanges_are_forgotten_and_the_best_is_not() -> None:
    clock, track = Simulated(7, 0.0), ClockTrack("b")
    track.add(clock.exchange(10_000, 10_000))
    for _ in range(3 * MOST_KEPT):
        track.add(clock.exchange(3 * MS, 3 * MS))
    assert len(track._kept) == MOST_KEPT
    assert track.offset(clock.now_ns).bound_ns < 2 * MS


@given(jump_ns=st.integers(50 * MS, HOUR_NS), back=st.booleans())
def test_a_clock_that_jumps_is_noticed_at_the_next_exchange(jump_ns: int, back: bool) -> None:
    clock, track = Simulated(-HOUR_NS, 100e-6), ClockTrack("b")
    for _ in range(5):
        track.add(clock.exchange(MS, 2 * MS, pause_ns=100 * MS))
    clock.offset_ns += -jump_ns if back else jump_ns
    with pytest.raises(ClockJumpError, match='machine "b" has jumped'):
        track.add(clock.exchange(MS, 2 * MS, pause_ns=100 * MS))


def test_a_drift_put_on_by_hand_is_found_within_a_few_parts_in_a_million() -> None:
    clock, track = Simulated(HOUR_NS, 150e-6), ClockTrack("b")
    for _ in range(200):
        track.add(clock.exchange(40_000, 60_000, pause_ns=100 * MS))
    assert track.drift is not None
    assert abs(track.drift.ns_per_s - 150_000) <= track.drift.bound_ns_per_s < 10_000


def test_no_clock_is_compared_without_an_exchange() -> None:
    with pytest.raises(Exception, match="never compared"):
        ClockTrack("b").offset(0)


def test_the_drift_that_is_allowed_is_the_kernels() -> None:
    assert MOST_DRIFT == 500 / 1e6
