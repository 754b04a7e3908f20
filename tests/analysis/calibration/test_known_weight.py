"""The truth of a known weight is what a client that carries it would really read."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.analysis.calibration import (
    KnownWeight,
    stall_edges,
    stall_length,
    truth,
)

TIMES = np.full(4, 20_000.0)
NO_DEBT = np.zeros(4)
MS = 1_000_000
shares = st.floats(0.0, 0.6)


def percent(log_ratio: float) -> float:
    return 100 * math.expm1(log_ratio)


def test_work_done_twice_takes_one_part_in_one_and_its_share() -> None:
    found = truth(KnownWeight(double_work=0.03), TIMES, NO_DEBT, "throughput")
    assert percent(found.estimate.value) == pytest.approx(100 * (1 / 1.03 - 1))
    assert found.estimate.interval.width == found.bounds.width == 0


def test_a_stall_is_worth_what_a_client_that_is_simulated_loses() -> None:
    rng = np.random.default_rng(3)
    probability, sleep_ns, n = 0.002, 10 * MS, 400_000
    latencies = rng.exponential(20_000.0, n)
    stalled = latencies + sleep_ns * (rng.random(n) < probability)
    read = math.log(n / stalled.sum()) - math.log(n / latencies.sum())
    found = truth(KnownWeight(stall_ns=probability * sleep_ns), TIMES, NO_DEBT, "throughput")
    # 800 stalls scatter by 3.5 %, and half the time is stalls: four standard errors.
    assert found.estimate.value == pytest.approx(read, abs=4 * 0.5 * 0.035)


def test_the_controls_own_time_leaves_the_truth_of_a_stall_open_by_its_scatter() -> None:
    steady = truth(KnownWeight(stall_ns=600), TIMES, NO_DEBT, "throughput").estimate
    unsteady = truth(
        KnownWeight(stall_ns=600), np.array([18e3, 22e3, 19e3, 21e3]), NO_DEBT, "throughput"
    ).estimate
    assert steady.interval.width == pytest.approx(0, abs=1e-12)
    assert unsteady.low < unsteady.value < unsteady.high
    assert unsteady.value == pytest.approx(steady.value, rel=0.02)


def paid(weight: KnownWeight, debt_share: float, of_the_work: float) -> float:
    """Slice by slice: what an arm and its control get done in a second of loaded time, where
    `of_the_work` of the control's debt is made by its work and the rest by the slice."""
    slice_ns, time_ns = 1e9, 20_000.0
    executed = slice_ns / time_ns
    fixed, made = (debt_share * slice_ns * part for part in (1 - of_the_work, of_the_work))
    control = executed / (slice_ns + fixed + made)
    counted = executed / (1 + weight.double_work + weight.stall_ns / time_ns)
    in_slice = counted * (1 + weight.double_work)  # executions, those that are not counted included
    behind = weight.background * counted
    behind_ns = behind * slice_ns / counted
    made_more = made * (in_slice + behind * (1 + weight.double_work)) / executed
    return math.log(counted / (slice_ns + behind_ns + fixed + made_more)) - math.log(control)


@given(shares, shares, shares, st.floats(0.0, 0.5), st.floats(0.0, 1.0))
def test_debt_that_slices_or_work_make_lies_between_the_bounds_of_the_truth(
    double_work: float, stalled: float, background: float, debt_share: float, of_the_work: float
) -> None:
    weight = KnownWeight(double_work, stalled * 20_000.0, background, writes=True)
    bounds = truth(weight, TIMES, np.full(4, debt_share), "throughput").bounds
    assert bounds.low - 1e-9 <= paid(weight, debt_share, of_the_work) <= bounds.high + 1e-9


@given(shares, shares, shares, st.floats(0.0, 0.5))
def test_work_that_only_reads_makes_no_debt_and_its_truth_is_a_point(
    double_work: float, stalled: float, background: float, debt_share: float
) -> None:
    weight = KnownWeight(double_work, stalled * 20_000.0, background)
    bounds = truth(weight, TIMES, np.full(4, debt_share), "throughput").bounds
    assert bounds.width == 0
    assert bounds.low == pytest.approx(paid(weight, debt_share, 0.0))


def test_latencies_hold_no_debt_and_grow_with_what_throughput_loses() -> None:
    weight = KnownWeight(double_work=0.05, background=0.2)
    found = truth(weight, TIMES, np.full(4, 0.3), "latency_mean")
    assert percent(found.estimate.value) == pytest.approx(5.0)


def test_stalls_are_counted_and_measured_beside_the_controls_own_slow_transactions() -> None:
    rng = np.random.default_rng(5)
    edges = stall_edges(10 * MS)
    slow = rng.uniform(8 * MS, 25 * MS, 400)  # in either arm, as the machine has them
    stalls = 10_480_000 + rng.normal(0, 100_000, 90)

    def counted(latencies: np.ndarray) -> list[int]:
        return np.histogram(latencies, edges)[0].tolist()

    arm = counted(np.concatenate([slow, stalls + 20_000]))
    number, length_ns = stall_length(edges, arm, counted(slow), 1.0, 20_000)
    assert number == 90
    assert length_ns == pytest.approx(stalls.mean(), abs=15_000)


def test_a_handful_of_stalls_says_nothing_of_their_length() -> None:
    edges = stall_edges(10 * MS)
    arm = [0] * (len(edges) - 1)
    arm[20] = 9
    number, length_ns = stall_length(edges, arm, [0] * len(arm), 1.0, 20_000)
    assert number == 9
    assert math.isnan(length_ns)
