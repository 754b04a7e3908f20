"""The plan's looks keep 5 % together; shortcuts that look more often, or at blocks, do not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest, t, ttest_1samp

from steelyard.analysis.decision.looks import ALPHAS, Stage, Terms, smallest_visible
from steelyard.analysis.decision.sets import judging_sets, shown_interval
from steelyard.analysis.decision.sign_flip import confidence_set, plain_subsets, rank
from steelyard.evaluation.rule import VerdictKind, decide
from steelyard.study.design import first_look
from thinned import thinned


@pytest.mark.parametrize(
    ("done", "usable", "ended", "stage"),
    [
        (7, 7, False, Stage.TOO_FEW),
        (12, 7, False, Stage.TOO_FEW),
        (8, 8, False, Stage.FIRST),
        (9, 9, False, Stage.BETWEEN),
        (9, 9, True, Stage.INTERRUPTED),
        (12, 12, False, Stage.LAST),
        (12, 11, False, Stage.LAST),
    ],
)
def test_a_weighing_knows_where_in_its_plan_it_stands(
    done: int, usable: int, ended: bool, stage: Stage
) -> None:
    assert Terms(epochs=12, look=8).stage(done, usable, ended) is stage


@pytest.mark.parametrize("done", [8, 12, 13, 40])
def test_an_open_ended_weighing_has_its_own_stages(done: int) -> None:
    stage = Terms(epochs=12, open_ended=True).stage(done, done, ended=False)
    assert stage is (Stage.LAST if done == 12 else Stage.OPEN)


@pytest.mark.parametrize(
    ("n", "effect"), [(8, 1.22), (10, 1.04), (12, 0.93), (18, 0.73), (30, 0.55)]
)
def test_the_smallest_visible_effect_is_that_of_the_simulated_table(n: int, effect: float) -> None:
    assert smallest_visible(n) == pytest.approx(effect, abs=0.02)


@pytest.mark.parametrize("n", [8, 10, 12])
def test_the_smallest_visible_effect_is_seen_four_times_in_five_at_the_last_look(n: int) -> None:
    d = np.random.default_rng(n).normal(smallest_visible(n, balanced=True), 1.0, (1_500, n))
    assignment = tuple(i % 2 == 0 for i in range(n))
    lows = [confidence_set(one, ALPHAS[1], assignment).interval.low for one in d]
    assert np.mean(np.array(lows) > 0) == pytest.approx(0.8, abs=0.035)


def judged(d: np.ndarray, assignment: tuple[bool, ...], terms: Terms) -> VerdictKind:
    """What a weighing that asks for its first verdict ends with."""
    look = terms.look or terms.epochs
    sets = judging_sets(d[:look], terms, Stage.FIRST, assignment[:look])
    verdict = decide(Stage.FIRST, sets.main, sets.equivalence, terms)
    if not verdict.ends:
        sets = judging_sets(d, terms, Stage.LAST, assignment)
        verdict = decide(Stage.LAST, sets.main, sets.equivalence, terms)
    return verdict.kind


@thinned("epochs", [10, 12], 1)
def test_equal_arms_are_told_apart_in_at_most_five_percent_of_weighings(epochs: int) -> None:
    worlds = 2_000
    rng = np.random.default_rng(epochs)
    terms = Terms(epochs, first_look(epochs), margin=1e-6, first_verdict=True)
    alarms = 0
    for _ in range(worlds):
        slots = rng.permuted([1.0, -1.0] * (epochs // 2))
        d = rng.standard_normal(epochs) + slots  # one slot is a whole sd faster
        kind = judged(0.01 * d, tuple(slots > 0), terms)
        alarms += kind in (VerdictKind.SLOWER, VerdictKind.FASTER)
    interval = binomtest(alarms, worlds).proportion_ci(0.999, "exact")
    assert interval.low <= 0.05
    assert interval.high >= 0.03


def test_arms_a_margin_apart_are_called_equivalent_in_at_most_five_percent() -> None:
    worlds = 1_500
    rng = np.random.default_rng(9)
    terms = Terms(12, 8, margin=0.01)
    wrong = 0
    for _ in range(worlds):
        d = rng.normal(terms.margins[1], 0.0065, 12)
        wrong += judged(d, (True, False) * 6, terms) is VerdictKind.EQUIVALENT
    interval = binomtest(wrong, worlds).proportion_ci(0.999, "exact")
    assert interval.low <= 0.05


def test_equal_arms_are_called_equivalent_far_more_often_than_a_two_sided_97_set_would() -> None:
    worlds = 400
    rng = np.random.default_rng(10)
    terms = Terms(12, None, margin=0.01)
    ours = strict = 0
    for _ in range(worlds):
        d = rng.normal(0.0, 0.01, 12)
        sets = judging_sets(d, terms, Stage.LAST, (True, False) * 6)
        verdict = decide(Stage.LAST, sets.main, sets.equivalence, terms)
        ours += verdict.kind is VerdictKind.EQUIVALENT
        strict += confidence_set(d, 0.03).interval.inside(*terms.margins)
    assert ours > strict + 0.1 * worlds


def test_a_t_test_after_every_epoch_would_not_keep_its_level() -> None:
    rng = np.random.default_rng(12)
    worlds, n = 500, 60
    d = rng.standard_normal((worlds, n))
    alarms = np.zeros(worlds, dtype=bool)
    for looked in range(3, n + 1):
        alarms |= ttest_1samp(d[:, :looked], 0, axis=1).pvalue < 0.05
    assert binomtest(int(alarms.sum()), worlds).proportion_ci(0.999, "exact").low > 0.2


def test_taking_blocks_for_replicates_would_not_keep_the_level_where_they_are_autocorrelated() -> (
    None
):
    rng = np.random.default_rng(13)
    worlds, epochs, blocks = 400, 12, 16
    shared = rng.standard_normal((worlds, epochs, 1))  # backends stay where they are for an epoch
    d = (0.6 * shared + 0.8 * rng.standard_normal((worlds, epochs, blocks))).reshape(worlds, -1)
    critical = t.ppf(0.975, d.shape[1] - 1)
    by_block = np.abs(d.mean(axis=1)) / (d.std(axis=1, ddof=1) / np.sqrt(d.shape[1])) > critical
    flips = plain_subsets(d.shape[1])
    k = rank(0.025, len(flips) + 1)
    flipped = 0
    for world in d[:150]:
        means = np.sort(flips @ world / flips.sum(axis=1))
        flipped += means[k - 1] > 0 or means[-k] < 0
    assert binomtest(int(by_block.sum()), worlds).proportion_ci(0.999, "exact").low > 0.15
    assert binomtest(flipped, 150).proportion_ci(0.999, "exact").low > 0.15
    of_epochs = d.reshape(worlds, epochs, blocks).mean(axis=2)
    missed = sum(0.0 not in confidence_set(one, 0.05).interval for one in of_epochs)
    assert binomtest(missed, worlds).proportion_ci(0.999, "exact").low <= 0.05


@pytest.mark.parametrize("terms", [Terms(20, 14), Terms(20, 14, open_ended=True)])
@pytest.mark.parametrize("done", [1, 5, 8, 9, 14, 20, 23])
@pytest.mark.parametrize("ended", [False, True])
def test_the_interval_that_is_shown_is_the_one_that_decides(
    terms: Terms, done: int, ended: bool
) -> None:
    d = np.random.default_rng(done).normal(0.01, 0.005, done)
    slots = tuple(epoch % 2 == 0 for epoch in range(done))
    for some in (d, np.where(np.arange(done) == 2, -np.inf, d)):
        stage = terms.stage(done, done, ended)
        shown = shown_interval(some, terms, stage, slots)
        assert shown == judging_sets(some, terms, stage, slots).main
