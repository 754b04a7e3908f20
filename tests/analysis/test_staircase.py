"""A search comes to the rate at which half of its visits keep the limit, wherever it begins."""

from __future__ import annotations

import math
import random

import pytest

from steelyard.analysis.staircase import FEWEST_VISITS, LAST_STEP, SPAN, Rule, Search, read_search

TRUE = 5_000.0


def searched(rule: Rule, visits: int, scatter: float, draw: random.Random) -> Search:
    """A search whose visits keep the limit where the rate is below the truth, give or take."""
    search = Search(rule)
    for _ in range(visits):
        search.answer(kept=math.log(search.rate) < math.log(TRUE) + draw.gauss(0, scatter))
    return search


@pytest.mark.parametrize("begin", [0.1, 0.5, 0.9, 1.0, 1.2, 3.0])
def test_from_near_and_far_it_comes_to_the_same_rate(begin: float) -> None:
    draw = random.Random(f"begin {begin}")
    read = [searched(Rule(begin * TRUE, 0.3), 40, 0.05, draw).reading() for _ in range(300)]
    logs = [math.log(one.rate / TRUE) for one in read if one is not None]
    assert len(logs) == 300
    assert abs(sum(logs) / 300) < 0.015
    assert all(one is not None and not one.at_end for one in read)


def test_equal_arms_differ_symmetrically_even_where_the_search_is_cut_short() -> None:
    draw = random.Random(3)
    rule = Rule(0.5 * TRUE)
    d = []
    for _ in range(800):
        first, second = (searched(rule, FEWEST_VISITS, 0.08, draw).reading() for _ in range(2))
        assert first is not None
        assert second is not None
        d.append(math.log(first.rate / second.rate))
    assert 340 < sum(one > 0 for one in d) < 460


def test_the_reading_is_the_mean_of_the_later_rates_and_of_the_next() -> None:
    rule = Rule(1000.0, first_step=0.2, last_step=0.1)
    kept = [True, False, True, False, True]
    # 0, +.2, +.1 (halved), +.2, +.1, +.2: of five visits the last three, and the next
    search = Search(rule)
    logs = []
    for one in kept:
        logs.append(math.log(search.rate / 1000))
        search.answer(kept=one)
    logs.append(math.log(search.rate / 1000))
    assert logs == pytest.approx([0.0, 0.2, 0.1, 0.2, 0.1, 0.2])
    reading = read_search(rule, kept)
    assert reading is not None
    assert math.log(reading.rate / 1000) == pytest.approx((0.2 + 0.1 + 0.2 + 0.1 + 0.2 - 0.2) / 4)
    assert reading.visits == 3


def test_a_run_of_equal_answers_makes_the_step_large_again() -> None:
    search = Search(Rule(1000.0, first_step=0.16))
    for one in (True, False, True, False, True, False):  # down to the last step
        search.answer(kept=one)
    before = search.rate
    for _ in range(8):
        search.answer(kept=True)
    assert math.log(search.rate / before) > 12 * LAST_STEP


def test_what_never_crosses_the_limit_has_no_reading_and_an_end_is_said() -> None:
    assert read_search(Rule(1000.0), [True] * 3) is None
    for kept, end, far in ((True, "fastest", SPAN), (False, "slowest", -SPAN)):
        reading = read_search(Rule(1000.0, first_step=0.5), [kept] * 60)
        assert reading is not None
        assert reading.at_end == end
        assert math.log(reading.rate / 1000) == pytest.approx(far)


def test_an_end_that_was_left_again_is_none() -> None:
    reading = read_search(Rule(1000.0, span=0.1), [*[True] * 10, *[False, True] * 12])
    assert reading is not None
    assert not reading.at_end
