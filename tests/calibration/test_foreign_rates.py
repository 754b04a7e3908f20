"""Rows from elsewhere are judged falsely as seldom as promised, and a damaged rule is noticed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from calibration.test_validation_page import results
from steelyard.foreign.judgement import number_sets
from steelyard.foreign.judgement.number_sets import RowOrder
from thinned import thinned
from validation.cases import foreign_rates
from validation.cases.case import generator
from validation.cases.foreign_rates import (
    APART,
    CELLS,
    DRAWN,
    PAIRED,
    SEQUENTIAL,
    SERIES,
    SWEEP,
    cases,
    count,
)
from validation.pages import judged

TIMES = 300


def false_share(measured: str, kind: str, rows: int, times: int = TIMES) -> float:
    counts = count(measured, kind, generator(f"test/{measured}/{kind}/{rows}"), rows, times)
    assert counts.comparisons == times
    assert counts.different <= counts.missed <= times - counts.withheld
    return counts.different / times


@thinned("kind", ["independent", "AR(1) .5", "AR(1) .7"], 1)
@pytest.mark.parametrize("rows", [10, 20])
def test_false_verdicts_stay_below_the_bound_whatever_neighbours_share(
    kind: str, rows: int
) -> None:
    assert false_share(PAIRED, kind, rows) < 0.06


def test_an_order_that_chance_drew_needs_no_widening() -> None:
    assert false_share(DRAWN, "AR(1) .7", 20) < 0.09
    counts = count(DRAWN, "AR(1) .7", generator("test/drawn"), 10, 50)
    assert counts.withheld == 0
    assert counts.seen > 15


def test_rows_apart_and_one_after_the_other_stay_below_it_too() -> None:
    assert false_share(APART, "AR(1) .5", 10, 100) < 0.07
    assert false_share(SEQUENTIAL, "AR(1) .5", 10, 40) < 0.15


@pytest.mark.long
def test_seconds_of_one_run_carry_no_verdict_and_a_sweep_errs_as_seldom_as_rows() -> None:
    series = count(SERIES, "AR(1) .9", generator("test/series"), 60, 20)
    assert (series.withheld, series.different) == (20, 0)
    sweep = count(SWEEP, "independent", generator("test/sweep"), 30, 40)
    assert sweep.different <= 4
    assert sweep.seen > 20


def test_rows_taken_for_independent_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(*arguments: Any) -> Any:
        return number_sets.paired_sets(*arguments[:3], RowOrder.DRAWN)

    monkeypatch.setattr(foreign_rates, "paired_sets", careless)
    assert false_share(PAIRED, "AR(1) .7", 10) > 0.2


def test_every_cell_has_a_key_of_its_own_and_the_suite_is_short() -> None:
    every = list(cases())
    assert len({case.key for case in every}) == len(every) > 60
    assert sum(case.cost for case in every) < 2 * 150  # processor seconds, of two processors


def test_the_page_shows_every_cell_and_what_is_beyond_its_bound(tmp_path: Path) -> None:
    case = next(cases())
    counts = {"comparisons": 1_000, "different": 80, "withheld": 200, "missed": 80, "seen": 300}
    line = {
        "code": "abc",
        "measured": case.measured,
        "kind": case.kind,
        "rows": case.rows,
        "counts": counts,
    }
    found = results(tmp_path, "judge", [line])
    text = judged.section(found)
    for part in ("**8.0 [6.4, 9.9]**", "80 (10)", "| 30 |", "not yet done", "version abc"):
        assert part in text
    for measured, (kinds, _, _) in CELLS.items():
        assert measured in text or measured == PAIRED
        assert all(kind in text for kind in kinds)
    assert "at their worst in 8.0 [6.4, 9.9] % of comparisons (independent, 8 rows)" in (
        judged.summary(found)
    )
    assert judged.section(results(tmp_path, "none", [])).endswith("Not yet simulated.")
