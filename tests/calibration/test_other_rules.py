"""Other tools' rules do what their sources say, on machines that do what they are told."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from scipy.stats import mannwhitneyu, norm, ttest_ind

from validation.cases.case import generator
from validation.cases.comparison import RULES, ComparisonCase
from validation.machines.machine import RUN, Machine
from validation.machines.simulated import SLICE_S, WEATHERS, SimulatedMachine
from validation.machines.traced import TracedEpoch, TracedMachine
from validation.rules import criterion, perfgate, pinpoint
from validation.rules.mann_whitney import BENCHSTAT
from validation.rules.perfgate import PERFGATE
from validation.rules.pinpoint import PINPOINT
from validation.rules.rule import Rule, Says
from validation.rules.tango import TANGO, TANGO_WIDE
from validation.rules.welch import WELCH
from validation.worlds.world import Floats

QUIET, RESTLESS, STORM = WEATHERS


class Scripted:
    """A machine that measures what it was told, in order."""

    def __init__(self, a: Sequence[float], b: Sequence[float]) -> None:
        self.a, self.b = list(a), list(b)
        self.seconds = 0.0

    def slices(self, count: int) -> tuple[Floats, Floats]:
        return np.array(self.a[:count]), np.array(self.b[:count])

    pairs = slices

    def runs(self, order: Sequence[str]) -> Floats:
        return np.array([(self.a if arm == "A" else self.b).pop(0) for arm in order])

    def epochs(self, count: int) -> tuple[Floats, tuple[bool, ...]]:
        raise NotImplementedError


def says(rule: Rule, a: Sequence[float], b: Sequence[float]) -> Says:
    return rule.judge(Scripted(a, b), np.random.default_rng(1))


@pytest.mark.parametrize("rule", RULES, ids=[one.name for one in RULES])
def test_every_rule_sees_ten_percent_on_a_quiet_machine_and_seldom_errs_there(rule: Rule) -> None:
    rng = generator(f"tests/{rule.name}")
    slower = [rule.judge(SimulatedMachine(QUIET, np.log(0.9), rng), rng) for _ in range(5)]
    assert slower == [Says.SLOWER] * 5
    faster = [rule.judge(SimulatedMachine(QUIET, np.log(1.1), rng), rng) for _ in range(5)]
    assert faster == [Says.FASTER] * 5
    alike = [rule.judge(SimulatedMachine(QUIET, 0.0, rng), rng) for _ in range(40)]
    assert sum(one in (Says.SLOWER, Says.FASTER) for one in alike) <= 14


def test_welch_is_welch() -> None:
    rng = np.random.default_rng(3)
    for shift in (0.0, 0.02):
        a, b = rng.normal(1, 0.05, 150), rng.normal(1 - shift, 0.05, 150)
        significant = ttest_ind(a, b, equal_var=False).pvalue < 0.05
        assert (says(WELCH, a, b) is Says.SLOWER) is bool(significant)


def test_benchstat_rejects_at_the_exact_rank_sum() -> None:
    a = np.arange(10) + 0.5
    for shift in range(0, 10):
        b = a - shift - 0.25
        rejects = mannwhitneyu(a, b, method="exact").pvalue <= 0.05
        assert (says(BENCHSTAT, a, b) is Says.SLOWER) is bool(rejects)


def test_criterions_bootstrap_agrees_with_the_t_test_where_both_should() -> None:
    rng = np.random.default_rng(4)
    for shift in (0.0, 0.005, 0.01):
        base, new = rng.normal(1, 0.03, 100), rng.normal(1 + shift, 0.03, 100)
        expected = float(ttest_ind(new, base, equal_var=False).pvalue)
        assert criterion._p_value(base, new, rng) == pytest.approx(expected, abs=0.06)


def test_criterion_asks_for_a_change_beyond_its_noise() -> None:
    rng = np.random.default_rng(5)
    a = rng.normal(1, 0.005, 100)
    assert says(criterion.CRITERION, a, a * 0.995) is Says.NOTHING  # significant, but .5 %
    assert says(criterion.CRITERION, a, a * 0.97) is Says.SLOWER


def test_tango_asks_for_z_and_for_a_change_beyond_its_noise() -> None:
    rng = np.random.default_rng(6)
    a = rng.normal(1, 0.02, 150)
    assert says(TANGO, a, a * 0.993) is Says.SLOWER
    assert says(TANGO_WIDE, a, a * 0.993) is Says.NOTHING
    noisy = rng.normal(1, 0.5, 150)
    assert says(TANGO, a, noisy + 0.03) is Says.NOTHING


@pytest.mark.long
def test_pinpoints_thresholds_are_the_percentile_that_its_source_names() -> None:
    rng = np.random.default_rng(7)
    apart = norm.ppf(0.75) - norm.ppf(0.25)
    for attempts in (10, 20):
        p = [
            mannwhitneyu(
                rng.standard_normal(attempts),
                rng.standard_normal(attempts) + apart,
                method="asymptotic",
            ).pvalue
            for _ in range(800)
        ]
        assert np.quantile(p, 0.99) == pytest.approx(pinpoint.HIGH[attempts], rel=0.35)


def test_pinpoint_goes_on_while_it_is_in_doubt_and_stops_when_it_is_not() -> None:
    same = list(np.linspace(0.9, 1.1, 30))
    assert says(PINPOINT, same, same) is Says.SAME
    shuffled = list(np.random.default_rng(2).permutation(same))
    machine = Scripted(shuffled * 2, [one * 0.95 for one in shuffled] * 2)
    PINPOINT.judge(machine, np.random.default_rng(1))
    assert len(machine.a) < 50  # more than the first ten attempts were made


def test_perfgate_adds_pairs_until_it_finds_something() -> None:
    rng = np.random.default_rng(8)
    a = rng.normal(1, 0.05, 20)
    assert says(PERFGATE, a, a + 1e-3 * rng.standard_normal(20) - 0.01) is Says.SLOWER
    calm = Scripted([1.0] * 20, [1.0 + (-1) ** i * 1e-3 for i in range(20)])
    assert PERFGATE.judge(calm, rng) is Says.NOTHING
    assert len(calm.a) == 0  # 10 pairs and retries of 2, 3 and 5
    assert perfgate._interval(np.array([1.0, 3.0]))[0] == pytest.approx(2 - 2 / np.sqrt(2))


@pytest.mark.parametrize("weather", WEATHERS, ids=[one.name for one in WEATHERS])
def test_a_simulated_machine_measures_the_effect_it_was_given_by_every_schedule(
    weather: object,
) -> None:
    rng = np.random.default_rng(9)
    theta = np.log(0.7)

    def fresh() -> Machine:
        return SimulatedMachine(weather, theta, rng)  # type: ignore[arg-type]

    def mean_effect(sides: list[tuple[Floats, Floats]]) -> float:
        return float(np.mean([np.log(b.mean() / a.mean()) for a, b in sides]))

    assert mean_effect([fresh().slices(100) for _ in range(40)]) == pytest.approx(theta, abs=0.08)
    assert mean_effect([fresh().pairs(100) for _ in range(40)]) == pytest.approx(theta, abs=0.05)
    runs = [fresh().runs(["A", "B"] * 5) for _ in range(40)]
    assert mean_effect([(one[::2], one[1::2]) for one in runs]) == pytest.approx(theta, abs=0.05)
    d = np.concatenate([fresh().epochs(10)[0] for _ in range(20)])
    assert d.mean() == pytest.approx(theta, abs=0.02)


def test_measuring_time_is_counted_alike_for_all() -> None:
    machine = SimulatedMachine(QUIET, 0.0, np.random.default_rng(10))
    machine.slices(150)
    assert machine.seconds == pytest.approx(300 * SLICE_S)
    machine.epochs(10)
    assert machine.seconds == pytest.approx((300 + 20 * RUN) * SLICE_S)
    machine.runs(["A", "B"])
    assert machine.seconds == pytest.approx((300 + 22 * RUN) * SLICE_S)


def traced(count: int) -> list[TracedEpoch]:
    rng = np.random.default_rng(11)
    found = []
    for _ in range(count):
        one, other = rng.normal(10, 0.1, 15), rng.normal(10, 0.1, 15)
        in_time = np.stack([one, other], axis=1).ravel()
        whole = (float(one.mean()), float(other.mean()))
        found.append(
            TracedEpoch(in_time, (one, other), whole, float(np.log(whole[0] / whole[1])), 0.1)
        )
    return found


def test_a_recorded_machine_hands_out_what_was_recorded_and_puts_the_effect_on_b() -> None:
    epochs = traced(12)
    machine = TracedMachine(epochs, np.log(0.5), np.random.default_rng(12))
    a, b = machine.slices(60)
    assert (len(a), len(b), machine.seconds) == (60, 60, pytest.approx(12.0))
    assert np.median(b) / np.median(a) == pytest.approx(0.5, rel=0.02)
    assert set(np.round(a, 9)) <= set(np.round(np.concatenate([e.in_time for e in epochs]), 9))
    a, b = machine.pairs(30)
    assert np.median(b / a) == pytest.approx(0.5, rel=0.02)
    runs = machine.runs(["A", "A", "B", "B"])
    assert runs[2:].mean() / runs[:2].mean() == pytest.approx(0.5, rel=0.02)
    d, first = machine.epochs(10)
    assert (d.mean(), sum(first)) == (pytest.approx(np.log(0.5), abs=0.02), 5)


def test_a_comparison_counts_every_answer() -> None:
    found = ComparisonCase("quiet", "tango, noise .5 %", -0.03, weighings=20).work()
    assert sum(found["said"].values()) == 20
    assert found["said"]["slower"] >= 18
    assert found["measured_seconds"] == pytest.approx(30.0)
