"""Readings are said short, with their intervals, margins as people write them."""

from __future__ import annotations

import pytest

from steelyard.history.entry import KnownReading
from steelyard.history.index import History
from steelyard.site.address import margin_text, sentence, short_reading, utc


@pytest.fixture
def reading(history: History) -> KnownReading:
    return history.entries[0].readings[0]


def test_a_moment_is_said_to_the_minute() -> None:
    assert utc("2026-03-01T120509Z") == "2026-03-01 12:05 UTC"


@pytest.mark.parametrize(("margin", "said"), [(1.0, "±1 %"), (0.5, "±0.5 %"), (12.0, "±12 %")])
def test_a_margin_is_said_without_needless_digits(
    reading: KnownReading, margin: float, said: str
) -> None:
    assert margin_text(reading.model_copy(update={"margin_percent": margin})) == said


def test_the_verdicts_word_is_not_said_twice(reading: KnownReading) -> None:
    told = reading.model_copy(
        update={"verdict": "inconclusive", "sentence": "inconclusive: off against on reads 0"}
    )
    assert sentence(told) == "off against on reads 0."


def test_a_reading_without_an_interval_says_so(reading: KnownReading) -> None:
    bare = reading.model_copy(update={"low_percent": None, "high_percent": None})
    assert short_reading(bare).endswith("no interval")
    assert short_reading(bare.model_copy(update={"estimate_percent": None})) == "–"
