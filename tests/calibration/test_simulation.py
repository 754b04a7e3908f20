"""Simulated weighings keep their error rates, and a damaged method does not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.analysis.decision import e_process, looks, sets, sign_flip
from steelyard.analysis.decision.looks import Stage, Terms
from steelyard.analysis.decision.sets import judging_sets
from steelyard.study.design import first_look
from thinned import thinned
from validation.cases.simulation import (
    FEW,
    QUESTIONS,
    LookCase,
    OpenCase,
    Tallies,
    Tally,
    cell,
    tallies,
    weighings,
)
from validation.cases.virtual import Question, VirtualWeighing, moved, planned
from validation.pages.shares import AT_MARGIN, equivalent, false_alarms, missed
from validation.proportion import Proportion
from validation.worlds.atlas import WORLDS, world
from validation.worlds.white import WHITE
from validation.worlds.world import SIGMA

SURE = 0.999
"""Confidence of the intervals here: many are looked at, and none may fail by chance."""
ZERO = Question(0.0)
SYMMETRIC = [one.name for one in WORLDS if one.symmetric]
QUICK = "first verdict"


def tallies_of(case: LookCase | OpenCase) -> dict[str, Tally]:
    return tallies(case.work()["cells"])


def bounded(name: str, epochs: int, count: int) -> Iterator[Proportion]:
    """Every share of a world that must stay within 5 %."""
    there = tallies_of(LookCase(name, epochs, part=100, weighings=count))
    for rule in ("plan", QUICK):
        yield false_alarms(there[cell(rule, ZERO)])
        yield from (missed(there[cell(rule, question)]) for question in QUESTIONS)
        yield from (equivalent(there[cell(rule, question)]) for question in AT_MARGIN)
    yield from (missed(there[cell("interrupted", question)]) for question in FEW)


@thinned("name", SYMMETRIC, 5)
def test_no_error_exceeds_five_percent_in_a_symmetric_world(name: str) -> None:
    for epochs in (8, 10):
        assert not [s for s in bounded(name, epochs, 250) if s.exceeds(0.05, SURE)]


def test_an_arm_with_slow_restarts_of_its_own_does_exceed_it_so_the_worlds_can_tell() -> None:
    shares = list(bounded("slow restarts, one arm", 10, 600))
    assert [s for s in shares if s.exceeds(0.05, SURE)]


@thinned("name", ["white", "drift", "storm"], 1)
def test_open_ended_weighings_keep_five_percent_however_often_they_are_looked_at(
    name: str,
) -> None:
    there = tallies_of(OpenCase(name, 10, part=100, weighings=60))
    pooled = Proportion(0, 0)
    for rule in ("open", "open, first verdict"):
        assert not false_alarms(there[cell(rule, ZERO)]).exceeds(0.05, SURE)
        assert not equivalent(there[cell(rule, Question(-0.01))]).exceeds(0.05, SURE)
        pooled += missed(there[cell(rule, ZERO)])
    assert not pooled.exceeds(0.05, SURE)
    assert there[cell("open, first verdict", Question(-0.03))].slower >= 30


def level_at_the_last_look(epochs: int, count: int) -> Proportion:
    """How often the set of a white weighing of so many epochs misses its truth."""
    draw = WHITE.draw(np.random.default_rng(epochs), count, epochs)
    terms = Terms(epochs)
    outside = sum(
        0.0 not in judging_sets(d, terms, Stage.LAST, tuple(first.tolist())).main
        for d, first in zip(draw.d, draw.first, strict=True)
    )
    return Proportion(outside, count)


def is_exact(epochs: int, count: int = 12_000) -> bool:
    """Whether the level that is met is the one of the table: k = ⌊.02·G⌋ of G on either side."""
    group = {8: 70, 10: 252}[epochs]
    low, high = level_at_the_last_look(epochs, count).interval(0.98)
    return low <= 2 * int(0.02 * group) / group <= high


@thinned("epochs", [8, 10], 1)
def test_the_level_is_exactly_that_of_the_rank(epochs: int) -> None:
    assert is_exact(epochs)


@thinned("epochs", [8, 10], 1)
def test_a_rank_that_is_too_large_by_one_is_noticed(
    epochs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sign_flip, "rank", lambda alpha, group: int(alpha * group + 1e-9) + 1)
    assert not is_exact(epochs)


def pooled_misses(count: int = 800, epochs: int = 14, **changes: Any) -> Proportion:
    """Truths missed by first verdicts in the white world, terms changed."""
    draw = WHITE.draw(np.random.default_rng(7), count, epochs)
    outside = 0
    for weighing in weighings(draw, epochs):
        weighing.terms = replace(weighing.terms, **changes)
        outside += not weighing.ending(ZERO, first_verdict=True).covered
    return Proportion(outside, count)


def test_a_first_look_at_a_wide_level_is_noticed() -> None:
    assert not pooled_misses().exceeds(0.05, SURE)
    assert pooled_misses(alphas=(0.16, 0.04)).exceeds(0.05, SURE)


def test_looking_after_every_epoch_with_sign_changes_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(VirtualWeighing, "_looks", lambda self: range(8, 15))
    monkeypatch.setattr(Terms, "stage", lambda self, done, usable, ended: Stage.FIRST)
    assert pooled_misses(600, alphas=(0.05, 0.05)).exceeds(0.05, SURE)


def test_an_equivalence_set_that_is_too_narrow_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = sets.equivalence_set
    monkeypatch.setattr(sets, "equivalence_set", lambda d, alpha, slots: real(d, 3 * alpha, slots))
    there = tallies_of(LookCase("white", 12, part=101, weighings=300))
    wrong = equivalent(there[cell("plan", Question(-0.01))])
    assert wrong.exceeds(0.05, SURE)


@pytest.mark.long
def test_bets_that_know_the_epoch_they_bet_on_are_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def peeked(d: np.ndarray, s0: float) -> np.ndarray:
        return np.where(d > 0, 0.2, 5.0) * SIGMA  # large bets where they win

    monkeypatch.setattr(e_process, "past_scale", peeked)
    draw = WHITE.draw(np.random.default_rng(9), 120, 20)
    outside = sum(not one.open_ending(ZERO, True).covered for one in weighings(draw, 10))
    assert Proportion(outside, 120).exceeds(0.05, SURE)


d_values = st.lists(st.floats(-0.05, 0.05), min_size=12, max_size=12, unique=True)


@given(d_values, st.floats(-0.1, 0.1), st.booleans(), st.sampled_from([8, 10, 12]))
@settings(max_examples=30)
def test_the_sets_move_with_the_log_ratios(
    values: list[float], theta: float, open_ended: bool, done: int
) -> None:
    d = np.array(values)
    terms = Terms(10, first_look(10), open_ended=open_ended, s0=SIGMA)
    slots = (True, False) * 6
    stage = terms.stage(done, done, ended=False)
    still = judging_sets(d[:done], terms, stage, slots[:done])
    shifted = judging_sets(d[:done] + theta, terms, stage, slots[:done])
    for before, after in ((still.main, shifted.main), (still.equivalence, shifted.equivalence)):
        expected = moved(before, theta)
        assert after.low == pytest.approx(expected.low, abs=1e-9)
        assert after.high == pytest.approx(expected.high, abs=1e-9)


@pytest.mark.parametrize("effect", [0.0, -0.01, -0.03])
@pytest.mark.parametrize("quick", [True, False])
def test_an_open_ended_weighing_ends_at_the_first_epoch_at_which_it_may(
    effect: float, quick: bool
) -> None:
    draw = world("slot effect").draw(np.random.default_rng(11), 6, 24)
    for d, first in zip(draw.d, draw.first, strict=True):
        weighing = VirtualWeighing(d, tuple(first.tolist()), planned(10, SIGMA))
        ending = weighing.open_ending(Question(effect), quick)
        terms = replace(weighing.terms, open_ended=True, first_verdict=quick)
        theta = Question(effect).theta
        slowly = (weighing._judged(n, theta, terms) for n in range(looks.FEWEST_FOR_VERDICT, 25))
        assert ending == next(one for one in slowly if one.verdict.ends or one.epochs == 24)


def test_a_tally_survives_its_record() -> None:
    draw = WHITE.draw(np.random.default_rng(1), 5, 10)
    there = Tallies()
    for weighing in weighings(draw, 10):
        there.add("plan", ZERO, weighing.ending(ZERO, first_verdict=False))
    [(name, tally)] = tallies(there.to_json()).items()
    assert (name, tally.weighings, tally) == ("plan +0 1", 5, there.cells[name])


def test_a_case_gives_the_same_result_whenever_it_is_worked() -> None:
    case = LookCase("storm", 8, part=3, weighings=20)
    assert case.work() == case.work()
    assert case.work() != replace(case, part=2).work()
