"""Simulated searches: what is published of them is counted right, and a change that is plain to see
is named every time."""

from __future__ import annotations

from pathlib import Path

import pytest

from validation.pages.searched import section
from validation.results import Results
from validation.searches import CELLS, OUTCOMES, RESULTS, Cell, simulate


def test_a_plain_change_is_named_and_none_is_not_searched_for() -> None:
    plain = simulate(Cell(effect=5.0, places=9, luck=0.0), 20)
    assert (plain["right"], plain["searches"]) == (20, 20)
    assert 4 <= plain["weighings"] <= 6
    none = simulate(Cell(effect=0.0, places=9, luck=0.0), 20)
    assert none["not searched"] == 20


def test_places_that_differ_by_luck_may_be_named_wrongly() -> None:
    """As large as the change itself: the count of wrong ones can be above zero at all."""
    unlucky = simulate(Cell(effect=2.0, places=100, luck=2.0), 30)
    assert unlucky["wrong"] + unlucky["narrowed wrongly"] > 0
    assert sum(unlucky[name] for name in OUTCOMES) == 30


def test_the_table_has_shares_and_what_is_beyond_its_bound_is_bold(tmp_path: Path) -> None:
    results = Results(tmp_path / "searches.jsonl")
    line = {"places": 9, "searches": 100, "weighings": 5.25, "right": 70, "narrowed wrongly": 5,
            "narrowed": 5, "not searched": 0}  # fmt: skip
    results.add("a", {**line, "effect_percent": 2.0, "luck_percent": 0.0, "wrong": 20})
    results.add("b", {**line, "effect_percent": 1.0, "luck_percent": 0.3, "wrong": 20})
    bold, plain = section(results).splitlines()[-2:]
    assert bold.startswith("| 2 % | 9 | 0 % | 100 | 70 | **25.0 [")
    assert plain.startswith("| 1 % | 9 | 0.3 % | 100 | 70 | 25.0 [")
    assert plain.endswith("| 5 | 0 | 5.2 |")


@pytest.mark.parametrize("cell", CELLS, ids=lambda one: one.key)
def test_every_cell_is_published_and_none_without_luck_errs_too_often(cell: Cell) -> None:
    [found] = [one for one in RESULTS if one["key"] == cell.key]
    if cell.luck == 0:
        wrong = found["wrong"] + found["narrowed wrongly"]
        assert wrong <= 0.05 * found["searches"] + 3 * (0.05 * found["searches"]) ** 0.5
