"""Numbers are written for people: three digits, never an exponent."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.model.units import format_duration


@pytest.mark.parametrize(
    ("nanoseconds", "words"),
    [
        (12, "12 ns"),
        (999.4, "999 ns"),
        (999.6, "1 µs"),
        (999_499, "999 µs"),
        (999_600, "1 ms"),
        (999_600_000, "1 s"),
        (59.96e9, "60 s"),
        (78e9, "1 min 18 s"),
        (7_260e9, "2 h 1 min"),
    ],
)
def test_a_duration_has_the_unit_that_its_digits_fit(nanoseconds: float, words: str) -> None:
    assert format_duration(nanoseconds) == words


@given(st.floats(1, 1e15))
def test_no_duration_is_written_with_an_exponent(nanoseconds: float) -> None:
    assert "e" not in format_duration(nanoseconds)
