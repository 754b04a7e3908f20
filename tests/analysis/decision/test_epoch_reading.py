"""An epoch is read from totals: stalls count, straddlers count, lost arms have a name."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from steelyard.analysis.checks.slots import carry_over
from steelyard.analysis.decision.epoch_reading import blamed, read_epoch, typical
from steelyard.model.readings import ArmTotals, EpochTotals, SliceTotals

CLIENTS = 4


def arm_of(name: str, slot: int, slices: list[SliceTotals], debt_ns: int = 0) -> ArmTotals:
    return ArmTotals(
        arm=name,
        slot=slot,
        clients=CLIENTS,
        transactions=sum(one.transactions for one in slices),
        busy_ns=sum(one.busy_ns for one in slices) + CLIENTS * debt_ns,
        latency_sum_ns=sum(one.latency_sum_ns for one in slices),
        debt_ns=debt_ns,
        slices=tuple(slices),
    )


def slice_of(
    block: int, position: int, transactions: int, busy_ns: int = 200_000_000
) -> SliceTotals:
    return SliceTotals(block, position, transactions, busy_ns, int(0.98 * busy_ns))


def epoch_of(
    on: list[SliceTotals], off: list[SliceTotals], outcome: str = "complete", debt_ns: int = 0
) -> EpochTotals:
    return EpochTotals(
        epoch=0,
        slots={"on": 1, "off": 0},
        start_order=("off", "on"),
        arms={"on": arm_of("on", 1, on), "off": arm_of("off", 0, off, debt_ns)},
        outcome=outcome,
    )


def test_the_reading_is_the_log_ratio_of_work_per_loaded_second() -> None:
    totals = epoch_of([slice_of(0, 0, 1000)], [slice_of(0, 1, 1040, 210_000_000)])
    one = read_epoch(totals, "off", "on", "throughput")
    assert one.d == pytest.approx(math.log(1.04 / 1.05))
    assert one.throughput["on"] == pytest.approx(1000 / 0.05)
    assert (one.slots, one.start_order, one.blocks) == ({"on": 1, "off": 0}, ("off", "on"), 1)
    assert one.busy_share["on"] == pytest.approx(0.98)


def test_an_epoch_of_which_nothing_was_kept_has_no_reading() -> None:
    totals = epoch_of([slice_of(0, 0, 1000)], [])
    asleep = dataclasses.replace(totals.arms["off"], dropped=1)
    dropped = dataclasses.replace(totals, arms={**totals.arms, "off": asleep})
    assert read_epoch(totals, "off", "on", "throughput").d == -math.inf
    assert math.isnan(read_epoch(dropped, "off", "on", "throughput").d)


def test_a_slice_beside_a_dropped_one_tells_nothing_of_carry_over() -> None:
    """Whom it followed is then not among the slices that were kept."""
    blocks = range(40)
    firsts = [("on", "off")[(block // 2) % 2] for block in blocks]
    on, off = [], []
    for block in blocks:
        on.append(slice_of(block, int(firsts[block] != "on"), 1000 + block % 3))
        off.append(slice_of(block, int(firsts[block] != "off"), 1000 - block % 3))
    whole = epoch_of(on, off)
    assert math.isfinite(carry_over(whole, "off", "on"))
    only_first = {
        name: [one for one in arm.slices if one.position == 0] for name, arm in whole.arms.items()
    }
    assert math.isnan(carry_over(epoch_of(only_first["on"], only_first["off"]), "off", "on"))


def test_mean_latency_is_read_from_totals_too() -> None:
    totals = epoch_of([slice_of(0, 0, 1000)], [slice_of(0, 1, 1040)])
    assert read_epoch(totals, "off", "on", "latency_mean").d == pytest.approx(-math.log(1.04))


def test_debt_paid_after_the_slices_counts_as_time_without_work() -> None:
    totals = epoch_of([slice_of(0, 0, 1000)], [slice_of(0, 1, 1000)], debt_ns=50_000_000)
    one = read_epoch(totals, "off", "on", "throughput")
    assert one.d == pytest.approx(-math.log(2))
    assert one.busy_share["off"] == pytest.approx(0.98)


def test_stalls_in_few_slices_move_the_reading_by_what_they_cost_and_the_typical_slice_hardly() -> (
    None
):
    rng = np.random.default_rng(1)
    on, off = [], []
    for block in range(200):
        stalled = block % 20 == 0  # 5 % of the slices lose four fifths of their work
        on.append(slice_of(block, 0, int(rng.normal(1000, 30))))
        off.append(slice_of(block, 1, int(rng.normal(1000, 30) * (0.2 if stalled else 1))))
    one = read_epoch(epoch_of(on, off), "off", "on", "throughput")
    assert math.expm1(one.d) == pytest.approx(-0.04, abs=0.006)
    assert math.expm1(one.typical_d) == pytest.approx(-0.0, abs=0.01)


@pytest.mark.parametrize(
    ("metric", "off_work", "on_work", "d"),
    [
        ("throughput", 0, 1000, -math.inf),
        ("throughput", 1000, 0, math.inf),
        ("latency_mean", 0, 1000, math.inf),
        ("latency_mean", 1000, 0, -math.inf),
    ],
)
def test_an_arm_that_did_no_work_reads_as_infinitely_slow(
    metric: str, off_work: int, on_work: int, d: float
) -> None:
    totals = epoch_of([slice_of(0, 0, on_work)], [slice_of(0, 1, off_work)])
    assert read_epoch(totals, "off", "on", metric).d == d


def test_two_arms_without_work_have_no_reading() -> None:
    totals = epoch_of([slice_of(0, 0, 0)], [slice_of(0, 1, 0)])
    assert math.isnan(read_epoch(totals, "off", "on", "throughput").d)


def test_an_arm_that_crashed_did_no_work_however_much_it_did_before() -> None:
    work = ([slice_of(0, 0, 1000)], [slice_of(0, 1, 1000)])
    crashed = read_epoch(epoch_of(*work, outcome="crashed: off"), "off", "on", "throughput")
    assert (crashed.d, crashed.outcome) == (-math.inf, "crashed: off")
    both = read_epoch(epoch_of(*work, outcome="crashed: off, on"), "off", "on", "throughput")
    assert math.isnan(both.d)


@pytest.mark.parametrize("outcome", ["crashed: {}", "could not start: {}", "out of memory: {}"])
@pytest.mark.parametrize("metric", ["throughput", "latency_mean", "geometric_mean"])
@pytest.mark.parametrize("lost", ["on", "off"])
@pytest.mark.parametrize("measured", ["both", "the lost one", "the other", "neither"])
def test_by_every_metric_an_arm_that_was_lost_is_infinitely_slow(
    outcome: str, metric: str, lost: str, measured: str
) -> None:
    """Whatever it did until then, here it was twice as fast, and whether or not the other one had
    come to be measured: at a start or in a warm-up neither has."""
    other = {"on": "off", "off": "on"}[lost]
    work = {
        lost: [slice_of(0, 0, 1000, 100_000_000)] if measured in ("both", "the lost one") else [],
        other: [slice_of(0, 1, 1000)] if measured in ("both", "the other") else [],
    }
    work = {name: work[name] for name in ("on", "off")}
    one = read_epoch(epoch_of(*work.values(), outcome=outcome.format(lost)), "off", "on", metric)
    arm_is_slow = lost == "off"
    assert one.d == (-math.inf if arm_is_slow == (metric == "throughput") else math.inf)
    both = epoch_of(*work.values(), outcome=outcome.format("off, on"))
    assert math.isnan(read_epoch(both, "off", "on", metric).d)


def test_an_epoch_that_failed_by_nobodys_fault_is_missing() -> None:
    work = ([slice_of(0, 0, 1000)], [slice_of(0, 1, 1000)])
    failed = epoch_of(*work, outcome="failed: driver could not connect")
    assert math.isnan(read_epoch(failed, "off", "on", "throughput").d)


@pytest.mark.parametrize(
    ("outcome", "names"),
    [
        ("complete", set()),
        ("crashed: on, off", {"on", "off"}),
        ("could not start: off", {"off"}),
        ("could not start: server refused: port is taken", set()),
        ("failed: whatever", set()),
    ],
)
def test_an_outcome_names_the_arms_to_blame(outcome: str, names: set[str]) -> None:
    assert blamed(outcome) == names


def test_the_typical_slice_is_scipys_trimmed_mean() -> None:
    from scipy.stats import trim_mean

    ratios = list(np.random.default_rng(3).standard_t(2, 57))
    assert typical(ratios) == pytest.approx(trim_mean(ratios, 0.1))
    assert math.isnan(typical([]))


def blocks_with_carry_over(penalty: float, seed: int) -> EpochTotals:
    """Each arm does 1,000 transactions a slice; `off` loses a share of them after `on`."""
    rng = np.random.default_rng(seed)
    slices: dict[str, list[SliceTotals]] = {"on": [], "off": []}
    before = ""
    for block in range(64):
        for position, name in enumerate(rng.permutation(["on", "off"])):
            loss = penalty if name == "off" and before == "on" else 0.0
            slices[name].append(slice_of(block, position, round(100_000 * (1 - loss))))
            before = name
    return epoch_of(slices["on"], slices["off"])


def test_carry_over_of_one_arm_is_measured_and_none_reads_as_none() -> None:
    totals = blocks_with_carry_over(0.05, seed=1)
    assert carry_over(totals, "off", "on") == pytest.approx(math.log(0.95), abs=1e-4)
    shared = blocks_with_carry_over(0.0, 1)
    assert carry_over(shared, "off", "on") == pytest.approx(0.0, abs=1e-12)


def test_carry_over_is_unknown_where_an_arm_never_followed_itself() -> None:
    totals = epoch_of(
        [slice_of(b, 0, 1000) for b in range(9)], [slice_of(b, 1, 1000) for b in range(9)]
    )
    assert math.isnan(carry_over(totals, "off", "on"))


def test_the_geometric_mean_weighs_every_block_alike_and_keeps_what_was_given_up() -> None:
    on = [slice_of(0, 0, 1, 1_000_000), slice_of(1, 1, 1, 900_000_000)]
    off = [slice_of(0, 1, 1, 2_000_000), slice_of(1, 0, 1, 900_000_000)]
    slower = read_epoch(epoch_of(on, off), "off", "on", "geometric_mean")
    assert slower.d == pytest.approx(math.log(2) / 2), "a short query counts as a long one does"
    given_up = [off[0], slice_of(1, 0, 0, 3_600_000_000)]
    limited = read_epoch(epoch_of(on, given_up), "off", "on", "geometric_mean")
    assert limited.d == pytest.approx((math.log(2) + math.log(4)) / 2), "with its limit"


def test_the_geometric_mean_weighs_every_query_alike_and_leaves_out_what_stands_aside() -> None:
    def took(block: int, script: str, ms: int) -> SliceTotals:
        one = slice_of(block, 0, 1, ms * 1_000_000)
        return dataclasses.replace(one, script=script, excluded=script == "rf1")

    on = [took(0, "rf1", 1), took(1, "q1", 1), took(2, "q2", 5), took(3, "q1", 1)]
    off = [took(0, "rf1", 9), took(1, "q1", 2), took(2, "q2", 5), took(3, "q1", 8)]
    one = read_epoch(epoch_of(on, off), "off", "on", "geometric_mean")
    of_q1 = (math.log(2) + math.log(8)) / 2
    assert one.d == pytest.approx((of_q1 + math.log(1)) / 2)
    assert one.blocks == 3
    assert read_epoch(epoch_of(on, off), "off", "on", "throughput").blocks == 4


@pytest.mark.parametrize("failing", ["on", "off", "both", "none"])
@pytest.mark.parametrize("ns", [1, 1_000_000, 900_000_000, 3_600_000_000])
def test_a_query_that_fails_is_no_gain_however_early_its_error_comes(failing: str, ns: int) -> None:
    """A division by zero takes a millisecond where the query takes a second."""
    usual = 900_000_000

    def query(block: int, name: str, *, fails: bool) -> SliceTotals:
        part = slice_of(block, 0, int(not fails), ns if fails else usual)
        return dataclasses.replace(part, script=name, failed=int(fails))

    on, off = (
        [query(0, "q1", fails=failing in (arm, "both")), query(1, "q2", fails=False)]
        for arm in ("on", "off")
    )
    d = read_epoch(epoch_of(on, off), "off", "on", "geometric_mean").d
    longer = max(0.0, math.log(ns / usual)) / 2
    assert d == pytest.approx({"on": -longer, "off": longer}.get(failing, 0.0))
