"""Numbers are written for people: three digits, never an exponent."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.model.units import (
    format_digits,
    format_duration,
    format_share,
    parse_bytes,
    parse_duration,
    parse_percent,
    whole_number,
)


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


@pytest.mark.parametrize(
    ("value", "digits", "words"),
    [
        (0.0, 3, "0"),
        (0.012345, 3, "0.0123"),
        (0.00001, 2, "0.00001"),
        (99.6, 2, "100"),
        (-10_812.0, 3, "-10 800"),
        (8601.48, 6, "8 601.48"),
        (1e6, 6, "1 000 000"),
        (float("nan"), 3, "nan"),
    ],
)
def test_digits_that_count_are_written_without_an_exponent(
    value: float, digits: int, words: str
) -> None:
    assert format_digits(value, digits) == words


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0.0, "0.0 %"),
        (0.0003, "< 0.1 %"),
        (0.0005, "0.1 %"),
        (0.824, "82.4 %"),
        (0.9994, "99.9 %"),
        (0.9997, "> 99.9 %"),
        (1.0, "100.0 %"),
        (sum([0.1] * 10), "100.0 %"),
    ],
)
def test_all_and_none_are_shown_of_all_and_none_alone(share: float, words: str) -> None:
    assert format_share(share) == words


@given(st.integers(1, 10_000_000), st.integers(1, 10_000_000))
def test_a_part_is_neither_all_nor_none(first: int, second: int) -> None:
    assert format_share(first / (first + second)) not in ("0.0 %", "100.0 %")


@given(st.floats(-1e12, 1e12), st.integers(1, 6))
def test_digits_hold_the_value_as_far_as_they_say(value: float, digits: int) -> None:
    words = format_digits(value, digits)
    assert "e" not in words
    assert float(words.replace(" ", "")) == float(f"{value:.{digits}g}")


@pytest.mark.parametrize(
    "unit", ["", "k", "kB", "KiB", "Ki", "mb", "MiB", "Mi", "GB", "GiB", "tib"]
)
def test_sizes_are_powers_of_1024_however_they_are_spelt(unit: str) -> None:
    power = " kmgt".index(unit[:1].lower() or " ")
    assert parse_bytes(f"1.5 {unit}") == round(1.5 * 1024**power)


@pytest.mark.parametrize("text", ["1Gbit", "iB", "5iB", "1 MiBs", "-1kB", "1e3", ""])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="accepted: 64kB"):
        parse_bytes(text)


@given(st.floats(1e3, 3.6e12))
def test_a_duration_is_read_as_it_is_written(nanoseconds: float) -> None:
    words = format_duration(nanoseconds)
    assert parse_duration(words) == pytest.approx(nanoseconds, rel=0.01)


@pytest.mark.parametrize("read", [parse_bytes, parse_duration, parse_percent])
@pytest.mark.parametrize(
    "digits", ["\N{SUPERSCRIPT TWO}", "\N{ARABIC-INDIC DIGIT THREE}", "9" * 400]
)
def test_what_no_number_can_hold_is_refused(read: Callable[[str], float], digits: str) -> None:
    for unit in ("MB", "s", "%"):
        with pytest.raises(ValueError, match="accepted"):
            read(f"{digits}{unit}")


@given(st.integers(0, 10**18 - 1))
def test_a_whole_number_is_read_as_it_is_written(number: int) -> None:
    assert whole_number(str(number)) == number


@given(st.text(max_size=30))
def test_no_text_is_a_whole_number_but_that_of_ascii_digits(text: str) -> None:
    digits = 0 < len(text) <= 18 and {*text} <= {*"0123456789"}
    assert whole_number(text) == (int(text) if digits else None)


@pytest.mark.parametrize("text", ["\N{SUPERSCRIPT TWO}", "\N{ARABIC-INDIC DIGIT THREE}", "1" * 19])
def test_digits_that_are_none_of_ours_are_no_whole_number(text: str) -> None:
    assert whole_number(text) is None


@pytest.mark.parametrize(
    ("parse", "unit"),
    [
        *((parse_duration, unit) for unit in ("us", "ms", "s", "m", "h")),
        *((parse_bytes, unit) for unit in ("", "kB", "TB")),
        (parse_percent, "%"),
    ],
)
@pytest.mark.parametrize("digits", [305, 309, 400])
def test_what_is_beyond_all_numbers_is_refused_and_no_overflow(
    parse: Callable[[str], float], unit: str, digits: int
) -> None:
    with pytest.raises(ValueError, match="accepted: "):
        parse("9" * digits + unit)
