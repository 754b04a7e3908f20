"""Figures that are no information are words instead, by one rule for report and terminal."""

from __future__ import annotations

import json
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from record.made import line_of, verdict_of
from steelyard.cli.views.verdict_view import verdict_json
from steelyard.evaluation.sweep import judge_points
from steelyard.model.units import NO_INFORMATION, format_reading, spread_words
from steelyard.record.sweep import SweepPlan
from steelyard.record.verdict import Cause, Pages, TimePart, TimeParts
from steelyard.report.tables import amount, cause_rows, counted_reading, none_line, page_price
from steelyard.report.time_parts import cause_sentence, draw_time_parts, part_rows
from steelyard.wording.contrast_text import (
    interval_text,
    reading_text,
    sentence_text,
    shown_sentence,
)

PERCENT = st.floats(-99.9, 1e9)
NEAR = st.floats(1e-5, 80.0)


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (-3.5, -2.6, ""),
        (-50.0, 400.0, ""),
        (-50.0, 401.0, NO_INFORMATION),
        (-100.0, 33337084725.0, NO_INFORMATION),
        (-100.0, 0.0, NO_INFORMATION),
        (900.0, 20_000.0, "beyond +900 %"),
        (-99.9, -90.0, "beyond −90 %"),
        (-99.9995, -99.99, "beyond −99 %"),
        (900.7, 20_000.0, "beyond +900 %"),
        (0.4, 2_000.0, "beyond +0.40 %"),
        (0.0047, 2_000.0, "beyond +0.004 %"),
        (None, 5.0, ""),
        (-math.inf, 5.0, ""),
    ],
)
def test_an_interval_over_a_factor_of_ten_is_words(
    low: float | None, high: float | None, words: str
) -> None:
    assert spread_words(low, high) == words
    line = line_of(estimate_percent=1.0, low_percent=low, high_percent=high)
    if words:
        assert format_reading(1.0, low, high) == words
        assert reading_text(line) == words
        assert interval_text((low, high)) == words
    else:
        assert "[" in reading_text(line)


@given(PERCENT, PERCENT)
def test_what_is_shown_spans_no_more_than_a_factor_of_ten(first: float, second: float) -> None:
    low, high = sorted((first, second))
    shown = "[" in format_reading(low, low, high)
    assert shown == (1 + high / 100 <= 10 * (1 + low / 100)) or math.isclose(
        1 + high / 100, 10 * (1 + low / 100)
    )


@pytest.mark.parametrize(
    ("ends", "shown"),
    [
        ((0.004, 0.5), "[+0.004, +0.500]"),
        ((0.4, 150.0), "[+0.4, +150.0]"),
        ((-60.0, -0.3), "[−60.0, −0.3]"),
        ((None, -0.002), "[−∞, −0.002]"),
        ((-0.004, 0.5), "[0.00, +0.50]"),
        ((0.0, 150.0), "[0, +150]"),
        ((-3.51, -2.6), "[−3.51, −2.60]"),
    ],
)
def test_an_end_that_leaves_zero_out_is_not_zero(
    ends: tuple[float | None, float], shown: str
) -> None:
    assert interval_text(ends) == f"{shown} %"


@given(NEAR, st.floats(1.001, 9.0), st.booleans())
def test_no_interval_without_zero_reads_as_if_it_held_it(
    near: float, factor: float, less: bool
) -> None:
    """Of ratios: the far end is a factor from the near one, on the same side of 1."""
    ratio = 1 + near / 100
    ends = (100 * (1 / (ratio * factor) - 1), 100 * (1 / ratio - 1)) if less else (
        near, 100 * (ratio * factor - 1)
    )  # fmt: skip
    middle = sum(ends) / 2
    line = line_of(estimate_percent=middle, low_percent=ends[0], high_percent=ends[1])
    for text in (format_reading(middle, *ends), reading_text(line)):
        figures = re.findall(r"([−+]?)(\d+\.?\d*)", text)
        assert figures
        assert all(sign and float(figure) > 0 for sign, figure in figures), text


def test_an_invalid_weighing_without_information_is_a_sentence_too() -> None:
    """It describes the picture of the interval to those that do not see it."""
    wide = {"estimate_percent": -6.0, "low_percent": -100.0, "high_percent": 33337084725.0}
    assert sentence_text(line_of(**wide, verdict="invalid", arm="off", control="on")) == (
        "The weighing of off against on is invalid; by how much throughput changes cannot be told."
    )
    told = {"estimate_percent": -3.0, "low_percent": -4.0, "high_percent": -2.0}
    assert sentence_text(line_of(**told, verdict="invalid", arm="off", control="on")) == (
        "The weighing of off against on is invalid; it read −3.00 % [−4.00, −2.00] of throughput."
    )


def test_a_recorded_sentence_with_such_an_interval_is_said_anew() -> None:
    wide = {"estimate_percent": -6.0, "low_percent": -100.0, "high_percent": 33337084725.0}
    recorded = "inconclusive: off against on read −6 % [−100, +33337084725]"
    line = line_of(**wide, verdict="inconclusive", sentence=recorded, arm="off", control="on")
    assert shown_sentence(line) == (
        "off against on, by how much throughput changes cannot be told."
    )
    far = {"estimate_percent": 2000.0, "low_percent": 900.0, "high_percent": 20_000.0}
    line = line_of(**far, verdict="faster", sentence=recorded, arm="off", control="on")
    assert shown_sentence(line) == "off is faster than on: beyond +900 % of throughput."
    narrow = line_of(sentence="a sentence", low_percent=-1.0, high_percent=1.0)
    assert shown_sentence(narrow) == "a sentence."


def cause(control: float, arm: float, **more: object) -> Cause:
    return Cause.model_validate(
        {
            "arm": "off", "control": "on", "metric": "full_page_images_per_transaction",
            "unit": "images", "control_value": control, "arm_value": arm, "confidence": 0.95,
            "estimate_percent": None, "low_percent": None, "high_percent": None, **more,
        }
    )  # fmt: skip


def test_what_neither_arm_has_is_a_line_and_no_row() -> None:
    some, none = cause(2.0, 3.0), cause(0.0002, 0.0)
    assert [row["control"] for row in cause_rows([none, some])] == ["2 images"]
    assert none_line([none, some]) == "none in either arm: full-page images"
    assert none_line([some]) == ""


def test_no_amount_and_no_difference_is_above_a_negative_of_nothing() -> None:
    assert amount(-0.0004, "images") == "about 0 images"
    assert amount(0.0004, "images") == "< 0.001 images"
    tiny = {"difference": 0.0003, "difference_low": -0.0002, "difference_high": 0.0008}
    assert counted_reading(cause(0.0, 0.0003, **tiny)) == "no difference to speak of"
    wider = {"difference": 0.0003, "difference_low": -0.4, "difference_high": 0.5}
    assert counted_reading(cause(0.0, 3.0, **wider)) == "0 images [−0.4, 0.5]"


@pytest.mark.parametrize(
    ("verified", "price", "text"),
    [
        (1.94, (412.0, 330.0, 495.0), "412 ns a page [330, 495]"),
        (1.94, (412.0, 3.0, 4950.0), "more than 3 ns a page"),
        (1.94, (41.0, -33.0, 115.0), "at most 115 ns a page, not distinguishable from zero"),
        (1.94, (-41.0, -115.0, -3.0), "what a page costs cannot be told"),
        (0.028, (-679_409.0, -2_445_218.0, 1_193_238.0), "too few pages were verified"),
        (0.028, (math.nan, math.nan, math.nan), ""),
    ],
)
def test_a_page_has_a_price_only_where_there_is_one(
    verified: float, price: tuple[float, float, float], text: str
) -> None:
    middle, low, high = price
    said = page_price(
        Pages(
            verified_per_transaction=verified, nanoseconds_per_page=middle, low=low, high=high,
            confidence=0.95, verifying="on",
        )
    )  # fmt: skip
    assert said.startswith(text)
    assert bool(said) == bool(text)


def test_a_time_below_zero_is_no_time_and_no_cause() -> None:
    client = TimePart(
        part="client", control_us=-13.9, arm_us=71.0, difference_us=85.0, low_us=36.7, high_us=133.0
    )
    told = TimeParts(
        control="on", arm="off", epochs=10, control_us=86.1, arm_us=171.0,
        parts=(client,), cause=client,
    )  # fmt: skip
    row = part_rows(told)[0]
    assert (row["control"], row["arm"]) == ("below noise", "71 µs")
    assert (row["reading"], row["note"]) == ("cannot be told", "")
    assert cause_sentence(told).startswith("no cause found")
    assert "the cause" not in draw_time_parts(told, 920)
    assert "the cause" not in draw_time_parts(told, 342)
    verdict = verdict_of(line_of(arm="off", control="on"), time=(told,))
    [contrast] = json.loads(verdict_json(verdict))["contrasts"]
    assert contrast["cause"] is None
    plan = SweepPlan(key="workload.clients", values=("8", "9"), order=(0, 1), seed=1, study="s")
    points = judge_points(plan, "q", {"8": verdict, "9": "no room"}, str).points
    assert points[0].contrasts[0].cause is None


def test_a_share_of_the_queue_below_zero_takes_no_cause_away() -> None:
    queue = TimePart(
        part="queue", control_us=40.0, arm_us=110.0, difference_us=70.0, low_us=50.0, high_us=90.0
    )
    divided = queue.model_copy(update={"control_us": -4.0, "arm_us": 61.0, "difference_us": 65.0})
    told = TimeParts(
        control="on", arm="off", epochs=10, control_us=40.0, arm_us=110.0,
        parts=(queue,), with_queue=(divided,), cause=divided,
    )  # fmt: skip
    assert cause_sentence(told).startswith("waiting for a processor: +65 µs [+50, +90]")
    assert "waiting for a processor  ◂ the cause" in draw_time_parts(told, 920)
    assert part_rows(told)[0]["with_queue"] == "+65 µs [+50, +90]"
