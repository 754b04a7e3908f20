"""The decision follows from two sets and a margin; --fail-if asks for the whole set."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from record.made import line_of
from steelyard.analysis.decision.looks import Stage, Terms
from steelyard.evaluation.rule import Decision, FailCondition, VerdictKind, decide
from steelyard.model.errors import UsageError
from steelyard.model.estimate import UNBOUNDED, Interval
from steelyard.model.threat import Quoted, ThreatKind
from steelyard.record.contrast import ContrastLine

THROUGHPUT = Terms(12, 8, margin=0.01)
LATENCY = Terms(12, 8, margin=0.01, metric="latency_mean")


def inner(main: Interval) -> Interval:
    """An equivalence set a tenth narrower on either side."""
    cut = 0.1 * main.width
    return Interval(main.low + cut, main.high - cut)


@pytest.mark.parametrize(
    ("low", "high", "kind", "nonzero", "at_least"),
    [
        (-0.05, -0.03, "slower", True, True),
        (-0.05, -0.005, "slower", True, False),
        (0.005, 0.05, "faster", True, False),
        (0.02, 0.05, "faster", True, True),
        (-0.005, 0.005, "equivalent", False, False),
        (0.001, 0.008, "equivalent", True, False),
        (-0.02, 0.02, "inconclusive", False, False),
        (-0.0104, 0.005, "equivalent", False, False),  # only the equivalence set is inside
        (-math.inf, 0.01, "inconclusive", False, False),
        (-math.inf, -0.02, "slower", True, True),
    ],
)
def test_the_verdict_follows_from_the_sets_and_the_margin(
    low: float, high: float, kind: str, nonzero: bool, at_least: bool
) -> None:
    main = Interval(low, high)
    narrower = inner(main) if math.isfinite(low) else main
    found = decide(Stage.LAST, main, narrower, THROUGHPUT)
    assert found == Decision(VerdictKind(kind), nonzero, at_least, ends=True)


@given(st.floats(-0.1, 0.1), st.floats(0.0, 0.1))
def test_more_latency_is_slower_exactly_where_more_throughput_is_faster(
    low: float, width: float
) -> None:
    main = Interval(low, low + width)
    opposite = {VerdictKind.SLOWER: VerdictKind.FASTER, VerdictKind.FASTER: VerdictKind.SLOWER}
    by_throughput = decide(Stage.LAST, main, inner(main), THROUGHPUT).kind
    by_latency = decide(Stage.LAST, main, inner(main), LATENCY).kind
    assert by_latency is opposite.get(by_throughput, by_throughput)


@given(st.floats(-0.1, 0.1), st.floats(0.0, 0.1))
def test_no_verdict_denies_what_its_set_contains(low: float, width: float) -> None:
    main = Interval(low, low + width)
    found = decide(Stage.LAST, main, inner(main), THROUGHPUT)
    if 0.0 in main:
        assert found.kind in (VerdictKind.EQUIVALENT, VerdictKind.INCONCLUSIVE)
    if found.kind is VerdictKind.EQUIVALENT:
        assert inner(main).inside(*THROUGHPUT.margins)


@pytest.mark.parametrize("stage", [Stage.TOO_FEW, Stage.BETWEEN])
def test_outside_its_looks_a_weighing_says_nothing_and_goes_on(stage: Stage) -> None:
    main = Interval(-0.05, -0.03)
    assert decide(stage, main, main, THROUGHPUT) == Decision(VerdictKind.INCONCLUSIVE)


def test_an_early_difference_ends_the_weighing_only_if_its_set_is_narrow_or_it_was_asked_for() -> (
    None
):
    wide, narrow = Interval(-0.06, -0.03), Interval(-0.045, -0.03)
    asked = Terms(12, 8, margin=0.01, first_verdict=True)
    assert not decide(Stage.FIRST, wide, wide, THROUGHPUT).ends
    assert decide(Stage.FIRST, narrow, narrow, THROUGHPUT).ends
    assert decide(Stage.FIRST, wide, wide, asked).ends
    assert decide(Stage.LAST, wide, wide, THROUGHPUT).ends
    assert decide(Stage.FIRST, Interval(-0.004, 0.004), Interval(-0.004, 0.004), THROUGHPUT).ends


def test_an_open_ended_weighing_goes_on_past_its_plan_until_it_is_settled() -> None:
    terms = Terms(12, None, margin=0.01, open_ended=True)
    assert not decide(Stage.LAST, Interval(-0.02, 0.02), UNBOUNDED, terms).ends
    assert decide(Stage.LAST, Interval(-0.06, -0.02), UNBOUNDED, terms).ends


def test_a_threat_that_invalidates_takes_the_verdict_away_and_another_does_not() -> None:
    main = Interval(-0.05, -0.03)
    doubt = Quoted(ThreatKind.STEAL, "steal 12 %")
    fatal = Quoted(ThreatKind.DEBUG_BUILD, "debug profile")
    assert decide(Stage.LAST, main, main, THROUGHPUT, [doubt]).kind is VerdictKind.SLOWER
    assert decide(Stage.LAST, main, main, THROUGHPUT, [doubt, fatal]).kind is VerdictKind.INVALID
    assert not decide(Stage.FIRST, main, main, THROUGHPUT, [fatal]).ends


def contrast(
    verdict: str, low: float | None, high: float | None, more: bool = True
) -> ContrastLine:
    return line_of(verdict=verdict, low_percent=low, high_percent=high, higher_is_better=more)


@pytest.mark.parametrize(
    ("condition", "judged", "holds"),
    [
        ("slower:2%", contrast("slower", -5.0, -2.1), True),
        ("slower:2%", contrast("slower", -5.0, -1.9), False),
        ("slower:2%", contrast("slower", None, -3.0), True),
        ("slower:2%", contrast("faster", 2.5, 5.0), False),
        ("slower:2%", contrast("equivalent", -2.9, -2.1), True),  # the study's margin was wider
        ("slower:2%", contrast("invalid", -5.0, -3.0), False),
        ("slower:2%", contrast("inconclusive", -5.0, -3.0), False),  # too few epochs
        ("slower:2%", contrast("slower", 2.5, 5.0, more=False), True),
        ("faster:1.5%", contrast("faster", 1.6, 5.0), True),
        ("faster:1.5%", contrast("faster", -5.0, -1.6, more=False), True),
        ("faster:1.5%", contrast("faster", 1.6, None), True),
        ("faster : 0%", contrast("faster", 0.1, 5.0), True),
    ],
)
def test_a_fail_condition_holds_only_if_the_whole_set_lies_beyond(
    condition: str, judged: ContrastLine, holds: bool
) -> None:
    assert FailCondition.parse(condition).holds([judged]) is holds


def test_a_fail_condition_holds_if_any_contrast_meets_it() -> None:
    condition = FailCondition.parse("slower:2%")
    sound, bad = contrast("equivalent", -0.5, 0.5), contrast("slower", -5.0, -3.0)
    assert condition.holds([sound, bad])
    assert not condition.holds([sound])
    assert not condition.holds([])


@pytest.mark.parametrize(
    "text", ["slower", "slower:", "slower:2", "worse:2%", "slower:-2%", "slower:200%"]
)
def test_an_unknown_fail_condition_is_a_usage_error_that_shows_what_is_accepted(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        FailCondition.parse(text)
    assert f'"{text}"' in caught.value.primary
    assert "slower:2%" in (caught.value.hint or "")
