"""Curves and effects by distance are those of a slow textbook version, and hold known truths."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.turns.made import NS, make_turn
from steelyard.analysis.decision.max_t import joint_flips
from steelyard.analysis.turns.distance import (
    DISTANCES_NS,
    Pair,
    bin_edges,
    curve,
    cycles_ns,
    effects_at,
    pauses_ns,
    series_of,
)
from steelyard.model.turn import Turn

LEVEL = 1000.0


def burst(depth: float, fades_s: float = 4.0, luck: float = 0.0) -> Turn:
    """A turn of two cycles of 30 s whose speed falls by `depth` at a checkpoint and comes back."""
    return make_turn(
        speed=lambda s: 1e5 * math.exp(luck) * (1 - depth * math.exp(-s / fades_s)),
        images=lambda s: 10 * math.exp(-s / fades_s),
    )


def burst_mean(depth: float, to_s: float, from_s: float = 0.0, fades_s: float = 4.0) -> float:
    """Mean speed between two times since the checkpoint."""
    fallen = math.exp(-from_s / fades_s) - math.exp(-to_s / fades_s)
    return 1 - depth * fades_s * fallen / (to_s - from_s)


def bursts(n: int = 10, depth: float = 0.4, sd: float = 0.03) -> list[Pair]:
    rng = np.random.default_rng(5)
    return [
        (burst(0.1, luck=float(rng.normal(0, sd))), burst(depth, luck=float(rng.normal(0, sd))))
        for _ in range(n)
    ]


def textbook_rate(turn: Turn, low_s: float, high_s: float, steps: int = 40) -> float:
    """Work per second near a checkpoint, step by step: every second is cut into small steps, each
    of which looks for its checkpoint; in a second in which one began, the steps before it work as
    the second before did. Steps of one distance are averaged before distances are."""
    found: dict[int, list[tuple[float, float]]] = {}
    begins = [c.began_ns for c in turn.checkpoints]
    for one, before in zip(turn.seconds, (None, *turn.seconds), strict=False):
        step = (one.end_ns - one.start_ns) / steps
        times = [one.start_ns + (number + 0.5) * step for number in range(steps)]
        begun = [begin for begin in begins if one.start_ns < begin < one.end_ns]
        early = sum(at < begun[0] for at in times) if begun and before else 0
        quick = before.transactions / steps if before else 0.0
        rest = (one.transactions - early * quick) / (steps - early)
        for number, at in enumerate(times):
            known = [begin for begin in begins if begin <= at]
            if known and low_s * NS <= at - max(known) < high_s * NS:
                work = (quick if number < early else rest, one.busy_ns / steps)
                found.setdefault(int((at - max(known)) // step), []).append(work)
    means = [np.mean(works, axis=0) for works in found.values()]
    done, busy_ns = np.sum(means, axis=0)
    return float(turn.clients * done / busy_ns * NS)


@pytest.mark.parametrize(
    ("seconds", "lead_s"), [(60, 27.0), (60, 0.0), (45, 27.0), (47, 13.0), (33, 2.5)]
)
@pytest.mark.parametrize(("low_s", "high_s"), [(0, 5), (0, 2), (2, 5), (10, 28)])
def test_work_near_a_checkpoint_is_what_small_steps_find(
    seconds: int, lead_s: float, low_s: float, high_s: float
) -> None:
    turn = make_turn(
        speed=lambda s: LEVEL * (1 - 0.5 * math.exp(-s / 3)), seconds=seconds, lead_s=lead_s
    )
    found = series_of(turn).work_per_second(low_s * NS, high_s * NS)
    assert found == pytest.approx(textbook_rate(turn, low_s, high_s), rel=1e-3)


@given(st.floats(0, 29), st.integers(1, 3))
def test_over_whole_cycles_every_distance_weighs_alike_and_totals_are_plain(
    lead_s: float, cycles: int
) -> None:
    turn = make_turn(speed=lambda s: LEVEL + 10 * s, seconds=30 * cycles, lead_s=lead_s)
    done = sum(one.transactions for one in turn.seconds)
    found = series_of(turn).work_per_second(0, 31 * NS)
    assert found == pytest.approx(done / (30 * cycles), rel=0.02)
    assert series_of(turn).reach_ns == pytest.approx(30 * NS, abs=1.1 * NS)


@given(
    st.lists(st.floats(0.2, 3.0), min_size=5, max_size=80),
    st.floats(0.0, 12.0),
    st.floats(4.0, 40.0),
)
def test_no_work_is_lost_or_doubled_by_the_cuts(
    lengths: list[float], lead_s: float, cycle_s: float
) -> None:
    turn = make_turn(lengths_s=lengths, lead_s=min(lead_s, cycle_s), cycle_s=cycle_s)
    cut = series_of(turn)
    assert cut.transactions.sum() == pytest.approx(sum(one.transactions for one in turn.seconds))
    assert cut.busy_ns.sum() == pytest.approx(sum(one.busy_ns for one in turn.seconds))
    assert (cut.low_ns >= 0).all()
    assert (cut.high_ns <= cycle_s * NS + 2).all()
    parts = cut.inside(0, 3 * NS) + cut.inside(3 * NS, 100 * NS)
    assert parts == pytest.approx(np.ones(len(parts)), abs=1e-6)


@pytest.mark.parametrize("offset_s", [0.1, 0.3, 0.5, 0.9])
def test_a_burst_is_not_moved_to_before_its_checkpoint(offset_s: float) -> None:
    """The work of a second is exact here: half the speed from the begin of a checkpoint on."""
    turn = make_turn(lead_s=27.0 + offset_s, speed=lambda s: 500.0 if s < 12 else 1000.0)
    exact = []
    for one in turn.seconds:
        steps = [one.start_ns + (n + 0.5) * NS / 100 for n in range(100)]
        since = [at - max(c.began_ns for c in turn.checkpoints if c.began_ns <= at) for at in steps]
        exact.append(sum(5 if s < 12 * NS else 10 for s in since))
    seconds = [
        dataclasses.replace(one, transactions=done)
        for one, done in zip(turn.seconds, exact, strict=True)
    ]
    cut = series_of(dataclasses.replace(turn, seconds=tuple(seconds)))
    assert cut.work_per_second(0, 2 * NS) == pytest.approx(500)
    assert cut.work_per_second(28 * NS, 30 * NS) == pytest.approx(1000)


def test_a_distance_that_is_passed_more_often_weighs_no_more() -> None:
    """45 s from second 27 on: 0–12 s after a checkpoint twice, 12–27 once."""
    uneven = make_turn(speed=lambda s: 500.0 if s < 12 else 1000.0, seconds=45)
    even = make_turn(speed=lambda s: 500.0 if s < 12 else 1000.0, seconds=60)
    rates = [series_of(turn).work_per_second(0, 30 * NS) for turn in (uneven, even)]
    assert rates == pytest.approx([800.0, 800.0])
    assert sum(one.transactions for one in uneven.seconds) / 45 < 790


def test_seconds_before_any_known_checkpoint_have_no_distance() -> None:
    turn = make_turn(seconds=40, lead_s=-10.0)  # the first checkpoint begins after 10 s
    assert series_of(turn).transactions.sum() == pytest.approx(30_000)
    none = make_turn(checkpoints=())
    assert series_of(none).reach_ns == 0
    assert curve([(none, none)] * 10) == ()
    assert effects_at([(none, none)] * 10) == ()


def test_a_turn_that_never_was_near_a_checkpoint_reaches_no_distance() -> None:
    """From second 10 after a checkpoint to second 28: no curve can begin at 0."""
    assert series_of(make_turn(seconds=18, lead_s=10.0)).reach_ns == 0
    assert curve([(make_turn(seconds=18, lead_s=10.0),) * 2] * 8) == ()


def test_a_hole_ends_the_reach() -> None:
    """Measured 27–30 s after one checkpoint and 0–9 s after the next: nothing of 9–27 s."""
    assert series_of(make_turn(seconds=12, lead_s=27.0)).reach_ns == pytest.approx(9 * NS)


def test_curve_and_effects_hold_the_truth_of_bursts() -> None:
    points, effects = curve(bursts()), effects_at(bursts())
    assert [one.to_ns // NS for one in points] == [2, 5, 10, 20, 30]
    for one in points:
        ends = (one.to_ns / NS, one.from_ns / NS)
        truth = math.log(burst_mean(0.4, *ends) / burst_mean(0.1, *ends))
        assert truth in one.estimate.interval
        assert one.estimate.value == pytest.approx(truth, abs=0.05)
        assert one.estimate.count == 10
    assert [one.distance_ns // NS for one in effects] == [5, 10, 15, 30]
    for effect in effects:
        distance_s = effect.distance_ns / NS
        truth = math.log(burst_mean(0.4, distance_s) / burst_mean(0.1, distance_s))
        assert truth in effect.estimate.interval
    values = [one.estimate.value for one in effects]
    assert values == sorted(values), "the farther apart checkpoints are, the smaller the effect"


def test_intervals_are_joint_over_the_bins_and_over_the_distances() -> None:
    pairs = bursts()
    rates = [
        [[textbook_rate(turn, 0, t, 20) for t in (5, 10, 15, 30)] for turn in pair]
        for pair in pairs
    ]
    table = np.array([[math.log(a / c) for c, a in zip(*sides, strict=True)] for sides in rates])
    expected = joint_flips(table)
    for found, one in zip(effects_at(pairs), expected, strict=True):
        assert found.estimate.low == pytest.approx(one.interval.low, abs=1e-3)
        assert found.estimate.high == pytest.approx(one.interval.high, abs=1e-3)


def test_images_and_log_per_transaction_are_totals_of_each_bin() -> None:
    for point in curve(bursts(8)):
        assert point.arm.wal_bytes == pytest.approx(1000)
        middle = (point.from_ns + point.to_ns) / 2 / NS
        assert point.arm.images == pytest.approx(10 * math.exp(-middle / 4), rel=0.7, abs=0.05)
    images = [point.control.images for point in curve(bursts(8))]
    assert images == sorted(images, reverse=True)


def test_images_that_were_not_counted_are_not_zero() -> None:
    unknown = make_turn(images=lambda _: math.nan)
    assert all(math.isnan(one.arm.images) for one in curve([(unknown, unknown)] * 8))


@pytest.mark.parametrize(
    ("reach_s", "second_s", "expected"),
    [
        (30, 1.02, [0, 2, 5, 10, 20, 30]),
        (10, 1, [0, 2, 5, 10]),
        (3, 1, [0, 2, 3]),
        (2, 1, [0, 2]),
        (300, 1, [0, 2, 5, 10, 20, 30, 60, 120, 300]),
        (1800, 1, [0, 20, 30, 60, 120, 300, 600, 900, 1800]),
        (30, 5, [0, 10, 20, 30]),
    ],
)
def test_bins_are_finer_near_the_checkpoint_and_eight_at_most(
    reach_s: float, second_s: float, expected: Sequence[float]
) -> None:
    found = [edge / NS for edge in bin_edges(reach_s * NS, second_s * NS)]
    assert found == list(expected)
    assert len(found) <= 9


def test_an_epoch_with_a_short_cycle_is_left_out_and_no_more_than_one_in_ten() -> None:
    pairs = bursts(12)
    short = make_turn(speed=lambda s: 1e5, cycle_s=9.0, writes_s=8.0)
    one_short = [*pairs[:11], (short, pairs[11][1])]
    assert effects_at(one_short)[-1].distance_ns == 30 * NS
    assert effects_at(one_short)[-1].estimate.count == 11
    two_short = [*pairs[:10], *[(short, pair[1]) for pair in pairs[10:]]]
    assert effects_at(two_short)[-1].distance_ns == 5 * NS
    assert effects_at(two_short)[-1].estimate.count == 12
    of_eight = [*pairs[:7], (short, pairs[7][1])]
    assert curve(of_eight)[-1].to_ns == 9 * NS, "at least 8 epochs, or all"


def test_an_arm_that_does_nothing_near_a_checkpoint_has_no_bound() -> None:
    idle = make_turn(speed=lambda s: 0.0 if s < 2 else LEVEL)
    first, *others = curve([(make_turn(), idle)] * 8)
    assert first.estimate.interval.width == math.inf
    assert others[0].estimate.value == pytest.approx(0)


def test_distances_are_at_most_the_eight_longest() -> None:
    turn = make_turn(seconds=1800, cycle_s=1800.0, writes_s=1790.0, lead_s=0.0)
    found = [one.distance_ns for one in effects_at([(turn, turn)] * 3)]
    assert found == [one for one in DISTANCES_NS if one <= 1800 * NS][-8:]


def test_cycles_and_pauses_are_those_of_the_measured_part() -> None:
    turn = make_turn(seconds=90, cycle_s=30.0, writes_s=27.0)
    assert cycles_ns(turn) == [30 * NS, 30 * NS]
    assert pauses_ns(turn) == [3 * NS, 3 * NS, 3 * NS]
