"""A calibration is laid out so that every arm has a truth, and refused where none would."""

from __future__ import annotations

import pytest

from steelyard.model.errors import UsageError
from steelyard.study.budget import BUDGETS
from steelyard.study.calibration import lay_out, parse_weight
from steelyard.study.read import read_study
from steelyard.study.study import Study


def arms_of(study: Study) -> list[str]:
    return [arm.name for arm in study.every_arm]


@pytest.mark.parametrize(
    ("text", "share"), [("3%", 0.03), ("0.5%", 0.005), ("50 %", 0.5), ("1.5%", 0.015)]
)
def test_a_weight_is_a_share_from_half_a_percent_to_half(text: str, share: float) -> None:
    assert parse_weight(text) == pytest.approx(share)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("abc", 'invalid weight: "abc"'),
        ("3", 'invalid weight: "3"'),
        ("-3%", 'invalid weight: "-3%"'),
        ("nan%", 'invalid weight: "nan%"'),
        ("0.1%", 'weight is too light: "0.1%"'),
        ("0%", 'weight is too light: "0%"'),
        ("60%", 'weight is too heavy: "60%"'),
    ],
)
def test_what_is_no_weight_is_said_with_what_is(text: str, words: str) -> None:
    with pytest.raises(UsageError) as failure:
        parse_weight(text)
    assert failure.value.primary == words
    assert "0.5% to 50%" in str(failure.value.hint)


def test_by_default_nothing_three_percent_of_double_work_and_stalls_worth_three() -> None:
    study = lay_out(read_study("calibrate"), [], whole=False).study
    assert arms_of(study) == ["control", "equal", "doubled-3", "stalled-3"]
    assert study == read_study("calibrate")
    assert [arm.name for arm in study.equals] == ["equal"]
    assert study.workload.clients == 1, "the truth of a stall is known of one client only"
    assert study.decision.judged == "separately"


def test_the_weights_that_are_asked_for_replace_the_studys_own_and_get_time_of_their_own() -> None:
    asked = read_study("calibrate")
    study = lay_out(asked, [0.005, 0.1, 0.1], whole=False).study
    names = ["control", "equal", "doubled-0.5", "stalled-0.5", "doubled-10", "stalled-10"]
    assert arms_of(study) == names
    assert [arm.weight.double_work for arm in study.arms] == [0, 0.005, 0, 0.1, 0]
    assert [arm.weight.stall_share for arm in study.arms] == [0, 0, 0.005, 0, 0.1]
    for key in BUDGETS:
        assert getattr(study.budget, key) == getattr(asked.budget, key) * 6 / 4
    lengths = [arm.weight.stall_time for arm in study.arms if arm.weight.stalls]
    assert lengths == [10_000_000, 33_333_333], "heavier weights stall longer, not more often"
    assert lay_out(asked, [0.03], whole=False).study == asked


def test_where_debts_are_charged_work_left_to_the_background_is_weighed_too() -> None:
    study = lay_out(read_study("calibrate"), [0.02], whole=True).study
    assert arms_of(study)[-1] == "background-2"
    assert study.arms[-1].weight.background == 0.02


def test_stalls_of_several_clients_are_left_out_and_that_is_said() -> None:
    laid = lay_out(read_study("calibrate", ["workload.clients=8"]), [0.03, 0.05], whole=False)
    assert arms_of(laid.study) == ["control", "equal", "doubled-3", "doubled-5"]
    [(what, why)] = laid.left_out
    assert what == "stalled-3, stalled-5"
    assert "with 8 clients" in why


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("arm.equal.settings.jit=off", 'arm "equal" differs from the control in more than weight'),
        ("arm.doubled-3.checksums=false", 'arm "doubled-3" differs from the control'),
        ("control.weight.double_work=1%", "the control carries a weight"),
    ],
)
def test_an_arm_whose_truth_nobody_knows_is_refused(override: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        lay_out(read_study("calibrate", [override]), [], whole=False)


def test_settings_of_all_arms_may_be_changed() -> None:
    study = lay_out(read_study("calibrate", ["settings.jit=off"]), [], whole=False).study
    assert study.settings["jit"] == "off"
