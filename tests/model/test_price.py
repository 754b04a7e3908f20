"""A price is read as people write it, priced per transaction, and refused with what to type."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.model.price import Price, money, parse_price


@pytest.mark.parametrize(
    ("text", "words", "per_hour"),
    [
        ("0.504/h", "0.504/h", 0.504),
        ("0.504 USD/h", "0.504 USD/h", 0.504),
        ("$0.504/hour", "0.504 USD/h", 0.504),
        ("0.504 € per hour", "0.504 EUR/h", 0.504),
        ("365 eur / month", "365 EUR/month", 0.5),
        ("GBP 8760/year", "8760 GBP/year", 1.0),
        ("12 CHF/day", "12 CHF/day", 0.5),
        ("24 per days", "24/day", 1.0),
        ("7.3 USD/MONTHS", "7.3 USD/month", 0.01),
    ],
)
def test_prices_are_per_time(text: str, words: str, per_hour: float) -> None:
    price = parse_price(text)
    assert price.words == words
    assert price.per_hour == pytest.approx(per_hour)
    assert parse_price(price.words) == price


@given(
    st.floats(1e-300, 1e300),
    st.sampled_from(["", "USD", "EUR", "PEN"]),
    st.sampled_from([1.0, 24.0, 730.0, 8760.0]),
)
def test_a_price_is_kept_with_every_digit(amount: float, currency: str, hours: float) -> None:
    price = Price(amount, hours, currency)
    assert parse_price(price.words) == price


@pytest.mark.parametrize(
    "text",
    [
        *("per 5/h", "5 per/h", "5 per per h", "US$5/h"),
        *("0.504", "0/h", "-1/h", "cheap", "0.5/week", "0.504 dollars/h", "$0.5 USD/h", "", "/h"),
        *("1e3/h", "1,000/h", "nan/h", "inf/h", "0.5//h", "0.5/h x"),
    ],
)
def test_what_is_no_price_is_refused_with_what_is_accepted(text: str) -> None:
    with pytest.raises(ValueError, match=r"accepted: .*0\.504 USD/h"):
        parse_price(text)


def test_a_million_transactions_cost_the_hours_that_they_take() -> None:
    price = parse_price("3.6 USD/h")
    assert price.per_million(1000) == pytest.approx(1.0)  # 1,000 s, a thousandth each
    assert math.isinf(price.per_million(0))


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        *((0.02801, "0.0280 USD"), (12.345, "12.3 USD")),
        *((1234.5, "1234 USD"), (0.000123456, "0.000123 USD")),
    ],
)
def test_money_has_three_digits(amount: float, text: str) -> None:
    assert money(amount, "USD") == text
