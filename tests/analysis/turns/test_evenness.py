"""Evenness is compared on equal windows of equal time; sums are those of the turns."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.turns.made import MB, NS, make_turn
from steelyard.analysis.turns.evenness import (
    VARIATION,
    even_windows,
    evenness,
    request_evenness,
    sums_of,
    throughputs,
)
from steelyard.model.turn import Debt, Second, Turn


def noisy(rng: np.random.Generator, sd: float, seconds: int = 90) -> Turn:
    return make_turn(speed=lambda _: 1e4 * float(1 + sd * rng.standard_normal()), seconds=seconds)


def test_both_arms_have_as_many_windows_of_the_same_length() -> None:
    short, long = make_turn(seconds=40), make_turn(seconds=200, slice_s=0.5)
    one, other = even_windows(short, long)
    assert len(one) == len(other) == 40
    assert one == pytest.approx(np.full(40, 1000.0))
    assert other == pytest.approx(np.full(40, 1000.0))


def test_no_window_is_shorter_than_the_seconds_that_fill_it() -> None:
    one, _ = even_windows(make_turn(seconds=20, slice_s=2.0), make_turn(seconds=40))
    assert len(one) == 20


@given(st.lists(st.floats(0.3, 2.5), min_size=12, max_size=60), st.integers(0, 2**32))
def test_windows_keep_the_work(lengths: list[float], seed: int) -> None:
    rng = np.random.default_rng(seed)
    turn = make_turn(lengths_s=lengths, speed=lambda _: float(rng.uniform(100, 2000)))
    windows, _ = even_windows(turn, turn)
    if sum(lengths) >= len(windows):
        done = sum(one.transactions for one in turn.seconds)
        assert windows.max() <= throughputs(turn).max() * (1 + 1e-6)
        assert windows.min() >= throughputs(turn).min() * (1 - 1e-6)
        assert windows.sum() <= done * max(1.0, 1 / np.median(lengths)) * (1 + 1e-6)


def test_time_between_two_seconds_is_no_time_under_load() -> None:
    turn = make_turn(seconds=20)
    late = [
        Second(one.start_ns + i * NS // 4, one.end_ns + i * NS // 4, one.transactions, one.busy_ns)
        for i, one in enumerate(turn.seconds)
    ]
    gapped = dataclasses.replace(turn, seconds=tuple(late))
    windows, _ = even_windows(gapped, gapped)
    assert windows == pytest.approx(np.full(len(windows), 1000.0))


def test_an_uneven_arm_has_the_larger_variation_at_the_same_mean() -> None:
    rng = np.random.default_rng(1)
    pairs = [(noisy(rng, 0.05), noisy(rng, 0.2)) for _ in range(10)]
    mean, spread, variation = evenness(pairs)
    assert 0.0 in mean.estimate.interval
    assert variation.name == VARIATION
    assert math.log(4) in variation.estimate.interval
    assert variation.estimate.low > 0
    assert variation.control_value == pytest.approx(0.05, rel=0.1)
    assert variation.arm_value == pytest.approx(0.2, rel=0.1)
    assert spread.arm_value == pytest.approx(0.2 * 1e4, rel=0.1)


def test_epochs_too_short_for_a_spread_and_idle_ones_are_left_out() -> None:
    rng = np.random.default_rng(2)
    good = [(noisy(rng, 0.1), noisy(rng, 0.1)) for _ in range(8)]
    idle = (make_turn(speed=lambda _: 0.0), make_turn())
    found = evenness([*good, (make_turn(seconds=9), make_turn()), idle])
    assert [one.estimate.count for one in found] == [8, 8, 8]
    assert evenness([idle]) == ()
    assert evenness([(make_turn(seconds=0), make_turn())]) == ()


def test_sums_are_means_over_the_turns_of_what_is_known() -> None:
    ends = [Debt(0.0, 2.0 * MB), Debt(0.0, 4.0 * MB), Debt(0.0, math.nan)]
    found = sums_of([make_turn(at_end=end) for end in ends])
    assert found.turns == 3
    assert found.waiting_at_end == 3 * MB
    assert found.waiting_at_start == 1 * MB
    assert found.wal_bytes == 60e6
    assert found.checkpoints == 2
    assert found.seconds == 60
    assert math.isnan(sums_of([]).wal_bytes)


def asking(rng: np.random.Generator, reads_sd: float, writes_sd: float, **shape: Any) -> Turn:
    """A turn whose devices do about 300 reads and 200 writes a second."""
    turn = make_turn(**{"seconds": 90, **shape})
    draws = rng.standard_normal((len(turn.seconds), 2))
    lengths_s = [(one.end_ns - one.start_ns) / NS for one in turn.seconds]
    seconds = [
        dataclasses.replace(
            one,
            device_reads=300 * float(1 + reads_sd * draw[0]) * length_s,
            device_writes=200 * float(1 + writes_sd * draw[1]) * length_s,
        )
        for one, draw, length_s in zip(turn.seconds, draws, lengths_s, strict=True)
    ]
    return dataclasses.replace(turn, seconds=tuple(seconds))


def test_an_arm_that_asks_unevenly_has_the_larger_cv_of_requests() -> None:
    rng = np.random.default_rng(3)
    pairs = [(asking(rng, 0.1, 0.2), asking(rng, 0.1, 0.05)) for _ in range(10)]
    reads, writes = request_evenness(pairs)
    assert (reads.name, writes.name) == ("read_iops_cv", "write_iops_cv")
    assert 0.0 in reads.estimate.interval
    assert math.log(0.25) in writes.estimate.interval
    assert writes.estimate.high < 0
    assert writes.control_value == pytest.approx(0.2, rel=0.1)
    assert writes.arm_value == pytest.approx(0.05, rel=0.1)


def test_a_rate_that_is_level_has_no_cv_however_long_its_seconds_are() -> None:
    rng = np.random.default_rng(4)
    lengths = [0.8 + 0.4 * (n % 2) for n in range(40)]
    level = asking(rng, 0.0, 0.0, lengths_s=lengths)
    for one in request_evenness([(level, level)] * 3):
        assert one.control_value == pytest.approx(0.0, abs=1e-9)


def test_requests_that_were_not_counted_or_not_asked_for_have_no_row() -> None:
    rng = np.random.default_rng(5)
    good = [(asking(rng, 0.1, 0.1), asking(rng, 0.1, 0.1)) for _ in range(6)]
    unknown = (make_turn(seconds=90), asking(rng, 0.1, 0.1))
    short = (asking(rng, 0.1, 0.1, seconds=9), asking(rng, 0.1, 0.1))
    assert [one.estimate.count for one in request_evenness([*good, unknown, short])] == [6, 6]
    assert request_evenness([unknown]) == ()
    assert request_evenness([(make_turn(seconds=0), make_turn(seconds=0))]) == ()
    seconds = tuple(dataclasses.replace(one, device_reads=0.0) for one in good[0][0].seconds)
    idle = (dataclasses.replace(good[0][0], seconds=seconds), good[0][1])
    assert [one.name for one in request_evenness([*good, idle])] == ["write_iops_cv"]
