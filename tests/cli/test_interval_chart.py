"""The interval in characters stands where its numbers say."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from record.made import line_of
from steelyard.cli.views.interval_chart import LEAST_WIDTH, column, interval_chart, percent_scale

PERCENT = st.floats(-90, 400)


@given(st.tuples(PERCENT, PERCENT, PERCENT).map(sorted), st.integers(10, 160))
def test_the_interval_lies_over_its_scale_and_inside_the_width(
    ends: list[float], width: int
) -> None:
    low, middle, high = ends
    contrast = line_of(low_percent=low, estimate_percent=middle, high_percent=high)
    drawn = interval_chart(contrast, 1.0, width)
    x = percent_scale(contrast, 1.0, width)
    assert all(len(line) <= max(width, LEAST_WIDTH) for line in drawn)
    assert drawn[0].index("●") == column(middle, x)
    assert drawn[0].find("├") in (column(low, x), -1)
    assert drawn[1].index("┷") == drawn[2].index("▲") == column(0, x)


def test_the_margin_is_marked_on_both_sides_of_zero_alike() -> None:
    contrast = line_of(low_percent=-1.4, estimate_percent=-0.3, high_percent=0.8)
    axis = interval_chart(contrast, 1.0, 76)[1]
    zero = axis.index("┷")
    assert zero - axis.index("[") == axis.index("]") - zero
    assert axis.index("[") == column(-1.0, percent_scale(contrast, 1.0, 76))


def test_open_ends_point_outwards_and_no_interval_is_a_hollow_dot() -> None:
    half_open = line_of(low_percent=1.0, estimate_percent=2.0, high_percent=None)
    assert interval_chart(half_open, 1.0, 60)[0].endswith("▸")
    bare = line_of(low_percent=None, estimate_percent=2.0, high_percent=None)
    assert interval_chart(bare, 1.0, 60)[0].strip() == "○"


def test_without_an_estimate_the_chart_is_empty() -> None:
    assert interval_chart(line_of(estimate_percent=None), 1.0, 60)[0] == ""


@given(st.integers(-3, 14), st.floats(1, 9.99), st.integers(30, 120))
def test_labels_of_the_scale_never_run_into_each_other(power: int, size: float, width: int) -> None:
    end = size * 10.0**power
    contrast = line_of(low_percent=0.9 * end, estimate_percent=0.95 * end, high_percent=end)
    labels = interval_chart(contrast, 1.0, width)[2].split("▲")
    assert len(labels) == 2
    for side in labels:
        whole = re.sub(r"[−+]?[\d.]+ %", "", side)
        assert whole.strip() == ""
        assert not re.search(r"[−+\d]\S*[−+]", side)
