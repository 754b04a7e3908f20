"""Failures are counted in columns of whole numbers, and an error with a fraction is a spread."""

from __future__ import annotations

import pytest

from foreign.judged_files import RANDOM, doubts, judged_text, verdict

FAILURES = "errors or retries differ"


def table(heading: str, cells: tuple[str, str], separator: str = ",") -> str:
    rows = ""
    for n in range(10):
        values = [f"{1000 + n * 7 % 5}", f"{1100 + n * 3 % 5}"]
        for arm, value, cell in zip(("off", "on"), values, cells, strict=True):
            rows += separator.join((arm, value, cell)) + "\n"
    return separator.join(("arm", "tps", heading)) + "\n" + rows


@pytest.mark.parametrize("heading", ["error", "tps_err", "err", "errors"])
def test_fractions_are_no_failures(heading: str) -> None:
    judgement = judged_text(table(heading, ("10.5", "90.25")), **RANDOM)
    assert judgement.comparison.metric.column == "tps"
    assert verdict(judgement) == "faster"
    assert FAILURES not in doubts(judgement)
    assert FAILURES not in doubts(judged_text(table(heading, ("10,5", "90,25"), ";"), **RANDOM))


@pytest.mark.parametrize("cells", [("0", "90"), ("0.0", "90.0"), ("90", "0"), ("", "90")])
def test_whole_numbers_are_failures(cells: tuple[str, str]) -> None:
    for heading in ("error", "errors", "failed", "retries"):
        assert FAILURES in doubts(judged_text(table(heading, cells), **RANDOM))


def test_a_fraction_anywhere_in_the_column_says_that_it_counts_nothing() -> None:
    text = table("error", ("1", "90")).replace("off,1000,1\n", "off,1000,1.5\n")
    assert "1.5" in text
    assert FAILURES not in doubts(judged_text(text, **RANDOM))
