"""What the order of rows says of their independence decides as how many they count."""

from __future__ import annotations

import numpy as np

from foreign.judged_rows import finding, names, noise, numbers, only, only_of
from steelyard.evaluation.threats.numbers import (
    OrderNotStated,
    RowsDepend,
    RowsOfDifferentThings,
    RowsSorted,
)
from steelyard.foreign.judgement.judge_numbers import judge_numbers
from steelyard.foreign.series import Order, Rows
from steelyard.model.threat import ThreatKind
from steelyard.wording.verdict_sentence import sentence_of


def test_rows_that_lost_their_order_carry_no_verdict_unless_chance_drew_it() -> None:
    a, b = np.sort(noise(24, 12)), np.sort(1.5 * noise(25, 12))
    judgement = judge_numbers(numbers(a, b, order=Order.UNKNOWN))
    assert judgement.to_json()["row_order"] == "lost"
    lost = only(judgement)
    assert RowsSorted() in lost.threats
    assert ThreatKind.ROWS_DEPEND.value not in names(lost)
    assert lost.verdict.kind.value == "inconclusive"
    assert lost.estimate.low > np.log(1.4)
    assert "without the order in time what the rows share cannot be looked for" in sentence_of(lost)
    drawn = only(judge_numbers(numbers(a, b)))
    assert drawn.verdict.kind.value == "slower"
    assert RowsSorted() in drawn.threats
    named = numbers(
        noise(24, 12), 1.5 * noise(25, 12), order=Order.UNKNOWN, no_order="rows have names"
    )
    unknown = only(judge_numbers(named))
    assert unknown.verdict.kind.value == "inconclusive"
    assert OrderNotStated("rows have names") in unknown.threats
    drawn_by_chance = numbers(noise(24, 12), 1.5 * noise(25, 12), no_order="rows have names")
    assert names(only(judge_numbers(drawn_by_chance))) == set()


def test_rows_that_differ_many_times_over_alike_in_all_arms_are_of_different_things() -> None:
    things = noise(26, 12, 2.0)
    a, b = things * noise(24, 12), things * noise(25, 12)
    assert RowsOfDifferentThings() in only(judge_numbers(numbers(a, b))).threats


def test_few_rows_whose_order_nobody_drew_carry_a_verdict_only_where_they_look_independent() -> (
    None
):
    # Neighbours of these 10 differences correlate by +.1: with 10 rows that may as well be .5.
    d = np.array([0.4, 0.9, 1.1, 0.2, 0.5, 1.6, 1.2, 0.1, 0.3, 0.8])
    a = noise(24, 10)
    withheld = only(judge_numbers(numbers(a, a * np.exp(d / 10), order=Order.UNKNOWN)))
    assert withheld.verdict.kind.value == "inconclusive"
    depend = only_of(withheld, RowsDepend)
    assert (depend.arm, depend.batched, depend.count, depend.enough) == (None, False, 10, True)
    assert 0 < depend.lag_one < 0.1
    assert depend.lag_one < depend.lag_one_limit < 1
    assert depend.effective < 5
    assert "a verdict needs 5, or an order that chance drew" in sentence_of(withheld)
    assert np.isfinite(withheld.estimate.low)
    drawn = only(judge_numbers(numbers(a, a * np.exp(d / 10))))
    assert drawn.verdict.kind.value == "slower"
    assert drawn.estimate.interval.width < withheld.estimate.interval.width
    leaning = np.array([0.4, 1.1, 0.2, 1.6, 0.5, 1.2, 0.1, 0.9, 0.3, 0.8])
    judged = only(judge_numbers(numbers(a, a * np.exp(leaning / 10), order=Order.UNKNOWN)))
    assert judged.verdict.kind.value == "slower"


def test_rows_say_as_how_many_they_count() -> None:
    found = judge_numbers(numbers(noise(51, 30), noise(52, 30), order=Order.UNKNOWN))
    worth = round(finding(found, "replicates").figures["effective"][0])
    assert 5 <= worth < 30
    assert f"30 rows counted as {worth}" in sentence_of(only(found))
    assert f"so they count as {worth} independent ones" in finding(found, "replicates").sentence
    random = judge_numbers(numbers(noise(51, 30), noise(52, 30)))
    assert "counted" not in sentence_of(only(random))
    assert "count as" not in finding(random, "replicates").sentence


def test_rows_that_depend_on_each_other_widen_the_interval_or_leave_none() -> None:
    rng = np.random.default_rng(34)
    slow = np.cumsum(rng.normal(size=40)) * 0.01
    slow -= np.linspace(slow[0], slow[-1], 40)
    a = noise(35, 40, 0.001)
    contrast = only(judge_numbers(numbers(a, np.exp(slow), order=Order.UNKNOWN, rows=Rows.BLOCKS)))
    depend = only_of(contrast, RowsDepend)
    assert (depend.arm, depend.count, depend.enough) == (None, 40, True)
    random = only(judge_numbers(numbers(a, np.exp(slow), rows=Rows.BLOCKS)))
    assert ThreatKind.ROWS_DEPEND.value not in names(random)
    assert random.estimate.interval.width < contrast.estimate.interval.width
    line = np.exp(np.linspace(0, 1, 20))
    none = only(judge_numbers(numbers(noise(36, 20), line * noise(37, 20), order=Order.UNKNOWN)))
    assert none.verdict.kind.value == "inconclusive"
    assert np.isinf(none.estimate.low)
    assert not only_of(none, RowsDepend).enough
    assert "depend on each other too much" in sentence_of(none)


def test_rows_apart_in_random_order_are_as_likely_in_any_split() -> None:
    rng = np.random.default_rng(60)
    slow = np.exp(np.cumsum(rng.normal(size=20)) * 0.05)
    drawn = rng.permuted(np.repeat([0, 1], 10))
    arms = [slow[drawn == side] for side in (0, 1)]
    contrast = only(judge_numbers(numbers(*arms, rows=Rows.APART)))
    assert ThreatKind.ROWS_DEPEND.value not in names(contrast)
    assert np.isfinite(contrast.estimate.low)
