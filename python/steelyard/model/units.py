"""Units at the edge: nanoseconds, bytes and fractions inside; people's units only here."""

from __future__ import annotations

import math
import re
from decimal import Decimal

NS_PER_US = 1_000
NS_PER_MS = 1_000_000
NS_PER_S = 1_000_000_000

_DURATION_NS = {
    **dict.fromkeys(("us", "µs", "μs"), NS_PER_US),
    "ms": NS_PER_MS,
    "s": NS_PER_S,
    "min": 60 * NS_PER_S,
    "m": 60 * NS_PER_S,
    "h": 3600 * NS_PER_S,
}
_MOST_DIGITS = 18
"""Of a number that is read: what 64 bits hold."""
_DURATION = re.compile(r"([0-9]{1,18}(?:\.[0-9]+)?)\s*(us|µs|μs|ms|s|min|m|h)")


MOST_RATIO = 1e12
"""A larger ratio is said to be unbounded: no measurement tells it from a larger one still."""
_MOST_LOG = math.log(MOST_RATIO) + 1e-9


def whole_number(text: str) -> int | None:
    """The whole number from 0 on that ASCII digits write; None: it is none, or has more of them
    than anything here can count. Python takes more for digits, and not all of it for numbers: ²."""
    is_whole = text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS
    return int(text) if is_whole else None


def parse_duration(text: str) -> int:
    """Nanoseconds of `"90s"`, `"2m"`, `"1h 30m"`, `"50ms"`; ValueError says what is accepted."""
    squeezed = text.strip()
    spans = list(_DURATION.finditer(squeezed))
    rest = _DURATION.sub("", squeezed).strip()
    if not spans or rest:
        raise ValueError(f'invalid duration: "{text}"; accepted: 50ms, 90s, 2m, 1h 30m')
    return round(sum(float(span[1]) * _DURATION_NS[span[2]] for span in spans))


def parse_percent(text: str) -> float:
    """The fraction of `"1%"` or `"1.5 %"` (0.015); ValueError says what is accepted."""
    match = re.fullmatch(r"\s*([0-9]{1,18}(?:\.[0-9]+)?)\s*%\s*", text)
    if match is None:
        raise ValueError(f'invalid percentage: "{text}"; accepted: 1%, 0.5%')
    return float(match[1]) / 100


_SIZE = re.compile(r"\s*([0-9]{1,18}(?:\.[0-9]+)?)\s*((?:[kMGT]i?)?B?)\s*", re.IGNORECASE)


def parse_bytes(text: str) -> int:
    """Bytes of `"200MB"`, `"1.5 GiB"`, `"64k"`, `"0"`, in powers of 1024; ValueError."""
    match = _SIZE.fullmatch(text)
    if match is None:
        raise ValueError(f'invalid size: "{text}"; accepted: 64kB, 200MB, 1.5GB')
    power = "kmgt".find(match[2][:1].lower()) + 1 if match[2] else 0
    return round(float(match[1]) * (1 << 10 * power))


def format_lsn(lsn: int) -> str:
    """A position in the log of PostgreSQL as pg_lsn prints it: `"1/2A000028"`."""
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"


def format_duration(nanoseconds: float) -> str:
    """`"1 min 18 s"`, `"6.5 s"`, `"50 ms"`, `"12 µs"`: two significant parts at most."""
    seconds = nanoseconds / NS_PER_S
    if seconds >= 3600:
        hours, minutes = divmod(round(seconds / 60), 60)
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    if seconds >= 60:
        minutes, left = divmod(round(seconds), 60)
        return f"{minutes} min {left} s" if left else f"{minutes} min"
    # What three digits round to 1000 is one of the next unit.
    if seconds >= 0.9995:
        return f"{seconds:.3g} s"
    if nanoseconds >= 0.9995 * NS_PER_MS:
        return f"{nanoseconds / NS_PER_MS:.3g} ms"
    if nanoseconds >= 0.9995 * NS_PER_US:
        return f"{nanoseconds / NS_PER_US:.3g} µs"
    return f"{nanoseconds:.3g} ns"


def format_digits(value: float, digits: int) -> str:
    """`value` in that many significant digits, never with an exponent: `"0.0123"`, `"100"`,
    `"10 800"`; groups of three by spaces from a thousand on."""
    if not math.isfinite(value):
        return str(value)
    return f"{Decimal(f'{value:.{digits}g}'):,f}".replace(",", " ")


def format_rate(per_second: float) -> str:
    """`"5,210"`, `"87.3"`: three digits and no fewer than the whole number."""
    return f"{per_second:,.0f}" if per_second >= 100 else f"{per_second:.3g}"


def format_bytes(size: float) -> str:
    """`"16 MB"` in powers of 1024, as PostgreSQL's pg_size_pretty prints sizes."""
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if abs(size) < 10240 or unit == "TB":
            return f"{size:.0f} {unit}"
        size /= 1024
    raise AssertionError("unreachable: the loop returns at TB")


def percent_of_log(log_ratio: float) -> float:
    """(arm ÷ control − 1) × 100 of a natural log ratio; ∞ beyond `MOST_RATIO`."""
    return math.expm1(log_ratio) * 100 if log_ratio <= _MOST_LOG else math.inf


def counted(number: int, noun: str) -> str:
    """`"12 epochs"`, `"1 epoch"`; `noun`: in the plural, which ends in s."""
    return f"1 {noun.removesuffix('s')}" if number == 1 else f"{number} {noun}"


def log_of_percent(percent: float) -> float:
    """The natural log ratio of a percent change; −100 % and below is a ValueError."""
    return math.log1p(percent / 100)


def format_percent(percent: float, digits: int = 2) -> str:
    """`"−3.06 %"` with a real minus sign and an explicit plus; `"unbounded"` where infinite."""
    if math.isinf(percent):
        return "unbounded"
    rounded = f"{abs(percent):.{digits}f}"
    sign = "" if float(rounded) == 0 else ("−" if percent < 0 else "+")
    return f"{sign}{rounded} %"


def format_share(share: float) -> str:
    """`"82.4 %"` of a fraction; what is neither all nor none is not shown as either, but as
    `"> 99.9 %"` or `"< 0.1 %"`."""
    if 0.9995 <= share < 1 - _ROUNDING:
        return "> 99.9 %"
    return "< 0.1 %" if _ROUNDING < share < 0.0005 else f"{100 * share:.1f} %"


_ROUNDING = 1e-9
"""By so much sums of the same times may differ."""


MOST_SPREAD = 10.0
"""Largest ratio between the ends of an interval that is printed in figures; a wider one is printed
as `spread_words`."""
NO_INFORMATION = "cannot be told"
"""Printed in place of an interval so wide that its figures would mislead a reader."""


def spread_words(low: float | None, high: float | None) -> str:
    """Instead of an interval in percent whose ends are further apart than a factor of ten:
    `"cannot be told"`, `"beyond +900 %"` where it leaves zero out; empty where figures are shown.
    An end that is None, unbounded by the method, is a word already."""
    if low is None or high is None or not math.isfinite(low + high):
        return ""
    ratio_low, ratio_high = 1 + low / 100, 1 + high / 100
    if ratio_low > 0 and ratio_high / ratio_low <= MOST_SPREAD:
        return ""
    if low <= 0 <= high:
        return NO_INFORMATION
    return f"beyond {_towards_zero(low if low > 0 else high)}"


def _towards_zero(percent: float) -> str:
    """An end that the whole interval lies beyond: −99.99 % is not −100 %, and 0.4 % is not 0 %."""
    digits = 0 if abs(percent) >= 10 else 2
    while not math.trunc(percent * 10**digits) and digits < _MOST_DECIMALS:
        digits += 1
    return format_percent(math.trunc(percent * 10**digits) / 10**digits, digits)


_MOST_DECIMALS = 6
"""Of a percent: what is smaller is shown as zero."""


def interval_decimals(low: float | None, high: float | None, usual: int) -> int:
    """Decimals of the ends of an interval in percent: the usual ones, and more where these would
    make the end that leaves zero out read as zero."""
    nearer = low if low is not None and low > 0 else high if high is not None and high < 0 else 0.0
    decimals = usual
    while nearer and not float(f"{nearer:.{decimals}f}") and decimals < _MOST_DECIMALS:
        decimals += 1
    return decimals


def format_reading(middle: float | None, low: float | None, high: float | None) -> str:
    """`"−4.10 % [−6.00, −2.20]"` of percents; an end that is None is unbounded; words where the
    interval is too wide for figures."""
    if phrase := spread_words(low, high):
        return phrase
    digits = interval_decimals(low, high, 2)
    ends = ["unbounded" if end is None else format_percent(end, digits) for end in (low, high)]
    estimate = "–" if middle is None else format_percent(middle, digits)
    return f"{estimate} [{ends[0].removesuffix(' %')}, {ends[1].removesuffix(' %')}]"
