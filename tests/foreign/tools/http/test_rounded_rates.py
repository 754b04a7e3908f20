"""A generator that keeps up shows the rate it was asked for; one that does not shows none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.foreign.tools.http.load_summaries import rounded_rate


@given(st.integers(10, 99), st.integers(-2, 6), st.floats(-0.0019, 0.0019))
def test_a_rate_of_two_digits_is_read_off_what_was_measured(
    digits: int, exponent: int, off: float
) -> None:
    requested = digits * 10.0**exponent
    assert rounded_rate(requested * (1 + off)) == f"{requested:g}/s"


@pytest.mark.parametrize("measured", [0.0, -5.0, float("inf"), float("nan"), 1543.2, 987654.3, 104])
def test_other_rates_were_not_asked_for(measured: float) -> None:
    assert rounded_rate(measured) == ""
