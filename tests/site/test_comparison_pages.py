"""The page that compares has the facts of every record, and quantiles of t as scipy has them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from scipy.stats import t

from steelyard.history.index import History
from steelyard.site import comparison_pages
from steelyard.site.comparison_pages import compared_facts
from steelyard.site.pages import build_site


def facts_of(history: History) -> dict[str, Any]:
    return cast(dict[str, Any], compared_facts(history.entries, {}))


def test_records_come_newest_first_with_their_facts_and_contrasts(history: History) -> None:
    told = facts_of(history)
    assert [one["path"] for one in told["records"][:2]] == [
        "builds/2026-03-21T120000Z",
        "versions/2026-03-19T120000Z",
    ]
    newest = told["records"][0]
    assert newest["facts"]["build of on"] == "18.4"
    [contrast] = newest["contrasts"]
    assert contrast["count"] == 8
    assert contrast["shared"]["version of the control"] == "18.4"
    assert contrast["unfit"] == ()
    assert told["left_out"] == 0


def test_quantiles_are_those_of_the_t_distribution(history: History) -> None:
    table = facts_of(history)["quantiles"]
    for freedom in (1, 7, 30, 400):
        assert table[freedom - 1] == pytest.approx(t.ppf(0.975, freedom))
    assert table[-1] == pytest.approx(1.959964)


def test_of_very_many_records_the_page_knows_the_newest(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparison_pages, "MOST_RECORDS", 3)
    told = facts_of(history)
    assert (len(told["records"]), told["left_out"]) == (3, len(history.entries) - 3)


def test_a_page_that_does_not_list_all_records_says_of_how_many_and_what_compares_the_others(
    history: History, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    words = "steelyard history compare FIRST SECOND</code> compares any two"
    whole = build_site(history, tmp_path / "whole").folder / "compare.html"
    assert words not in whole.read_text(encoding="utf-8")
    monkeypatch.setattr(comparison_pages, "MOST_RECORDS", 3)
    cut = build_site(history, tmp_path / "cut").folder / "compare.html"
    counts = f"The newest 3 of {len(history.entries)} records are listed; <code>"
    assert f"{counts}{words}" in cut.read_text(encoding="utf-8")
