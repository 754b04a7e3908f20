"""Charts of a factorial hold every effect with its interval, whatever is missing."""

from __future__ import annotations

import html
import re
from xml.etree import ElementTree

import pytest

from evaluation.factors.planted import laid, made
from steelyard.report.charts.drawing import NARROW, WIDE
from steelyard.report.charts.factors import draw_effects, draw_interaction
from steelyard.wording.factor_sentences import parts_of

TOLD = made(
    laid(3),
    {"a": (-2.2, "slower"), "a × b": (-3.8, "matters"), "c": (0.4, "inconclusive")},
    {"a with cold": -0.3, "a with hot": -4.1, "b with low": -8.0, "b with high": -12.0},
)
OPEN = dict.fromkeys(("estimate_percent", "low_percent", "high_percent"))


def texts(picture: str) -> list[str]:
    return [html.unescape(one) for one in re.findall(r"<text[^>]*>([^<]*)</text>", picture)]


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_every_effect_has_its_name_its_figures_and_its_interval(width: float) -> None:
    picture = draw_effects(TOLD, width)
    ElementTree.fromstring(picture)
    said = texts(picture)
    for one in TOLD.effects:
        assert one.name in said
    assert "−3.80 % [−4.30, −3.30]" in said
    assert picture.count("<circle") == len(TOLD.effects)
    assert "◂ slower" in said
    assert 'class="margin"' in picture
    words = html.unescape(picture.partition("<desc>")[2].partition("</desc>")[0])
    assert "a × b: −3.80 % [−4.30, −3.30], matters" in words


def test_where_less_is_better_the_sides_change_places() -> None:
    picture = draw_effects(TOLD.model_copy(update={"higher_is_better": False}), WIDE)
    assert "◂ faster" in texts(picture)


def test_an_interaction_is_two_effects_joined_by_a_line() -> None:
    parts = parts_of(TOLD.effects[3], TOLD)
    picture = draw_interaction(parts, 1.0, WIDE)
    ElementTree.fromstring(picture)
    assert {"with cold", "with hot", "b"} <= {*texts(picture)}
    assert picture.count("<circle") == 2
    assert 'class="series arm1 thin"' in picture


def test_what_is_unknown_or_unbounded_is_drawn_as_far_as_it_is_known() -> None:
    effects = (TOLD.effects[0].model_copy(update=OPEN), *TOLD.effects[1:])
    picture = draw_effects(TOLD.model_copy(update={"effects": effects}), WIDE)
    assert picture.count("<circle") == len(effects) - 1
    first, second = parts_of(TOLD.effects[3], TOLD)
    parts = (first.model_copy(update=OPEN), second.model_copy(update={"low_percent": None}))
    picture = draw_interaction(parts, 1.0, WIDE)
    assert picture.count("<circle") == 1
    assert "series" not in picture
    for drawn in (picture, draw_effects(TOLD, NARROW)):
        assert "nan" not in drawn
        assert "inf" not in drawn
