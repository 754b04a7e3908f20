"""Values of settings keep their worth from bytes to text to the server's own unit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.model.setting_value import (
    number_in,
    quantity,
    reported,
    size_bytes,
    size_text,
    with_unit,
)


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
    assert number_in(value, unit) == number


@pytest.mark.parametrize(
    ("default", "unit", "text"),
    [
        ("16384", "8kB", "128MB"),
        ("65536", "kB", "64MB"),
        ("1024", "MB", "1GB"),
        ("10241", "kB", "10241kB"),
        ("16777216", "B", "16MB"),
        ("1.5", "ms", "1500us"),
        ("90", "s", "90s"),
        ("300", "s", "5min"),
        ("200", "ms", "200ms"),
        ("-1", "kB", "-1"),
        ("off", "", "off"),
        ("4", "", "4"),
    ],
)
def test_a_default_is_written_as_a_configuration_file_has_it(
    default: str, unit: str, text: str
) -> None:
    assert with_unit(default, unit) == text


@given(st.integers(1, 1 << 20), st.sampled_from(["B", "kB", "8kB", "MB", "us", "ms", "s", "min"]))
def test_what_is_written_is_what_was_meant(number: int, unit: str) -> None:
    assert quantity(with_unit(str(number), unit), unit) == quantity(str(number), unit)


@pytest.mark.parametrize(
    ("value", "unit", "known"),
    [
        ("16MB", "8kB", ("bytes", 16 << 20)),
        ("2", "8kB", ("bytes", 16384)),
        ("2.", "MB", ("bytes", 2 << 20)),
        (" 1 h ", "s", ("ns", 3.6e12)),
        ("1h", "MB", None),
        ("1", "", None),
        ("on", "ms", None),
    ],
)
def test_a_quantity_is_of_bytes_or_of_time(
    value: str, unit: str, known: tuple[str, float] | None
) -> None:
    assert quantity(value, unit) == known


def test_a_value_is_read_as_a_server_reports_it() -> None:
    assert reported("300 s") == (300.0, "s")
    assert reported("0.9") == (0.9, "")
    assert reported("") == (None, "")


@pytest.mark.parametrize(
    ("value", "unit", "number"),
    [
        ("0x400", "kB", 1024.0),
        ("-0X1f", "", -31.0),
        ("0x10MB", "kB", 16384.0),
        ("+5", "kB", 5.0),
        ("1e3", "kB", 1000.0),
        ("1.5E+1 MB", "kB", 15360.0),
        (".5GB", "kB", 524288.0),
        ("1.", "", 1.0),
        (".", "", None),
        ("e3", "", None),
        ("0x", "", None),
        ("1e", "kB", None),
        ("\u0663", "kB", None),
        ("1,5", "kB", None),
        ("- 5", "", None),
        ("1e999", "kB", None),
        ("0x" + "f" * 400, "kB", None),
    ],
)
def test_a_number_is_read_in_every_form_that_a_server_takes(
    value: str, unit: str, number: float | None
) -> None:
    assert number_in(value, unit) == number
