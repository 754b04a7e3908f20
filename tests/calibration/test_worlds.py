"""Every world does what its name says, and its slices are read as the product reads them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kurtosis, skew

from steelyard.analysis.checks.autocorrelation import lag_one
from steelyard.analysis.decision.epoch_reading import read_epoch
from steelyard.record.epoch import EpochLine
from steelyard.record.slice import SliceLine
from steelyard.record.totals import epoch_totals
from validation.worlds import errors, lives, machine, stalls
from validation.worlds.atlas import WORLDS, world
from validation.worlds.bench import (
    CLIENTS,
    Layout,
    Work,
    jitter,
    lay_out,
    read,
    steady,
)
from validation.worlds.world import SIGMA, Draw, Floats, draw_slots, signs

EPOCHS = 30


def drawn(name: str, weighings: int = 400, epochs: int = EPOCHS) -> Draw:
    return world(name).draw(np.random.default_rng(17), weighings, epochs)


def of_slots(draw: Draw) -> Floats:
    """What the slots did: s·d."""
    return signs(draw.first) * (draw.d - draw.truth)


def lag(rows: Floats) -> float:
    return float(np.corrcoef(rows[:, 1:].ravel(), rows[:, :-1].ravel())[0, 1])


@pytest.mark.parametrize("name", [one.name for one in WORLDS])
def test_every_world_has_the_truth_it_names_and_slots_half_each_way(name: str) -> None:
    draw = drawn(name, weighings=200)
    assert (draw.first.sum(axis=1) == EPOCHS // 2).all()
    means = draw.d.mean(axis=1) - draw.truth
    error = means.std(ddof=1) / np.sqrt(len(means))
    assert abs(means.mean()) < 4 * error + 5e-4  # a ratio of totals is not quite a mean of logs


def test_an_open_ended_plan_is_balanced_as_far_as_it_was_planned_and_tosses_coins_past_it() -> None:
    draw = world("white").draw(np.random.default_rng(1), 300, 30, 10)
    assert (draw.first[:, :10].sum(axis=1) == 5).all()
    past = draw.first[:, 10:].sum(axis=1)
    assert past.std() > 1.5  # coins: 2.2, balanced: 0
    assert past.mean() == pytest.approx(10, abs=0.5)


@pytest.mark.parametrize(("rho", "expected"), [(0.5, 0.4), (0.9, 0.72), (0.99, 0.79)])
def test_an_autoregression_lingers_as_long_as_it_says(rho: float, expected: float) -> None:
    # Restart luck of half a σ adds a quarter of the variance: ρ · 1 ÷ 1.25.
    assert lag(of_slots(drawn(f"AR(1) {rho:g}"))) == pytest.approx(expected, abs=0.05)
    assert abs(lag(drawn(f"AR(1) {rho:g}").d)) < 0.1  # the drawn signs hide it from d


def test_steps_keep_their_level_and_then_leave_it() -> None:
    moves = np.abs(np.diff(of_slots(drawn("steps")), axis=1))
    assert np.median(moves) < 1.2 * SIGMA
    assert (moves > 2.5 * SIGMA).mean() > 0.06


def test_a_drift_runs_from_one_side_to_the_other() -> None:
    path = of_slots(drawn("drift")).mean(axis=0)
    assert path[0] == pytest.approx(-2 * SIGMA, abs=0.1 * SIGMA)
    assert path[-1] == pytest.approx(2 * SIGMA, abs=0.1 * SIGMA)
    assert (np.diff(path) > 0).mean() > 0.8


def test_a_random_walk_strays_with_the_root_of_time() -> None:
    spread = of_slots(drawn("random walk")).std(axis=0)
    assert spread[-1] / spread[6] == pytest.approx(np.sqrt(30 / 7), rel=0.25)


def test_spikes_have_heavy_tails_and_white_epochs_none() -> None:
    assert kurtosis(drawn("spikes").d.ravel()) > 3
    assert abs(kurtosis(drawn("white").d.ravel())) < 0.3
    assert abs(lag(drawn("white").d)) < 0.05


def test_variances_change_as_the_formulas_say() -> None:
    regimes = drawn("variance regimes").d
    half = EPOCHS // 2
    assert regimes[:, half:].var() / regimes[:, :half].var() == pytest.approx(25, rel=0.15)
    trend = drawn("variance trend").d
    assert trend[:, 0].var() / trend[:, -1].var() == pytest.approx(9, rel=0.4)


def test_a_slot_effect_sits_in_the_slots_and_alternates_where_it_says() -> None:
    assert of_slots(drawn("slot effect")).mean() == pytest.approx(SIGMA, rel=0.1)
    turns = of_slots(drawn("slot effect that alternates")).mean(axis=0)
    assert turns[::2].mean() == pytest.approx(SIGMA, rel=0.1)
    assert turns[1::2].mean() == pytest.approx(-SIGMA, rel=0.1)
    assert of_slots(drawn("slot effect, in slices", 100)).mean() == pytest.approx(0.015, rel=0.15)


def test_slow_restarts_of_one_arm_are_skewed_and_of_either_arm_are_not() -> None:
    assert skew(drawn("slow restarts, one arm").d.ravel()) < -0.8
    assert skew(drawn("start-up loss, one arm").d.ravel()) < -0.4
    assert abs(skew(drawn("slow restarts, either arm").d.ravel())) < 0.15
    assert kurtosis(drawn("slow restarts, either arm").d.ravel()) < 0  # two humps and a middle


def test_a_storm_lingers_steps_and_spikes() -> None:
    path = machine.storm(np.random.default_rng(2), 60, 600)
    assert 0.5 < lag(path - path.mean(axis=1, keepdims=True)) < 0.98
    assert skew(np.diff(path, n=2, axis=1).ravel()) > 0.05  # spikes go down and come back
    assert path[:, -1].std() > 1.5 * path[:, 0].std()  # steps stay


def test_in_a_period_a_fixed_order_favours_one_arm_and_a_drawn_one_does_not() -> None:
    rng = np.random.default_rng(3)
    path = machine.period(rng, 50, 60)
    assert np.abs(path[:, ::2].mean(axis=1) - path[:, 1::2].mean(axis=1)) == pytest.approx(
        -np.log(0.9)
    )
    layout = lay_out(rng, draw_slots(rng, 50, 2))
    assert abs((layout.of_arm(path) - layout.of_control(path)).mean()) < 0.02


def test_a_client_that_stalls_is_charged_what_walds_identity_says() -> None:
    rng = np.random.default_rng(4)
    work = stalls.stalling(rng, np.zeros((400, 15, 10)))
    speed = work.transactions.sum() / work.busy_ns.sum()
    control = steady(np.zeros((1, 1, 1)))
    full = control.transactions.sum() / control.busy_ns.sum()
    assert np.log(speed / full) == pytest.approx(stalls.TRUTH, abs=0.002)
    hidden = stalls.stalling(rng, np.zeros((400, 15, 10)), counted=False)
    unharmed = hidden.transactions.sum() / hidden.busy_ns.sum()
    assert np.log(unharmed / full) == pytest.approx(0.0, abs=1e-4)


def test_failed_transactions_are_time_without_work() -> None:
    work = errors.failing(np.random.default_rng(5), np.zeros((50, 10, 10)))
    control = steady(np.zeros((1, 1, 1)))
    full = control.transactions.sum() / control.busy_ns.sum()
    speed = work.transactions.sum() / work.busy_ns.sum()
    assert np.log(speed / full) == pytest.approx(errors.TRUTH, abs=5e-4)


def test_wandering_servers_tie_the_blocks_of_an_epoch_together_but_not_the_epochs() -> None:
    rng = np.random.default_rng(6)
    layout = lay_out(rng, draw_slots(rng, 40, 12))
    blocks = lives.wander(rng, layout) - lives.wander(rng, layout)
    assert np.mean([lag_one(epoch) for one in blocks for epoch in one]) > 0.3
    assert abs(lag(drawn("arm × time autocorrelation", 200).d)) < 0.05


def test_dropped_slices_are_missing_alike_in_both_arms_and_do_not_slow_the_reading() -> None:
    draw = drawn("slices dropped", 100)
    assert abs(draw.d.mean()) < 0.001
    assert draw.d.std() < 0.03  # a suspended slice that was kept would show as up to 3 % an epoch


def slowly(arm: Work, control: Work, first: bool) -> float:
    """One epoch through the record's own lines: totals of a record, then the product's reading."""
    slots = {"arm": 0 if first else 1, "control": 1 if first else 0}
    lines = []
    for name, work in (("arm", arm), ("control", control)):
        for block in range(work.transactions.shape[2]):
            busy = int(work.busy_ns[0, 0, block])
            if busy == 0:
                continue
            lines.append(SliceLine(
                epoch=0, kind="measured", arm=name, block=block, position=0,
                clients=CLIENTS, transactions=int(work.transactions[0, 0, block]),
                busy_ns=busy, latency_sum_ns=busy,
            ))  # fmt: skip
    head = EpochLine(epoch=0, slots=slots, start_order=("arm", "control"))
    return read_epoch(epoch_totals(head, lines), "arm", "control", "throughput").d


@pytest.mark.parametrize("seed", range(5))
def test_slices_are_read_as_the_lines_of_a_record_are(seed: int) -> None:
    rng = np.random.default_rng(seed)
    layout: Layout = lay_out(rng, np.ones((1, 1), dtype=np.bool_))
    arm = stalls.stalling(rng, jitter(rng, layout))
    control = steady(jitter(rng, layout))
    control.transactions[0, 0, 3] = control.busy_ns[0, 0, 3] = 0  # dropped
    d = read(arm, control)
    assert d[0, 0] == pytest.approx(slowly(arm, control, bool(layout.first[0, 0])), abs=1e-12)
