"""Values of settings keep their worth from bytes to text to the server's own unit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.model.allowed import Allowed
from steelyard.tuning.profile.value import counted, size_bytes, size_text, written


@given(st.integers(1 << 10, 1 << 42))
def test_a_size_is_written_at_most_a_tenth_smaller_and_never_larger(size: int) -> None:
    back = size_bytes(size_text(size), "kB")
    assert back is not None
    assert 0.9 * size - 1024 < back <= size


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (11 * 1024**2, "11MB"),
        (5.5 * 1024**3, "5632MB"),
        (8 * 1024**3, "8GB"),
        (94.4 * 1024**3, "94GB"),
        (700_000, "683kB"),
    ],
)
def test_a_size_has_two_figures_and_more_and_the_largest_unit_that_shows_them(
    size: float, text: str
) -> None:
    assert size_text(size) == text


@pytest.mark.parametrize(
    ("value", "unit", "number"),
    [
        ("128MB", "8kB", 16384),
        ("16384", "8kB", 16384),
        ("94GB", "kB", 94 * 1024 * 1024),
        ("15min", "s", 900),
        ("0.9", "", 0.9),
        ("-1", "kB", -1),
        ("on", "", None),
        ("15min", "kB", None),
        ("8GB", "s", None),
    ],
)
def test_a_value_is_counted_in_the_servers_unit(
    value: str, unit: str, number: float | None
) -> None:
    assert counted(value, unit) == number


@pytest.mark.parametrize(
    ("default", "unit", "text"),
    [
        ("16384", "8kB", "128MB"),
        ("65536", "kB", "64MB"),
        ("1024", "MB", "1GB"),
        ("300", "s", "5min"),
        ("200", "ms", "200ms"),
        ("-1", "kB", "-1"),
        ("off", "", "off"),
        ("4", "", "4"),
        (None, "", ""),
    ],
)
def test_a_default_is_written_as_a_configuration_file_has_it(
    default: str | None, unit: str, text: str
) -> None:
    assert written(Allowed("integer", default, unit, None, None, (), "user")) == text
