"""Reads the values of options that are sizes, durations or numbers: one without its unit is named,
and what is no number of anything is refused.
"""

from __future__ import annotations

import re

import typer

from steelyard.model.errors import UsageError
from steelyard.model.units import format_duration, parse_bytes, parse_duration

_BARE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*")
_MOST = 1e9
"""What a number of an option may be at the most: seconds of thirty years."""

_MEGABYTES = 1024
"""Who leaves out the unit of so large a number may mean these, too."""


def finite(param: typer.CallbackParam, value: float | None) -> float | None:
    """The value of an option that is a number. UsageError: it is none ("nan"), or has no end."""
    if value is None or abs(value) <= _MOST:
        return value
    names = " / ".join(f'"{name}"' for name in param.opts)
    raise UsageError(
        f"invalid value for {names}: {value:g}",
        hint=f"Accepted: a number, at most {_MOST:g}.",
    )


def require_unit(option: str, text: str, *units: str) -> None:
    """UsageError: the value of an option is a number alone, and not 0; `units`: likely ones."""
    bare = _BARE.fullmatch(text)
    if bare is not None and float(bare[1]):
        likely = ", ".join(f"{bare[1]}{unit}" for unit in units)
        raise UsageError(f"{option} {bare[1]} has no unit: {likely}?")


def duration_option(option: str, text: str) -> int:
    """Nanoseconds of `"2m"`. UsageError: it has no unit, or is no duration."""
    require_unit(option, text, "s", "m")
    try:
        return parse_duration(text)
    except ValueError:
        raise UsageError(
            f'invalid value for {option}: "{text}"', hint="Accepted: 90s, 5m, 1h 30m."
        ) from None


LEAST_BUDGET, MOST_BUDGET = "20s", "168h"


def require_budget(text: str) -> None:
    """UsageError: the value of --budget has no unit, or is no time that a weighing takes."""
    least_ns, most_ns = map(parse_duration, (LEAST_BUDGET, MOST_BUDGET))
    budget_ns = duration_option("--budget", text)
    if budget_ns < least_ns:
        raise UsageError(f"--budget {text} is too short: at least {format_duration(least_ns)}")
    if budget_ns > most_ns:
        raise UsageError(f"--budget {text} is longer than a week: a budget is 30s, 5m or 2h")


def size_option(option: str, text: str | None) -> int | None:
    """Bytes of `"512MB"`; None where the option was not given. UsageError: it is no size."""
    if text is None:
        return None
    bare = _BARE.fullmatch(text)
    many = bare is not None and float(bare[1]) >= _MEGABYTES
    likely = ("MB",) if option == "--size" else ("MB", "GB") if many else ("GB",)
    require_unit(option, text, *likely)
    try:
        return parse_bytes(text)
    except ValueError:
        raise UsageError(
            f'invalid size for {option}: "{text}"', hint="Accepted: 512MB, 2GB."
        ) from None
