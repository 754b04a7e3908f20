"""The page of a factorial shows sentences, effects, and a picture of what depends on what."""

from __future__ import annotations

from evaluation.factors.planted import laid, made
from steelyard.report.charts.factors import effect_rows, shown_factors, simple_rows


def test_a_weighing_of_arms_has_no_such_section() -> None:
    assert shown_factors(None) is None


def test_only_an_interaction_of_two_that_matters_has_a_picture() -> None:
    told = made(laid(3), {"a × b": (-3.8, "matters"), "a × b × c": (9.0, "matters")}, {})
    shown = shown_factors(told)
    assert shown is not None
    assert [{one.factor, one.by} for one in shown.interactions] == [{"a", "b"}]
    quiet = shown_factors(made(laid(3), {}, {}))
    assert quiet is not None
    assert quiet.interactions == []


def test_a_row_of_a_half_names_what_it_cannot_tell() -> None:
    told = made(laid(3, "half"), {}, {})
    assert [row[0] for row in effect_rows(told)] == ["a (or b × c)", "b (or a × c)", "c (or a × b)"]
    assert simple_rows(told) == []


def test_cells_are_listed_with_the_level_of_every_factor() -> None:
    shown = shown_factors(made(laid(2), {}, {}, sentences=("a is slower",)))
    assert shown is not None
    assert shown.sentences == ["a is slower."]
    assert shown.cell_rows[1] == {"arm": "low+hot", "a": "low", "b": "hot"}
    assert shown.cell_heads == [("a", "a"), ("b", "b")]
