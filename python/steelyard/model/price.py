"""What a machine costs: an amount, perhaps with a currency, per hour, day, month or year."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal

ACCEPTED = "0.504/h, 0.504 USD/h, 365 EUR/month (h, day, month or year)"
_HOURS = {
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 1.0),
    **dict.fromkeys(("d", "day", "days"), 24.0),
    **dict.fromkeys(("month", "months", "mo"), 730.0),
    **dict.fromkeys(("year", "years", "yr", "y"), 8760.0),
}
"""A month is a twelfth of a year of 365 days, as clouds count it."""
_PERIODS = {1.0: "h", 24.0: "day", 730.0: "month", 8760.0: "year"}
_SIGNS = {"$": "USD", "€": "EUR", "£": "GBP"}
_CURRENCY = r"[$€£]|(?!per)[A-Za-z]{3}"
_PRICE = re.compile(
    rf"\s*(?:(?P<before>{_CURRENCY})\s*)?(?P<amount>[0-9]+(?:\.[0-9]+)?)"
    rf"\s*(?:(?P<after>{_CURRENCY})\s*)?(?:/|\bper\b)\s*(?P<period>[a-z]+)\s*",
    re.IGNORECASE,
)
MILLION = 1_000_000
_SECONDS_AN_HOUR = 3600


@dataclass(frozen=True)
class Price:
    """An amount of money per time."""

    amount: float
    period_hours: float
    currency: str = ""
    """Three letters, `"USD"`; empty: not said."""

    @property
    def per_hour(self) -> float:
        """In its currency."""
        return self.amount / self.period_hours

    @property
    def words(self) -> str:
        """`"0.504 USD/h"`: as a study and a record have it, and as it is read again."""
        amount = format(Decimal(repr(self.amount)), "f")
        if "." in amount:
            amount = amount.rstrip("0").rstrip(".")
        money = amount + (f" {self.currency}" if self.currency else "")
        return f"{money}/{_PERIODS[self.period_hours]}"

    def per_million(self, per_second: float) -> float:
        """What a million transactions cost at so many a second; infinite at none."""
        if per_second <= 0:
            return math.inf
        return self.per_hour / (per_second * _SECONDS_AN_HOUR) * MILLION


def parse_price(text: str) -> Price:
    """A price as people write it. ValueError says what is accepted."""
    match = _PRICE.fullmatch(text)
    hours = None if match is None else _HOURS.get(match["period"].lower())
    if match is None or hours is None or (match["before"] and match["after"]):
        raise ValueError(f'invalid price: "{text}"; accepted: {ACCEPTED}')
    amount = float(match["amount"])
    if not 0 < amount < math.inf:
        raise ValueError(f'invalid price: "{text}"; accepted: more than 0, as {ACCEPTED}')
    sign = match["before"] or match["after"] or ""
    return Price(amount, hours, _SIGNS.get(sign, sign.upper()))


def money_with_ends(amount: float, ends: tuple[float | None, float | None], currency: str) -> str:
    """`"0.0280 [0.0275, 0.0285] USD"`."""
    low, high = ("unbounded" if end is None else money(end, "") for end in ends)
    unit = f" {currency}" if currency else ""
    return f"{money(amount, '')} [{low}, {high}]{unit}"


def money(amount: float, currency: str) -> str:
    """`"0.0280 USD"`: three digits."""
    digits = max(0, 2 - math.floor(math.log10(amount))) if amount > 0 else 2
    return f"{amount:.{digits}f}" + (f" {currency}" if currency else "")
