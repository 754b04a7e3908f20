"""Figures that stand beside a verdict have one form, and say so where they say nothing."""

from __future__ import annotations

import pytest

from steelyard.record.verdict import Cause, Pages
from steelyard.report.contrast_text import secondary_text
from steelyard.report.tables import (
    cause_name,
    counted_reading,
    little_text,
    page_price_text,
    signed_numbers,
)


def cause(metric: str = "wal_bytes", **values: object) -> Cause:
    given: dict[str, object] = {
        "arm": "off", "control": "on", "metric": metric, "unit": "bytes", "control_value": 1.0,
        "arm_value": 1.0, "estimate_percent": None, "low_percent": None, "high_percent": None,
        "confidence": 0.95,
    }  # fmt: skip
    return Cause.model_validate({**given, **values})


@pytest.mark.parametrize(
    ("estimate", "low", "high", "words"),
    [
        (-6, -100, 33337084725, "cannot be told"),
        (-8, -89, 677, "cannot be told"),
        (24, None, None, "cannot be told"),
        (5, -40, 120, "+5 % [−40, +120]"),
        (900, 20, 8000, "+900 % [+20, +8000]"),
        (-2.5, -3, -2, "−2.50 % [−3.00, −2.00]"),
    ],
)
def test_an_interval_that_holds_zero_and_a_factor_of_ten_is_no_information(
    estimate: float, low: float | None, high: float | None, words: str
) -> None:
    row = cause(estimate_percent=estimate, low_percent=low, high_percent=high)
    assert secondary_text(row) == words
    assert counted_reading(row, "bytes") == words


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ((0.00318, -0.005979, 0.01234), ["+0.00318", "−0.00598", "+0.01234"]),
        ((-0.0000004, -0.0000005, 0.0), ["−0.0000004000", "−0.0000005000", "0"]),
        ((8131.0, 8120.0, 8142.0), ["+8 131", "+8 120", "+8 142"]),
        ((51.05, -89.77, 191.9), ["+51.0", "−89.8", "+191.9"]),
        ((0.0, None, float("inf")), ["0", "–", "–"]),
    ],
)
def test_a_difference_and_its_ends_have_signs_and_the_same_decimals(
    numbers: tuple[float | None, ...], words: list[str]
) -> None:
    assert signed_numbers(numbers) == words


def test_a_difference_without_a_ratio_has_its_unit_once() -> None:
    row = cause(difference=8131.0, difference_low=8120.0, difference_high=8142.0)
    assert counted_reading(row, "bytes") == "+8 131 bytes [+8 120, +8 142]"
    assert counted_reading(row, "") == "+8 131 [+8 120, +8 142]"


@pytest.mark.parametrize(
    ("images", "words"),
    [
        ((0.0, 0.0), "none in either arm: full-page images"),
        ((0.0004, 0.0), "less than 0.001 in either arm: full-page images"),
        ((0.0004, 0.002), ""),
    ],
)
def test_what_there_is_next_to_nothing_of_has_no_figures(
    images: tuple[float, float], words: str
) -> None:
    control, arm = images
    rows = [cause(), cause("full_page_images", control_value=control, arm_value=arm)]
    assert little_text(rows, [cause_name(row.metric) for row in rows]) == words


@pytest.mark.parametrize(
    ("middle", "low", "high", "words"),
    [
        (550.6, 480.3, 621.3, "550.6 ns a page [480.3, 621.3]"),
        (-679409, -2445218, 1193238, "too few to tell what one costs: at most 1.19 ms"),
        (12, float("nan"), float("nan"), ""),
    ],
)
def test_a_page_has_a_price_where_enough_were_read(
    middle: float, low: float, high: float, words: str
) -> None:
    pages = Pages(
        verified_per_transaction=0.02, nanoseconds_per_page=middle, low=low, high=high,
        confidence=0.95, verifying="on",
    )  # fmt: skip
    assert page_price_text(pages) == words
