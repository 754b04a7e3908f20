"""The pictures of the wall hold every interval, also open ones and those that lie far out."""

from __future__ import annotations

import re

import pytest

from steelyard.history.entry import Entry, KnownReading
from steelyard.history.index import History
from steelyard.history.question import QuestionHistory, machines_of, questions_of
from steelyard.history.trend import trend_of
from steelyard.site.pictures import BEAM_WIDTH, MOST_IN_STRIP, draw_beam, draw_strip, reach
from steelyard.site.question_page import draw_over_time, most_points


@pytest.fixture
def question(history: History) -> QuestionHistory:
    return next(q for q in questions_of(history.entries) if q.label.startswith("checksums"))


@pytest.fixture
def reading(question: QuestionHistory) -> KnownReading:
    return question.newest.reading


def drawn_line(picture: str, of: str) -> tuple[float, float]:
    """Both ends of the first line of a class, from left to right."""
    found = re.search(rf'<line x1="([\d.-]+)"[^>]*x2="([\d.-]+)"[^>]*class="{of}', picture)
    assert found is not None
    return float(found[1]), float(found[2])


def test_the_beam_may_have_the_scale_of_others(reading: KnownReading) -> None:
    narrow, wide = draw_beam(reading, reach([reading])), draw_beam(reading, 400.0)
    assert narrow == draw_beam(reading)
    lengths = [high - low for low, high in (drawn_line(str(p), "interval") for p in (wide, narrow))]
    assert 0 < lengths[0] < lengths[1]


def test_the_beam_shows_interval_and_margin_on_one_scale(reading: KnownReading) -> None:
    picture = str(draw_beam(reading))
    left, right = drawn_line(picture, "interval thin tone faster")
    end = reach([reading])
    scale = (BEAM_WIDTH - 16) / (2 * end)
    assert reading.low_percent is not None
    assert reading.high_percent is not None
    assert left == pytest.approx(8 + (reading.low_percent + end) * scale, abs=0.1)
    assert right == pytest.approx(8 + (reading.high_percent + end) * scale, abs=0.1)
    assert 'class="margin"' in picture
    assert "margin ±1 %" in picture


def test_an_open_end_reaches_the_edge_and_has_no_cap(reading: KnownReading) -> None:
    open_end = reading.model_copy(update={"high_percent": None})
    picture = str(draw_beam(open_end))
    assert drawn_line(picture, "interval")[1] == BEAM_WIDTH - 8
    assert picture.count('class="cap') == 1
    bare = reading.model_copy(update={"high_percent": None, "low_percent": None})
    assert 'class="interval' not in str(draw_beam(bare))
    none = bare.model_copy(update={"estimate_percent": None})
    assert "<circle" not in str(draw_beam(none))


def test_what_lies_far_out_is_drawn_at_the_end_of_the_scale(reading: KnownReading) -> None:
    far = reading.model_copy(update={"low_percent": 900.0, "high_percent": 2000.0,
                                     "estimate_percent": 1500.0})  # fmt: skip
    assert reach([far]) == 400
    odd = far.model_copy(update={"low_percent": -89.5, "estimate_percent": 1.0,
                                 "high_percent": 88.0})  # fmt: skip
    assert reach([odd]) == 120, "a round number, where 1.2 times the end is 107.4"
    assert drawn_line(str(draw_beam(far)), "interval")[1] == BEAM_WIDTH - 8


def test_the_strip_shows_the_last_twenty_the_newest_at_the_right(reading: KnownReading) -> None:
    picture = str(draw_strip([reading] * 30))
    assert picture.count('class="cap') == MOST_IN_STRIP
    few = str(draw_strip([reading] * 3))
    assert few.count('class="cap') == 3
    assert "the last 3 intervals" in few
    assert 'x1="288"' in few


def test_a_dot_of_the_chart_leads_to_its_report_and_one_without_is_none(
    question: QuestionHistory,
) -> None:
    trend = trend_of(question, machines_of(question)[0])

    def address_of(entry: Entry) -> str:
        return f"../reports/{entry.seed}.html" if entry.seed % 2 else ""

    picture = str(draw_over_time(trend, address_of, 920))
    assert picture.count("<a href=") == 8
    assert 'aria-label="2026-03-15 12:00 UTC: faster, +' in picture
    assert 'role="group"' in picture
    assert picture.count('class="step-line"') == 1
    assert picture.count('class="level-line"') == 2


def test_a_narrow_chart_shows_the_last_that_have_room(question: QuestionHistory) -> None:
    trend = trend_of(question, machines_of(question)[0])
    picture = str(draw_over_time(trend, lambda entry: "", 200))
    assert most_points(200) == 5
    assert picture.count("<circle") == 5
