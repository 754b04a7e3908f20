"""A contrast is said in words with its interval, never as a bare number."""

from __future__ import annotations

import pytest

from record.made import details_of, line_of, plan_of
from steelyard.record.contrast import EpochDetail
from steelyard.report import tables
from steelyard.report.plan import plan_rows
from steelyard.wording.contrast_text import (
    better_side,
    digits_for,
    ends_of,
    interval_text,
    method_text,
    ordinal,
    reading_text,
    sentence_text,
    shown_epoch,
    shown_sentence,
    truth_text,
)

FACTS = {
    "arm": "off",
    "control": "on",
    "metric": "throughput",
    "estimate_percent": -3.061,
    "low_percent": -3.514,
    "high_percent": -2.604,
    "verdict": "slower",
}


def test_a_reading_carries_its_interval() -> None:
    assert reading_text(line_of(**FACTS)) == "−3.06 % [−3.51, −2.60]"
    assert (
        sentence_text(line_of(**FACTS))
        == "off is slower than on: −3.06 % [−3.51, −2.60] of throughput."
    )


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({}, ""),
        ({"true_percent": 0.0, "covered": True}, "must read 0.00 %: the interval holds it"),
        ({"true_percent": -2.9126, "covered": False}, "must read −2.91 %: the interval misses it"),
        ({"true_percent": -2.9126, "covered": None}, "must read −2.91 %"),
        (
            {
                "true_percent": -2.95,
                "true_low_percent": -3.07,
                "true_high_percent": -2.83,
                "covered": True,
            },
            "must read −2.95 ± 0.12 %: the interval holds it",
        ),
    ],
)
def test_a_truth_that_is_known_is_said_with_whether_the_interval_holds_it(
    facts: dict[str, object], said: str
) -> None:
    assert truth_text(line_of(**FACTS, **facts).truth) == said


@pytest.mark.parametrize("nothing", [None, float("nan"), float("inf")])
def test_an_open_end_is_infinite_and_two_open_ends_are_no_interval(nothing: float | None) -> None:
    half_open = {**FACTS, "high_percent": nothing}
    assert interval_text(ends_of(line_of(**half_open))) == "[−3.51, +∞] %"
    assert reading_text(line_of(**{**half_open, "low_percent": nothing})) == "−3.06 % no interval"


@pytest.mark.parametrize(
    ("width", "digits"),
    [(0.01, 3), (0.5, 2), (5.0, 2), (20.0, 1), (500.0, 0), (0.002, 4), (0.0002, 5), (1e-12, 6)],
)
def test_wide_intervals_show_fewer_decimals(width: float, digits: int) -> None:
    assert digits_for((0.0, width)) == digits


def test_for_a_latency_the_left_side_is_the_faster_one() -> None:
    assert better_side(line_of(higher_is_better=False)) == (
        "faster",
        "slower",
    )
    assert better_side(line_of(**FACTS)) == ("slower", "faster")


def test_the_plan_tells_how_pools_were_filled_only_where_they_were_read_into() -> None:
    assert "buffer pools" not in dict(plan_rows(plan_of(warm="by load")))
    why = "blocks read per transaction of on fell"
    facts = {"epochs": 8, "epoch_ns": 15_000_000_000, "epochs_why": "slowly level"}
    rows = dict(plan_rows(plan_of(**facts, warm="by reading", warm_why=why, warm_ns=1_400_000_000)))
    assert rows["buffer pools"] == f"filled by reading the data, 1.4 s an epoch: {why}"
    assert rows["epochs"] == "8, longer and fewer, each about 15 s: slowly level"


def test_the_plan_tells_why_and_which_looks_were_planned() -> None:
    rows = dict(plan_rows(plan_of(look=8, slice_why="smallest variance", attempt=2)))
    assert rows["looks"] == "after epoch 8 at level 0.01, after epoch 12 at 0.04"
    assert rows["slice"] == "50 ms: smallest variance"
    assert rows["margin"] == "±1 %"
    assert "false alarms" in rows["attempt"]


@pytest.mark.parametrize(
    ("forecast", "said"),
    [
        ([None], ""),
        ([0], ""),
        (
            [90.0],
            "if the effect is as large as it reads, 1 min 30 s more measuring would settle it",
        ),
        (
            [240, 660],
            "if the effect is as large as it reads, 4 min to 11 min more measuring would settle it",
        ),
    ],
)
def test_a_forecast_is_said_as_time(forecast: list[float | None], said: str) -> None:
    assert tables.forecast_text(forecast) == said


def test_amounts_have_four_figures_and_a_unit() -> None:
    assert tables.amount(24.3123, "µs") == "24.31 µs"
    assert tables.amount(1234567.8, "bytes") == "1 234 568 bytes"
    assert tables.amount(None, "µs") == "–"


def test_the_method_is_told_with_the_bounds_that_were_taken() -> None:
    details = {"method": "balanced sign flips", "k": 18, "subsets": 924, "level": 0.96}
    said = method_text(details_of(**details))
    assert "924 balanced subsets of epochs the 18th smallest and the 18th largest" in said
    assert "Its own level is 96 %" in said
    assert "e-process" in method_text(details_of(method="e-process", level=0.99))
    assert "t interval" in method_text(details_of(method="t", k=0))


def test_ordinals_are_written_as_people_write_them() -> None:
    assert [ordinal(n) for n in (1, 2, 3, 11, 22, 113)] == [
        "1st",
        "2nd",
        "3rd",
        "11th",
        "22nd",
        "113th",
    ]


def test_a_sentence_does_not_repeat_the_word_beside_it() -> None:
    assert shown_sentence(line_of(verdict="invalid", sentence="invalid: a b")) == "a b."


def test_people_count_epochs_from_one() -> None:
    first = EpochDetail(
        epoch=0, slots={}, order=(), d=0.0, throughput={}, typical_d=None, outcome="complete"
    )
    assert shown_epoch(first) == 1
