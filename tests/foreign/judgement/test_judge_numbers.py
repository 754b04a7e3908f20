"""Numbers from elsewhere are judged by the rule of a weighing, and what spoils them is said."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest

from foreign.judged_rows import finding, names, noise, numbers, only, only_of
from foreign.reading import GOLDEN
from steelyard.analysis.decision.sign_flip import confidence_set
from steelyard.analysis.decision.t_interval import welch
from steelyard.evaluation.threats import numbers as observed
from steelyard.foreign.comparison import OperatingPoint, Options, compare
from steelyard.foreign.formats import read_sheet
from steelyard.foreign.judgement.judge_numbers import NO_SPREAD, judge_numbers
from steelyard.foreign.judgement.judgement import NumberContrast
from steelyard.foreign.metric import Metric
from steelyard.foreign.series import Grain, Order, Rows, Series, TransactionCounts
from steelyard.foreign.source import open_source
from steelyard.model.errors import UsageError
from steelyard.model.threat import Observation, ThreatKind
from steelyard.model.units import percent_of_log
from steelyard.verdict.contrast_line import judged_line
from steelyard.wording.threats.threat import threat_of
from steelyard.wording.verdict_sentence import sentence_of

CONTRACT = {
    *("arm", "control", "metric", "unit", "higher_is_better", "estimate_percent", "low_percent"),
    *("high_percent", "confidence", "verdict", "nonzero", "epochs", "blocks", "forecast_seconds"),
    "threats",
}


def test_paired_rows_are_judged_by_the_sign_flip_set_of_weighings() -> None:
    shared = noise(1, 12, 0.3)
    a, b = shared * noise(2, 12), shared * noise(3, 12) * 1.05
    contrast = only(judge_numbers(numbers(a, b)))
    expected = confidence_set(np.log(b / a), 0.05).interval
    assert contrast.details.method == "sign flips"
    assert contrast.estimate.low == pytest.approx(expected.low)
    assert contrast.estimate.high == pytest.approx(expected.high)
    assert contrast.estimate.value == pytest.approx(np.log(b / a).mean())
    assert contrast.verdict.kind.value == "slower"
    assert contrast.verdict.at_least_margin
    assert sentence_of(contrast).startswith("b is slower than a by 4.")


def test_rows_apart_are_judged_by_the_wider_of_permutations_and_welch() -> None:
    a, b = noise(4, 20), noise(5, 30) * 0.95
    contrast = only(judge_numbers(numbers(a, b, rows=Rows.APART)))
    by_t = welch(np.log(a), np.log(b)).interval(0.95)
    assert contrast.estimate.low <= by_t.low
    assert contrast.estimate.high >= by_t.high
    assert contrast.estimate.interval.width < 1.2 * by_t.width
    assert contrast.verdict.kind.value == "faster"
    assert contrast.details.paired is False
    assert contrast.epochs == 20


@pytest.mark.parametrize(
    ("higher_is_better", "factor", "word"),
    [
        (True, 1.05, "faster"),
        (True, 0.95, "slower"),
        (False, 1.05, "slower"),
        (False, 0.95, "faster"),
    ],
)
def test_which_way_is_better_follows_from_the_metric(
    higher_is_better: bool, factor: float, word: str
) -> None:
    metric = Metric("score", "points", higher_is_better)
    contrast = only(judge_numbers(numbers(noise(6, 12), factor * noise(7, 12), metric=metric)))
    assert contrast.verdict.kind.value == word
    assert judged_line(contrast).higher_is_better is higher_is_better


def test_equal_arms_within_the_margin_are_equivalent_and_a_wider_margin_makes_them_so() -> None:
    a, b = noise(8, 30, 0.004), noise(9, 30, 0.004)
    assert only(judge_numbers(numbers(a, b))).verdict.kind.value == "equivalent"
    coarse = numbers(noise(8, 12, 0.02), noise(9, 12, 0.02))
    assert only(judge_numbers(coarse)).verdict.kind.value == "inconclusive"
    assert only(judge_numbers(coarse, margin=0.05)).verdict.kind.value == "equivalent"


def test_several_arms_share_one_error_rate() -> None:
    a, b, c = noise(10, 12), noise(11, 12), noise(12, 12)
    alone = only(judge_numbers(numbers(a, b), paired=True))
    first, second = judge_numbers(numbers(a, b, c), paired=True).contrasts
    expected = confidence_set(np.log(b / a), 0.025).interval
    assert first.estimate.low == pytest.approx(expected.low)
    assert first.estimate.interval.width > alone.estimate.interval.width
    assert "jointly for 2 arms" in sentence_of(first)
    assert second.arm == "c"


def test_json_has_the_contrasts_of_a_weighing_and_no_bare_number() -> None:
    facts = judge_numbers(numbers(noise(13, 12), noise(14, 12))).to_json()
    (contrast,) = facts["contrasts"]
    assert set(contrast) >= CONTRACT
    assert contrast["unit"] == "s"
    assert contrast["low_percent"] < contrast["estimate_percent"] < contrast["high_percent"]
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts
    assert {"pairing", "replicates", "visible", "centres"} <= {f["name"] for f in facts["findings"]}


def test_a_judgement_gives_intervals_and_no_p_value() -> None:
    storm = np.where(np.arange(30) < 12, 1.0, 1.5)
    spoiled = storm * noise(61, 30, 0.1)
    judgement = judge_numbers(numbers(spoiled, noise(62, 30), storm, order=Order.UNKNOWN))
    text = json.dumps(judgement.to_json())
    assert len(doubted := {t.name for c in judgement.contrasts for t in c.threats}) >= 3
    assert "observational" in doubted
    assert re.search(r"\bp ?[=<≤]|p.?values?\b", text) is None


def test_rows_beside_each_other_are_paired_and_what_it_gains_is_said() -> None:
    shared = noise(15, 20, 0.3)
    together = judge_numbers(numbers(shared * noise(16, 20), shared * noise(17, 20)))
    assert only(together).details.paired is True
    assert (
        "rows share something, their rank correlation is 0.9"
        in finding(together, "pairing").sentence
    )
    alone = judge_numbers(numbers(noise(18, 20), noise(19, 20)))
    assert "paired by row: they stand in one row; their rank" in finding(alone, "pairing").sentence
    opposed = judge_numbers(numbers(shared, noise(99, 20) / shared))
    assert "paired by row: rows oppose each other" in finding(opposed, "pairing").sentence


@pytest.mark.parametrize(
    ("made", "paired", "why"),
    [
        (lambda a, b: numbers(a, b, rows=Rows.BLOCKS), True, "the file says which rows belong"),
        (lambda a, b: numbers(a, b, rows=Rows.APART), False, "nothing connects row k of one arm"),
        (lambda a, b: numbers(a, b[:9]), False, "a has 12 rows, b 9"),
        (lambda a, b: numbers(np.sort(a), np.sort(b)), False, "the rows are sorted"),
        (lambda a, b: numbers(a[:4], b[:4]), True, "they stand in one row"),
        (
            lambda a, b: numbers(a, b, order=Order.SEQUENTIAL),
            False,
            "measured one after the other",
        ),
    ],
)
def test_other_reasons_to_pair_or_not_are_said(made: Any, paired: bool, why: str) -> None:
    judgement = judge_numbers(made(noise(20, 12), noise(21, 12)))
    found = finding(judgement, "pairing")
    assert found.figures["paired"] is paired
    assert why in found.sentence


def test_the_user_decides_about_pairs_where_that_can_be() -> None:
    a, b = noise(22, 12), noise(23, 12)
    assert (
        only(judge_numbers(numbers(a, b, rows=Rows.BLOCKS), paired=False)).details.paired is False
    )
    forced = judge_numbers(numbers(a, b, rows=Rows.APART), paired=True)
    assert finding(forced, "pairing").sentence == "paired by row: the user said so"
    with pytest.raises(UsageError, match="cannot pair rows: a has 12 of them, b 11"):
        judge_numbers(numbers(a, b[:11]), paired=True)


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        (Order.UNKNOWN, [observed.OrderNotDrawn(alternating=False)]),
        (Order.ALTERNATING, [observed.OrderNotDrawn(alternating=True)]),
        (Order.SEQUENTIAL, [observed.OneArmAfterOther("b", "a")]),
        (Order.RANDOM, []),
    ],
)
def test_an_order_that_chance_did_not_draw_is_said(
    order: Order, expected: list[Observation]
) -> None:
    a, b = noise(26, 12), noise(27, 12)
    contrast = only(judge_numbers(numbers(a, b, order=order, rows=Rows.APART)))
    kinds = {"observational", "one arm after the other"}
    assert [threat for threat in contrast.threats if threat.name in kinds] == expected


def test_one_value_per_arm_cannot_be_judged_and_what_to_measure_is_named() -> None:
    judgement = judge_numbers(numbers([100.0], [97.0], order=Order.UNKNOWN))
    contrast = only(judgement)
    assert judgement.cannot == NO_SPREAD
    assert contrast.verdict.kind.value == "inconclusive"
    assert NO_SPREAD in sentence_of(contrast)
    assert (
        judged_line(contrast).to_json()["low_percent"],
        judged_line(contrast).to_json()["high_percent"],
    ) == (None, None)
    advice = finding(judgement, "to measure")
    assert [row["for_gap"] for row in advice.figures["repetitions"]] == [8, 10, 48]
    assert advice.figures["command"].startswith("steelyard weigh settings")


def test_one_arm_with_one_value_spoils_only_its_own_contrast() -> None:
    judgement = judge_numbers(numbers(noise(28, 12), [1.0], noise(29, 12), rows=Rows.APART))
    assert judgement.cannot == ""
    lone, other = judgement.contrasts
    assert observed.SingleValues(("b",)) in lone.threats
    assert np.isinf(lone.estimate.low)
    assert np.isfinite(other.estimate.low)


def test_fewer_than_eight_rows_get_an_interval_and_no_verdict() -> None:
    contrast = only(judge_numbers(numbers(noise(30, 7), 2 * noise(31, 7))))
    assert contrast.verdict.kind.value == "inconclusive"
    assert observed.TooFewRows(7, 8) in contrast.threats
    assert contrast.estimate.low > 0
    assert "t interval" in sentence_of(contrast)
    assert (
        only(judge_numbers(numbers(noise(30, 8), 2 * noise(31, 8)))).verdict.kind.value == "slower"
    )


def test_parts_of_one_run_carry_no_verdict_however_many() -> None:
    arms = [Series(n, noise(s, 600), Grain.SLICE) for n, s in (("a", 32), ("b", 33))]
    arms[1] = Series("b", arms[1].values * 1.5, Grain.SLICE)
    contrast = only(judge_numbers(numbers(*arms, rows=Rows.APART)))
    assert contrast.verdict.kind.value == "inconclusive"
    assert observed.PartsOfOneRun(("a", "b")) in contrast.threats
    assert percent_of_log(contrast.estimate.low) > 49
    assert "one run of each arm carries no verdict" in sentence_of(contrast)


def test_parts_of_a_run_are_read_by_their_totals_idle_ones_included() -> None:
    busy = np.tile([100.0, 0.0], 100)
    arms = (Series("a", np.full(200, 100.0), Grain.SLICE), Series("b", busy, Grain.SLICE))
    metric = Metric("throughput", "transactions/s", True)
    contrast = only(judge_numbers(numbers(*arms, rows=Rows.APART, metric=metric)))
    assert percent_of_log(contrast.estimate.value) == pytest.approx(-50, abs=3)
    weighed = Series("b", np.array([1.0, 9.0] * 20), Grain.SLICE, weights=np.array([3.0, 1.0] * 20))
    plain = Series("a", np.full(40, 3.0), Grain.SLICE)
    equal = only(judge_numbers(numbers(plain, weighed, rows=Rows.APART)))
    assert percent_of_log(equal.estimate.value) == pytest.approx(0, abs=3)


def test_a_storm_that_hits_all_arms_is_said_with_its_rows() -> None:
    storm = np.ones(30)
    storm[12:16] = 1.6
    judgement = judge_numbers(numbers(storm * noise(38, 30), storm * noise(39, 30)))
    step = finding(judgement, "level steps").figures["steps"][0]
    assert (step["first_row"], step["last_row"]) == (13, 16)
    assert step["low_percent"] < 60 < step["high_percent"]
    moved = only_of(only(judgement), observed.AllArmsMoved)
    largest = moved.movement.steps[0]
    assert (largest.first, largest.last) == (13, 16)
    assert (largest.usual_first, largest.usual_last) == (17, 30)
    assert largest.percent == pytest.approx(60, abs=1.5)
    assert moved.movement.drift is None


def test_a_difference_that_changes_on_the_way_is_said() -> None:
    later = np.where(np.arange(40) < 20, 1.0, 1.3)
    contrast = only(judge_numbers(numbers(noise(40, 40), later * noise(41, 40), rows=Rows.BLOCKS)))
    moved = only_of(contrast, observed.DifferenceMoved)
    assert moved.arm == "b"
    assert abs(moved.movement.steps[0].percent) == pytest.approx(27, abs=5)


def test_drift_of_one_arm_is_said_where_there_are_no_steps() -> None:
    drift = np.exp(np.linspace(0, 0.2, 9)) * noise(42, 9, 0.02)
    contrast = only(judge_numbers(numbers(noise(43, 9), drift, rows=Rows.APART)))
    moved = only_of(contrast, observed.ArmMoved)
    assert (moved.arm, moved.movement.steps) == ("b", ())
    assert moved.movement.drift is not None
    assert moved.movement.drift.low < 0.2 < moved.movement.drift.high


def test_drift_as_large_as_the_difference_invalidates_arms_measured_one_after_the_other() -> None:
    drift = np.exp(np.linspace(0, 0.3, 80)) * noise(42, 80)
    contrast = only(
        judge_numbers(numbers(*np.split(drift, 2), order=Order.SEQUENTIAL, rows=Rows.APART))
    )
    assert contrast.verdict.kind.value == "invalid"
    moved = only_of(contrast, observed.ArmsMovedMeanwhile).moved
    assert dict(moved) == pytest.approx({"a": 0.15, "b": 0.15}, abs=0.02)
    assert observed.OneArmAfterOther("b", "a") in contrast.threats
    steady = numbers(noise(43, 40), 1.3 * noise(44, 40), order=Order.SEQUENTIAL, rows=Rows.APART)
    assert only(judge_numbers(steady)).verdict.kind.value == "slower"


def test_a_few_rows_that_decide_are_named() -> None:
    b = noise(45, 14)
    b[[3, 9]] *= 3
    contrast = only(judge_numbers(numbers(noise(46, 14), b), paired=True))
    few = only_of(contrast, observed.FewRowsDecide)
    assert (few.arm, few.outliers) == ("b", (("", (3, 9)),))
    assert few.estimate == contrast.estimate.value
    assert few.without == pytest.approx(few.estimate - 2 * np.log(3) / 14, abs=0.01)
    assert {f.name for f in judge_numbers(numbers(noise(46, 14), b)).findings} >= {"outliers"}


def test_means_and_medians_that_disagree_are_said_with_their_intervals() -> None:
    b = noise(47, 30)
    b[[3, 9, 20]] *= 4
    contrast = only(judge_numbers(numbers(noise(48, 30), b), paired=True))
    apart = only_of(contrast, observed.CentresDisagree)
    assert apart.arm == "b"
    assert (apart.mean.name, apart.median.name) == ("mean", "median")
    assert apart.mean.value == pytest.approx(np.log(b.mean()), abs=0.01)
    assert apart.mean.low < apart.mean.value < apart.mean.high
    quiet = only(judge_numbers(numbers(noise(49, 30), noise(50, 30)), paired=True))
    assert ThreatKind.CENTRES_DISAGREE.value not in names(quiet)


def test_throughput_and_latency_that_are_not_of_one_closed_loop_are_said() -> None:
    points = {"a": OperatingPoint(256, 879.99, 0.26749), "b": OperatingPoint(256, 853.61, 0.29990)}
    judgement = judge_numbers(numbers([879.99], [853.61], operating_points=points))
    broken = only_of(only(judgement), observed.ClosedLoopBroken)
    assert (broken.arm, broken.clients, broken.throughput) == ("a", 256, 879.99)
    assert broken.latency_ms == pytest.approx(267.49)
    assert broken.busy_clients == pytest.approx(235.4, abs=0.05)
    assert broken.implied_latency_ms == pytest.approx(290.9, abs=0.05)
    assert "waited outside" in threat_of(broken).cause
    found = [f for f in judgement.findings if f.name == "Little's law"]
    assert [f.figures["implied_latency_ms"] for f in found] == [
        pytest.approx(290.9, abs=0.05),
        pytest.approx(299.9, abs=0.05),
    ]
    more = {"a": OperatingPoint(8, 1000, 0.010), "b": OperatingPoint(8, 1000, 0.008)}
    busier = only(judge_numbers(numbers([1.0], [1.0], operating_points=more))).threats[0]
    assert "more is busy than there is" in threat_of(busier).cause


def test_runs_of_unequal_speed_obey_the_law_run_by_run() -> None:
    text = "run,tps,latency_ms\n1,100,80\n2,400,20\n3,1600,5\n"
    from foreign.reading import sheet_of

    sheet = sheet_of(text)
    judgement = judge_numbers(compare([("a", sheet), ("b", sheet)], Options(clients=8)))
    assert ThreatKind.LITTLES_LAW.value not in names(only(judgement))
    found = [f for f in judgement.findings if f.name == "Little's law"]
    assert found[0].figures["busy_clients"] == pytest.approx(8)


def test_what_such_numbers_could_have_seen_is_said() -> None:
    judgement = judge_numbers(numbers(noise(51, 12, 0.02), noise(52, 12, 0.02)), paired=True)
    visible = finding(judgement, "visible").figures["smallest_visible_percent"]
    # .88 sd of a pair at n = 12 and 5 %, and a pair scatters by √2 × 2 %.
    assert visible == pytest.approx(0.90 * 2.8, rel=0.35)


def test_real_equal_commands_of_hyperfine_are_not_told_apart() -> None:
    sheet = read_sheet(open_source(GOLDEN / "hyperfine.json"))
    judgement = judge_numbers(compare([(None, sheet)], Options()))
    assert only(judgement).verdict.kind.value in ("inconclusive", "invalid", "equivalent")


def test_a_row_name_or_line_is_kept_for_who_wants_it() -> None:
    left_out = numbers(noise(54, 12), noise(55, 12), notes=("a column was left out",))
    assert finding(judge_numbers(left_out), "left out").sentence == "a column was left out"


def test_three_arms_say_how_their_rows_hang_together() -> None:
    judgement = judge_numbers(numbers(*(noise(56, 20, 0.2) * noise(s, 20) for s in (57, 58, 59))))
    found = finding(judgement, "shared rows")
    assert len(found.figures["rank_correlations"]) == 3
    assert min(found.figures["log_correlations"]) > 0.9


def test_errors_of_one_arm_are_a_doubt_and_wrong_answers_take_the_verdict() -> None:
    rows = noise(30, 12), noise(31, 12)

    def judged(a: TransactionCounts, b: TransactionCounts | None) -> NumberContrast:
        outcomes = {"a": a} if b is None else {"a": a, "b": b}
        return only(judge_numbers(numbers(*rows, outcomes=outcomes)))

    name = "errors or retries differ"
    differing = judged(TransactionCounts(14_000, 4_200), TransactionCounts(10_000, 0))
    outcomes = observed.UnequalOutcomes("b", "a", (0, 4_200), (10_000, 14_000))
    assert outcomes in differing.threats
    assert name in names(judged(TransactionCounts(1_000, 0), TransactionCounts(51_000, 50_000)))
    for alike in (
        (TransactionCounts(10_000, 40), TransactionCounts(10_000, 41)),
        (TransactionCounts(10_000, 0), TransactionCounts(10, 0)),
        (TransactionCounts(0, 0), TransactionCounts(0, 0)),
        (TransactionCounts(10_000, 400), None),
    ):
        assert name not in names(judged(*alike))
    wrong = judged(TransactionCounts(900, 0), TransactionCounts(900, 0, wrong=3))
    assert wrong.verdict.kind.value == "invalid"
    assert observed.WrongRowsReturned("b", 3, 900) in wrong.threats
