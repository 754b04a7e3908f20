"""Charts show what they are given: thinning keeps the extremes, scales their ends and order."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from record.made import line_of
from steelyard.report.charts.drawing import Drawing
from steelyard.report.charts.epochs import draw_epochs, epoch_ticks, outside, thin
from steelyard.report.charts.interval import draw_interval
from steelyard.report.charts.scale import Linear, Log, decimals_of, reach_of, round_step
from steelyard.report.source import SliceDot
from steelyard.report.tables import epoch_rows


def dots(speeds: list[float]) -> list[SliceDot]:
    return [SliceDot(1, n * 50, n * 50 + 50, speed) for n, speed in enumerate(speeds)]


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=500), st.integers(20, 200))
def test_thinning_keeps_the_order_the_limit_the_slowest_and_the_fastest(
    speeds: list[float], most: int
) -> None:
    some = dots(speeds)
    kept = thin(some, most)
    assert len(kept) <= most
    assert [dot.start_ns for dot in kept] == sorted(dot.start_ns for dot in kept)
    assert min(dot.throughput for dot in kept) == min(speeds)
    assert max(dot.throughput for dot in kept) == max(speeds)


def test_nothing_is_thinned_below_the_limit() -> None:
    some = dots([1.0, 2.0, 3.0])
    assert thin(some, 3) == some


def test_a_stall_does_not_flatten_the_picture_but_is_counted() -> None:
    speeds = [1000.0 + n % 7 for n in range(1000)]
    speeds[500] = 1.0
    assert outside({"on": dots(speeds)}) == 1


@given(st.floats(-100, 100), st.floats(0.1, 100), st.integers(2, 12))
def test_ticks_of_a_linear_axis_lie_inside_it_and_are_not_too_many(
    low: float, span: float, count: int
) -> None:
    ticks = Linear(low, low + span, 0, 100).ticks(count)
    assert all(low - 1e-6 <= tick <= low + span + 1e-6 for tick in ticks)
    assert len(ticks) <= count + 1


def test_ticks_of_a_logarithmic_axis_are_round_numbers_inside_it() -> None:
    assert Log(90, 1100, 0, 100).ticks(9) == [100, 200, 500, 1000]
    assert Log(1, 10**6, 0, 100).ticks(7) == [10.0**power for power in range(7)]


def test_a_clamped_value_stays_on_the_paper() -> None:
    axis = Linear(0, 10, 100, 0)
    assert axis.clamped(-5) == 100
    assert axis.clamped(50) == 0
    assert axis(5) == 50


def test_round_steps_are_not_smaller_than_asked() -> None:
    assert [round_step(rough) for rough in (0.3, 1, 2.2, 6, 0)] == [0.5, 1, 2.5, 10, 1]
    assert decimals_of([0.0, 2.5]) == 1


def test_the_scale_reaches_beyond_the_interval_and_the_margin() -> None:
    assert reach_of([-3.0, 1.0, None], 1.0) > 3.0
    assert reach_of([None], 1.0) > 1.5


def test_epoch_numbers_are_written_where_there_is_room() -> None:
    assert epoch_ticks(list(range(1, 13)), Linear(0.4, 12.6, 58, 394)) == list(range(1, 13))
    many = epoch_ticks(list(range(1, 1001)), Linear(0.4, 1000.6, 58, 394))
    assert 3 <= len(many) <= 14


def test_the_chart_marks_estimate_and_ends_where_they_are() -> None:
    contrast = {
        "arm": "off",
        "control": "on",
        "estimate_percent": 2.0,
        "low_percent": 1.0,
        "high_percent": 3.0,
        "verdict": "faster",
    }
    svg = str(draw_interval(line_of(**contrast), 1.0, "arm1", 860))
    x = Linear(-3.6, 3.6, 14, 846)
    found = re.search(r'<line x1="([\d.]+)"[^>]*x2="([\d.]+)"[^>]*class="interval arm1"', svg)
    assert found is not None
    assert abs(float(found[1]) - x(1.0)) < 0.1
    assert abs(float(found[2]) - x(3.0)) < 0.1
    assert "+2.00 % [+1.00, +3.00]" in svg


def test_the_chart_marks_a_truth_that_is_known_and_reaches_as_far() -> None:
    contrast = {
        "arm": "doubled",
        "estimate_percent": -1.0,
        "low_percent": -2.0,
        "high_percent": 0.0,
    }
    unknown = str(draw_interval(line_of(**contrast), 1.0, "arm1", 860))
    known = str(draw_interval(line_of(**contrast), 1.0, "arm1", 860, true_percent=-5.0))
    assert 'class="truth"' not in unknown
    place = re.search(r'<path d="M([\d.]+) [^>]*class="truth"', known)
    assert place is not None
    assert abs(float(place[1]) - Linear(-6.0, 6.0, 14, 846)(-5.0)) < 0.1


@pytest.mark.parametrize(
    ("metric", "higher_is_better"), [("throughput", True), ("latency_mean", False)]
)
def test_an_epoch_without_work_of_one_arm_is_drawn_and_no_lost_one(
    metric: str, higher_is_better: bool
) -> None:
    """It is in the interval, as infinite. One without any work is not, nor are those that older
    verdicts left out."""
    epochs = [
        (0.01, "complete", (900.0, 909.0)),
        (None, "crashed: off", (None, None)),
        (None, "complete", (900.0, 0.0)),
        (None, "complete", (0.0, 900.0)),
        (None, "failed: driver was lost", (None, None)),
    ]
    rows = [
        {
            **{"epoch": number, "slots": {"on": 0, "off": 1}, "order": ("on", "off"), "d": d},
            **{"throughput": dict(zip(("on", "off"), rates, strict=True)), "typical_d": None},
            "outcome": outcome,
        }
        for number, (d, outcome, rates) in enumerate(epochs)
    ]
    details = {"epochs": rows, "d": tuple(d for d, _, _ in epochs)}
    told = {"metric": metric, "higher_is_better": higher_is_better, "details": details}
    for counted, readings in (
        (4, ["+1.01 %", "off did no work", "off did no work", "on did no work", "lost"]),
        (1, ["+1.01 %", "lost", "lost", "lost", "lost"]),
    ):
        contrast = line_of(epochs=counted, **told)
        assert [row["reading"] for row in epoch_rows(contrast)] == readings
        drawn = str(draw_epochs(contrast, (-5.0, 5.0), 1.0, "arm1", 448))
        assert f"{counted} epochs; estimate" in drawn
        assert drawn.count('class="dot arm1') == counted


def test_words_in_a_drawing_are_escaped() -> None:
    drawing = Drawing(100, 100, "a < b", 'say "no"')
    drawing.text(1, 1, "<script>", class_='x" onload="alert(1)')
    svg = str(drawing.svg())
    assert "<script>" not in svg
    assert 'onload="alert' not in svg
